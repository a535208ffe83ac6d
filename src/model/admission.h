/*
 * admission.h: which of many users' connections have one of a few places.
 *
 * The owners of the place (root, and who meted runs as) have places that nobody else can take. Of the others no user
 * has more than a part, and a newcomer is not refused as long as somebody with more places has one that is idle: that
 * one yields, of the user with most, the one that has been idle longest. So a single user cannot shut out another one,
 * and neither can many together: each of them has one place then, and loses it when a newcomer comes. A connection
 * whose request is under way never yields, and neither does an owner's: a long list of questions, or `mete top`, goes
 * on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A connection that has a place. */
struct admission {
	uint32_t uid;
	bool owner;
	bool busy; /* its request is under way */
	uint64_t idle_since_ns;
	void *who; /* the caller's */
};

struct admission_rule {
	unsigned int most;    /* places */
	unsigned int kept;    /* of these, for owners alone */
	unsigned int per_uid; /* for one user who is no owner */
};

enum admission_answer {
	ADMISSION_FREE,	  /* there is a place */
	ADMISSION_YIELDS, /* *ret_yields gives up its place */
	ADMISSION_NONE,	  /* no place, and none that is idle */
};

enum admission_answer admission_ask(const struct admission_rule *rule, const struct admission *there,
				    unsigned int count, uint32_t uid, bool owner, const struct admission **ret_yields);
