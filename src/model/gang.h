/*
 * gang.h: turns of one tenant on several devices, given together.
 *
 * A program that waits for all of its devices in each step needs the turns of all at the same time: with turns that
 * know nothing of each other it uses only the time in which they overlap. So a tenant that wants several engines is
 * opened on one only when it is owed time on all of them; once it has the turn on one, it is called on the others; and
 * when one of its turns ends, all do. What it is charged stays each engine's own, and so does what it is owed: its
 * share of each engine is as without.
 *
 * Only who is seen to work in lock step is given turns in this way: who has a turn and nothing to do with it, while he
 * works or waits elsewhere. Who keeps several devices busy independently is not.
 *
 * Limits: work in flight on another engine is not taken back, so turns begin up to one kernel of the others apart. Of
 * several tenants in lock step one is given turns in this way, the others as if each engine were alone.
 *
 * Pure: it knows arbiters and times alone.
 */
#pragma once

#include "model/arbiter.h"

#define GANG_MOST 16u

struct gang_member {
	struct arbiter *arbiter; /* NULL: it has none of its engines now */
	int tenant;		 /* its place there */
};

/* Zeros at first. */
struct gang {
	uint64_t wanted_ns[GANG_MOST]; /* when it was last seen to want the engine */
	uint32_t had;		       /* bits of members: had the turn when it was looked at last */
	uint64_t step_ns;	       /* when it was last seen to work in lock step; 0: never */
	uint64_t from_ns;	       /* when its turns are to begin; 0: not known */
	bool open;		       /* it has turns */
	bool ending;		       /* one has ended, and so are the others to */
};

/*
 * After a step of any of the arbiters. Without `give` it is watched alone: another gang has its turns together. Value:
 * bits of the members of which something else is asked now, whose arbiters are to be stepped again.
 */
uint32_t gang_decide(struct gang *g, const struct gang_member *members, unsigned int count, bool give, uint64_t now_ns);
/* Has it worked in lock step of late? */
bool gang_in_step(const struct gang *g, uint64_t now_ns);
