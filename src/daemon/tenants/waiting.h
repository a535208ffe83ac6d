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

/* The bit by which the queue identifies a device. */
uint64_t waiting_bit(struct daemon *daemon, const uint8_t *uuid);

/* False: other requests wait for this device, and the request was refused. */
bool waiting_lets_pass(struct ask *ask, const struct device *device);

/*
 * Handles a quiet refusal. If the request is to wait and waiting helps, it becomes a refusal with the place in the
 * queue; otherwise it becomes final. `devices`: bits of the devices that it needs.
 */
void waiting_refused(struct ask *ask, uint64_t devices);

/* Ends the place of a connection that has got its grant or has closed. */
void waiting_leave(struct daemon *daemon, const struct control *control);

/* Saves a connection's place for the next meted; null: it has none. */
json_t *waiting_save(const struct daemon *daemon, const struct control *control);
void waiting_restore(struct daemon *daemon, const struct control *control, const json_t *saved);

/*
 * [{"pid","uid","place","room","devices":[INDEX],"waited_s"}]: the waiting requests, the first one first. "room": it
 * waits for room.
 */
json_t *waiting_json(struct daemon *daemon);
