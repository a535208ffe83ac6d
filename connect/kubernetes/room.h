/* room.h: how many times a share fits into what meted has not promised. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * `share`: the "devices" of a request that would make the grant; `devices`: of meted's answer (docs/control.md). A
 * device that is not there or is out of service has no room, and so has one on which native programs run unheld where
 * time is asked for. A share without a size takes all that is left, once. `most`: at most so many; with `overcommit`
 * promises do not count, and it is `most` where the devices are in service.
 */
unsigned int room_count(json_t *share, json_t *devices, bool overcommit, unsigned int most);

/* The same for a share of one device that may be any of the driver's: on all of them together. */
unsigned int room_count_any(json_t *share, json_t *devices, const char *driver, bool overcommit, unsigned int most);

/*
 * The UUID of the device that such a share should have, borrowed from `devices`: by the rule binpack of
 * model/placement.h, so that large ones find room elsewhere, or to `spread`. NULL: it fits nowhere.
 */
const char *room_pick(json_t *share, json_t *devices, const char *driver, bool overcommit, bool spread);
