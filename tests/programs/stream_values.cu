/* Streams that wait for words in memory and write them, each comparison, and batches of such operations. */
#define PROGRAM_DRIVER
#include "program.h"

#ifdef __CUDACC__

KERNEL append(unsigned *p, unsigned digit)
{
	*p = *p * 10 + digit;
}

#else
#include PROGRAM_STUBS
#endif

static CUfunction append_digit;

static void digit(CUstream stream, CUdeviceptr p, unsigned d)
{
	void *args[] = { &p, &d };

	CALL(cuLaunchKernel(append_digit, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
}

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUstream a, b;
	CUdeviceptr p, flags;
	CUstreamBatchMemOpParams ops[2];
	unsigned words[4] = { 0 };

	CALL(cuInit(0));
	CALL(cuDeviceGet(&device, 0));
	CALL(cuDevicePrimaryCtxRetain(&context, device));
	CALL(cuCtxSetCurrent(context));
	CALL(cuModuleLoadData(&module, program_ptx));
	CALL(cuModuleGetFunction(&append_digit, module, "append"));
	CALL(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CALL(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CALL(cuMemAlloc(&p, 4));
	CALL(cuMemAlloc(&flags, 16));
	CALL(cuMemsetD32(p, 0, 1));
	CALL(cuMemsetD32(flags, 0, 4));
	CALL(cuCtxSynchronize());
	/* kernels of two streams, one after the other */
	CALL(cuStreamWaitValue32(a, flags, 1, CU_STREAM_WAIT_VALUE_EQ));
	digit(a, p, 2);
	CALL(cuStreamWriteValue32(a, flags + 4, 8, CU_STREAM_WRITE_VALUE_DEFAULT));
	CALL(cuStreamWaitValue32(a, flags + 8, 4, CU_STREAM_WAIT_VALUE_AND));
	digit(a, p, 4);
	digit(b, p, 1);
	CALL(cuStreamWriteValue32(b, flags, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
	CALL(cuStreamWaitValue32(b, flags + 4, 5, CU_STREAM_WAIT_VALUE_GEQ));
	digit(b, p, 3);
	memset(ops, 0, sizeof(ops));
	ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
	ops[0].writeValue.address = flags + 12;
	ops[0].writeValue.value = 99;
	ops[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
	ops[1].writeValue.address = flags + 8;
	ops[1].writeValue.value = 6;
	CALL(cuStreamBatchMemOp(b, 2, ops, 0));
	CALL(cuStreamSynchronize(a));
	CALL(cuStreamSynchronize(b));
	CALL(cuMemcpyDtoH(words, p, 4));
	CHECK(words[0] == 1234);
	CALL(cuMemcpyDtoH(words, flags, 16));
	CHECK(words[0] == 1 && words[1] == 8 && words[2] == 6 && words[3] == 99);
	CALL(cuStreamDestroy(a));
	CALL(cuStreamDestroy(b));
	CALL(cuDevicePrimaryCtxRelease(device));
	return program_end();
}
