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
