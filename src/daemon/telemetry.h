/*
 * telemetry.h: what devices and tenants have held, used and been refused: totals that only grow, and a history of the
 * last day.
 *
 * Once a second all is read and written down (model/history.h); totals are read when they are asked for. Both are kept
 * over restarts in history.db (history_store.h): of a tenant under its grant's id, which no other one ever has.
 *
 * Time is the monotonic clock plus one offset. When the wall clock is set, by years even, the offset follows, histories
 * and times move with it, so that all is as long ago as before, and the journal gets one event.
 */
#pragma once

#include "daemon/loop.h"
#include "daemon/workers/flow.h"
#include "daemon/workers/traffic.h"
#include "model/device.h"
#include "model/grant.h"
#include "model/history.h"
#include "wire/worker.h"

#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct tenant;

/* The figures of a history. Bytes; parts of the device's time in ppm. Of a tenant, promised is its quota. */
enum figure { FIGURE_HELD, FIGURE_PROMISED, FIGURE_GOT, FIGURE_WANTED, FIGURE_WAITED, FIGURES };

/* Seconds of the device's time, as nanoseconds: used; with work waiting or in flight; with work waiting and no turn. */
enum meter_time { METER_USED, METER_ASKED, METER_WAITED, METER_TIMES };

/* Why a tenant did not get something. */
enum refusal {
	REFUSAL_MEMORY,	  /* no room in its quota */
	REFUSAL_ATTACH,	  /* no page, doorbell or place for one more process */
	REFUSAL_PROTOCOL, /* a message that makes no sense, or of another version */
	REFUSALS,
};

struct meter {
	uint64_t time_ns[METER_TIMES];	/* totals */
	uint64_t last_ns[METER_TIMES];	/* what the arbiter said when they were last added to */
	uint64_t drawn_ns[METER_TIMES]; /* the totals when the history was last written */
	struct history *history;	/* NULL: no memory */
};

/* Of a tenant. */
struct telemetry {
	struct meter share[WIRE_MAX_DEVICES];
	uint64_t refused[REFUSALS];
	uint64_t remote[TRAFFIC_WAYS][WORKER_COUNTS];	   /* of its clients that come through workers */
	uint64_t remote_kept[TRAFFIC_WAYS][WORKER_COUNTS]; /* so much of it is on its way to the store */
	struct flow flow;
	int64_t last_active;				   /* seconds since 1970 when it last had a process; 0: never */
};

/* Of a device; also of one whose tenants have all gone. */
struct device_meter {
	uint8_t uuid[DEVICE_UUID_BYTES];
	struct meter meter;
};

#define TELEMETRY_DEVICES 128u
#define TELEMETRY_CODES 32u

/* Of the node. */
struct node_meter {
	struct timer *tick;
	int64_t offset_ns;  /* of the wall clock to the monotonic one */
	int64_t slept_ns;   /* the machine was asleep, altogether */
	int64_t started;    /* seconds since 1970 */
	uint64_t ticked_ns; /* the last time, by the monotonic clock */
	int64_t drawn_s;    /* the last second that is in the histories; 0: none yet */
	struct flow flow;   /* of all tenants, with those that have gone */
	uint64_t flowed[FLOWS]; /* bytes that went through since this meted began */
	struct device_meter device[TELEMETRY_DEVICES];
	unsigned int device_count;
	struct {
		const char *code; /* of a refusal on the control socket */
		uint64_t count;
	} refused[TELEMETRY_CODES];
	unsigned int code_count;
};

/* Value: 0 or -ENOMEM. After the grants have been restored. */
int telemetry_start(struct daemon *daemon);
void telemetry_stop(struct daemon *daemon);

/* A tenant comes and goes. */
void telemetry_join(struct tenant *tenant);
void telemetry_leave(struct tenant *tenant);

/* A request of the tenant was refused; one on the control socket was, by its code (a constant). */
void telemetry_refused(struct tenant *tenant, enum refusal why);
void telemetry_request_refused(struct daemon *daemon, const char *code);
const char *refusal_name(enum refusal why);

/* Seconds since 1970 by the clock of the history. */
int64_t telemetry_now(const struct daemon *daemon);

/* Brings totals and peaks up to date. */
void telemetry_read(struct daemon *daemon);

/* NULL: nothing is known of it. */
struct device_meter *telemetry_device(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);

/* The name of a user, from /etc/passwd alone (no network is asked); its number as text when it has none there. */
const char *telemetry_user(uid_t uid, char text[GRANT_NAME_BYTES]);
