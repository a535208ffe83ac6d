/*
 * soft.h: Level Zero on the software device: libmete-soft-levelzero.so, a driver for Level Zero's own loader. It is a
 * stand-in for tests, and says so in its name: no code that a compiler for Level Zero made runs here. Code is PTX.
 *
 * The calls go to the software device's libcuda.so.1 beside it; a device is the same card in both APIs, with one memory
 * and one timeline. A command list is a list of what is to be done; a queue, and an immediate list, is a stream.
 */
#pragma once

#include "cuda_table.h"
#include "levelzero_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define SOFT_DEVICES 16u

/* The driver beside this library. */
extern struct cuda_table soft_cu;

struct ze_device {
	CUdevice ordinal;
	CUcontext context;     /* the primary one, once used */
	pthread_mutex_t lock;  /* guards what follows */
	CUevent base;	       /* NULL: the clock has not started */
	int64_t base_ns;       /* when it happened, relative to the start of the clock */
	CUstream clock_stream; /* the stream in which it is recorded */
};

struct ze_context {
	int unused;
};

struct ze_event_pool {
	struct ze_device *device;
	uint32_t flags;
};

struct ze_event {
	_Atomic uint32_t *flag; /* host memory that the device sees: 1: it has happened */
	struct ze_device *device;
	CUevent begin, end; /* NULL: no timestamps */
};

/* Opens and initialises the driver beside it once. */
ze_result_t soft_ready(void);

/* NULL: there is no device with that number. */
struct ze_device *soft_device_at(int ordinal);

ze_result_t soft_said(CUresult r);

/* Makes the device's context current until soft_leave(). */
ze_result_t soft_enter(struct ze_device *d);
void soft_leave(const ze_result_t *entered);

#define ON_DEVICE(device)                                                                                              \
	__attribute__((cleanup(soft_leave))) const ze_result_t entered = soft_enter(device);                           \
	if (entered != ZE_RESULT_SUCCESS)                                                                              \
	return entered

/* Enqueues an event's start in a stream. */
CUresult soft_event_begins(struct ze_event *e, CUstream stream);
CUresult soft_event_ends(struct ze_event *e, CUstream stream);
CUresult soft_event_awaited(struct ze_event *e, CUstream stream);
CUresult soft_event_reset(struct ze_event *e, CUstream stream);

struct ze_event *soft_fence_event(ze_fence_handle_t fence);
struct ze_device *soft_queue_device(ze_command_queue_handle_t queue);

/* True if no stream of the device has work. */
bool soft_is_idle(struct ze_device *d);

/* A kernel with its arguments, to be launched later. */
struct soft_launch;
struct soft_launch *soft_launch_of(ze_kernel_handle_t kernel, const ze_group_count_t *groups);
CUresult soft_launch_run(const struct soft_launch *l, CUstream stream);
void soft_launch_free(struct soft_launch *l);

/* The calls, by file. */
void soft_fill_device(struct levelzero_table *t);
void soft_fill_memory(struct levelzero_table *t);
void soft_fill_lists(struct levelzero_table *t);
void soft_fill_events(struct levelzero_table *t);
void soft_fill_modules(struct levelzero_table *t);
