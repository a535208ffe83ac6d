/*
 * table.h: the channel groups of this process, and the objects that belong to them. Pure; only the worker thread uses
 * it.
 *
 * Built from the entries of seen.h. Bounded: a process with more objects is not controlled (table_full()).
 */
#pragma once

#include "shim/rm/seen.h"

#include <stdbool.h>
#include <stdint.h>

#define TABLE_OBJECTS 1024u
#define TABLE_NONE UINT32_MAX

struct object {
	int fd; /* of the control node over which it was created */
	uint32_t client, parent, handle, class;
	uint32_t engine; /* of a group: enum rm_engine; TABLE_NONE: not known */
	/* of a group */
	bool fresh;	     /* not examined yet */
	bool ours;	     /* it is on a device of the grant and of an engine with turns: `device` and `lane` are
			      * set */
	uint32_t device;     /* index in the grant */
	uint32_t lane;	     /* enum wire_engine */
	uint64_t program_us; /* the slice that the program or the driver has set; 0: never seen */
	uint64_t ours_us;    /* the slice that T3 has set; 0: none */
	/* of a channel */
	bool off; /* T3 has switched it off */
};

/* Adds an entry. True: something has changed. */
bool table_take(const struct seen *s);
/* True if the process has more objects than fit, or one with an unknown layout: the model is incomplete. */
bool table_full(void);
/* The size of the unknown layout; 0: there was none. */
uint32_t table_strange(void);
/* The size of GPFIFO_SCHEDULE's parameters in the program's own calls; 0: none was seen. */
uint32_t table_schedule_bytes(void);

/* The next object of the class behind `after` (NULL: the first). NULL: no more. */
struct object *table_next(uint32_t class, struct object *after);
/* The next channel of a group. */
struct object *table_channel(const struct object *group, struct object *after);
/* NULL: no such object. */
struct object *table_find(uint32_t client, uint32_t handle);
/* A subdevice of the device on which a group was created. NULL: the program has none under this client. */
struct object *table_subdevice(const struct object *group);
void table_remove(struct object *o);
/* In the child of fork(). */
void table_reset(void);
