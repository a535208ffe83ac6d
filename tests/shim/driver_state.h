/*
 * driver_state.h: what the parts of the test driver share: what the device has given, to whom, and how calls find it.
 */
#pragma once

#include "cuda_table.h"
#include "driver.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define DEVICES 4
#define ORDINALS 80
#define DEVICE_BYTES (16ull << 30)
#define ALLOCATIONS_MAX 4096

struct context {
	int device;
	bool primary;
	int references;
	struct context *below; /* on the stack of the thread that made it */
};

struct pool {
	int device;
	uint64_t reserved, used;
	int live;
	bool dead;
};

/* Memory of another API: the device keeps it while it is imported or mapped. */
struct external {
	uint64_t bytes;
	struct context *context;
	int device, holds;
};

struct allocation {
	uint64_t address, bytes; /* 0: a free place */
	uint64_t taken;		 /* bytes of the device that go with it, where no block is shared */
	struct context *context;
	struct pool *pool;
	struct external *external; /* it is a part of that */
	int device;
	bool shares; /* lies in blocks that others may use as well */
};

struct driver_state {
	pthread_mutex_t lock;
	struct driver_shared *shared;
	bool fail, empty;	/* TEST_DRIVER_FAIL, TEST_DRIVER_EMPTY */
	uint64_t granule;	/* bytes of a block */
	uint64_t context_bytes; /* of a context */
	int visible[ORDINALS];	/* the device of an ordinal */
	int visible_count;
	struct allocation allocations[ALLOCATIONS_MAX];
	struct pool default_pools[DEVICES], *current_pools[DEVICES];
	uint64_t next_address;
};

/* Whether the event, which was recorded behind kernels, has not happened yet. */
bool driver_pending(CUevent event);
/* Until all kernels have ended. */
void driver_work(void);
void driver_spin(uint64_t ns);

extern struct driver_state driver;
extern __thread struct context *driver_current;

/* Takes bytes of a device. Value: whether it has them. */
bool driver_take(int device, uint64_t bytes);
void driver_give(int device, uint64_t bytes);

/* The next multiple of `to`. */
static inline uint64_t driver_up(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

/* A number of the environment. */
uint64_t driver_number(const char *name, uint64_t otherwise);

/* Runs what happens in the middle of a call. Value: CUDA_ERROR_UNKNOWN when the test wants this call refused. */
CUresult driver_middle(void);

/* Whether the program sees such an ordinal. */
bool driver_knows(CUdevice d);

/* The allocation that begins there, or NULL; a free place for one, or NULL. */
struct allocation *driver_find(uint64_t address);
struct allocation *driver_place(void);

/* What a context held of the device ends with it: all of it; its arrays and what it imported. */
void driver_context_ends(struct context *c);
void driver_objects_end(struct context *c);

/* One holder fewer of imported memory. */
void driver_external_leave(struct external *e);
