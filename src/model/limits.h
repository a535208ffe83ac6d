/*
 * limits.h: the operator's limits on what one user may create and promise.
 *
 * Each limit has a value for all users. A value for a user by name replaces it; else the values for the user's groups
 * do, of several the highest. The caller decides which users are limited at all.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LIMITS_NAME_BYTES 64u
#define LIMITS_ENTRIES 1024u /* users and groups with values of their own */

enum limit {
	LIMIT_GRANTS,	 /* of one user */
	LIMIT_PROCESSES, /* of one grant */
	LIMIT_MEM,	 /* percent of each device's memory, promised to the grants of one user */
	LIMIT_CORES,	 /* percent of each device's time, guaranteed to them */
	LIMIT_WAITING,	 /* waiting requests for memory of their programs */
	LIMIT_SOCKETS,	 /* on which meted listens for them */
	LIMITS,
};

/* The values of one user or group. */
struct limits_entry {
	char name[LIMITS_NAME_BYTES];
	bool group;
	bool known; /* the user or group exists; its id is set */
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

/* Returns the limit of a user. *ret_entry: the entry that sets it; NULL: the value for all users. */
uint64_t limits_most(const struct limits *l, enum limit what, uint32_t uid, const uint32_t *groups,
		     unsigned int group_count, const struct limits_entry **ret_entry);

/*
 * Returns the entry of that name; creates it if need be. NULL: no memory, too many entries, or not the name of a user.
 */
struct limits_entry *limits_add(struct limits *l, bool group, const char *name);

/* True if both have the same entries for users and groups. */
bool limits_same_entries(const struct limits *a, const struct limits *b);

void limits_deinit(struct limits *l);
