/*
 * gate_price.c: what the gate of the remote client costs a call (src/remote/client/gate.h): gate_price [THREADS]
 *
 * Prints the nanoseconds of a call of a library that enters and leaves (gate_call.c), less those of one that does
 * nothing: the least and the middle of many batches, with so many threads at once. A launch that nobody waits for takes
 * the client what `bench/ring` says.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 100000u
#define BATCHES 200u
#define THREADS_MOST 64u

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void gate_call_gated(void);
void gate_call_plain(void);

static double batch(void (*call)(void))
{
	double began = now();

	for (uint32_t i = 0; i < CALLS; i++)
		call();
	return (now() - began) / CALLS;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void *measure(void *ret)
{
	double plain[BATCHES], with[BATCHES], *to = ret;

	for (unsigned int i = 0; i < BATCHES; i++) {
		plain[i] = batch(gate_call_plain);
		with[i] = batch(gate_call_gated);
	}
	qsort(plain, BATCHES, sizeof(*plain), by_size);
	qsort(with, BATCHES, sizeof(*with), by_size);
	to[0] = with[0] - plain[0];
	to[1] = with[BATCHES / 2] - plain[BATCHES / 2];
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	double found[THREADS_MOST][2], middle[THREADS_MOST];
	pthread_t thread[THREADS_MOST];

	if (!threads || threads > THREADS_MOST)
		return 2;
	for (unsigned int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, measure, found[i]))
			return 1;
	for (unsigned int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		middle[i] = found[i][1];
	}
	qsort(middle, threads, sizeof(*middle), by_size);
	printf("{\"threads\": %u, \"least_ns\": %.2f, \"median_ns\": %.2f}\n", threads, found[0][0],
	       middle[threads / 2]);
	return 0;
}
