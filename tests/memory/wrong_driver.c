/*
 * wrong_driver.c: makes the software device's driver one that a test asks for by the environment (meson.build).
 *
 * METE_TEST_WRONG_COPY: a copy to the device in the order of a stream answers CUDA_ERROR_INVALID_HANDLE.
 * METE_TEST_NO_LIST: what a module has is not listed, for want of memory.
 * METE_TEST_NO_PLACE: the process has no address left at which another process could have a wall's arena, too
 * (ring/wall_make.c).
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define OUT_OF_MEMORY 2
#define INVALID_HANDLE 400
#if defined(__SANITIZE_THREAD__)
#define PLACES_BEGIN UINT64_C(0x1000000000)
#define PLACES_END UINT64_C(0x8000000000)
#else
#define PLACES_BEGIN UINT64_C(0x200000000000)
#define PLACES_END UINT64_C(0x500000000000)
#endif

int soft_cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
int soft_cuModuleEnumerateFunctions(void **list, unsigned int count, void *module);

__attribute__((visibility("default"))) int wrong_list(void **list, unsigned int count, void *module);
__attribute__((visibility("default"))) int wrong_copy(uint64_t to, const void *from, size_t bytes, void *stream);

int wrong_copy(uint64_t to, const void *from, size_t bytes, void *stream)
{
	return getenv("METE_TEST_WRONG_COPY") ? INVALID_HANDLE : soft_cuMemcpyHtoDAsync_v2(to, from, bytes, stream);
}

int wrong_list(void **list, unsigned int count, void *module)
{
	return getenv("METE_TEST_NO_LIST") ? OUT_OF_MEMORY : soft_cuModuleEnumerateFunctions(list, count, module);
}

__attribute__((constructor)) static void take_places(void)
{
	if (getenv("METE_TEST_NO_PLACE"))
		mmap((void *)(uintptr_t)PLACES_BEGIN, PLACES_END - PLACES_BEGIN, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
