/*
 * soft_usage.h: the time and memory that a software device has used, as exact figures where NVML has percentages. Any
 * program gets them through cuGetExportTable() of its driver with SOFT_USAGE_ID.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define SOFT_USAGE_ID { 'm', 'e', 't', 'e', 's', 'o', 'f', 't', 'u', 's', 'a', 'g', 'e', 0, 0, 1 }
/* clang-format on */

struct CUDA_ARRAY3D_DESCRIPTOR_st;

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
	/*
	 * Bytes that this process holds of a device by its ordinal, without objects that other processes may hold too
	 * (NVML counts those to their maker): only calls of this process change it. Value: a CUresult.
	 */
	int (*held)(int device, uint64_t *ret_bytes);
	/* Bytes that a context takes of a device by its ordinal, without what is loaded and allocated in it. */
	uint64_t (*context_bytes)(int device);
	/* Bytes that an array (`levels` 0) or a mipmap of such a shape takes exactly; 0: there is none. */
	uint64_t (*array_bytes)(const struct CUDA_ARRAY3D_DESCRIPTOR_st *shape, unsigned int levels);
	/* Bytes that the variables of a CUmodule or CUlibrary take of a device exactly, in each context; 0: none. */
	uint64_t (*variable_bytes)(const void *module);
};

/* Whether a table from another release has this function. */
#define SOFT_USAGE_HAS(table, function)                                                                                \
	((table)->bytes >= offsetof(struct soft_usage_table, function) + sizeof((table)->function))
