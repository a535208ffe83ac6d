/*
 * snapshot.h: what a session's first reply (CALL_OPEN) tells: answers to queries that nearly every program asks.
 *
 * The worker makes it by asking itself a table of queries (worker/snapshot.c), the client puts the answers into its
 * memo; so no query is written twice, and one that is missing is asked when it is needed. The reply's body is entries
 * of this kind, one after the other; each is followed by the request's bytes behind its head and the reply's behind its
 * own, both padded to CALL_ALIGN.
 */
#pragma once

#include <stdint.h>

struct snapshot_entry {
	uint16_t call; /* enum cuda_call */
	uint16_t unused;
	int32_t result;
	uint32_t request_bytes, reply_bytes;
};

/* The length that names of devices are asked with; the client cuts them to what the program asks for. */
#define SNAPSHOT_NAME_BYTES 256
