/*
 * telemetry.h: what devices and tenants have held, used and been refused: totals that only grow, and a history of the
 * last day.
 *
 * Once a second all figures are read and recorded (model/history.h); totals are read on request. Both persist in
 * history.db (store/history.h). A tenant's are stored under the id of its grant, which no other grant ever gets.
 * Totals are counters: they never fall and never jump, also when meted is killed (store/meters.h).
 *
 * Time is the monotonic clock plus one offset. When the wall clock is set, even by years, the offset changes with it
 * and histories and times are moved. Everything then remains as long ago as it was, and the journal gets one event.
 */
#pragma once

#include "daemon/codes.h"
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

/*
 * The figures of a history: bytes, and parts of the device's time in ppm. For a tenant, FIGURE_PROMISED is its quota.
 */
enum figure { FIGURE_HELD, FIGURE_PROMISED, FIGURE_GOT, FIGURE_WANTED, FIGURE_WAITED, FIGURES };

/* Device time in nanoseconds: used; with work waiting or in flight; with work waiting and no turn. */
enum meter_time { METER_USED, METER_ASKED, METER_WAITED, METER_TIMES };

/* What was refused to a tenant. */
enum refusal {
	REFUSAL_MEMORY,	  /* memory beyond its quota */
	REFUSAL_ATTACH,	  /* a process: no page, doorbell or place was left */
	REFUSAL_PROTOCOL, /* an invalid message, or one of another version */
	REFUSALS,
};

struct meter {
	uint64_t time_ns[METER_TIMES];	/* totals */
	uint64_t last_ns[METER_TIMES];	/* the arbiter's totals up to which time_ns counts (arbitrate_count) */
	uint64_t drawn_ns[METER_TIMES]; /* the totals when the history was last written */
	uint64_t step_ns[METER_TIMES];	/* drawn_ns at the end of the last step of 10 s */
	uint64_t saved_ns[METER_TIMES]; /* drawn_ns at the end of the last step that is in history.db */
	struct history *history;	/* NULL: no memory */
	bool known;			/* last_ns was restored from a predecessor, or the tenant is new */
};

/* Of a tenant. */
struct telemetry {
	struct meter share[WIRE_MAX_DEVICES];
	uint64_t refused[REFUSALS];
	uint64_t unknown_calls;				   /* calls that its programs looked up and the shim does not
							    * know */
	uint64_t remote[TRAFFIC_WAYS][WORKER_COUNTS];	   /* traffic of its clients through workers */
	uint64_t remote_kept[TRAFFIC_WAYS][WORKER_COUNTS]; /* the part that is being written to the store */
	struct flow flow;
	int64_t last_active;				   /* seconds since 1970: the last time it had a process; 0:
							    * never */
};

/* Of a device; kept when all its tenants have ended. */
struct device_meter {
	uint8_t uuid[DEVICE_UUID_BYTES];
	struct meter meter;
	uint64_t refused; /* refused requests for memory, of all tenants so far */
};

#define TELEMETRY_DEVICES 128u
#define TELEMETRY_CODES 32u
#define TELEMETRY_CODE_BYTES 32u

/* Of the node. */
struct node_meter {
	struct timer *tick;
	int64_t offset_ns;  /* the wall clock minus the monotonic one */
	int64_t slept_ns;   /* total time for which the machine was suspended */
	int64_t started;    /* seconds since 1970 */
	uint64_t ticked_ns; /* the last tick, by the monotonic clock */
	int64_t drawn_s;    /* the last second in the histories; 0: none yet */
	int64_t step_s;     /* the last second of the last complete step of 10 s; 0: none yet */
	int64_t saved_s;    /* the same, of the last step in history.db */
	uint64_t step_ns, saved_ns; /* the times of step_s and saved_s, by the monotonic clock */
	struct flow flow;   /* of all tenants, including those that have ended */
	uint64_t flowed[FLOWS]; /* bytes through workers since this meted started */
	struct device_meter device[TELEMETRY_DEVICES];
	unsigned int device_count;
	struct {
		char code[TELEMETRY_CODE_BYTES]; /* of a refusal on the control socket */
		uint64_t count;
	} refused[TELEMETRY_CODES];
	unsigned int code_count;
	uint64_t image_hits, image_saved_bytes; /* workers/images.h */
};

/* Called after the grants have been restored. Value: 0 or -ENOMEM. */
int telemetry_start(struct daemon *daemon);
void telemetry_stop(struct daemon *daemon);

/* Create and free a tenant's counters. */
void telemetry_join(struct tenant *tenant);
void telemetry_leave(struct tenant *tenant);

/* Count a refusal: of a tenant's request; of memory of a share; of a request on the control socket, by its code. */
void telemetry_refused(struct tenant *tenant, enum refusal why);
void telemetry_memory_refused(struct tenant *tenant, unsigned int share);
void telemetry_unknown_call(struct tenant *tenant);
void telemetry_request_refused(struct daemon *daemon, enum code code);
void telemetry_requests_count(struct daemon *daemon, const char *code, uint64_t more);
const char *refusal_name(enum refusal why);

/* Converts nanoseconds of the device's time within `of_ns` to ppm. */
uint64_t telemetry_part(uint64_t ns, uint64_t of_ns);

/* Seconds since 1970 by the clock of the history. */
int64_t telemetry_now(const struct daemon *daemon);

/* Continues the counts that the previous meted has stored. After history_store_open(). */
void telemetry_resume(struct daemon *daemon);

/* Ends a step at the last second in the histories: all of it is about to be written to history.db. */
void telemetry_end_step(struct daemon *daemon);
/* Notes that history.db has the histories up to the step that ended at this second. */
void telemetry_saved(struct daemon *daemon, int64_t step_s);

/* Updates totals and peaks and writes them to the file `meters`: a value that is reported after that never falls. */
void telemetry_read(struct daemon *daemon);

/* NULL: the device has no counters. */
struct device_meter *telemetry_device(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);

/* The name of a user, from /etc/passwd alone (no network lookup); the number as text if it is not there. */
const char *telemetry_user(uid_t uid, char text[GRANT_NAME_BYTES]);
