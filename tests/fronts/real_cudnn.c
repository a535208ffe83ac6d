/* real_cudnn.c: stands for NVIDIA's cuDNN behind the front: what it is, and no more. */
#include <stddef.h>

#define CALL(type) __attribute__((visibility("default"))) type

CALL(size_t) cudnnGetVersion(void);
CALL(int) cudnnGetProperty(int which, int *ret);
CALL(const char *) cudnnGetErrorString(int status);
CALL(int) cudnnCreate(void **ret);

CALL(size_t) cudnnGetVersion(void)
{
	return 92600;
}

CALL(int) cudnnGetProperty(int which, int *ret)
{
	*ret = which ? 26 : 9;
	return 0;
}

CALL(const char *) cudnnGetErrorString(int status)
{
	return status == 3000 ? "the real word for not supported" : "another word";
}

/* As on a driver that is not NVIDIA's: the front must not come here. */
CALL(int) cudnnCreate(void **ret)
{
	*ret = NULL;
	return 1001;
}
