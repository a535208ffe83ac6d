/*
 * round.h: what each user has had of one round of a loop. Who has had his part is heard again in the next round:
 * nothing is lost, and everybody else has his turn between.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ROUND_USERS 256u /* of one round; further ones are heard in the next */

struct round {
	unsigned int count;
	struct {
		uint32_t uid;
		uint64_t had_ns;
	} user[ROUND_USERS];
};

void round_begin(struct round *round);

/* May this user be heard in this round? */
bool round_admits(const struct round *round, uint32_t uid, uint64_t part_ns);

void round_add(struct round *round, uint32_t uid, uint64_t took_ns);
