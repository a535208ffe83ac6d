/*
 * memo.h: answers that do not change in a session: those that came with its snapshot, and those of queries asked since.
 * The key is the call and the request's bytes behind the head.
 */
#pragma once

#include "ring/call.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMO_BUCKETS 1024u
#define MEMO_MOST 16384u /* entries besides the snapshot's; then they are forgotten */

struct memo_entry;

struct memo {
	pthread_mutex_t lock;
	struct memo_entry *bucket[MEMO_BUCKETS];
	uint32_t asked; /* entries besides the snapshot's */
};

struct memo_key {
	uint64_t context; /* id, when the answer is for this context alone */
	uint16_t call;
	const void *bytes;
	size_t size;
};

void memo_init(struct memo *m);
/* `fixed`: from the snapshot. Without memory nothing is remembered. */
void memo_add(struct memo *m, const struct memo_key *key, int32_t result, const void *reply, size_t bytes, bool fixed);
/*
 * Whether the answer is known; it is copied to the room that `room` gives for so many bytes (NULL: as if it were not
 * known).
 */
bool memo_find(struct memo *m, const struct memo_key *key, int32_t *ret_result, void *(*room)(void *arg, size_t bytes),
	       void *arg, const void **ret_reply, size_t *ret_bytes);
/* All but the snapshot's entries go. */
void memo_forget(struct memo *m);
void memo_clear(struct memo *m);
