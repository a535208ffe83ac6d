/* room.h: how many times a share fits into what meted has not promised. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A share, as the request has it that would make its grant. */
struct room_share {
	json_t *rows;	 /* its "devices" */
	bool overcommit; /* promises do not count */
	bool leaves;	 /* its memory may leave its device: of what is promised only `stays_bytes` counts */
	uint64_t stays_bytes;
};

/*
 * `devices`: of meted's answer (docs/control.md). A device that is not there or is out of service has no room, and so
 * has one on which native programs run unheld where time is asked for. A share without a size takes all that is left,
 * once; one that leaves takes as much as the device has. `most`: at most so many.
 */
unsigned int room_count(const struct room_share *share, json_t *devices, unsigned int most);

/* The same for a share of one device that may be any of the driver's: on all of them together. */
unsigned int room_count_any(const struct room_share *share, json_t *devices, const char *driver, unsigned int most);

/*
 * The UUID of the device that such a share should have, borrowed from `devices`: by the rule binpack of
 * model/placement.h, so that large ones find room elsewhere, or to `spread`. NULL: it fits nowhere.
 */
const char *room_pick(const struct room_share *share, json_t *devices, const char *driver, bool spread);
