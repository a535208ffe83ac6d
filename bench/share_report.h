/*
 * share_report.h: what a process of bench/share_load writes down while it runs: a file in memory, one per process.
 *
 * A header, then the process's own records, then those that its kernels write themselves (on a GPU). bench/shares reads
 * the file when the run is over, whatever has become of the process; what is written stays when it is killed.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define REPORT_MAGIC 0x7472706572746f6cull
#define REPORT_RECORDS (1u << 19)

enum report_kind {
	REPORT_KERNEL = 1,  /* launch or graph: from = submitted, to = its end, value = length alone, ns */
	REPORT_DEMAND = 2,  /* the process had work for the device all the time: from, to */
	REPORT_REQUEST = 3, /* from = submitted, to = its end by the device's clock, value = seen by the host */
};

struct report_record {
	uint64_t kind, from_ns, to_ns, value_ns;
};

/* Written by kernels, times of the GPU's global timer. */
struct report_mark {
	uint64_t begin_ns, end_ns, length_ns, unused;
};

struct report {
	uint64_t magic;
	uint64_t pid;
	_Atomic uint64_t ready;	  /* 1: set up, waits for the start; 2: ended as it should */
	_Atomic uint64_t records; /* complete ones */
	int64_t timer_offset_ns;  /* CLOCK_MONOTONIC less the GPU's global timer */
	uint64_t unused[3];
	struct report_record record[REPORT_RECORDS];
	struct report_mark mark[REPORT_RECORDS];
};

/* The file that says when all begin and end: CLOCK_MONOTONIC ns. */
struct report_times {
	_Atomic uint64_t start_ns; /* 0: not yet */
	_Atomic uint64_t until_ns;
};

/* Both end the program with a message when the file cannot be mapped. */
struct report *report_open(const char *prefix, unsigned index);
const struct report_times *report_times_open(const char *path);

static inline void report_add(struct report *r, enum report_kind kind, uint64_t from, uint64_t to, uint64_t value)
{
	const uint64_t n = atomic_load_explicit(&r->records, memory_order_relaxed);

	/* Kernels leave room for what there is less of. */
	if (n >= REPORT_RECORDS - (kind == REPORT_KERNEL ? 8192 : 0))
		return;
	r->record[n] = (struct report_record){ kind, from, to, value };
	atomic_store_explicit(&r->records, n + 1, memory_order_release);
}
