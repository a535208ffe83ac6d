/* crash_icd.c: a vendor's driver that ends its process as soon as the loader opens it. */
#include <stdlib.h>

__attribute__((constructor)) static void crash(void)
{
	abort();
}
