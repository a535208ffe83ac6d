/*
 * spent.h: how much of a single resource, such as a thread's time, each of many users has had. A user that had more
 * than its part waits. Users that ask at the same time get half of the resource together, in equal parts; the rest is
 * for others. A user that has had nothing recently never waits.
 */
#pragma once

#include <stdint.h>

#define SPENT_USERS 256u

struct spent_rule {
	unsigned int part;   /* a user's part is one in so many, 2 at least */
	uint64_t at_once_ns; /* time before the first wait, for all users that ask at the same time */
};

struct spent {
	struct {
		uint32_t uid;
		uint64_t until_ns; /* when its use is paid for at its part; in the past: the place is free */
	} user[SPENT_USERS];
};

/* Returns how long this user must wait now; 0: not at all. */
uint64_t spent_wait_ns(const struct spent *spent, const struct spent_rule *rule, uint32_t uid, uint64_t now_ns);

/* Adds time that the user has just had. */
void spent_add(struct spent *spent, const struct spent_rule *rule, uint32_t uid, uint64_t took_ns, uint64_t now_ns);
