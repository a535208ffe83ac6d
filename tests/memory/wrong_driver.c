/*
 * wrong_driver.c: what stands in the software device's driver in place of a copy to the device in the order of a stream
 * (meson.build): it answers CUDA_ERROR_INVALID_HANDLE.
 */
#include <stddef.h>
#include <stdint.h>

#define INVALID_HANDLE 400

__attribute__((visibility("default"))) int wrong_copy(uint64_t to, const void *from, size_t bytes, void *stream);

int wrong_copy(uint64_t to, const void *from, size_t bytes, void *stream)
{
	(void)to, (void)from, (void)bytes, (void)stream;
	return INVALID_HANDLE;
}
