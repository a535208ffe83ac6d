/* memset_test.c: fills of one, two and four bytes, linear and in rows, at once and in a stream. */
#include "kit.h"

#define BYTES 65536u

static unsigned char got[BYTES];

/* Bytes [begin, end) hold the repeated value, the others 0xaa. Value: the number of wrong bytes. */
static int wrong_outside(CUdeviceptr p, size_t begin, size_t end, const unsigned char *value, size_t size)
{
	int wrong = 0;

	works(cuMemcpyDtoH(got, p, BYTES));
	for (size_t i = 0; i < BYTES; i++)
		wrong += got[i] != (i >= begin && i < end ? value[(i - begin) % size] : 0xaa);
	return wrong;
}

/* A fill whose call takes no stream has ended when it returns, if the memory is the program's to read. */
static void fill_of_host_memory(void)
{
	enum { LARGE = 8 << 20 };
	unsigned char *pinned;
	CUdeviceptr managed;
	int late = 0;

	needs(cuMemAllocHost((void **)&pinned, LARGE));
	for (int i = 1; i <= 20; i++) {
		works(cuMemsetD8((CUdeviceptr)(uintptr_t)pinned, (unsigned char)i, LARGE));
		late += pinned[LARGE - 1] != i;
		works(cuMemsetD32((CUdeviceptr)(uintptr_t)pinned, (unsigned)i << 8, LARGE / 4));
		late += pinned[LARGE - 3] != i;
		works(cuMemsetD2D16((CUdeviceptr)(uintptr_t)pinned, LARGE / 4, (unsigned short)i, LARGE / 8, 4));
		late += pinned[LARGE - 2] != i;
	}
	is(late, 0);
	works(cuMemFreeHost(pinned));
	if (cuMemAllocManaged(&managed, LARGE, CU_MEM_ATTACH_GLOBAL) != CUDA_SUCCESS)
		return;
	for (int i = 1; i <= 20; i++) {
		works(cuMemsetD8(managed, (unsigned char)i, LARGE));
		late += ((volatile unsigned char *)(uintptr_t)managed)[LARGE - 1] != i;
	}
	is(late, 0);
	works(cuMemFree(managed));
}

int main(void)
{
	const unsigned char one[] = { 0x12 }, two[] = { 0x34, 0x12 }, four[] = { 0x78, 0x56, 0x34, 0x12 };
	CUdeviceptr p;
	CUstream s;
	int wrong = 0;

	kit_begin();
	needs(cuMemAlloc(&p, BYTES));
	needs(cuStreamCreate(&s, CU_STREAM_DEFAULT));

	works(cuMemsetD8(p, 0xaa, BYTES));
	is(wrong_outside(p, 0, 0, one, 1), 0);
	works(cuMemsetD8(p + 77, 0x12, 1001));
	is(wrong_outside(p, 77, 77 + 1001, one, 1), 0);

	works(cuMemsetD8(p, 0xaa, BYTES));
	works(cuMemsetD16(p + 2, 0x1234, 999));
	is(wrong_outside(p, 2, 2 + 2 * 999, two, 2), 0);

	works(cuMemsetD8(p, 0xaa, BYTES));
	works(cuMemsetD32(p + 8, 0x12345678, 333));
	is(wrong_outside(p, 8, 8 + 4 * 333, four, 4), 0);

	works(cuMemsetD8Async(p, 0xaa, BYTES, s));
	works(cuMemsetD32Async(p + 4, 0x12345678, 10, s));
	works(cuMemsetD16Async(p + 4, 0x1234, 20, s));
	works(cuStreamSynchronize(s));
	is(wrong_outside(p, 4, 44, two, 2), 0);

	works(cuMemsetD8(p, 0xaa, BYTES));
	works(cuMemsetD2D32(p, 1024, 0x12345678, 8, 16));
	works(cuMemcpyDtoH(got, p, BYTES));
	for (size_t i = 0; i < BYTES; i++)
		wrong += got[i] != (i / 1024 < 16 && i % 1024 < 32 ? four[i % 4] : 0xaa);
	is(wrong, 0);

	works(cuMemsetD8(p, 1, 0));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(p + 2, 0, 4));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemsetD16(p + 1, 0, 4));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(0, 0, 4));
	fill_of_host_memory();
	works(cuStreamDestroy(s));
	works(cuMemFree(p));
	return kit_end();
}
