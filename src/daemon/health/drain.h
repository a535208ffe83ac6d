/*
 * drain.h: waits for tenants to leave a device, and ends those that do not.
 *
 * A tenant has left when it has no attached process and none that is between two workers; its grant may remain. A
 * tenant that can go on elsewhere is sent there, and again where it was refused. When all have left, the device is
 * cordoned and drained. At the end of the grace period, the remaining processes get SIGTERM and, END_KILL_S later
 * (end.h), SIGKILL, if the operator requested that. Otherwise the device stays cordoned, and the drain ends.
 */
#pragma once

#include <stdint.h>

struct daemon;
struct device;
struct health;

/* How a drain has tried to move a tenant. */
struct drain_tries {
	int64_t drain; /* which drain (health.h: since) */
	unsigned int count;
	uint64_t again_ns; /* when the next try is due if the tenant is still there */
};

/* Returns when a grace period of so many seconds ends that starts now. */
uint64_t drain_deadline(uint64_t grace_s);
/* Starts to wait for the tenants of a device whose record says that it is draining. */
void drain_begin(struct daemon *daemon, struct health *h);
/* The device is in service again: tenants that this drain (health.h: since) sends elsewhere stay, or return. */
void drain_call_off(struct daemon *daemon, const struct device *device, int64_t drain);

int drain_start(struct daemon *daemon);
void drain_stop(struct daemon *daemon);
