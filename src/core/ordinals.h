/*
 * ordinals.h: which devices of a driver the program sees, and which device of the grant each is.
 *
 * A device has three numbers: the driver's ordinal; the program's ordinal, which counts the driver's devices in the
 * grant from 0, in the driver's order; and its index in the grant, by which accounts are kept. The index is found by
 * UUID, so that the order in a vendor's variable for visible devices cannot move a limit. Each face keeps one such
 * table of its driver.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ORDINALS_MAX 64

struct ordinals {
	int real_count; /* the driver's devices, ORDINALS_MAX at most; further ones are hidden */
	int seen_count; /* those in the grant */
	bool same;	/* the program sees all devices of the driver: both ordinals are equal */
	int8_t index[ORDINALS_MAX]; /* by the driver's ordinal: index in the grant, -1: not in it */
	int8_t seen[ORDINALS_MAX];  /* by the driver's ordinal: the program's, -1: not shown */
	int8_t real[ORDINALS_MAX];  /* by the program's ordinal: the driver's */
};

/*
 * Compares the driver's `count` devices with the grant; the process is attached. `uuid` asks the driver for the UUID of
 * one; false: it is not known, and the device is not shown.
 */
void ordinals_match(struct ordinals *ordinals, int count, bool (*uuid)(int real, uint8_t ret_uuid[16]));

/* Finds the index in the grant of a device of the driver. False: it is not in the grant. */
bool ordinals_find(const struct ordinals *ordinals, int real, unsigned int *ret_device);
/* Finds the driver's ordinal of the device with this index in the grant. False: the driver does not show it. */
bool ordinals_real(const struct ordinals *ordinals, unsigned int device, int *ret_real);

/*
 * Converts the program's ordinal to the driver's. An ordinal that does not exist for the program becomes INT_MAX, which
 * every driver refuses. Negative ones, which mean no device, stay as they are.
 */
int ordinals_in(const struct ordinals *ordinals, int seen);
/* Converts the driver's ordinal to the program's; returns `none` if the device is not shown. */
int ordinals_out(const struct ordinals *ordinals, int real, int none);
