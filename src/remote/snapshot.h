/*
 * snapshot.h: the contents of a session's first reply (CALL_OPEN): answers to queries that nearly every program makes.
 *
 * The worker creates it by executing a table of queries itself (worker/snapshot.c), and the client puts the answers
 * into its memo. No query is therefore written twice, and a missing one is sent when it is needed. The reply's body
 * consists of entries of this kind; each is followed by the request's bytes behind its head and the reply's bytes
 * behind its own, both padded to CALL_ALIGN.
 */
#pragma once

#include <stdint.h>

struct snapshot_entry {
	uint16_t call; /* enum cuda_call */
	uint16_t unused;
	int32_t result;
	uint32_t request_bytes, reply_bytes;
};

/* The buffer size for device names in the queries; the client truncates the names to the program's buffer. */
#define SNAPSHOT_NAME_BYTES 256
