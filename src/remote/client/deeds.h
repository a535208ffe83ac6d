/*
 * deeds.h: the log of living objects: for each object, the requests (deeds) that created it and have changed it since,
 * as they were sent. Another worker that receives them in the same order has the same objects under the same ids
 * (move.h). A deed ends with its object; one that sets what an earlier one of the same object has set replaces it.
 *
 * Kept only for sessions that can move; a launch or a copy is no deed and costs one table lookup.
 */
#pragma once

#include "remote/client/handles.h"
#include "ring/call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How a request changes the object that it names, so that another worker can repeat it: it sets something that these
 * 8-byte words of its arguments (bits) identify; or it leaves the object in a state that cannot be repeated.
 */
#define CLIENT_CHANGES 0x400u
#define CLIENT_SETS(words) (CLIENT_CHANGES | (words))
#define CLIENT_SPOILS 0x200u

struct client_call;

#define DEED_FIRST (sizeof(struct call_request) / sizeof(uint64_t)) /* the first word of a message behind its head */

struct deed {
	struct deed *next; /* of the same object, newest first */
	uint64_t seq;
	uint64_t *named; /* ids that the worker chose in its answer, in order */
	uint32_t named_count;
	uint16_t call, change; /* as in the table of deeds.c or of a library */
	bool spoilt;	       /* it carried bytes of the arena: it cannot be repeated */
	struct deed *needs;    /* the first deed of a capture: the deeds that created its streams and events */
	uint64_t made_id;      /* in a deed of `needs`: the id that it creates */
	uint64_t from, until;  /* likewise: it must exist from the deed of this number on, up to that one */
	size_t bytes;
	uint64_t message[]; /* the whole message */
};

/* Copies the written request, before it is sent, if it is a deed. */
void deeds_note(struct client_call *c);
/* Records that the answer gives this id to the object of this handle. */
void deeds_name(struct client_call *c, uint64_t handle, uint64_t id);
/* Ends the call: the deed now belongs to its object, or is freed. */
void deeds_settle(struct client_call *c);
/* A copy that is in no list. NULL: no memory. */
struct deed *deed_copy(const struct deed *d);
/* The number of the latest deed. */
uint64_t deeds_now(void);
/* Frees the deeds of one object. */
void deeds_free(struct deed *list);
/* True if the newer one sets what the older one has set. */
bool deeds_same(const struct deed *older, const struct deed *newer);
