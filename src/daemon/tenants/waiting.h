/*
 * waiting.h: requests that wait for room: grant_create with "wait": true.
 *
 * meted does not hold such a request. It refuses it with the code "waiting", the place in the queue (model/queue.h)
 * and the reason, and keeps the place for the connection, which repeats the request within seconds. The place ends
 * when the connection ends, when it gets the grant, or when it stops asking. An upgrade keeps it.
 */
#pragma once

#include "daemon/control.h"

#include <stdint.h>

struct ask;
struct device;

/* The bit of a device, by which the queue knows it. */
uint64_t waiting_bit(struct daemon *daemon, const uint8_t *uuid);

/* Who comes now may not have the device yet: others wait for it. Value: false when it was refused. */
bool waiting_lets_pass(struct ask *ask, const struct device *device);

/*
 * The request was refused, quietly. Where it is to wait and that helps, the refusal becomes one with its place; else it
 * is made known. `devices`: bits of those that it wants.
 */
void waiting_refused(struct ask *ask, uint64_t devices);

/* A connection waits no more: it has got its grant, or ended. */
void waiting_leave(struct daemon *daemon, const struct control *control);

/* A connection's place, for the meted after this one; null: it has none. */
json_t *waiting_save(const struct daemon *daemon, const struct control *control);
void waiting_restore(struct daemon *daemon, const struct control *control, const json_t *saved);

/* [{"pid","uid","place","room","devices":[INDEX],"waited_s"}]: who waits, the first first; "room": for room. */
json_t *waiting_json(struct daemon *daemon);
