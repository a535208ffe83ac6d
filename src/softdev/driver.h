/*
 * driver.h: the driver's state in this process: whether it is initialised, its devices, its place in the segment.
 *
 * Every call begins with driver_ready() (or context_current(), which calls it). In a child created by fork after the
 * parent's cuInit every call returns CUDA_ERROR_NOT_INITIALIZED, cuInit included, as the vendor documents; a child of a
 * parent that had not called cuInit starts afresh.
 */
#pragma once

#include "cuda_soft.h"
#include "softdev/segment.h"

#include <pthread.h>
#include <stdatomic.h>

struct arena;
struct context;
struct mempool;

struct device {
	uint32_t index;	  /* in the segment */
	CUdevice ordinal; /* the program's ordinal, after CUDA_VISIBLE_DEVICES */
	const struct segment_config *config;
	struct arena *arena;
	struct context *primary;      /* created at cuInit, so that its handle never changes */
	struct mempool *default_pool; /* likewise */
	struct mempool *_Atomic pool; /* the one that cuMemAllocAsync uses */
};

enum check_mode { CHECK_OFF, CHECK_STRICT, CHECK_REPORT };

struct check {
	enum check_mode mode;
	bool leaks;
	uint64_t timeout_ns; /* of a kernel; 0: none */
};

/*
 * Values of struct driver change only in cuInit, before `ready`; `index` and `config` of a device by a restore as well
 * (checkpoint.h), while no thread is in a call.
 */
struct driver {
	_Atomic int state; /* enum driver_state */
	struct segment_place place;
	uint32_t device_count;
	struct device device[SEGMENT_MAX_DEVICES];
	unsigned threads;   /* METE_SOFT_THREADS; 0: one per core */
	int compile;	    /* enum ptx_compile; METE_SOFT_COMPILE */
	struct check check; /* see check.h */
	atomic_bool ending; /* the process exits: running kernels are ended, and none is started */
};

enum driver_state { DRIVER_NEW, DRIVER_READY, DRIVER_FORKED };

extern struct driver driver;

/* CUDA_SUCCESS, or the reason that no call can be served: not initialised, forked, inside a host function. */
int driver_version(void); /* 13050; METE_SOFT_DRIVER_VERSION */
CUresult driver_ready(void);
/* The device of an ordinal, after a check. */
CUresult device_find(CUdevice ordinal, struct device **ret);
/* A device by its index in the segment; NULL: not visible. */
struct device *device_at(uint32_t index);

/* True while this thread runs a host function of a stream: calls to the driver are refused there. */
extern __thread bool driver_in_callback;
