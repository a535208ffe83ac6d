/*
 * health.h: the state of each device: in service, cordoned, draining, or lost; and what is refused in that state.
 *
 * A cordoned device accepts no new grants; existing grants continue. On a device that is draining or drained, a tenant
 * with running programs may start more of them, a tenant without may not. A lost device is one that its driver cannot
 * reach: its grants remain, and it is in service again when the driver reports it again. Cordoned and lost are
 * separate states: a device that returns has the state that it had before.
 *
 * States and counts of errors are in the store; counts are written with a delay of a few seconds.
 */
#pragma once

#include "model/device.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEALTH_REASON_BYTES 160u
#define HEALTH_WHO_BYTES 64u

struct daemon;
struct grant;
struct machine;
struct tenant;
struct timer;

enum device_state {
	DEVICE_ACTIVE,
	DEVICE_CORDONED,
	DEVICE_DRAINING,
	DEVICE_LOST,
};

/* A device whose state is not the default. */
struct health {
	struct health *next;
	struct device device; /* as last reported */
	bool cordoned;
	bool drained; /* cordoned, and no process may start on it */
	bool draining;
	bool lost;
	char reason[HEALTH_REASON_BYTES];      /* of the cordon, one line */
	char lost_reason[HEALTH_REASON_BYTES]; /* of the loss */
	char who[HEALTH_WHO_BYTES];	       /* who changed the state last: "uid 0"; "": nobody, or not known */
	int64_t since;			       /* start of the current state, seconds since 1970 */
	uint64_t faults;		       /* number of errors that the device reported */
	/* of a drain */
	uint64_t until_ns; /* CLOCK_MONOTONIC: end of the grace period */
	bool ends;	   /* the remaining programs are then ended */
	unsigned int asked; /* number of signals sent: 1 SIGTERM, above that SIGKILL */
	bool unsaved;
};

/* "active", "cordoned", "draining", "lost". */
const char *device_state_name(enum device_state state);

enum device_state health_state(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);
/* The reason for the state; "" for an active device. */
const char *health_reason(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);
/* How many errors the device has reported. */
uint64_t health_faults(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);
/* Raises the count of reported errors to `most`, for a device that has a record. */
void health_count_faults(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES], uint64_t most);
/* Adds "state", "reason", "who", "since", "faults" and "drained" to a description. */
void health_json(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES], json_t *json);

/* True if a new grant may be created on the device. False: `error` is the line for the user. */
bool health_admits(struct daemon *daemon, const struct device *device, char *error, size_t size);
/* False: one of its devices is draining or drained; `error` is the line for the user. */
bool health_serves(struct tenant *tenant, char *error, size_t size);
/*
 * True if a process of the tenant may start: as health_serves(), but a tenant with running programs may start more of
 * them, and the programs of a suspended tenant wait until it is resumed.
 */
bool health_lets_begin(struct tenant *tenant, char *error, size_t size);

/*
 * Cordons or returns a device at the request of an operator, `who`. `reason` NULL: the previous one remains. Value: 0,
 * or -errno with the line for the user; -ENODEV: a lost device cannot be returned by a request.
 */
int health_cordon(struct daemon *daemon, const struct device *device, const char *who, const char *reason, char *error,
		  size_t size);
int health_uncordon(struct daemon *daemon, const struct device *device, const char *who, char *error, size_t size);
/* Cordons the device and waits `grace_s` for tenants to leave; then, with `end`, ends the remaining ones. */
int health_drain(struct daemon *daemon, const struct device *device, const char *who, const char *reason,
		 uint64_t grace_s, bool end, char *error, size_t size);

/* The number of tenants that have programs on the device, or may still start some (tenant_present()). */
unsigned int health_tenants(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);

/* Counts an error that the device reported. */
void health_count(struct daemon *daemon, const struct device *device);
/* Writes what the store does not have yet, including the tenants' counts: now; or in a few seconds. */
void health_save(struct daemon *daemon);
void health_save_soon(struct daemon *daemon);
/* Rewrites stored times after the wall clock was set by so many seconds. */
void health_clock_set(struct daemon *daemon, int64_t by_s);
/* Marks a device as lost: its driver cannot reach it. */
void health_lose(struct daemon *daemon, const struct device *device, const char *why);

/* The same for a device of which the driver reports only the index; `old` are the devices before. */
void health_lose_index(struct daemon *daemon, enum device_kind kind, unsigned int index, const struct device *old,
		       unsigned int old_count);

/*
 * Compares the devices that a driver reports with those before (`old`). A device with grants that is missing is lost; a
 * lost device that is reported is back. Lost devices remain in the machine's list.
 */
void health_probed(struct daemon *daemon, enum device_kind kind, const struct device *old, unsigned int old_count);

/* Start after the store is open; stop when meted exits. */
int health_start(struct daemon *daemon, char *error, size_t size);
void health_stop(struct daemon *daemon);

/* Returns the record of a device. find: NULL: it has none. get: creates it; NULL: no memory. */
struct health *health_find(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);
struct health *health_get(struct daemon *daemon, const struct device *device);
enum device_state health_state_of(const struct health *h);
/* Writes the record. A failing store is an error only if `error` is not NULL. */
int health_keep(struct daemon *daemon, struct health *h, char *error, size_t size);
