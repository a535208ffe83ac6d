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
	uint64_t served_ns; /* device time that it has used */
};

/* served + switch + idle = wall, all since the first kernel. */
struct soft_usage {
	uint64_t at_ns; /* CLOCK_MONOTONIC: the time of these values */
	uint64_t wall_ns, served_ns, switch_ns, idle_ns;
	uint64_t slice_ns, switch_cost_ns; /* the parameters */
	const char *sharing;		   /* "slices", "together", "off" */
	uint32_t process_count;		   /* their number; may exceed the requested number */
};

struct soft_usage_table {
	size_t bytes; /* of this struct */
	/* The use of a device by its ordinal, and up to `room` of its processes. Value: a CUresult. */
	int (*usage)(int device, struct soft_usage *ret, struct soft_usage_process *process, uint32_t room);
	/*
	 * The bytes that this process holds of a device by its ordinal, without objects that other processes may hold
	 * too (NVML counts those for their creator): only calls of this process change it. Value: a CUresult.
	 */
	int (*held)(int device, uint64_t *ret_bytes);
	/* The bytes that a context takes of a device by its ordinal, without what is loaded and allocated in it. */
	uint64_t (*context_bytes)(int device);
	/* The exact bytes of an array (`levels` 0) or a mipmap of this shape; 0: there is none. */
	uint64_t (*array_bytes)(const struct CUDA_ARRAY3D_DESCRIPTOR_st *shape, unsigned int levels);
	/* The exact bytes that the variables of a CUmodule or CUlibrary take of a device in each context; 0: none. */
	uint64_t (*variable_bytes)(const void *module);
};

/* True if a table from another release has this function. */
#define SOFT_USAGE_HAS(table, function)                                                                                \
	((table)->bytes >= offsetof(struct soft_usage_table, function) + sizeof((table)->function))
