/* Functions of the host in a stream: order, arguments, callbacks with a status, and pieces of work that wait for them. */
#include "program.h"

#ifdef __CUDACC__

KERNEL append(unsigned *p, unsigned digit)
{
	*p = *p * 10 + digit;
}

#else
#include PROGRAM_STUBS
#endif

static unsigned *number;
static unsigned seen[3], callbacks;

static void look(void *argument)
{
	seen[*(int *)argument] = *number;
	*number += 1000;
}

static void called(cudaStream_t stream, cudaError_t status, void *argument)
{
	callbacks += status == cudaSuccess && stream != NULL && argument == &callbacks;
}

int main(void)
{
	static int first = 0, second = 1, third = 2;
	cudaStream_t stream;
	unsigned *device = NULL;

	CALL(cudaStreamCreate(&stream));
	CALL(cudaHostAlloc((void **)&number, sizeof(*number), cudaHostAllocMapped));
	CALL(cudaHostGetDevicePointer((void **)&device, number, 0));
	*number = 0;
	CALL(LAUNCH_ON(append, 1, 1, 0, stream, device, 1));
	CALL(cudaLaunchHostFunc(stream, look, &first));
	CALL(LAUNCH_ON(append, 1, 1, 0, stream, device, 2));
	CALL(cudaLaunchHostFunc(stream, look, &second));
	CALL(cudaStreamAddCallback(stream, called, &callbacks, 0));
	CALL(LAUNCH_ON(append, 1, 1, 0, stream, device, 3));
	CALL(cudaLaunchHostFunc(stream, look, &third));
	CALL(cudaStreamSynchronize(stream));
	CHECK(seen[0] == 1);
	CHECK(seen[1] == 10012);
	CHECK(seen[2] == 110123);
	CHECK(*number == 111123);
	CHECK(callbacks == 1);
	CALL(cudaStreamDestroy(stream));
	CALL(cudaFreeHost(number));
	return program_end();
}
