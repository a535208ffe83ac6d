/*
 * drain.h: waiting for tenants to leave a device, and ending those that do not.
 *
 * Who has left is who has no process attached; a grant without one may stay. When all have, the device is cordoned and
 * drained. At the end of patience those who are left get SIGTERM and, END_KILL_S later (end.h), SIGKILL, where the
 * operator asked for that; else the device stays cordoned, and the drain is over.
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
