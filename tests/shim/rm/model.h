/*
 * model.h: a resource manager for tests: what the kernel's would keep, in a file that all processes of a test map.
 *
 * model.c is a library below the one under test. It answers ioctl() on descriptors of its own as the manager does, in
 * the layouts of the branch that it plays, and says of these descriptors that they are the control node's (fstat by
 * syscall()). Everything else passes through. It knows channel groups (slice), channels (on or off), can refuse every
 * control with every status or errno, can be slow, and counts.
 */
#pragma once

#include "rm/interface.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MODEL_OBJECTS 2048
#define MODEL_REFUSALS 8

struct model_object {
	uint32_t client, parent, handle, class; /* class 0: a free place */
	uint32_t engine, device;
	_Atomic uint64_t slice_us;
	_Atomic bool off; /* a channel */
	uint32_t owner;	  /* pid */
};

struct model_refusal {
	uint32_t command; /* 0: none */
	int32_t status;	  /* below 0: the ioctl itself fails with -status */
	uint32_t after;	  /* so many calls are served first */
};

struct model {
	_Atomic uint32_t lock;
	uint32_t branch;	 /* what it plays; its layouts are rm_alloc_status()'s */
	uint32_t version_branch; /* what its version string says; 0: the same */
	uint32_t schedule_bytes;
	uint32_t next;
	_Atomic uint32_t delay_us; /* of every control of ours */
	_Atomic uint32_t away_us;  /* so long the program's thread gets no processor after a free */
	_Atomic uint32_t lies;	   /* GET_TIMESLICE answers this much too much */
	struct model_refusal refuse[MODEL_REFUSALS];
	_Atomic uint32_t calls, sets, gets, offs, ons, schedules, preempts;
	_Atomic uint32_t foreign; /* controls by a process that does not own the client */
	struct model_object object[MODEL_OBJECTS];
	_Atomic uint64_t inode[64]; /* descriptors of the control node */
};

/* Exported by the library. */
struct model *model_shared(void);
/* Holds the model as it is. */
void model_lock(void);
void model_unlock(void);
/* As open("/dev/nvidiactl"). */
int model_open(void);
/* The manager's answer without anybody in between: as the kernel's ioctl. */
int model_ioctl(int fd, unsigned long request, void *argument);
