/*
 * stand_in.h: what the software device offers under another vendor's names: libmete-soft-NAME.so, in a folder with the
 * names that programs ask for. It is a stand-in for tests, and says so in its name: its exports are those of the table
 * (api/shapes/NAME.toml), and each leads to the software device's call of CUDA or HIP. It shows that the table, the
 * face and meted agree with each other, not that they agree with the vendor's library.
 *
 * Its devices are the software device's, with the same UUIDs, so that they are the same cards to meted. With
 * METE_STAND_IN_CARDS=1 they tell others, and are cards of the vendor's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stand_in {
	const char *api; /* "cuda" or "hip" */
	const char *plain, *prefix;
	const char *const *names; /* of the software device's calls, by number; NULL: not exported here */
	unsigned int count;
	unsigned int passed; /* exports behind those, which are no calls of the API */
	int not_supported;
	const char *const *exports; /* their names here */
	/* The number of the call that a name and a version mean in the API; NULL: its name is enough. */
	bool (*find)(const char *name, int version, uint64_t flags, unsigned int *ret);
	unsigned int procs[3]; /* one more than the numbers of the calls that look up a name; ended by 0 */
	unsigned int uuids[3]; /* the same of those that tell a device's UUID */
};

extern const struct stand_in stand_in;
