/* room.h: how many times a share fits into what meted has not promised. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A share, as in the request that would create its grant. */
struct room_share {
	json_t *rows;	 /* its "devices" */
	bool overcommit; /* existing promises are ignored */
	bool leaves;	 /* its memory may leave its device: only `stays_bytes` of it counts as promised */
	uint64_t stays_bytes;
};

/*
 * `devices`: from meted's answer (docs/control.md). A device that is missing or out of service has no room; neither has
 * one on which native programs run without limits, if time is requested. A share without a size takes all that is left,
 * once; one whose memory may leave takes as much as the device has. `most`: upper bound of the value.
 */
unsigned int room_count(const struct room_share *share, json_t *devices, unsigned int most);

/* The same for a share of one device that may be any of the driver's: summed over all of them. */
unsigned int room_count_any(const struct room_share *share, json_t *devices, const char *driver, unsigned int most);

/*
 * The UUID of the device for such a share, borrowed from `devices`: by the rule binpack of model/placement.h, so that
 * large shares find room elsewhere, or by `spread`. NULL: it fits nowhere.
 */
const char *room_pick(const struct room_share *share, json_t *devices, const char *driver, bool spread);
