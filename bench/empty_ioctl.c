/* empty_ioctl.c: an ioctl() that does nothing, below what is measured: so that only the way to it is seen. */
#include <sys/ioctl.h>

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	(void)fd;
	(void)request;
	return 0;
}

/* Where it is, for whoever finds another one in front of it. */
__attribute__((visibility("default"))) void *empty_ioctl(void);

void *empty_ioctl(void)
{
	return (void *)ioctl;
}
