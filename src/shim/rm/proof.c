/* proof.c: see proof.h. */
#include "shim/rm/proof.h"
#include "shim/rm/control.h"
#include "rm/interface.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SLICE_PLAUSIBLE_US 60000000u
#define SLICE_TRIED_US 2048u
#define SLICE_TRIED_ELSE_US 1024u

const char *proof_words(int r, char *text, size_t size)
{
	const char *known = r == RM_INSUFFICIENT_PERMISSIONS ? " (insufficient permissions)"
			    : r == RM_INVALID_ARGUMENT	     ? " (invalid argument)"
			    : r == RM_NOT_SUPPORTED	     ? " (not supported)"
							     : "";

	if (r < 0)
		snprintf(text, size, "%s", r == -ENOENT ? "there is no handle for it" : strerror(-r));
	else
		snprintf(text, size, "status 0x%x%s", (unsigned int)r, known);
	return text;
}

static int failed(const char *step, int r, char *why, size_t size)
{
	char words[80];

	snprintf(why, size, "%s answers %s", step, proof_words(r, words, sizeof words));
	return r;
}

/* Sets and reads back. */
static int set_and_see(const struct object *group, uint64_t us, char *why, size_t size)
{
	uint64_t now = 0;
	int r = control_set_slice(group, us);

	if (r)
		return failed("SET_TIMESLICE", r, why, size);
	r = control_get_slice(group, &now);
	if (r)
		return failed("GET_TIMESLICE", r, why, size);
	if (now == us)
		return 0;
	snprintf(why, size, "SET_TIMESLICE of %llu us reads back as %llu", (unsigned long long)us,
		 (unsigned long long)now);
	return -EPROTO;
}

int proof_slice(struct object *group, char *why, size_t size)
{
	uint64_t before = 0, tried;
	int r = control_get_slice(group, &before);

	if (r)
		return failed("GET_TIMESLICE", r, why, size);
	if (!before || before > SLICE_PLAUSIBLE_US) {
		snprintf(why, size, "GET_TIMESLICE answers %llu us, which cannot be", (unsigned long long)before);
		return -EPROTO;
	}
	tried = before == SLICE_TRIED_US ? SLICE_TRIED_ELSE_US : SLICE_TRIED_US;
	r = set_and_see(group, tried, why, size);
	if (r) {
		control_set_slice(group, before);
		return r;
	}
	r = set_and_see(group, before, why, size);
	if (!r)
		group->program_us = before;
	return r;
}

static void mark(struct object *group, bool off)
{
	for (struct object *c = NULL; (c = table_channel(group, c));)
		c->off = off;
}

static int round_trip(int (*way)(struct object *, bool), struct object *group)
{
	int r = way(group, true);

	if (!r)
		return way(group, false);
	/* It may have been done in part: undone as well as it can be. */
	mark(group, true);
	way(group, false);
	mark(group, false);
	return r;
}

enum proof_way proof_switch(struct object *group, int *ret_refusal, char *why, size_t size)
{
	int r = round_trip(control_switch, group);

	*ret_refusal = r;
	if (!r)
		return PROOF_BY_CHANNELS;
	if (!round_trip(control_switch_group, group))
		return PROOF_BY_GROUP;
	failed("FIFO_DISABLE_CHANNELS", r, why, size);
	return PROOF_NO_WAY;
}
