/*
 * limits.h: what one user may create and promise, as the operator has said.
 *
 * Each limit has a figure for everybody. What is said of a user by name holds instead of it; else what is said of the
 * groups that the user is in, of several the most generous. Who is bounded at all is the caller's matter.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LIMITS_NAME_BYTES 64u
#define LIMITS_ENTRIES 1024u /* users and groups with words of their own */

enum limit {
	LIMIT_GRANTS,	 /* of one user */
	LIMIT_PROCESSES, /* of one grant */
	LIMIT_MEM,	 /* percent of each device's memory, promised to the grants of one user */
	LIMIT_CORES,	 /* percent of each device's time, guaranteed to them */
	LIMIT_WAITING,	 /* requests for memory of their programs that wait */
	LIMIT_SOCKETS,	 /* that meted listens at for them */
	LIMITS,
};

/* What is said of one user or group. */
struct limits_entry {
	char name[LIMITS_NAME_BYTES];
	bool group;
	bool known; /* there is such a user or group, of this id */
	uint32_t id;
	uint32_t given; /* bit i: most[i] */
	uint64_t most[LIMITS];
};

struct limits {
	uint64_t most[LIMITS];
	uint64_t all_grants; /* of all users together */
	struct limits_entry *entry;
	unsigned int count;
};

#define LIMITS_DEFAULT                                                                                                 \
	{                                                                                                              \
		.most = { [LIMIT_GRANTS] = 64, [LIMIT_PROCESSES] = 1024, [LIMIT_MEM] = 100,                            \
			  [LIMIT_CORES] = 100, [LIMIT_WAITING] = 4096,	 [LIMIT_SOCKETS] = 128 },                      \
		.all_grants = 1024,                                                                                    \
	}

/* *ret_entry: what it follows from; NULL: the figure for everybody. */
uint64_t limits_most(const struct limits *l, enum limit what, uint32_t uid, const uint32_t *groups,
		     unsigned int group_count, const struct limits_entry **ret_entry);

/* The entry of that name, made when there is none. NULL: no memory, too many, or no name of a user. */
struct limits_entry *limits_add(struct limits *l, bool group, const char *name);

/* The same is said of users and groups. */
bool limits_same_entries(const struct limits *a, const struct limits *b);

void limits_deinit(struct limits *l);
