/*
 * ordinals.h: which devices of a driver the program sees, and which device of the grant each is.
 *
 * Three numberings: the driver's own ordinals; what the program sees (the driver's devices that are in the grant, in
 * the driver's order, from 0); and the grant's index, by which accounts are kept. The grant's is found by UUID, so that
 * no order of a vendor's variable for visible devices moves a limit. Each face keeps one such table of its driver.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ORDINALS_MAX 64

struct ordinals {
	int real_count; /* the driver's devices, ORDINALS_MAX at most: those behind are hidden */
	int seen_count; /* of those, the ones in the grant */
	bool same;	/* the program sees all that the driver shows: both number alike */
	int8_t index[ORDINALS_MAX]; /* by the driver's ordinal: index in the grant, -1: not in it */
	int8_t seen[ORDINALS_MAX];  /* by the driver's ordinal: what the program calls it, -1: not shown */
	int8_t real[ORDINALS_MAX];  /* by what the program calls it: the driver's ordinal */
};

/* Attached: compares the driver's `count` devices with the grant. `uuid` asks the driver for the UUID of one; false: it
 * cannot be told, so the device is not shown. */
void ordinals_match(struct ordinals *ordinals, int count, bool (*uuid)(int real, uint8_t ret_uuid[16]));

/* The grant's index of a device of the driver. False: it is not in the grant. */
bool ordinals_find(const struct ordinals *ordinals, int real, unsigned int *ret_device);
/* The driver's device with this index in the grant. False: the driver does not show it. */
bool ordinals_real(const struct ordinals *ordinals, unsigned int device, int *ret_real);

/* What the program calls it -> what the driver calls it. A number that the program cannot know becomes INT_MAX, which
 * every driver refuses; negative ones, which mean no device, pass as they are. */
int ordinals_in(const struct ordinals *ordinals, int seen);
/* The driver's -> the program's; `none` where the device is not shown. */
int ordinals_out(const struct ordinals *ordinals, int real, int none);
