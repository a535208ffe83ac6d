/*
 * ids.c: see ids.h. Two tables of slots in chunks that stay where they are once made, and a hash from handle to entry
 * for what the driver gives out.
 *
 * What owns is a tree by lists of children. An object goes with everything below it; the callbacks come afterwards,
 * without the lock, from the leaves up.
 */
#include "remote/worker/ids.h"

#include "ring/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_MASK 0x7fffffffu
#define GENERATION_MASK 0xffffffu
#define FIRST_BUCKETS 1024u

/* What a removed entry leaves to be told, as a list. */
struct ids_gone {
	struct ids_gone *next;
	uint64_t id;
	void *handle, *kept;
	void (*fn)(void *data);
	bool ranges;
	uint64_t epoch; /* who has begun to read since knows nothing of it */
};

/* ---- what is kept, and who looks at it ---- */

static void tell_all(struct ids_gone *list)
{
	while (list) {
		struct ids_gone *g = list;

		list = g->next;
		g->fn(g->kept);
		free(g);
	}
}

/* Takes out what nobody can be looking at any more. */
static struct ids_gone *unread_locked(struct ids *ids)
{
	struct ids_gone *list = NULL;
	uint64_t oldest = UINT64_MAX;

	/* Pairs with ids_read(): the reader is seen, or it sees that the id has gone. */
	atomic_thread_fence(memory_order_seq_cst);
	for (struct ids_reader *r = ids->readers; r; r = r->next) {
		uint64_t since = atomic_load(&r->since);

		oldest = since && since < oldest ? since : oldest;
	}
	for (struct ids_gone **at = &ids->retired; *at;) {
		struct ids_gone *g = *at;

		if (g->epoch > oldest) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		g->next = list;
		list = g;
	}
	atomic_store(&ids->waits, ids->retired);
	return list;
}

/* The id is gone, or another one's data stands in its place. */
static void retire(struct ids *ids, struct ids_gone *g)
{
	struct ids_gone *list;

	pthread_mutex_lock(&ids->lock);
	g->epoch = atomic_fetch_add(&ids->epoch, 1) + 1;
	g->next = ids->retired;
	ids->retired = g;
	list = unread_locked(ids);
	pthread_mutex_unlock(&ids->lock);
	tell_all(list);
}

void ids_reader_init(struct ids *ids, struct ids_reader *reader)
{
	pthread_mutex_lock(&ids->lock);
	*reader = (struct ids_reader){ .next = ids->readers };
	ids->readers = reader;
	pthread_mutex_unlock(&ids->lock);
}

void ids_reader_deinit(struct ids *ids, struct ids_reader *reader)
{
	struct ids_reader **at = &ids->readers;

	ids_read_end(ids, reader);
	pthread_mutex_lock(&ids->lock);
	while (*at && *at != reader)
		at = &(*at)->next;
	if (*at)
		*at = reader->next;
	pthread_mutex_unlock(&ids->lock);
}

void ids_read(struct ids *ids, struct ids_reader *reader)
{
	if (atomic_load_explicit(&reader->since, memory_order_relaxed))
		return;
	atomic_store(&reader->since, atomic_load(&ids->epoch));
	atomic_thread_fence(memory_order_seq_cst);
}

void ids_read_end(struct ids *ids, struct ids_reader *reader)
{
	struct ids_gone *list;

	if (!atomic_load_explicit(&reader->since, memory_order_relaxed))
		return;
	atomic_store(&reader->since, 0);
	if (!atomic_load(&ids->waits))
		return;
	pthread_mutex_lock(&ids->lock);
	list = unread_locked(ids);
	pthread_mutex_unlock(&ids->lock);
	tell_all(list);
}

/* ---- objects ---- */

int ids_init(struct ids *ids, void (*on_gone)(void *owner, uint64_t id, void *handle, bool ranges), void *owner)
{
	*ids = (struct ids){ .lock = PTHREAD_MUTEX_INITIALIZER,
			     .left = PTHREAD_COND_INITIALIZER,
			     .on_gone = on_gone,
			     .owner = owner,
			     .epoch = 1 };
	ids->bucket = calloc(FIRST_BUCKETS, sizeof(*ids->bucket));
	if (!ids->bucket)
		return -ENOMEM;
	ids->buckets = FIRST_BUCKETS;
	return 0;
}

void ids_deinit(struct ids *ids)
{
	tell_all(ids->retired);
	for (unsigned int t = 0; t < 2; t++)
		for (unsigned int i = 0; i < IDS_CHUNKS; i++) {
			struct id_entry *chunk = atomic_load_explicit(&ids->chunk[t][i], memory_order_relaxed);

			for (unsigned int k = 0; chunk && k < IDS_CHUNK; k++) {
				void *kept = atomic_load_explicit(&chunk[k].kept, memory_order_relaxed);

				if (kept && chunk[k].gone)
					chunk[k].gone(kept);
			}
			free(chunk);
		}
	free(ids->bucket);
	free(ids->wanted);
	*ids = (struct ids){ .lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER };
}

static bool slot_of(uint64_t id, unsigned int *ret_table, uint32_t *ret_slot)
{
	uint32_t slot = (uint32_t)id;

	*ret_table = !!(slot & CALL_ID_WORKER);
	*ret_slot = slot & SLOT_MASK;
	return *ret_slot < IDS_CHUNK * IDS_CHUNKS;
}

static struct id_entry *entry_at(struct ids *ids, uint64_t id)
{
	struct id_entry *chunk;
	unsigned int table;
	uint32_t slot;

	if (!slot_of(id, &table, &slot))
		return NULL;
	chunk = atomic_load_explicit(&ids->chunk[table][slot / IDS_CHUNK], memory_order_acquire);
	return chunk ? &chunk[slot % IDS_CHUNK] : NULL;
}

struct id_entry *ids_look(struct ids *ids, enum remote_kind kind, uint64_t id)
{
	enum remote_kind is = ids_kind(id);
	struct id_entry *e;

	if (is != kind && !(kind == KIND_FUNCTION && is == KIND_KERNEL))
		return NULL;
	e = id ? entry_at(ids, id) : NULL;
	/* Acquire: pairs with publish(). */
	return e && atomic_load_explicit(&e->id, memory_order_acquire) == id ? e : NULL;
}

struct id_entry *ids_find(struct ids *ids, enum remote_kind kind, uint64_t id)
{
	struct id_entry *e = id ? entry_at(ids, id) : NULL;

	/* Before: what is taken out loses its id first. After: what is new is hidden first. */
	if (!e || e->hidden || !ids_look(ids, kind, id) || e->hidden)
		return NULL;
	return e;
}

static uint32_t bucket_of(const struct ids *ids, enum remote_kind kind, const void *handle)
{
	uint64_t h = ((uint64_t)(uintptr_t)handle ^ (uint64_t)kind << 58) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h >> 32) & (ids->buckets - 1);
}

static void *handle_of(struct id_entry *e)
{
	return atomic_load_explicit(&e->handle, memory_order_relaxed);
}

static uint64_t id_of(struct id_entry *e)
{
	return atomic_load_explicit(&e->id, memory_order_relaxed);
}

static void hash_grow_locked(struct ids *ids)
{
	uint32_t old = ids->buckets;
	struct id_entry **was = ids->bucket, **is = calloc(old * 2, sizeof(*is));

	if (!is)
		return;
	ids->bucket = is;
	ids->buckets = old * 2;
	for (uint32_t i = 0; i < old; i++)
		for (struct id_entry *e = was[i], *next; e; e = next) {
			uint32_t b = bucket_of(ids, ids_kind(id_of(e)), handle_of(e));

			next = e->same;
			e->same = is[b];
			is[b] = e;
		}
	free(was);
}

static void hash_add_locked(struct ids *ids, struct id_entry *e)
{
	struct id_entry **at;

	if (ids->count >= ids->buckets)
		hash_grow_locked(ids);
	at = &ids->bucket[bucket_of(ids, ids_kind(id_of(e)), handle_of(e))];
	e->same = *at;
	*at = e;
	ids->count++;
}

static void hash_remove_locked(struct ids *ids, struct id_entry *e)
{
	struct id_entry **at = &ids->bucket[bucket_of(ids, ids_kind(id_of(e)), handle_of(e))];

	while (*at && *at != e)
		at = &(*at)->same;
	if (*at)
		*at = e->same;
	e->same = NULL;
	ids->count--;
}

static struct id_entry *make_entry_locked(struct ids *ids, uint64_t id)
{
	struct id_entry *e = entry_at(ids, id), *chunk;
	unsigned int table;
	uint32_t slot;

	if (e || !slot_of(id, &table, &slot))
		return e;
	chunk = calloc(IDS_CHUNK, sizeof(*chunk));
	if (chunk)
		atomic_store_explicit(&ids->chunk[table][slot / IDS_CHUNK], chunk, memory_order_release);
	return chunk ? &chunk[slot % IDS_CHUNK] : NULL;
}

static void link_locked(struct ids *ids, struct id_entry *e, uint64_t owner)
{
	struct id_entry *parent = owner ? entry_at(ids, owner) : NULL;

	e->owner = owner;
	e->parent = parent && id_of(parent) == owner ? parent : NULL;
	e->before = NULL;
	e->after = e->parent ? e->parent->child : NULL;
	if (e->after)
		e->after->before = e;
	if (e->parent)
		e->parent->child = e;
}

static void publish_locked(struct ids *ids, struct id_entry *e, uint64_t id, void *handle, uint64_t owner)
{
	link_locked(ids, e, owner);
	atomic_store_explicit(&e->handle, handle, memory_order_relaxed);
	e->hidden = e->parent && e->parent->hidden;
	atomic_store_explicit(&e->id, id, memory_order_release);
	if (!e->hidden)
		hash_add_locked(ids, e);
}

static int add_locked(struct ids *ids, enum remote_kind kind, uint64_t id, void *handle, uint64_t owner)
{
	struct id_entry *e;
	unsigned int table;
	uint32_t slot;

	if (ids_kind(id) != kind || kind == KIND_NONE || kind >= KIND_COUNT || id & CALL_ID_WORKER)
		return -EPROTO;
	if (!slot_of(id, &table, &slot))
		return -ENOSPC;
	e = make_entry_locked(ids, id);
	if (!e)
		return -ENOMEM;
	if (id_of(e))
		return -EPROTO;
	publish_locked(ids, e, id, handle, owner);
	return 0;
}

int ids_add(struct ids *ids, enum remote_kind kind, uint64_t id, void *handle, uint64_t owner)
{
	int r;

	pthread_mutex_lock(&ids->lock);
	r = add_locked(ids, kind, id, handle, owner);
	pthread_mutex_unlock(&ids->lock);
	return r;
}

static struct id_entry *find_handle_locked(struct ids *ids, enum remote_kind kind, const void *handle)
{
	struct id_entry *e = ids->bucket[bucket_of(ids, kind, handle)];

	while (e && (handle_of(e) != handle || ids_kind(id_of(e)) != kind))
		e = e->same;
	return e;
}

static uint64_t wanted_locked(struct ids *ids, enum remote_kind kind, void *handle, uint64_t owner)
{
	uint64_t id = ids->wanted_at < ids->wanted_count ? ids->wanted[ids->wanted_at] : 0;
	struct id_entry *e = id && ids_kind(id) == kind ? make_entry_locked(ids, id) : NULL;

	if (!e || id_of(e))
		return 0;
	ids->wanted_at++;
	e->generation = id >> 32 & GENERATION_MASK;
	publish_locked(ids, e, id, handle, owner);
	return id;
}

static int want_locked(struct ids *ids, const uint64_t *list, uint32_t count, bool behind)
{
	const uint32_t left = behind ? ids->wanted_count - ids->wanted_at : 0;
	uint64_t *all;

	if (left > IDS_CHUNK * IDS_CHUNKS - count)
		return -EPROTO;
	all = malloc(((size_t)left + count + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	if (left)
		memcpy(all, ids->wanted + ids->wanted_at, left * sizeof(*all));
	if (count)
		memcpy(all + left, list, count * sizeof(*all));
	free(ids->wanted);
	ids->wanted = all;
	ids->wanted_count = left + count;
	ids->wanted_at = 0;
	return 0;
}

int ids_want(struct ids *ids, uint32_t next, const uint64_t *list, uint32_t count, bool behind)
{
	int r;

	if (next > IDS_CHUNK * IDS_CHUNKS || count > IDS_CHUNK * IDS_CHUNKS)
		return -EPROTO;
	for (uint32_t i = 0; i < count; i++)
		if (!(list[i] & CALL_ID_WORKER) || ((uint32_t)list[i] & ~CALL_ID_WORKER) >= next)
			return -EPROTO;
	pthread_mutex_lock(&ids->lock);
	r = want_locked(ids, list, count, behind);
	if (!r && next > ids->next)
		ids->next = next;
	pthread_mutex_unlock(&ids->lock);
	return r;
}

/* NULL: none that was used is free. */
static struct id_entry *take_unused_locked(struct ids *ids)
{
	struct id_entry *e;

	do {
		e = ids->unused;
		if (!e)
			return NULL;
		ids->unused = e->spare;
		e->listed = false;
	} while (id_of(e));
	return e;
}

static uint64_t make_name_locked(struct ids *ids, enum remote_kind kind, void *handle, uint64_t owner)
{
	uint64_t wanted = wanted_locked(ids, kind, handle, owner);
	struct id_entry *e = wanted ? NULL : take_unused_locked(ids);
	uint32_t slot;
	uint64_t id;

	if (wanted)
		return wanted;
	if (!e && ids->next >= IDS_CHUNK * IDS_CHUNKS)
		return 0;
	if (e) {
		/* A free slot keeps its number where its children would be counted from. */
		slot = (uint32_t)e->owner;
	} else {
		slot = ids->next | CALL_ID_WORKER;
		e = make_entry_locked(ids, slot);
		if (!e)
			return 0;
		ids->next++;
	}
	e->generation++;
	id = CALL_ID(kind, e->generation & GENERATION_MASK, slot);
	publish_locked(ids, e, id, handle, owner);
	return id;
}

uint64_t ids_name(struct ids *ids, enum remote_kind kind, void *handle, uint64_t owner, bool *ret_new)
{
	struct id_entry *e;
	uint64_t id;

	*ret_new = false;
	pthread_mutex_lock(&ids->lock);
	e = find_handle_locked(ids, kind, handle);
	if (e)
		id = id_of(e);
	else
		*ret_new = (id = make_name_locked(ids, kind, handle, owner));
	pthread_mutex_unlock(&ids->lock);
	return id;
}

uint64_t ids_known(struct ids *ids, enum remote_kind kind, const void *handle)
{
	struct id_entry *e;
	uint64_t id;

	pthread_mutex_lock(&ids->lock);
	e = find_handle_locked(ids, kind, handle);
	id = e ? id_of(e) : 0;
	pthread_mutex_unlock(&ids->lock);
	return id;
}

uint64_t ids_owner(struct ids *ids, uint64_t id)
{
	struct id_entry *e;
	uint64_t owner;

	pthread_mutex_lock(&ids->lock);
	e = id ? entry_at(ids, id) : NULL;
	owner = e && id_of(e) == id && e->parent ? id_of(e->parent) : 0;
	pthread_mutex_unlock(&ids->lock);
	return owner;
}

static void unlink_locked(struct id_entry *e)
{
	if (e->before)
		e->before->after = e->after;
	else if (e->parent)
		e->parent->child = e->after;
	if (e->after)
		e->after->before = e->before;
	e->parent = e->before = e->after = NULL;
}

/* A leaf. `g` was allocated before, so that nothing is half gone without memory. */
static void take_out_locked(struct ids *ids, struct id_entry *e, struct ids_gone *g)
{
	uint64_t id = id_of(e);

	*g = (struct ids_gone){ .id = id,
				.handle = handle_of(e),
				.kept = atomic_load_explicit(&e->kept, memory_order_relaxed),
				.fn = e->gone,
				.ranges = e->ranges };
	unlink_locked(e);
	if (!e->hidden)
		hash_remove_locked(ids, e);
	atomic_store_explicit(&e->id, 0, memory_order_release);
	e->hidden = false;
	atomic_store_explicit(&e->kept, NULL, memory_order_relaxed);
	atomic_store_explicit(&e->deferred, 0, memory_order_relaxed);
	e->gone = NULL;
	e->ranges = false;
	e->owner = 0;
	if (id & CALL_ID_WORKER)
		e->owner = (uint32_t)id;
	if (id & CALL_ID_WORKER && !e->listed) {
		e->listed = true;
		e->spare = ids->unused;
		ids->unused = e;
	}
}

static struct ids_gone *remove_locked(struct ids *ids, struct id_entry *root)
{
	struct ids_gone *first = NULL, **end = &first;
	bool last = false;

	while (!last) {
		struct id_entry *e = root;
		struct ids_gone *g = malloc(sizeof(*g));

		if (!g)
			break; /* what remains is found by no id of the client's any more when its context goes */
		while (e->child)
			e = e->child;
		last = e == root;
		take_out_locked(ids, e, g);
		*end = g;
		end = &g->next;
	}
	return first;
}

/* The next one below `root`, parents first; NULL: that was the last. */
static struct id_entry *next_below(struct id_entry *e, const struct id_entry *root)
{
	if (e->child)
		return e->child;
	while (e != root && !e->after)
		e = e->parent;
	return e == root ? NULL : e->after;
}

static bool is_below(const struct id_entry *e, const struct id_entry *root)
{
	while (e && e != root)
		e = e->parent;
	return e;
}

static void own_locked(struct ids *ids, struct id_entry *e, struct id_entry *owner)
{
	if (is_below(owner, e))
		return;
	unlink_locked(e);
	link_locked(ids, e, id_of(owner));
}

void ids_own(struct ids *ids, uint64_t id, uint64_t owner)
{
	struct id_entry *e, *by;

	pthread_mutex_lock(&ids->lock);
	e = entry_at(ids, id);
	by = entry_at(ids, owner);
	if (e && by && id && owner && id_of(e) == id && id_of(by) == owner)
		own_locked(ids, e, by);
	pthread_mutex_unlock(&ids->lock);
}

/* What the driver named by another way has an id besides the client's: it is gone when the object is. */
static void own_twins_locked(struct ids *ids, struct id_entry *root)
{
	for (struct id_entry *e = ids->bucket[bucket_of(ids, ids_kind(id_of(root)), handle_of(root))]; e; e = e->same)
		if (e != root && handle_of(e) == handle_of(root) && ids_kind(id_of(e)) == ids_kind(id_of(root)))
			own_locked(ids, e, root);
}

/* `handle`: that it must have; NULL: any. */
static bool set_hidden(struct ids *ids, uint64_t id, const void *handle, bool hidden)
{
	struct id_entry *root;
	bool changed;

	pthread_mutex_lock(&ids->lock);
	root = id ? entry_at(ids, id) : NULL;
	if (root && (id_of(root) != id || (handle && handle_of(root) != handle)))
		root = NULL;
	changed = root && root->hidden != hidden;
	if (changed && hidden)
		own_twins_locked(ids, root);
	for (struct id_entry *e = root; e; e = next_below(e, root)) {
		if (e->hidden == hidden)
			continue;
		if (hidden)
			hash_remove_locked(ids, e);
		else
			hash_add_locked(ids, e);
		e->hidden = hidden;
	}
	pthread_mutex_unlock(&ids->lock);
	return changed;
}

bool ids_hide(struct ids *ids, uint64_t id, const void *handle)
{
	return set_hidden(ids, id, handle, true);
}

void ids_show(struct ids *ids, uint64_t id)
{
	set_hidden(ids, id, NULL, false);
}

static void tell_removed(struct ids *ids, struct ids_gone *list)
{
	while (list) {
		struct ids_gone *g = list;

		list = g->next;
		if (ids->on_gone)
			ids->on_gone(ids->owner, g->id, g->handle, g->ranges);
		if (g->kept && g->fn)
			retire(ids, g);
		else
			free(g);
	}
}

void ids_remove(struct ids *ids, uint64_t id)
{
	struct ids_gone *list = NULL;
	struct id_entry *e;

	pthread_mutex_lock(&ids->lock);
	e = id ? entry_at(ids, id) : NULL;
	if (e && id_of(e) == id)
		list = remove_locked(ids, e);
	pthread_mutex_unlock(&ids->lock);
	tell_removed(ids, list);
}

/* ---- who uses an object, and its end ---- */

/* One of those that an end waits for. */
struct ids_await {
	struct ids_await *next;
	struct ids_end *end;
};

void ids_use(struct id_entry *e)
{
	atomic_fetch_add(&e->users, 1);
}

bool ids_use_found(struct ids *ids, struct id_entry *e, uint64_t id)
{
	ids_use(e);
	if (ids_find(ids, ids_kind(id), id) == e)
		return true;
	ids_leave(ids, e);
	return false;
}

/* Takes out an end that waits for nobody but this entry. NULL: there is none. */
static struct ids_end *take_end_locked(struct id_entry *e)
{
	struct ids_end *end = NULL;

	while (e->awaits && !end && !atomic_load(&e->users)) {
		struct ids_await *a = e->awaits;

		e->awaits = a->next;
		if (!--a->end->awaited)
			end = a->end;
		free(a);
	}
	return end;
}

void ids_leave(struct ids *ids, struct id_entry *e)
{
	struct ids_end *end;
	struct id_entry *owner;

	atomic_fetch_sub(&e->users, 1);
	/* Pairs with those who raise `ends` and look at `users` then. One who ends it is a user, too. */
	if (!atomic_load(&ids->ends))
		return;
	do {
		pthread_mutex_lock(&ids->lock);
		end = take_end_locked(e);
		pthread_cond_broadcast(&ids->left);
		pthread_mutex_unlock(&ids->lock);
		if (end) {
			owner = end->owner;
			end->run(end);
			atomic_fetch_sub(&ids->ends, 1);
			if (owner)
				ids_leave(ids, owner);
		}
	} while (end);
}

static uint32_t own_uses(const struct id_entry *e, struct id_entry *const *own, unsigned int count)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < count; i++)
		n += own[i] == e;
	return n;
}

static bool alone_locked(struct ids *ids, uint64_t id, struct id_entry *const *own, unsigned int count)
{
	struct id_entry *root = entry_at(ids, id);

	if (!root || id_of(root) != id)
		return true;
	for (struct id_entry *e = root; e; e = next_below(e, root))
		if (atomic_load(&e->users) != own_uses(e, own, count))
			return false;
	return true;
}

void ids_await(struct ids *ids, uint64_t id, struct id_entry *const *own, unsigned int count)
{
	atomic_fetch_add(&ids->ends, 1);
	pthread_mutex_lock(&ids->lock);
	while (!alone_locked(ids, id, own, count))
		pthread_cond_wait(&ids->left, &ids->lock);
	pthread_mutex_unlock(&ids->lock);
	atomic_fetch_sub(&ids->ends, 1);
}

/* 0; -ENOMEM: what was made so far waits for nobody. */
static int await_locked(struct id_entry *root, struct ids_end *end)
{
	for (struct id_entry *e = root; e; e = next_below(e, root)) {
		struct ids_await *a;

		if (!atomic_load(&e->users))
			continue;
		a = malloc(sizeof(*a));
		if (!a)
			return -ENOMEM;
		*a = (struct ids_await){ e->awaits, end };
		e->awaits = a;
		end->awaited++;
	}
	return 0;
}

static void await_none_locked(struct id_entry *root, const struct ids_end *end)
{
	for (struct id_entry *e = root; e; e = next_below(e, root))
		for (struct ids_await **at = &e->awaits, *a; (a = *at);) {
			if (a->end != end) {
				at = &a->next;
				continue;
			}
			*at = a->next;
			free(a);
		}
}

int ids_later(struct ids *ids, uint64_t id, struct ids_end *end)
{
	struct ids_gone *list = NULL;
	struct id_entry *root;
	int r = 0;

	atomic_fetch_add(&ids->ends, 1);
	pthread_mutex_lock(&ids->lock);
	root = id ? entry_at(ids, id) : NULL;
	if (root && id_of(root) == id)
		r = await_locked(root, end);
	if (r)
		await_none_locked(root, end);
	if (!r && end->awaited) {
		r = 1;
		end->owner = root->parent;
		if (end->owner)
			ids_use(end->owner);
		list = remove_locked(ids, root);
	}
	pthread_mutex_unlock(&ids->lock);
	if (r <= 0)
		atomic_fetch_sub(&ids->ends, 1);
	tell_removed(ids, list);
	return r;
}

/* ---- what is kept ---- */

void ids_keep(struct ids *ids, uint64_t id, void *data, void (*gone)(void *data))
{
	void *old = data;
	void (*old_gone)(void *data) = gone;
	struct ids_gone *g;
	struct id_entry *e;

	pthread_mutex_lock(&ids->lock);
	e = id ? entry_at(ids, id) : NULL;
	if (e && id_of(e) == id) {
		old = atomic_load_explicit(&e->kept, memory_order_relaxed);
		old_gone = e->gone;
		e->gone = gone;
		atomic_store_explicit(&e->kept, data, memory_order_release);
	}
	pthread_mutex_unlock(&ids->lock);
	/* What stood there before; or, without such an object, the new data itself. */
	g = old && old_gone ? malloc(sizeof(*g)) : NULL;
	if (!g)
		return; /* without memory it stays */
	*g = (struct ids_gone){ .kept = old, .fn = old_gone };
	retire(ids, g);
}
