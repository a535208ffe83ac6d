/* pageable_library.c: stands for a driver's library in pageable_test.c. */
#include <sys/ioctl.h>

__attribute__((visibility("default"))) int library_ioctl(unsigned long request, void *argument);

int library_ioctl(unsigned long request, void *argument)
{
	return ioctl(-1, request, argument);
}
