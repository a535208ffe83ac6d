/*
 * drain.h: waits for tenants to leave a device, and ends those that do not.
 *
 * A tenant has left when it has no attached process; its grant may remain. When all have left, the device is cordoned
 * and drained. At the end of the grace period, the remaining processes get SIGTERM and, END_KILL_S later (end.h),
 * SIGKILL, if the operator requested that. Otherwise the device stays cordoned, and the drain ends.
 */
#pragma once

#include <stdint.h>

struct daemon;
struct health;

/* When a patience of so many seconds that begins now is over. */
uint64_t drain_deadline(uint64_t grace_s);
/* The device's record says that it is being drained: the waiting begins. */
void drain_begin(struct daemon *daemon, struct health *h);

int drain_start(struct daemon *daemon);
void drain_stop(struct daemon *daemon);
