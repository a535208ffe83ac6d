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

/* One device of which there is something to say. */
struct health {
	struct health *next;
	struct device device; /* as it was last seen */
	bool cordoned;
	bool drained; /* cordoned, and nobody may begin on it */
	bool draining;
	bool lost;
	char reason[HEALTH_REASON_BYTES];      /* of the cordon, one line */
	char lost_reason[HEALTH_REASON_BYTES]; /* of the loss */
	char who[HEALTH_WHO_BYTES];	       /* has taken it out last: "uid 0"; "": nobody, or not known */
	int64_t since;			       /* seconds since 1970: of the state that it is in */
	uint64_t faults;		       /* errors that the device reported, all together */
	/* of a drain */
	uint64_t until_ns; /* CLOCK_MONOTONIC: the end of patience */
	bool ends;	   /* then who is left is ended */
	unsigned int asked; /* how often they were: 1 SIGTERM, above SIGKILL */
	bool unsaved;
};

/* "active", "cordoned", "draining", "lost". */
const char *device_state_name(enum device_state state);

enum device_state health_state(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);
/* Why it is in that state; "" of an active one. */
const char *health_reason(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);
/* How many errors the device has reported. */
uint64_t health_faults(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);
/* It has reported so many, if it is known that it has reported any. */
void health_count_faults(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES], uint64_t most);
/* Adds "state", "reason", "who", "since", "faults" and "drained" to a description. */
void health_json(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES], json_t *json);

/* May there be a new grant on it? False: `error` is the line for the user. */
bool health_admits(struct daemon *daemon, const struct device *device, char *error, size_t size);
/* False: one of its devices is being drained, or was; `error` is the line for the user. */
bool health_serves(struct tenant *tenant, char *error, size_t size);
/*
 * May the tenant begin? The same, but a tenant with running programs may start more of them, and those of one that is
 * suspended wait for its resumption.
 */
bool health_lets_begin(struct tenant *tenant, char *error, size_t size);

/*
 * By an operator, `who`. `reason` may be NULL: the one that was given before, if there is one. Value: 0, or -errno with
 * the line for the user: -ENODEV: a lost device is not brought back by words.
 */
int health_cordon(struct daemon *daemon, const struct device *device, const char *who, const char *reason, char *error,
		  size_t size);
int health_uncordon(struct daemon *daemon, const struct device *device, const char *who, char *error, size_t size);
/* Cordons, and waits `grace_s` for tenants to leave; then, with `end`, ends those that are left. */
int health_drain(struct daemon *daemon, const struct device *device, const char *who, const char *reason,
		 uint64_t grace_s, bool end, char *error, size_t size);

/* How many tenants have programs on it, or may have some yet (tenant_present()). */
unsigned int health_tenants(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);

/* The device reported an error. */
void health_count(struct daemon *daemon, const struct device *device);
/* Writes what the store has not yet, the tenants' counts as well: now; or in a few seconds. */
void health_save(struct daemon *daemon);
void health_save_soon(struct daemon *daemon);
/* The wall clock was set by so many seconds: what is kept by it is written anew. */
void health_clock_set(struct daemon *daemon, int64_t by_s);
/* The driver cannot reach it any more. */
void health_lose(struct daemon *daemon, const struct device *device, const char *why);

/* The same of a device of which the driver says no more than its index; `old` are those that it had before. */
void health_lose_index(struct daemon *daemon, enum device_kind kind, unsigned int index, const struct device *old,
		       unsigned int old_count);

/*
 * A driver has said which devices it has, and `old` are those that it had: who has grants and is not there any more is
 * lost, and who is there again is back. Lost ones stay in the machine's list.
 */
void health_probed(struct daemon *daemon, enum device_kind kind, const struct device *old, unsigned int old_count);

/* After the store was opened, and when meted leaves. */
int health_start(struct daemon *daemon, char *error, size_t size);
void health_stop(struct daemon *daemon);

/* The record of a device; NULL: there is nothing to say of it (find), or no memory (get). */
struct health *health_find(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);
struct health *health_get(struct daemon *daemon, const struct device *device);
enum device_state health_state_of(const struct health *h);
/* Writes it; a store that cannot be written is an error only when `error` is not NULL. */
int health_keep(struct daemon *daemon, struct health *h, char *error, size_t size);
