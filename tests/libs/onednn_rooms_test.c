/*
 * onednn_rooms_test.c: what convolutions that oneDNN has prepared keep of the host's memory: many shapes, each of some
 * ten MiB, from several threads, leave no more than the library says. One that is too large is the device's own loops'.
 */
#include "base/tap.h"
#include "libs/cudnn/onednn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define CHANNELS 16
#define OUT 8
#define SIDE 512
#define SHAPES 12
#define THREADS 4
#define MOST (512 * MIB) /* what the library keeps, and what malloc() does of what was freed */

static float *x, *y;
static float w[OUT * CHANNELS];
static pthread_barrier_t done, seen;

static uint64_t resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long long size = 0, pages = 0;

	if (!f || fscanf(f, "%llu %llu", &size, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Of `lines` lines: each output is the sum over the channels. */
static bool convolve(int64_t images, int64_t lines, int64_t side)
{
	struct onednn_conv c = { .direction = ONEDNN_FORWARD,
				 .spatial = 2,
				 .images = images,
				 .groups = 1,
				 .in_channels = CHANNELS,
				 .out_channels = OUT,
				 .in = { 1, lines, side },
				 .out = { 1, lines, side },
				 .window = { 1, 1, 1 },
				 .stride = { 1, 1, 1 },
				 .dilation = { 1, 1, 1 },
				 .x_stride = { CHANNELS * lines * side, lines * side, lines * side, side, 1 },
				 .y_stride = { OUT * lines * side, lines * side, lines * side, side, 1 },
				 .w_stride = { CHANNELS, 1, 1, 1, 1 } };

	return onednn_conv(&c, x, w, y, false);
}

/* What a thread has prepared goes with it: it stays until somebody has looked. */
static void *many(void *data)
{
	bool good = true;

	for (int i = 0; i < SHAPES; i++)
		good = good && convolve(1, SIDE - i, SIDE);
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&seen);
	return good ? data : NULL;
}

int main(void)
{
	pthread_t thread[THREADS];
	uint64_t before, after;
	void *good;
	bool right = true;

	tap_begin();
	if (!onednn_open())
		tap_skip_all("no oneDNN on this machine");
	x = calloc(CHANNELS * SIDE * SIDE, sizeof(*x));
	y = calloc(OUT * SIDE * SIDE, sizeof(*y));
	if (!x || !y)
		tap_skip_all("no memory");
	for (size_t i = 0; i < CHANNELS * SIDE * SIDE; i++)
		x[i] = 1;
	for (size_t i = 0; i < OUT * CHANNELS; i++)
		w[i] = 2;
	ok(convolve(1, SIDE, SIDE));
	for (size_t i = 0; i < OUT * SIDE * SIDE; i++)
		right = right && y[i] == 2 * CHANNELS;
	ok(right);
	before = resident();
	pthread_barrier_init(&done, NULL, THREADS + 1);
	pthread_barrier_init(&seen, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, many, &right);
	pthread_barrier_wait(&done);
	after = resident();
	tap_ok(after <= before + MOST, "%d shapes of %d threads are prepared: %llu MiB more", SHAPES, THREADS,
	       (unsigned long long)((after - before) / MIB));
	pthread_barrier_wait(&seen);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &good);
		ok(good != NULL);
	}
	/* Its memory is never touched: it is refused by its size. */
	ok(!convolve(64, SIDE, SIDE * 2));
	free(x);
	free(y);
	return tap_end();
}
