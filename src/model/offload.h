/*
 * offload.h: decides where memory that leaves a device is stored: in the host's memory, or on a disk when that is full,
 * each up to a bound. Memory for which neither has room stays on its device.
 *
 * Grants belong to owners (root and the user that meted runs as) or to other users. A part of the host's memory is
 * reserved for owners: their grants borrow memory that is promised to others, and must be able to leave the device
 * whatever amounts the programs of other users report. Each user has a bound on both.
 *
 * Pure: no I/O, no clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define OFFLOAD_KEPT_PART 4u /* of the host's memory, for owners */
#define OFFLOAD_USERS 256u   /* known by name; all others share one account */

enum offload_place { OFFLOAD_HOST, OFFLOAD_DISK, OFFLOAD_NOWHERE };

/* All amounts are in one unit, which the caller chooses. */
struct offload {
	uint64_t host_most, host_owners, host_users;
	uint64_t disk_most; /* 0: there is none */
	uint64_t disk_user_most, disk;
	unsigned int user_count;
	struct {
		uint32_t user;
		uint64_t host, disk;
	} of[OFFLOAD_USERS + 1];
};

/* The user of a grant. */
struct offload_owner {
	bool owner;
	uint32_t user;
	uint64_t host_most; /* the user's bound in the host's memory, unless an owner; UINT64_MAX: none */
	bool disk;	    /* its programs can write to the disk, and may */
};

/* Notes memory that is stored, or on its way. */
void offload_add(struct offload *o, const struct offload_owner *whose, enum offload_place where, uint64_t units);
/* Returns how much more of the user's memory has room there. */
uint64_t offload_room(const struct offload *o, const struct offload_owner *whose, enum offload_place where);
/* True if the user's own bound is what limits its room in the host's memory. */
bool offload_is_users_part(const struct offload *o, const struct offload_owner *whose);
/* Returns the place for this much memory, all of which is stored in one place. */
enum offload_place offload_choose(const struct offload *o, const struct offload_owner *whose, uint64_t units);
