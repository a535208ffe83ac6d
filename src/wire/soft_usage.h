/*
 * soft_usage.h: what a software device tells of its time, through cuGetExportTable() of its driver, to whoever asks
 * with SOFT_USAGE_ID: exact figures, where NVML has percentages.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define SOFT_USAGE_ID { 'm', 'e', 't', 'e', 's', 'o', 'f', 't', 'u', 's', 'a', 'g', 'e', 0, 0, 1 }
/* clang-format on */

struct soft_usage_process {
	int32_t pid;
	char command[60];
	uint64_t served_ns; /* device time that it got */
};

/* served + switch + idle = wall, all since the first kernel. */
struct soft_usage {
	uint64_t at_ns; /* CLOCK_MONOTONIC: when this was so */
	uint64_t wall_ns, served_ns, switch_ns, idle_ns;
	uint64_t slice_ns, switch_cost_ns; /* the parameters */
	const char *sharing;		   /* "slices", "together", "off" */
	uint32_t process_count;		   /* there are; more than were asked for, perhaps */
};

struct soft_usage_table {
	size_t bytes; /* of this struct */
	/* A device by its ordinal, and up to `room` of its processes. Value: a CUresult. */
	int (*usage)(int device, struct soft_usage *ret, struct soft_usage_process *process, uint32_t room);
};
