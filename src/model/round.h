/*
 * round.h: the time of each user in one round of a loop. A user whose part is used up is served again in the next
 * round, so nothing is lost, and other users are served in between.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ROUND_USERS 256u /* of one round; others are served in the next */

struct round {
	unsigned int count;
	struct {
		uint32_t uid;
		uint64_t had_ns;
	} user[ROUND_USERS];
};

void round_begin(struct round *round);

/* True if this user may be served in this round. */
bool round_admits(const struct round *round, uint32_t uid, uint64_t part_ns);

void round_add(struct round *round, uint32_t uid, uint64_t took_ns);
