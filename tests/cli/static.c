/* static.c: linked statically, so that no shim can reach it. */
#include <stdio.h>

int main(void)
{
	puts("it ran");
	return 3;
}
