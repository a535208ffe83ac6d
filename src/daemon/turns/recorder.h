/* recorder.h: one trace, which trace.c fills and trace_ask.c returns. */
#pragma once

#include "daemon/loop.h"
#include "wire/page.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct client;
struct daemon;
struct tenant;
struct trace;

#define TRACES_MAX 8u	    /* of all owners; and the same number of all other users */
#define TRACES_OF_UID 2u    /* of one user who is not an owner */
#define TRACE_RINGS 256u    /* recorded programs per trace of such a user: each has a ring of 192 KiB */
#define TRACE_EVENTS 65536u /* a power of two */
#define TRACE_NAMES 4096u   /* a power of two; distinct kernels. Further ones are "other" */
#define TRACE_MAX_SECONDS 3600u
#define TRACE_DEVICES 32u

enum trace_kind { TRACE_LAUNCH, TRACE_TURN, TRACE_EDGE, TRACE_WAIT, TRACE_GONE };

enum trace_reason { TRACE_GIVEN, TRACE_BEFORE, TRACE_OVER, TRACE_IDLE, TRACE_TAKEN, TRACE_FROZEN };

struct trace_event {
	uint64_t at, until; /* CLOCK_MONOTONIC ns; of a launch: submitted, passed */
	uint64_t length;    /* of a launch: predicted; of a turn: the bound */
	uint64_t amount;    /* bytes or threads; of a turn: the lag */
	uint64_t stream;
	uint32_t who; /* the client's number; of a turn the tenant's */
	uint32_t thread;
	uint16_t name; /* of a turn: enum trace_reason */
	uint8_t kind, device, engine;
	bool flag; /* open; begins */
};

/* A client under a trace. */
struct traced {
	struct traced *next;	  /* of the trace */
	struct traced *of_client; /* the same client under other traces */
	struct trace *trace;
	struct client *client;
	uint32_t number, tail;
	bool ring; /* its ring is read: the trace had room for it */
	uint8_t device[WIRE_MAX_DEVICES];
};

struct trace {
	struct trace *next;
	struct daemon *daemon;
	struct timer *tick;
	uint64_t id;
	uid_t uid;
	uint64_t begin_ns, end_ns, read_ns; /* read_ns: the last read */
	bool begun, ended;
	json_t *wanted; /* names of grants; NULL: all */
	struct traced *clients;
	uint32_t client_count;
	unsigned int ring_count; /* the number of those whose rings are read */
	/* numbers of tenants and devices, in the order of their appearance */
	uint64_t *tenant;
	uint32_t tenant_count;
	uint8_t device[TRACE_DEVICES][16];
	unsigned int device_count;
	/* kernel names: indices by hash, and the texts by number */
	uint16_t name_at[TRACE_NAMES * 2];
	char (*name)[48];
	unsigned int name_count, names_told;
	/* to be returned by the next read */
	json_t *devices, *tenants, *clients_new, *notes;
	struct trace_event *event;
	uint32_t event_head, event_tail;
	uint64_t lost_overwritten, lost_full;
};

/* Starts recording. NULL: no memory. `take_wanted` as in struct trace. */
struct trace *trace_new(struct daemon *daemon, uid_t uid, json_t *take_wanted, uint64_t length_ns);
void trace_free(struct trace *trace);
/* Reads the rings a last time, and ends the recording. */
void trace_end(struct trace *trace);
/* Reads the rings. */
void trace_drain(struct trace *trace);
