/*
 * gang.h: gives the turns of one tenant on several devices together.
 *
 * A program that waits for all of its devices in each step needs its turns on all of them at the same time. With
 * independent turns it could use only the time in which they overlap. A tenant that wants several engines is therefore
 * opened on one only when it is behind its share on all of them. Once it has the turn on one engine, it is called on
 * the others; when one of its turns ends, all end. Each engine charges for itself and keeps its own lag, so the shares
 * do not change.
 *
 * Only a tenant that is seen to work in lock step gets its turns together: it has a turn and no work for it, while it
 * works or waits elsewhere. A tenant that keeps several devices busy independently does not.
 *
 * Limits: work in flight on another engine is not interrupted, so turns begin up to one kernel of the others apart. Of
 * several tenants in lock step one at a time gets its turns together; the others get theirs as if each engine were
 * alone.
 *
 * Pure: the module handles arbiters and times alone.
 */
#pragma once

#include "model/arbiter.h"

#define GANG_MOST 16u

struct gang_member {
	struct arbiter *arbiter; /* NULL: it wants none of its engines now */
	int tenant;		 /* its place there */
};

/* All zeros is the initial state. */
struct gang {
	uint64_t wanted_ns[GANG_MOST]; /* when it was last seen to want the engine */
	uint32_t had;		       /* bits of members that had the turn at the last look */
	uint64_t step_ns;	       /* when it was last seen to work in lock step; 0: never */
	uint64_t from_ns;	       /* when its turns are to begin; 0: not known */
	bool open;		       /* it has turns */
	bool ending;		       /* one turn has ended; the others end too */
};

/*
 * Call after a step of any of the arbiters. Without `give` the tenant is only watched, because another gang has its
 * turns together. Returns the bits of members whose requirements changed; step their arbiters again.
 */
uint32_t gang_decide(struct gang *g, const struct gang_member *members, unsigned int count, bool give, uint64_t now_ns);
/* True if the tenant has recently worked in lock step. */
bool gang_in_step(const struct gang *g, uint64_t now_ns);
