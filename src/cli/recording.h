/*
 * recording.h: what `mete trace` received from meted: launches, turns and edges, as arrays.
 *
 * Times are nanoseconds since the start of the trace. Numbers of clients, tenants and devices are indices into the
 * lists of the same name. Lines with other numbers are invalid; they are dropped and counted.
 */
#pragma once

#include "client/control.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define RECORDING_ENGINES 2u
#define RECORDING_REASON 12u

struct launch {
	uint32_t client, thread;
	uint64_t stream;
	int64_t submitted, passed, predicted;
	uint64_t amount; /* bytes of a copy, threads of a kernel */
	uint32_t name;
	uint8_t device, engine;
};

struct turn_event {
	uint32_t tenant;
	uint8_t device, engine;
	bool open, until_set;
	int64_t at, until, bound, lag;
	char reason[RECORDING_REASON];
};

/* An interval of a client or a tenant on an engine. */
struct span {
	uint32_t who;
	uint8_t device, engine;
	int64_t begin, end;
};

struct edge {
	uint32_t client;
	uint8_t device, engine;
	bool begins;
	int64_t at;
};

struct recording {
	json_t *devices, *tenants, *clients, *names, *notes; /* lists; owned */
	struct launch *launch;
	struct turn_event *turn;
	struct edge *edge;
	struct span *wait; /* of clients, that last until the trace's end */
	int64_t *gone;	   /* by client: when it ended; 0: it had not */
	size_t launches, turns, edges, waits, gones;
	size_t launch_room, turn_room, edge_room, wait_room, gone_room;
	uint64_t overwritten, full, nonsense;
	int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	bool done, no_memory;
};

bool recording_init(struct recording *r, int64_t begin_ns);
void recording_deinit(struct recording *r);

/* Adds one answer to trace_read. Value: false if it had no events. */
bool recording_take(struct recording *r, json_t *answer);

/* The length of the trace. */
int64_t recording_length(const struct recording *r);

/*
 * When engines were busy with the work of clients (by_tenant false) or tenants, as measured: sorted by client or
 * tenant, device, engine and time, without overlaps. The caller frees it; NULL: none, or no memory.
 */
struct span *recording_busy(const struct recording *r, bool by_tenant, size_t *ret_count);

/* The same for the time in which a tenant's threads waited at the gate; waits shorter than WAIT_NS are omitted. */
struct span *recording_waits(const struct recording *r, size_t *ret_count);

#define WAIT_NS 10000

/* A field of a list's entry; "" or 0 if there is none. */
const char *recording_text(json_t *list, uint32_t number, const char *key);
json_int_t recording_number(json_t *list, uint32_t number, const char *key);
/* When a client ended; otherwise the end of the trace. */
int64_t recording_client_end(const struct recording *r, uint32_t client);
/* The "tenant" of a client. */
uint32_t recording_tenant(const struct recording *r, uint32_t client);
const char *recording_name(const struct recording *r, uint32_t name);
