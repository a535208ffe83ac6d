/*
 * memo.h: answers that do not change in a session: those of its snapshot, and those of later queries. The key is the
 * call and the request's bytes behind the head.
 */
#pragma once

#include "ring/call.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMO_BUCKETS 1024u
#define MEMO_MOST 16384u /* entries besides the snapshot's; beyond that they are dropped */

struct memo_entry;

struct memo {
	pthread_mutex_t lock;
	struct memo_entry *bucket[MEMO_BUCKETS];
	uint32_t asked; /* entries besides the snapshot's */
};

struct memo_key {
	uint64_t context; /* id, if the answer is valid only for this context */
	uint16_t call;
	const void *bytes;
	size_t size;
};

void memo_init(struct memo *m);
/* `fixed`: from the snapshot. Without memory the answer is not stored. */
void memo_add(struct memo *m, const struct memo_key *key, int32_t result, const void *reply, size_t bytes, bool fixed);
/*
 * True if the answer is known; it is copied to the buffer that `room` returns for its size (NULL: treated as not
 * known).
 */
bool memo_find(struct memo *m, const struct memo_key *key, int32_t *ret_result, void *(*room)(void *arg, size_t bytes),
	       void *arg, const void **ret_reply, size_t *ret_bytes);
/* Drops all entries except the snapshot's. */
void memo_forget(struct memo *m);
void memo_clear(struct memo *m);
