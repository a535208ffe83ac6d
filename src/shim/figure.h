/*
 * figure.h: what the driver says this process occupies of a device, for calls whose size only shows afterwards.
 *
 * The driver's per-process figure comes from NVML (METE_NVML, the driver's own library). Where NVML does not list this
 * process (a container that hides process ids) the device's figure stands in, and then others' allocations blur it.
 * NVML counts memory that was exported to its maker, and it goes when the last importer does, in another process too:
 * no gate holds that up. The software device says what a process has without it (wire/soft_usage.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct soft_usage_table;

struct figure {
	bool listed; /* NVML lists processes here; this one is not in the list before its first context */
	bool found;  /* it is */
	bool whole;  /* the device's figure is known */
	uint64_t process_bytes;
	uint64_t device_bytes;
};

/* With the gate closed. */
void figure_read(unsigned int device, struct figure *ret);
/* NVML's list says nothing about a process without a context: what it holds according to its own account stands in. */
void figure_assume(struct figure *f, uint64_t bytes);
/* What was taken between two readings, in units; negative: given back. */
int64_t figure_difference(const struct figure *before, const struct figure *after);
/* The software device's own figures; NULL: a real driver, or a software device of another release. */
const struct soft_usage_table *figure_soft(unsigned int device);
/* In the child of fork(). */
void figure_reset(void);
