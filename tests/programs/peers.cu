/* Several devices: each computes its own part, copies between them, access to each other's memory. */
#include "program.h"

enum { N = 2048 };

#ifdef __CUDACC__

KERNEL fill(unsigned *p, unsigned value)
{
	p[THREAD] = value + THREAD;
}

KERNEL add(unsigned *to, const unsigned *from)
{
	to[THREAD] += from[THREAD];
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static unsigned z[N];
	unsigned *p[2], *q, i;
	int count = 0, can = 0, device = -1;
	struct cudaPointerAttributes a;

	CALL(cudaGetDeviceCount(&count));
	if (count < 2)
		SKIP("one device only");
	for (i = 0; i < 2; i++) {
		CALL(cudaSetDevice(i));
		p[i] = DEVICE_ALLOC(unsigned, N);
		LAUNCH(fill, N / 256, 256, p[i], i * 100000);
	}
	CALL(cudaGetDevice(&device));
	CHECK(device == 1);
	CALL(cudaPointerGetAttributes(&a, p[0]));
	CHECK(a.device == 0);
	CALL(cudaPointerGetAttributes(&a, p[1]));
	CHECK(a.device == 1);
	q = DEVICE_ALLOC(unsigned, N);
	CALL(cudaMemcpyPeer(q, 1, p[0], 0, N * sizeof(*q)));
	LAUNCH(add, N / 256, 256, q, p[1]);
	BRING(z, q);
	for (i = 0; i < N; i++)
		CHECK(z[i] == 100000 + 2 * i);
	CALL(cudaMemcpyPeerAsync(p[0], 0, q, 1, N * sizeof(*q), 0));
	SYNC();
	CALL(cudaMemcpy(z, p[0], sizeof(z), cudaMemcpyDefault));
	for (i = 0; i < N; i++)
		CHECK(z[i] == 100000 + 2 * i);
	CALL(cudaDeviceCanAccessPeer(&can, 1, 0));
	if (can) {
		CALL(cudaDeviceEnablePeerAccess(0, 0));
		GIVES(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
		(void)cudaGetLastError();
		LAUNCH(add, N / 256, 256, q, p[0]);
		BRING(z, q);
		for (i = 0; i < N; i++)
			CHECK(z[i] == 200000 + 4 * i);
		CALL(cudaDeviceDisablePeerAccess(0));
		GIVES(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
		(void)cudaGetLastError();
	}
	GIVES(cudaSetDevice(count), cudaErrorInvalidDevice);
	return program_end();
}
