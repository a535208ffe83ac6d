/*
 * rounds_test.c: how often a program waits for its worker: a vector addition, loops as of training, streams that have
 * been waited for. See rounds.h.
 */
#include "rounds.h"

#define STEPS 20
#define KERNELS 300 /* in a step */
#define FEW 100	    /* elements, where it is the launches that count */

static float *beside[3];

static void vector_addition(void)
{
	static float x[ELEMENTS], y[ELEMENTS], z[ELEMENTS];
	struct link_counts none = { 0 };
	float *a = NULL, *b = NULL, *c = NULL;
	cudaError_t e = cudaSuccess;
	unsigned int good = 0;
	uint64_t before;

	for (unsigned int i = 0; i < ELEMENTS; i++) {
		x[i] = (float)i;
		y[i] = 2 * (float)i;
	}
	ok(!cudaMalloc((void **)&a, sizeof(x)) && !cudaMalloc((void **)&b, sizeof(y)) &&
	   !cudaMalloc((void **)&c, sizeof(z)));
	ok(!cudaMemcpy(a, x, sizeof(x), cudaMemcpyHostToDevice) &&
	   !cudaMemcpy(b, y, sizeof(y), cudaMemcpyHostToDevice));
	ok(!launch(a, b, c, ELEMENTS, NULL) && !cudaGetLastError());
	ok(!cudaMemcpy(z, c, sizeof(z), cudaMemcpyDeviceToHost));
	for (unsigned int i = 0; i < ELEMENTS; i++)
		good += z[i] == 3 * (float)i;
	is(good, ELEMENTS);

	before = rounds();
	for (int i = 0; i < 1000 && !e; i++)
		e = launch(a, b, c, FEW, NULL);
	ok(!e && !cudaGetLastError());
	is(rounds() - before, 0);
	ok(!cudaDeviceSynchronize());
	ok(!cudaFree(a) && !cudaFree(b) && !cudaFree(c));
	show("vector addition and a thousand launches more", &none);
	/* one of them is the synchronisation behind the thousand launches */
	tap_ok(rounds() <= 14 + 1, "a vector addition takes 14 round trips at most (%llu)",
	       (unsigned long long)rounds() - 1);
}

/* As frameworks do it: a pool of memory, several streams, events between them, one number back at the end of a step. */
static void training(void)
{
	static float batch[ELEMENTS];
	float *a = NULL, *b = NULL, *c = NULL, loss = 0;
	cudaStream_t compute, copy;
	struct link_counts before;
	cudaError_t e = cudaSuccess;
	cudaEvent_t ready;
	int device = -1;

	ok(!cudaMalloc((void **)&a, sizeof(batch)) && !cudaMalloc((void **)&b, sizeof(batch)) &&
	   !cudaMalloc((void **)&c, sizeof(batch)));
	ok(!cudaMemset(b, 0, sizeof(batch)));
	ok(!cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking) &&
	   !cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking) &&
	   !cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
	ok(!cudaDeviceSynchronize());
	before = counts();
	for (unsigned int step = 0; step < STEPS && !e; step++) {
		for (unsigned int i = 0; i < ELEMENTS; i++)
			batch[i] = (float)step;
		e = cudaMemcpyAsync(a, batch, sizeof(batch), cudaMemcpyHostToDevice, copy);
		e = e ? e : cudaEventRecord(ready, copy);
		e = e ? e : cudaStreamWaitEvent(compute, ready, 0);
		for (int i = 0; i < KERNELS && !e; i++) {
			e = cudaGetDevice(&device);
			e = e ? e : cudaSetDevice(device);
			e = e ? e : launch(a, b, c, FEW, compute);
			e = e ? e : cudaPeekAtLastError();
		}
		e = e ? e : cudaMemsetAsync(b, 0, sizeof(batch), compute);
		e = e ? e : cudaMemcpyAsync(&loss, c, sizeof(loss), cudaMemcpyDeviceToHost, compute);
		e = e ? e : cudaStreamSynchronize(compute);
		if (loss != (float)step)
			ok(!"the right loss");
	}
	is(e, 0);
	is(loss, STEPS - 1);
	show("a training-like loop of 20 steps", &before);
	tap_ok(rounds() - before.round_trips <= STEPS, "a step takes 1 round trip at most (%.1f)",
	       (double)(rounds() - before.round_trips) / STEPS);
	ok(!cudaFree(a) && !cudaFree(b) && !cudaFree(c) && !cudaStreamDestroy(compute) && !cudaStreamDestroy(copy) &&
	   !cudaEventDestroy(ready));
}

#define SCRATCH 10 /* pieces of memory in a step */

static cudaError_t scratch_step(float *a, float *b, unsigned int step, cudaStream_t stream)
{
	float *piece[SCRATCH], result = -1;
	cudaError_t e = cudaSuccess;

	for (unsigned int i = 0; i < SCRATCH && !e; i++) {
		e = cudaMallocAsync((void **)&piece[i], (1 + i / 2) * sizeof(float) * ELEMENTS, stream);
		e = e ? e : cudaMemsetAsync(piece[i], 0, sizeof(float) * ELEMENTS, stream);
		e = e ? e : launch(a, i ? piece[i - 1] : b, piece[i], FEW, stream);
	}
	e = e ? e : cudaMemcpyAsync(&result, piece[SCRATCH - 1], sizeof(result), cudaMemcpyDeviceToHost, stream);
	for (unsigned int i = 0; i < SCRATCH && !e; i++)
		e = cudaFreeAsync(piece[i], stream);
	e = e ? e : cudaStreamSynchronize(stream);
	if (result != SCRATCH * (float)step)
		ok(!"the right result");
	return e;
}

/* A loop that asks for its memory in each step: two steps show what it is, then a step asks once. */
static void scratch(void)
{
	static float ones[ELEMENTS];
	struct link_counts counted = { 0 };
	float *a = NULL, *b = NULL;
	size_t before, after, total;
	cudaError_t e = cudaSuccess;
	cudaStream_t stream;

	ok(!cudaMalloc((void **)&a, sizeof(ones)) && !cudaMalloc((void **)&b, sizeof(ones)));
	ok(!cudaMemset(b, 0, sizeof(ones)) && !cudaStreamCreate(&stream) && !cudaMemGetInfo(&before, &total));
	for (unsigned int step = 0; step < STEPS && !e; step++) {
		if (step == 2)
			counted = counts();
		for (unsigned int i = 0; i < ELEMENTS; i++)
			ones[i] = (float)step;
		e = cudaMemcpyAsync(a, ones, sizeof(ones), cudaMemcpyHostToDevice, stream);
		e = e ? e : scratch_step(a, b, step, stream);
	}
	is(e, 0);
	show("a loop of 18 steps with ten pieces of memory each", &counted);
	tap_ok(rounds() - counted.round_trips <= 2 * (STEPS - 2), "a step takes 2 round trips at most (%.1f)",
	       (double)(rounds() - counted.round_trips) / (STEPS - 2));
	/* The last wait has given everything back. */
	ok(!cudaMemGetInfo(&after, &total));
	is(after, before);
	ok(!cudaStreamDestroy(stream) && !cudaFree(a) && !cudaFree(b));
}

/* What another thread submits meanwhile is waited for. */
static void *launch_beside(void *stream)
{
	return launch(beside[0], beside[1], beside[2], ELEMENTS, stream) ? stream : NULL;
}

static uint64_t waits(cudaStream_t stream)
{
	uint64_t before = rounds();

	ok(!cudaStreamSynchronize(stream));
	return rounds() - before;
}

/* A stream that has been waited for is not waited for again, until something is sent. */
static void waited(void)
{
	static float z[2];
	cudaStream_t one = NULL, two = NULL;
	pthread_t thread;
	void *failed;

	for (int i = 0; i < 3; i++)
		ok(!cudaMalloc((void **)&beside[i], ELEMENTS * sizeof(float)));
	ok(!cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking) && !cudaStreamCreate(&two));
	is(waits(one), 1);
	is(waits(one), 0);
	is(waits(two), 1);
	is(waits(one), 1);
	ok(!launch(beside[0], beside[1], beside[2], ELEMENTS, one));
	is(waits(one), 1);
	ok(!launch(beside[0], beside[1], beside[2], ELEMENTS, one));
	ok(!cudaMemcpyAsync(z, beside[2], sizeof(z), cudaMemcpyDeviceToHost, one));
	is(waits(one), 0);
	is(waits(two), 1);
	is(waits(cudaStreamLegacy), 1);
	is(waits(NULL), 0);
	is(waits(cudaStreamPerThread), 1);
	is(waits(cudaStreamPerThread), 0);
	ok(!pthread_create(&thread, NULL, launch_beside, cudaStreamPerThread));
	ok(!pthread_join(thread, &failed) && !failed);
	is(waits(cudaStreamPerThread), 1);
	ok(!cudaStreamDestroy(two) && !cudaStreamDestroy(one));
	for (int i = 0; i < 3; i++)
		ok(!cudaFree(beside[i]));
}

/* Who has waited for all that a context does waits for none of its streams again. */
static void waited_whole(void)
{
	static float z[2];
	cudaStream_t s = NULL;
	uint64_t before;

	for (int i = 0; i < 3; i++)
		ok(!cudaMalloc((void **)&beside[i], ELEMENTS * sizeof(float)));
	ok(!cudaStreamCreate(&s));
	ok(!launch(beside[0], beside[1], beside[2], ELEMENTS, s));
	before = rounds();
	ok(!cudaDeviceSynchronize());
	is(rounds() - before, 1);
	is(waits(s), 0);
	is(waits(NULL), 0);
	ok(!launch(beside[0], beside[1], beside[2], ELEMENTS, s));
	before = rounds();
	ok(!cudaMemcpy(z, beside[2], sizeof(z), cudaMemcpyDeviceToHost)); /* behind all blocking streams */
	ok(!cudaDeviceSynchronize());
	is(waits(s), 0);
	is(rounds() - before, 1);
	ok(!launch(beside[0], beside[1], beside[2], ELEMENTS, s));
	is(waits(s), 1);
	is(waits(NULL), 1);
	ok(!cudaStreamDestroy(s));
	for (int i = 0; i < 3; i++)
		ok(!cudaFree(beside[i]));
}

#define MANAGED 12
#define MANAGED_ELEMENTS 4096

/* Memory that both sides reach, in several pieces: what is written goes out unwaited, all comes back at once. */
static void managed(void)
{
	float *m[MANAGED], *plain, x = 0;
	struct link_counts before;
	cudaError_t e = cudaSuccess;
	unsigned int good = 0;
	cudaStream_t s;

	for (int i = 0; i < MANAGED; i++)
		ok(!cudaMallocManaged((void **)&m[i], MANAGED_ELEMENTS * sizeof(float), cudaMemAttachGlobal));
	ok(!cudaMalloc((void **)&plain, ELEMENTS * sizeof(float)) && !cudaStreamCreate(&s));
	ok(!cudaMemset(plain, 0, ELEMENTS * sizeof(float)) && !cudaDeviceSynchronize());
	before = counts();
	for (unsigned int step = 0; step < STEPS && !e; step++) {
		for (int i = 0; i < MANAGED; i += 3)
			m[i][step] = m[i + 1][MANAGED_ELEMENTS - 1 - step] = (float)step + 1;
		for (int i = 0; i < MANAGED && !e; i += 3)
			e = launch(m[i], m[i + 1], m[i + 2], MANAGED_ELEMENTS, i % 2 ? s : NULL);
		e = e ? e : cudaDeviceSynchronize();
		for (int i = 0; i < MANAGED; i += 3)
			good += m[i + 2][step] == (float)step + 1 &&
				m[i + 2][MANAGED_ELEMENTS - 1 - step] == (float)step + 1;
	}
	is(e, 0);
	is(good, STEPS * MANAGED / 3);
	show("20 steps with managed memory", &before);
	tap_ok(rounds() - before.round_trips <= 2 * STEPS, "a step takes 2 round trips at most (%.1f)",
	       (double)(rounds() - before.round_trips) / STEPS);
	before = counts();
	for (unsigned int step = 0; step < STEPS && !e; step++)
		e = cudaMemcpy(plain, &x, sizeof(x), cudaMemcpyHostToDevice);
	is(e, 0);
	is(rounds() - before.round_trips, 0); /* copies of other memory */
	ok(!cudaStreamDestroy(s) && !cudaFree(plain));
	for (int i = 0; i < MANAGED; i++)
		ok(!cudaFree(m[i]));
}

static void rounds_client(void)
{
	vector_addition();
	waited_whole();
	managed();
	training();
	scratch();
	waited();
}
