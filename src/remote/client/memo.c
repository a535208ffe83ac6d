/* memo.c: see memo.h. */
#include "remote/client/memo.h"

#include <stdlib.h>
#include <string.h>

struct memo_entry {
	struct memo_entry *next;
	uint64_t context;
	uint32_t key_bytes, reply_bytes;
	int32_t result;
	uint16_t call;
	bool fixed;
	_Alignas(8) uint8_t data[]; /* the key, padded to 8, then the reply */
};

static size_t padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static struct memo_entry **bucket_of(struct memo *m, const struct memo_key *key)
{
	uint64_t hash = (key->context ^ key->call) * 0x9e3779b97f4a7c15u;
	const uint8_t *bytes = key->bytes;

	for (size_t i = 0; i < key->size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	return &m->bucket[(hash >> 32) % MEMO_BUCKETS];
}

static struct memo_entry *find_locked(struct memo *m, const struct memo_key *key)
{
	struct memo_entry *e;

	for (e = *bucket_of(m, key); e; e = e->next)
		if (e->call == key->call && e->context == key->context && e->key_bytes == key->size &&
		    !memcmp(e->data, key->bytes, key->size))
			return e;
	return NULL;
}

void memo_init(struct memo *m)
{
	memset(m, 0, sizeof *m);
	pthread_mutex_init(&m->lock, NULL);
}

static void forget_locked(struct memo *m, bool all)
{
	for (size_t i = 0; i < MEMO_BUCKETS; i++) {
		struct memo_entry **link = &m->bucket[i], *e;

		while ((e = *link)) {
			if (!all && e->fixed) {
				link = &e->next;
				continue;
			}
			*link = e->next;
			free(e);
		}
	}
	m->asked = 0;
}

void memo_forget(struct memo *m)
{
	pthread_mutex_lock(&m->lock);
	forget_locked(m, false);
	pthread_mutex_unlock(&m->lock);
}

void memo_clear(struct memo *m)
{
	pthread_mutex_lock(&m->lock);
	forget_locked(m, true);
	pthread_mutex_unlock(&m->lock);
}

void memo_add(struct memo *m, const struct memo_key *key, int32_t result, const void *reply, size_t bytes, bool fixed)
{
	struct memo_entry *e, **bucket;

	if (key->size > UINT32_MAX / 2 || bytes > UINT32_MAX / 2)
		return;
	e = malloc(sizeof *e + padded(key->size) + bytes);
	if (!e)
		return;
	*e = (struct memo_entry){ .context = key->context,
				  .key_bytes = (uint32_t)key->size,
				  .reply_bytes = (uint32_t)bytes,
				  .result = result,
				  .call = key->call,
				  .fixed = fixed };
	memcpy(e->data, key->bytes, key->size);
	if (bytes)
		memcpy(e->data + padded(key->size), reply, bytes);
	pthread_mutex_lock(&m->lock);
	if (find_locked(m, key)) { /* another thread asked as well */
		pthread_mutex_unlock(&m->lock);
		free(e);
		return;
	}
	if (!fixed && ++m->asked > MEMO_MOST)
		forget_locked(m, false);
	bucket = bucket_of(m, key);
	e->next = *bucket;
	*bucket = e;
	pthread_mutex_unlock(&m->lock);
}

bool memo_find(struct memo *m, const struct memo_key *key, int32_t *ret_result, void *(*room)(void *arg, size_t bytes),
	       void *arg, const void **ret_reply, size_t *ret_bytes)
{
	struct memo_entry *e;
	void *to = NULL;

	pthread_mutex_lock(&m->lock);
	e = find_locked(m, key);
	if (e)
		to = room(arg, e->reply_bytes);
	if (to) {
		memcpy(to, e->data + padded(key->size), e->reply_bytes);
		*ret_result = e->result;
		*ret_reply = to;
		*ret_bytes = e->reply_bytes;
	}
	pthread_mutex_unlock(&m->lock);
	return to;
}
