/*
 * call.h: the messages of a remote session: requests of the client, replies and notices of the worker.
 *
 * They go through the rings of wall.h, in order; a relay carries them unchanged. A request is a head, perhaps a
 * payload, and the call's arguments; a reply the same with what the call gave out. Each value begins on a multiple
 * of 8 bytes. Both ends are little-endian with 64-bit pointers and have compared CUDA_REMOTE_FINGERPRINT: call
 * numbers and layouts mean something between equal fingerprints only.
 *
 * Handles never travel: an object is named by an id, a number that its maker chose (the client for what a call
 * creates, the worker for what it finds, with CALL_ID_WORKER set). The worker's table of ids is the only way to a
 * handle of the driver.
 */
#pragma once

#include <stdint.h>

#define CALL_ALIGN 8u

/* id = kind << 56 | generation << 32 | slot; slots of one session are dense and used again with the next
 * generation. */
#define CALL_ID_WORKER 0x80000000u /* in the slot: chosen by the worker */
#define CALL_ID(kind, generation, slot) ((uint64_t)(kind) << 56 | (uint64_t)(generation) << 32 | (slot))

enum call_flag {
	CALL_WAITS = 1 << 0, /* request: a reply with its ticket is wanted, whatever the call */
	CALL_PAYLOAD = 1 << 1, /* a struct call_payload follows the head */
};

/* Begins every request. */
struct call_request {
	uint32_t size; /* of the message, head included; a multiple of CALL_ALIGN */
	uint16_t call; /* enum NAME_call, or enum call_other */
	uint16_t flags; /* enum call_flag */
	uint32_t ticket; /* repeated in its reply; 0: no reply is wanted */
	uint32_t thread; /* number of the client's calling thread, from 1 */
	uint64_t context; /* the id of that thread's current context, 0: none */
};

/* Begins every message of the worker. */
struct call_reply {
	uint32_t size;
	uint16_t call; /* the request's, or enum call_notice */
	uint16_t flags; /* CALL_PAYLOAD */
	uint32_t ticket; /* the request's; 0: a notice, which answers no request */
	int32_t result; /* what the call returned */
	int32_t deferred; /* for a call that reports errors: the first error of calls without a reply; or 0 */
	/* the message is delivered after the worker's payloads up to this serial have arrived */
	uint32_t fence;
};

/*
 * Bytes of the arena (ring/wall.h) that belong to a message. A relay makes them equal at the far end before (towards
 * the client) or while (towards the worker) the message is delivered; with a coherent arena nothing has to be done.
 * Each direction counts its payloads from 1; they arrive in that order. What the worker does when a payload is not
 * there yet: see worker/payload.h.
 */
struct call_payload {
	uint64_t offset, bytes;
	uint64_t serial;
};

/* Requests that are no call of the API. */
enum call_other {
	CALL_FIRST = 0xff00,
	CALL_OPEN = 0xff00, /* the session begins: answered with the snapshot, see src/remote/snapshot.h */
	CALL_WATCH, /* the tenant's figures of a device: src/remote/watch.h */
	CALL_PING, /* answered at once; measures the round trip */
	CALL_HOST_DONE, /* a host function that CALL_NOTICE_HOST asked for has returned */
	CALL_MEMORY, /* families written by hand begin here, see their headers in src/remote */
	CALL_IMAGE = 0xff40,
	CALL_GRAPH = 0xff60,
	CALL_LIBRARY = 0xff80, /* forwarded libraries */
};

/* Messages of the worker that answer no request. */
enum call_notice {
	/*
	 * body: uint64_t; the staged payload of this serial was used, and its room is free. One notice for each
	 * payload, in any order
	 */
	CALL_NOTICE_RETIRED = 0xff00,
	/* carries a payload: what an asynchronous copy has put into the program's pinned memory */
	CALL_NOTICE_MIRROR,
	CALL_NOTICE_HOST, /* run a host function in the client; body: struct of src/remote */
	/* body: uint64_t, the bytes of text that kernels have printed; sent before the reply that waited for them */
	CALL_NOTICE_OUTPUT,
	CALL_NOTICE_LOST, /* relay: the connection is lost; body: one line of text. It is the last message */
};

