/*
 * table.h: the channel groups of this process, and what belongs to them. Pure, and the worker's alone.
 *
 * Built from what was seen (seen.h). Bounded: a process with more than that is not controlled (table_full()).
 */
#pragma once

#include "shim/rm/seen.h"

#include <stdbool.h>
#include <stdint.h>

#define TABLE_OBJECTS 1024u
#define TABLE_NONE UINT32_MAX

struct object {
	int fd; /* of the control node over which it was made */
	uint32_t client, parent, handle, class;
	uint32_t engine; /* of a group: enum rm_engine; TABLE_NONE: not known */
	/* of a group */
	bool fresh;	     /* nobody has looked at it yet */
	bool ours;	     /* it is on a device of the grant and of an engine with turns: the two below are set */
	uint32_t device;     /* index in the grant */
	uint32_t lane;	     /* enum wire_engine */
	uint64_t program_us; /* the slice that the program or the driver wants; 0: never seen */
	uint64_t ours_us;    /* the slice that we have set; 0: none */
	/* of a channel */
	bool off; /* we have switched it off */
};

/* Takes in what was seen. True: something has changed. */
bool table_take(const struct seen *s);
/* The process has more than fits, or in a layout that nobody knows: the picture has a hole. */
bool table_full(void);
/* The size of the layout that was not known; 0: there was none. */
uint32_t table_strange(void);
/* Bytes of GPFIFO_SCHEDULE's parameters, as the program's own calls have them; 0: none was seen. */
uint32_t table_schedule_bytes(void);

/* NULL: there is none behind `after` (NULL: the first). */
struct object *table_next(uint32_t class, struct object *after);
/* The next channel of a group. */
struct object *table_channel(const struct object *group, struct object *after);
/* NULL: not known. */
struct object *table_find(uint32_t client, uint32_t handle);
/* A subdevice of the device that a group was made on. NULL: the program has none with this client. */
struct object *table_subdevice(const struct object *group);
void table_remove(struct object *o);
/* In the child of fork(). */
void table_reset(void);
