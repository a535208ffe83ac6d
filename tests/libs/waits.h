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

#define WAITS(wanted, what) tap_ok(waits() - before == (wanted), "%s: %d waits", what, (int)(waits() - before))

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
