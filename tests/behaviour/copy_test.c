/* copy_test.c: copies in every direction, whole and in boxes, at once and in a stream. */
#include "kit.h"

#include <time.h>

#define BYTES 100000u

static unsigned char from[BYTES], to[BYTES];

static void pattern(unsigned char seed)
{
	for (size_t i = 0; i < BYTES; i++)
		from[i] = (unsigned char)(i * 7 + (i >> 8) + seed);
	memset(to, 0, sizeof to);
}

static void linear(CUdeviceptr a, CUdeviceptr b)
{
	CUdeviceptr h = (CUdeviceptr)(uintptr_t)from, t = (CUdeviceptr)(uintptr_t)to;

	pattern(1);
	works(cuMemcpyHtoD(a, from, BYTES));
	works(cuMemcpyDtoD(b, a, BYTES));
	works(cuMemcpyDtoH(to, b, BYTES));
	ok(!memcmp(from, to, BYTES));

	pattern(2);
	works(cuMemcpy(a, h, BYTES));
	works(cuMemcpy(b, a, BYTES));
	works(cuMemcpy(t, b, BYTES));
	ok(!memcmp(from, to, BYTES));

	/* Odd offsets and lengths touch nothing beside them. */
	pattern(3);
	works(cuMemsetD8(a, 0x55, BYTES));
	works(cuMemcpyHtoD(a + 333, from, 1001));
	works(cuMemcpyDtoH(to, a, BYTES));
	ok(to[332] == 0x55 && to[333 + 1001] == 0x55 && !memcmp(to + 333, from, 1001));
	works(cuMemcpyHtoD(a, from, 0));
}

static void streamed(CUdeviceptr a, CUdeviceptr b)
{
	CUstream s;

	pattern(4);
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	works(cuMemcpyHtoDAsync(a, from, BYTES, s));
	works(cuMemcpyDtoDAsync(b, a, BYTES, s));
	works(cuMemcpyDtoHAsync(to, b, BYTES, s));
	works(cuStreamSynchronize(s));
	ok(!memcmp(from, to, BYTES));

	pattern(5);
	works(cuMemcpyAsync(a, (CUdeviceptr)(uintptr_t)from, BYTES, s));
	works(cuMemcpyAsync((CUdeviceptr)(uintptr_t)to, a, BYTES, s));
	works(cuStreamSynchronize(s));
	ok(!memcmp(from, to, BYTES));
	works(cuStreamDestroy(s));
}

/* A box of 30 rows of 50 bytes inside a pitched allocation. */
static void boxes_2d(void)
{
	size_t pitch, wrong = 0;
	CUdeviceptr p;
	CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = from,
			    .srcPitch = 70,
			    .srcXInBytes = 5,
			    .srcY = 2,
			    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			    .dstXInBytes = 9,
			    .dstY = 4,
			    .WidthInBytes = 50,
			    .Height = 30 };

	pattern(6);
	needs(cuMemAllocPitch(&p, &pitch, 100, 40, 4));
	works(cuMemsetD2D8(p, pitch, 0, 100, 40));
	c.dstDevice = p;
	c.dstPitch = pitch;
	works(cuMemcpy2D(&c));

	c = (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			     .srcDevice = p,
			     .srcPitch = pitch,
			     .dstMemoryType = CU_MEMORYTYPE_HOST,
			     .dstHost = to,
			     .dstPitch = 100,
			     .WidthInBytes = 100,
			     .Height = 40 };
	works(cuMemcpy2DUnaligned(&c));
	for (size_t y = 0; y < 40; y++) {
		for (size_t x = 0; x < 100; x++) {
			bool inside = x >= 9 && x < 59 && y >= 4 && y < 34;
			unsigned char want = inside ? from[(y - 4 + 2) * 70 + x - 9 + 5] : 0;

			wrong += to[y * 100 + x] != want;
		}
	}
	is(wrong, 0);
	c.srcPitch = 50;
	answers(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&c));
	works(cuMemFree(p));
}

static void boxes_3d(CUdeviceptr a)
{
	size_t wrong = 0;
	CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = from,
			    .srcPitch = 32,
			    .srcHeight = 16,
			    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			    .dstDevice = a,
			    .dstPitch = 64,
			    .dstHeight = 20,
			    .dstXInBytes = 3,
			    .dstY = 1,
			    .dstZ = 2,
			    .WidthInBytes = 30,
			    .Height = 15,
			    .Depth = 8 };

	pattern(7);
	works(cuMemsetD8(a, 0, BYTES));
	works(cuMemcpy3D(&c));
	works(cuMemcpyDtoH(to, a, BYTES));
	for (size_t z = 0; z < 10; z++) {
		for (size_t y = 0; y < 20; y++) {
			for (size_t x = 0; x < 64; x++) {
				bool inside = x >= 3 && x < 33 && y >= 1 && y < 16 && z >= 2;
				unsigned char want = inside ? from[((z - 2) * 16 + y - 1) * 32 + x - 3] : 0;

				wrong += to[(z * 20 + y) * 64 + x] != want;
			}
		}
	}
	is(wrong, 0);
}

static void between_devices(CUdeviceptr a)
{
	CUcontext other;
	CUdeviceptr b;
	int count = 0;

	works(cuDeviceGetCount(&count));
	if (count < 2) {
		kit_skip("copies between devices", "one device");
		return;
	}
	pattern(8);
	works(cuMemcpyHtoD(a, from, BYTES));
	needs(cuDevicePrimaryCtxRetain(&other, 1));
	needs(cuCtxPushCurrent(other));
	needs(cuMemAlloc(&b, BYTES));
	works(cuMemcpyPeer(b, other, a, kit.context, BYTES));
	works(cuMemcpyDtoH(to, b, BYTES));
	ok(!memcmp(from, to, BYTES));
	works(cuMemFree(b));
	works(cuCtxPopCurrent(NULL));
	works(cuDevicePrimaryCtxRelease(1));
}

static void refused(CUdeviceptr a)
{
	answers(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a, NULL, 16));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(0, from, 16));
	if (kit.soft)
		answers(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a, from, 1ull << 40));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(to, 0, 16));
}

/* Many copies in one call: lines, and boxes between memory and an array. */
static void batches(CUdeviceptr a, CUdeviceptr b)
{
	CUdeviceptr sources[3] = { (CUdeviceptr)(uintptr_t)from, a, a + 100 }, targets[3] = { a, b, b + 1000 };
	size_t bytes[3] = { 2000, 500, 300 }, firsts[2] = { 0, 1 };
	CUmemcpyAttributes attributes[2] = { { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM },
					     { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY } };
	CUDA_ARRAY3D_DESCRIPTOR shape = {
		.Width = 8, .Height = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT16, .NumChannels = 1
	};
	CUDA_MEMCPY3D_BATCH_OP boxes[2] = { { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
					      .extent = { .width = 8, .height = 4, .depth = 1 } } };
	int version = 0;
	CUarray array;
	CUstream s;

	works(cuDriverGetVersion(&version));
	if (version < 13000)
		return;
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	pattern(9);
	works(cuMemcpyBatchAsync(targets, sources, bytes, 3, attributes, firsts, 2, s));
	works(cuStreamSynchronize(s));
	works(cuMemcpyDtoH(to, b, 2000));
	ok(!memcmp(to, from, 500) && !memcmp(to + 1000, from + 100, 300));
	firsts[1] = 3;
	answers(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync(targets, sources, bytes, 3, attributes, firsts, 2, s));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync(targets, sources, bytes, 0, attributes, firsts, 1, s));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync(targets, sources, bytes, 3, attributes, firsts, 1, NULL));

	needs(cuArray3DCreate(&array, &shape));
	boxes[1] = boxes[0];
	boxes[0].src.type = boxes[1].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
	boxes[0].dst.type = boxes[1].src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
	boxes[0].src.op.ptr.ptr = (CUdeviceptr)(uintptr_t)from;
	boxes[0].src.op.ptr.rowLength = 10; /* in elements */
	boxes[0].dst.op.array.array = boxes[1].src.op.array.array = array;
	boxes[1].dst.op.ptr.ptr = b;
	works(cuMemcpy3DBatchAsync(2, boxes, 0, s));
	works(cuStreamSynchronize(s));
	works(cuMemcpyDtoH(to, b, 64));
	ok(!memcmp(to, from, 16) && !memcmp(to + 16, from + 20, 16) && !memcmp(to + 48, from + 60, 16));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DBatchAsync(2, boxes, 1, s));
	works(cuArrayDestroy(array));
	works(cuStreamDestroy(s));
}

/* One copy with a batch's attributes, also into the legacy stream. */
static void attributes(CUdeviceptr a, CUdeviceptr b)
{
	CUmemcpyAttributes attribute = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL };
	CUDA_MEMCPY3D_BATCH_OP box = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
				       .extent = { .width = 100, .height = 2, .depth = 1 } };
	int version = 0;
	CUstream s;

	works(cuDriverGetVersion(&version));
	if (version < 13020)
		return;
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	pattern(11);
	works(cuMemcpyWithAttributesAsync(a, (CUdeviceptr)(uintptr_t)from, 500, &attribute, s));
	from[0] ^= 0xff; /* it has been read */
	attribute.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
	works(cuStreamSynchronize(s));
	works(cuMemcpyWithAttributesAsync(b, a, 500, &attribute, NULL));
	works(cuMemcpyDtoH(to, b, 500));
	from[0] ^= 0xff;
	ok(!memcmp(to, from, 500));
	box.src.type = box.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
	box.src.op.ptr.ptr = a;
	box.src.op.ptr.rowLength = 200;
	box.dst.op.ptr.ptr = b;
	works(cuMemcpy3DWithAttributesAsync(&box, 0, s));
	works(cuStreamSynchronize(s));
	works(cuMemcpyDtoH(to, b, 200));
	ok(!memcmp(to, from, 100) && !memcmp(to + 100, from + 200, 100));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemcpyWithAttributesAsync(b, a, 500, NULL, s));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DWithAttributesAsync(&box, 1, s));
	works(cuStreamDestroy(s));
}

static void CUDA_CB sleeps(void *data)
{
	const struct timespec t = { .tv_nsec = 30000000 };

	(void)data;
	nanosleep(&t, NULL);
}

/*
 * Copies of memory that is not pinned wait for a function of the program that stands before them. As the first copies
 * of their context: what a worker does once for a context must not wait as well.
 */
static void behind_function(int way)
{
	unsigned char *h = malloc(BYTES);
	CUDA_MEMCPY2D box = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = h,
			      .srcPitch = 64,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstPitch = 128,
			      .WidthInBytes = 64,
			      .Height = 16 };
	CUcontext c = NULL;
	CUdeviceptr p;
	CUstream s;

	needs(cuCtxCreate(&c, NULL, 0, kit.dev));
	needs(cuMemAlloc(&p, BYTES));
	needs(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	works(cuMemsetD8(p, 7, BYTES));
	works(cuCtxSynchronize());
	memset(h, 9, BYTES);
	works(cuLaunchHostFunc(s, sleeps, NULL));
	box.dstDevice = p;
	if (way == 0)
		works(cuMemcpyDtoHAsync(h, p, BYTES, s));
	else if (way == 1)
		works(cuMemcpyHtoDAsync(p, h, BYTES, s));
	else
		works(cuMemcpy2DAsync(&box, s));
	works(cuStreamSynchronize(s));
	if (way)
		works(cuMemcpyDtoH(h, p, BYTES));
	is(h[0], way ? 9 : 7);
	is(h[BYTES - 1], way == 1 ? 9 : 7);
	works(cuCtxDestroy(c));
	needs(cuCtxSetCurrent(kit.context));
	free(h);
}

/* What has been freed is no memory of the program either. */
static void freed(void)
{
	CUdeviceptr p;

	needs(cuMemAlloc(&p, BYTES));
	works(cuMemFree(p));
	if (!kit.soft)
		return;
	answers(CUDA_ERROR_INVALID_VALUE, cuMemcpy((CUdeviceptr)(uintptr_t)to, p, BYTES));
	answers(CUDA_ERROR_INVALID_VALUE, cuMemcpy(p, (CUdeviceptr)(uintptr_t)from, BYTES));
}

int main(void)
{
	CUdeviceptr a, b;

	kit_begin();
	needs(cuMemAlloc(&a, BYTES));
	needs(cuMemAlloc(&b, BYTES));
	linear(a, b);
	streamed(a, b);
	boxes_2d();
	boxes_3d(a);
	between_devices(a);
	batches(a, b);
	attributes(a, b);
	refused(a);
	for (int way = 0; way < 3; way++)
		behind_function(way);
	freed();
	works(cuMemFree(a));
	works(cuMemFree(b));
	return kit_end();
}
