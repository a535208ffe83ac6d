/* Kernels that fail: a trap, a failed assertion, wild and misaligned addresses; each error stays until the device is reset. */
#undef NDEBUG
#include "program.h"
#include <assert.h>
#include <fcntl.h>
#include <unistd.h>

#ifdef __CUDACC__

KERNEL fault(int which, int *p)
{
	if (which == 0)
		*(volatile int *)((char *)p + (1ull << 44)) = 1;
	if (which == 1)
		*(volatile int *)((char *)p + 2) = 1;
	if (which == 2)
		asm volatile("trap;");
	if (which == 3)
		assert(p == NULL);
	if (which == 4)
		*p = 55;
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static const cudaError_t wanted[] = { cudaErrorIllegalAddress, cudaErrorMisalignedAddress, cudaErrorLaunchFailure, cudaErrorAssert };
	int which, value[1], *p, old, quiet;

	for (which = 0; which < 4; which++) {
		p = DEVICE_ALLOC(int, 4);
		/* the assertion's words are not this program's */
		fflush(stderr);
		old = dup(2);
		quiet = open("/dev/null", O_WRONLY);
		dup2(quiet, 2);
		close(quiet);
		CALL(LAUNCH_ON(fault, 1, 1, 0, 0, which, p));
		if (which == 2) {
			/* a trap has had two names */
			cudaError_t e = cudaDeviceSynchronize();

			CHECK(e == cudaErrorLaunchFailure || e == cudaErrorIllegalInstruction);
			CHECK(cudaMalloc((void **)&p, 4) == e);
		} else {
			GIVES(cudaDeviceSynchronize(), wanted[which]);
			/* and again, from any call */
			GIVES(cudaMalloc((void **)&p, 4), wanted[which]);
			GIVES(cudaMemset(p, 0, 4), wanted[which]);
		}
		dup2(old, 2);
		close(old);
		CALL(cudaDeviceReset());
		(void)cudaGetLastError();
		/* NVIDIA's driver wants a new process after a fault. */
		if (on_gpu() && cudaMalloc((void **)&p, 4) == wanted[which])
			break;
		p = DEVICE_ALLOC(int, 1);
		LAUNCH(fault, 1, 1, 4, p);
		BRING(value, p);
		CHECK(value[0] == 55);
	}
	return program_end();
}
