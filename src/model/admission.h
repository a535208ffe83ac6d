/*
 * admission.h: decides which of many users' connections get one of a limited number of places.
 *
 * Owners (root, and the user that meted runs as) have places reserved for them. Each other user has at most a part of
 * the places. A new connection is not refused while a user with more places has an idle connection: of the user with
 * the most places, the connection that has been idle longest yields. So neither one user nor many together can exclude
 * another user. A connection with a request under way never yields, and neither does an owner's; long queries and `mete
 * top` therefore continue.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A connection with a place. */
struct admission {
	uint32_t uid;
	bool owner;
	bool busy; /* its request is under way */
	uint64_t idle_since_ns;
	void *who; /* belongs to the caller */
};

struct admission_rule {
	unsigned int most;    /* places */
	unsigned int kept;    /* of these, reserved for owners */
	unsigned int per_uid; /* for one user who is not an owner */
};

enum admission_answer {
	ADMISSION_FREE,	  /* there is a place */
	ADMISSION_YIELDS, /* close *ret_yields to free a place */
	ADMISSION_NONE,	  /* no place is free, and no connection may yield */
};

enum admission_answer admission_ask(const struct admission_rule *rule, const struct admission *there,
				    unsigned int count, uint32_t uid, bool owner, const struct admission **ret_yields);
