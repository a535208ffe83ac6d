/*
 * waits.h: how often calls of a library wait for the worker, counted by the link itself: what enqueues work does not,
 * nor what describes it. Run by tests/way.py.
 */
#pragma once

#include "softdev/soft.h"

#include "remote/client/link.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#define TIMES 100

static const struct link_counts *counts;
static char stats[64];

/* The link keeps its counts in a file, which is there once it is open. */
static uint64_t waits(void)
{
	int fd;

	if (!counts) {
		fd = open(stats, O_RDONLY);
		counts = mmap(NULL, sizeof(*counts), PROT_READ, MAP_SHARED, fd, 0);
		close(fd);
		if (counts == MAP_FAILED)
			exit(1);
	}
	return counts->round_trips;
}

/* Which calls have waited since this was last asked; `shown`: they are printed. */
static void waits_of(bool shown)
{
	static uint32_t seen[LINK_COUNTED];

	for (unsigned int i = 0; i < LINK_COUNTED; i++) {
		if (shown && counts->waits[i] != seen[i])
			printf("# call %u of the link waited: %u\n", i, counts->waits[i] - seen[i]);
		seen[i] = counts->waits[i];
	}
}

static void waited(uint64_t before, uint64_t wanted, const char *what)
{
	const uint64_t n = waits() - before;

	tap_ok(n == wanted, "%s: %d waits", what, (int)n);
	waits_of(n != wanted);
}

#define WAITS(wanted, what) waited(before, wanted, what)

static CUdeviceptr memory(size_t bytes)
{
	CUdeviceptr at = 0;

	CU(cuMemAlloc(&at, bytes));
	CU(cuMemsetD8(at, 0, bytes));
	return at;
}

static void *at(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

/* Before the first call of the driver. */
static CUdeviceptr waits_begin(void)
{
	CUdeviceptr data;

	snprintf(stats, sizeof(stats), "/tmp/mete-waits-%d", getpid());
	setenv("METE_REMOTE_STATS", stats, 1);
	soft_begin("1", "256M");
	soft_context();
	data = memory(1 << 16);
	waits();
	return data;
}

static int waits_end(void)
{
	CU(cuCtxSynchronize());
	unlink(stats);
	return soft_end();
}
