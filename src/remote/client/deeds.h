/*
 * deeds.h: the log of living objects: with each the requests that made it and that changed it since, as they were sent.
 * Another worker that gets them in the same order has the same objects under the same ids (move.h). A deed goes with
 * its object; one that changes what an earlier one of the same object has set takes its place.
 *
 * Kept of sessions alone that can move; a launch or a copy is none and costs a look at a table.
 */
#pragma once

#include "remote/client/handles.h"
#include "ring/call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a request changes of the object that it is about, so that another worker can be told (deeds.h): it sets
 * something, and these 8-byte words of its arguments (bits) say what; or it leaves the object as nobody can make it
 * again.
 */
#define CLIENT_CHANGES 0x400u
#define CLIENT_SETS(words) (CLIENT_CHANGES | (words))
#define CLIENT_SPOILS 0x200u

struct client_call;

#define DEED_FIRST (sizeof(struct call_request) / sizeof(uint64_t)) /* word of a message behind its head */

struct deed {
	struct deed *next; /* of the same object, newest first */
	uint64_t seq;
	uint64_t *named; /* ids that the worker chose in its answer, in order */
	uint32_t named_count;
	uint16_t call, change; /* as in the table of deeds.c, or of a library */
	bool spoilt;	       /* bytes of the arena went with it: it cannot be repeated */
	struct deed *needs;    /* the first one of a capture: what made its streams and events */
	uint64_t made_id;      /* of one of `needs` */
	uint64_t from, until;  /* likewise: from the deed of this number on it has to be there, and up to that one */
	size_t bytes;
	uint64_t message[]; /* whole */
};

/* The request is written and about to be sent: it is copied if it is a deed. */
void deeds_note(struct client_call *c);
/* The answer names an object by this id, whose handle is given. */
void deeds_name(struct client_call *c, uint64_t handle, uint64_t id);
/* The call is over: the deed is its object's, or nobody's. */
void deeds_settle(struct client_call *c);
/* A copy that is on no list. NULL: no memory. */
struct deed *deed_copy(const struct deed *d);
/* The number of the last one so far. */
uint64_t deeds_now(void);
/* The deeds of one object end. */
void deeds_free(struct deed *list);
/* Whether the newer one sets what the older one has set. */
bool deeds_same(const struct deed *older, const struct deed *newer);
