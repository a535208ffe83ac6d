/*
 * spent.h: what each of many users has had of something that is there once (a thread's time). Who has had more than his
 * part waits; users who ask at the same time have half of it together, in equal parts, and the rest is others'. Who has
 * had nothing lately never waits.
 */
#pragma once

#include <stdint.h>

#define SPENT_USERS 256u

struct spent_rule {
	unsigned int part;   /* one user may have one in so many, 2 at least */
	uint64_t at_once_ns; /* as much as that before the first wait, of all who ask at the same time */
};

struct spent {
	struct {
		uint32_t uid;
		uint64_t until_ns; /* when what it has had is paid for, at its part; in the past: the place is free */
	} user[SPENT_USERS];
};

/* How long this user has to wait now; 0: not at all. */
uint64_t spent_wait_ns(const struct spent *spent, const struct spent_rule *rule, uint32_t uid, uint64_t now_ns);

/* The user has just had so much. */
void spent_add(struct spent *spent, const struct spent_rule *rule, uint32_t uid, uint64_t took_ns, uint64_t now_ns);
