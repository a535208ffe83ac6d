/* handles.c: see handles.h. */
#include "remote/client/handles.h"
#include "remote/client/deeds.h"
#include "ring/call.h"

#include <stdlib.h>
#include <string.h>

/*
 * 63..56  MARK     no canonical address begins so
 * 55..50  session
 * 49..44  kind
 * 43..28  generation
 * 27..4   slot
 *  3..0   0
 */
#define MARK 0x6dull
#define GENERATIONS 0xffffu

static uint64_t value_of(unsigned int session, enum remote_kind kind, uint32_t generation, uint32_t slot)
{
	return MARK << 56 | (uint64_t)session << 50 | (uint64_t)kind << 44 | (uint64_t)generation << 28 |
	       (uint64_t)slot << 4;
}

static uint32_t slot_of(uint64_t handle)
{
	return handle >> 4 & 0xffffff;
}

int handle_session(uint64_t handle)
{
	return handle >> 56 == MARK && !(handle & 15) ? (int)(handle >> 50 & 63) : -1;
}

enum remote_kind handle_kind(uint64_t handle)
{
	return (enum remote_kind)(handle >> 44 & 63);
}

void handles_init(struct handles *h, unsigned int session)
{
	memset(h, 0, sizeof *h);
	pthread_mutex_init(&h->lock, NULL);
	h->session = session;
	h->used = 1;
}

/* Acquire: pairs with the release in slot_new_locked(). */
static struct object *at(struct handles *h, uint32_t slot)
{
	struct object *chunk;

	if (slot / HANDLES_CHUNK >= HANDLES_CHUNKS)
		return NULL;
	chunk = atomic_load_explicit(&h->chunk[slot / HANDLES_CHUNK], memory_order_acquire);
	return chunk ? &chunk[slot % HANDLES_CHUNK] : NULL;
}

/* A slot that was given out: its chunk is there. */
static struct object *known(struct handles *h, uint32_t slot)
{
	return &atomic_load_explicit(&h->chunk[slot / HANDLES_CHUNK], memory_order_relaxed)[slot % HANDLES_CHUNK];
}

struct object *handles_find(struct handles *h, uint64_t handle)
{
	struct object *o = at(h, slot_of(handle));

	/* Acquire: pairs with the release in add_locked(). */
	return o && handle && atomic_load_explicit(&o->handle, memory_order_acquire) == handle ? o : NULL;
}

static uint32_t slot_new_locked(struct handles *h)
{
	uint32_t slot = h->unused;

	if (slot) {
		h->unused = known(h, slot)->chain;
		return slot;
	}
	slot = h->used;
	if (slot / HANDLES_CHUNK >= HANDLES_CHUNKS)
		return 0;
	if (!at(h, slot)) {
		struct object *chunk = calloc(HANDLES_CHUNK, sizeof *chunk);

		if (!chunk)
			return 0;
		atomic_store_explicit(&h->chunk[slot / HANDLES_CHUNK], chunk, memory_order_release);
	}
	h->used++;
	return slot;
}

static uint32_t *bucket_of(struct handles *h, uint64_t id)
{
	return &h->bucket[(id * 0x9e3779b97f4a7c15u) >> 51];
}

static uint64_t add_locked(struct handles *h, enum remote_kind kind, uint64_t owner, uint64_t id, uint64_t *ret_id)
{
	uint32_t slot = slot_new_locked(h);
	struct object *o, *parent;

	if (!slot)
		return 0;
	o = known(h, slot);
	o->generation = o->generation % GENERATIONS + 1;
	if (!id)
		id = CALL_ID(kind, o->generation, slot);
	o->id = id;
	o->chain = 0;
	if (id & CALL_ID_WORKER) {
		uint32_t *first = bucket_of(h, id);

		o->chain = *first;
		*first = slot;
	}
	o->owner = o->first = o->next = o->previous = 0;
	o->context = 0;
	o->gone = NULL;
	o->deeds = NULL;
	atomic_store_explicit(&o->covered, false, memory_order_relaxed);
	atomic_store_explicit(&o->kept, NULL, memory_order_relaxed);
	atomic_store_explicit(&o->word, 0, memory_order_relaxed);
	parent = handles_find(h, owner);
	if (parent) {
		o->owner = slot_of(owner);
		o->context = handle_kind(owner) == KIND_CONTEXT ? owner : parent->context;
		o->next = parent->first;
		if (o->next)
			known(h, o->next)->previous = slot;
		parent->first = slot;
	}
	if (ret_id)
		*ret_id = id;
	owner = value_of(h->session, kind, o->generation, slot);
	atomic_store_explicit(&o->handle, owner, memory_order_release);
	return owner;
}

uint64_t handles_add(struct handles *h, enum remote_kind kind, uint64_t owner, uint64_t id, uint64_t *ret_id)
{
	uint64_t handle;

	pthread_mutex_lock(&h->lock);
	handle = add_locked(h, kind, owner, id, ret_id);
	pthread_mutex_unlock(&h->lock);
	return handle;
}

static uint64_t named_locked(struct handles *h, uint64_t id)
{
	uint32_t slot;

	if (!(id & CALL_ID_WORKER)) {
		struct object *o = at(h, (uint32_t)id);

		return o && o->id == id ? atomic_load_explicit(&o->handle, memory_order_relaxed) : 0;
	}
	for (slot = *bucket_of(h, id); slot; slot = known(h, slot)->chain)
		if (known(h, slot)->id == id)
			return atomic_load_explicit(&known(h, slot)->handle, memory_order_relaxed);
	return 0;
}

static struct object *object_named_locked(struct handles *h, uint64_t id)
{
	uint64_t handle = id ? named_locked(h, id) : 0;

	return handle ? handles_find(h, handle) : NULL;
}

/* What is kept with an object is of its kind: another one's handle is none for this. */
static bool is_of(uint64_t handle, enum remote_kind kind)
{
	const enum remote_kind is = handle_kind(handle);

	return is == kind || (kind == KIND_FUNCTION && is == KIND_KERNEL);
}

uint64_t handles_meet(struct handles *h, enum remote_kind kind, uint64_t owner, uint64_t id)
{
	uint64_t handle;

	if (!id)
		return 0;
	pthread_mutex_lock(&h->lock);
	handle = named_locked(h, id);
	if (!handle && id & CALL_ID_WORKER)
		handle = add_locked(h, kind, owner, id, NULL);
	pthread_mutex_unlock(&h->lock);
	return is_of(handle, kind) ? handle : 0;
}

static void unchain_locked(struct handles *h, struct object *o, uint32_t slot)
{
	uint32_t *link;

	if (!(o->id & CALL_ID_WORKER))
		return;
	for (link = bucket_of(h, o->id); *link && *link != slot; link = &known(h, *link)->chain)
		;
	if (*link)
		*link = o->chain;
}

static void disown_locked(struct handles *h, struct object *o)
{
	if (o->previous)
		known(h, o->previous)->next = o->next;
	else if (o->owner)
		known(h, o->owner)->first = o->next;
	if (o->next)
		known(h, o->next)->previous = o->previous;
}

/* What was kept with objects that have ended; told without the lock. */
struct ended {
	struct ended *next;
	void *kept;
	void (*gone)(void *kept);
};

static void want_add(struct object *graph, uint64_t seq)
{
	const uint32_t room = graph->want_room ? 2 * graph->want_room : 4;
	uint64_t *more = graph->wanted < graph->want_room ? graph->want : realloc(graph->want, room * sizeof(*more));

	if (!more)
		return; /* it may end too early, and then what was made of it stays */
	graph->want_room = graph->wanted < graph->want_room ? graph->want_room : room;
	graph->want = more;
	graph->want[graph->wanted++] = seq;
}

static void want_remove(struct object *graph, uint64_t seq)
{
	for (uint32_t i = 0; i < graph->wanted; i++)
		if (graph->want[i] == seq) {
			graph->want[i] = graph->want[--graph->wanted];
			return;
		}
}

/* Graphs that a deed of the object names are needed as long as it is kept; its own, and what it is part of, is there.
 */
static void want_locked(struct handles *h, const struct object *o, const struct deed *d, bool more)
{
	const enum remote_kind kind = handle_kind(atomic_load_explicit(&o->handle, memory_order_relaxed));
	const uint64_t owner = o->owner ? known(h, o->owner)->id : 0;

	if (kind != KIND_GRAPH && kind != KIND_GRAPH_NODE && kind != KIND_GRAPH_EXEC)
		return;
	for (size_t i = DEED_FIRST; i < d->bytes / sizeof(*d->message); i++) {
		const uint64_t id = d->message[i];
		struct object *graph =
			id >> 56 == KIND_GRAPH && id != o->id && id != owner ? object_named_locked(h, id) : NULL;

		if (graph)
			(more ? want_add : want_remove)(graph, d->seq);
	}
}

/* Something was made of the node's graph between the two deeds: as it was then. */
static bool made_between_locked(struct handles *h, const struct object *o, uint64_t older, uint64_t newer)
{
	const struct object *graph = o->owner ? known(h, o->owner) : NULL;

	if (!graph || handle_kind(atomic_load_explicit(&o->handle, memory_order_relaxed)) != KIND_GRAPH_NODE)
		return false;
	for (uint32_t i = 0; i < graph->wanted; i++)
		if (graph->want[i] > older && graph->want[i] < newer)
			return true;
	return false;
}

/* Ends those that set the same, unless something was made of it meanwhile. */
static void supersede_locked(struct handles *h, struct object *o, const struct deed *take)
{
	uint64_t newer = take->seq;

	for (struct deed **at = &o->deeds; *at;) {
		struct deed *d = *at;
		const bool same = deeds_same(d, take);

		if (same && !made_between_locked(h, o, d->seq, newer)) {
			*at = d->next;
			d->next = NULL;
			want_locked(h, o, d, false);
			deeds_free(d);
			continue;
		}
		newer = same ? d->seq : newer;
		at = &d->next;
	}
}

static void end_one_locked(struct handles *h, uint32_t slot, struct ended **ended)
{
	struct object *o = known(h, slot);
	void *kept = atomic_load_explicit(&o->kept, memory_order_relaxed);

	for (const struct deed *d = o->deeds; d; d = d->next)
		want_locked(h, o, d, false);
	free(o->want);
	o->want = NULL;
	o->wanted = o->want_room = 0;
	atomic_store_explicit(&o->handle, 0, memory_order_release);
	disown_locked(h, o);
	unchain_locked(h, o, slot);
	if (kept && o->gone) {
		struct ended *e = malloc(sizeof *e);

		if (e) {
			*e = (struct ended){ *ended, kept, o->gone };
			*ended = e;
		}
	}
	deeds_free(o->deeds);
	o->deeds = NULL;
	o->id = 0;
	o->chain = h->unused;
	h->unused = slot;
}

/* The deepest first, so that a child is never without its owner. */
static void end_locked(struct handles *h, uint32_t slot, struct ended **ended)
{
	const uint32_t top = slot;

	for (;;) {
		struct object *o = known(h, slot);
		uint32_t owner;

		if (o->first) {
			slot = o->first;
			continue;
		}
		owner = o->owner;
		end_one_locked(h, slot, ended);
		if (slot == top)
			return;
		slot = owner;
	}
}

bool handles_keep(struct handles *h, uint64_t handle, void *data, void (*gone)(void *kept))
{
	struct object *o;

	pthread_mutex_lock(&h->lock);
	o = handles_find(h, handle);
	if (o) {
		o->gone = gone;
		atomic_store_explicit(&o->kept, data, memory_order_release);
	}
	pthread_mutex_unlock(&h->lock);
	return o;
}

static void tell(struct ended *ended)
{
	while (ended) {
		struct ended *e = ended;

		ended = e->next;
		e->gone(e->kept);
		free(e);
	}
}

void handles_drop(struct handles *h, uint64_t handle)
{
	struct ended *ended = NULL;

	pthread_mutex_lock(&h->lock);
	if (handles_find(h, handle))
		end_locked(h, slot_of(handle), &ended);
	pthread_mutex_unlock(&h->lock);
	tell(ended);
}

void handles_renew(struct handles *h, uint64_t handle, uint64_t id)
{
	struct ended *ended = NULL;
	struct object *o;

	pthread_mutex_lock(&h->lock);
	o = handles_find(h, handle);
	while (o && o->first)
		end_locked(h, o->first, &ended);
	if (o && !id) {
		deeds_free(o->deeds);
		o->deeds = NULL;
		atomic_store_explicit(&o->covered, false, memory_order_relaxed);
	}
	if (o && o->id != id) {
		uint32_t *first = bucket_of(h, id);

		unchain_locked(h, o, slot_of(handle));
		o->id = id;
		o->chain = 0;
		if (id & CALL_ID_WORKER) {
			o->chain = *first;
			*first = slot_of(handle);
		}
	}
	pthread_mutex_unlock(&h->lock);
	tell(ended);
}

void handles_deeds(struct handles *h, uint64_t handle, struct deed *newest, struct deed *oldest)
{
	struct object *o;

	pthread_mutex_lock(&h->lock);
	o = handles_find(h, handle);
	if (o) {
		oldest->next = o->deeds;
		o->deeds = newest;
	}
	pthread_mutex_unlock(&h->lock);
	if (!o)
		deeds_free(newest);
}

struct deed *handles_deed_copy(struct handles *h, uint64_t id)
{
	struct deed *copy = NULL;
	struct object *o;

	pthread_mutex_lock(&h->lock);
	o = object_named_locked(h, id);
	for (const struct deed *d = o ? o->deeds : NULL; d; d = d->next)
		if (!d->next)
			copy = deed_copy(d);
	pthread_mutex_unlock(&h->lock);
	return copy;
}

uint64_t handles_deed_word(struct handles *h, uint64_t handle, enum remote_kind kind)
{
	uint64_t word = 0;
	struct object *o;

	pthread_mutex_lock(&h->lock);
	o = handles_find(h, handle);
	for (const struct deed *d = o ? o->deeds : NULL; d && !word; d = d->next)
		for (size_t i = DEED_FIRST; i < d->bytes / sizeof(word) && !word; i++)
			word = d->message[i] >> 56 == kind ? d->message[i] : 0;
	pthread_mutex_unlock(&h->lock);
	return word;
}

bool handles_names(struct handles *h, uint64_t id)
{
	bool found;

	pthread_mutex_lock(&h->lock);
	found = object_named_locked(h, id);
	pthread_mutex_unlock(&h->lock);
	return found;
}

uint64_t handles_owner(struct handles *h, uint64_t handle)
{
	uint64_t owner = 0;
	struct object *o;

	pthread_mutex_lock(&h->lock);
	o = handles_find(h, handle);
	if (o && o->owner)
		owner = known(h, o->owner)->handle;
	pthread_mutex_unlock(&h->lock);
	return owner;
}

uint32_t handles_wanted(struct handles *h, uint64_t handle)
{
	uint32_t wanted;
	struct object *o;

	pthread_mutex_lock(&h->lock);
	o = handles_find(h, handle);
	wanted = o ? o->wanted : 0;
	pthread_mutex_unlock(&h->lock);
	return wanted;
}

bool handles_deed(struct handles *h, uint64_t handle, struct deed *take)
{
	struct object *o;
	bool spoilt = !take || take->spoilt;

	pthread_mutex_lock(&h->lock);
	o = handles_find(h, handle);
	if (o && take && !spoilt) {
		supersede_locked(h, o, take);
		take->next = o->deeds;
		o->deeds = take;
		want_locked(h, o, take, true);
	}
	if (o)
		atomic_store_explicit(&o->covered,
				      !spoilt && (atomic_load_explicit(&o->covered, memory_order_relaxed) ||
						  !(take->change & CLIENT_CHANGES)),
				      memory_order_relaxed);
	pthread_mutex_unlock(&h->lock);
	/* What cannot be repeated is not kept. */
	if (o && take && spoilt)
		deeds_free(take);
	return o;
}

bool handles_covered(struct handles *h, uint64_t handle)
{
	struct object *o = handles_find(h, handle);

	return o && atomic_load_explicit(&o->covered, memory_order_relaxed);
}

void handles_cover(struct handles *h, uint64_t handle)
{
	struct object *o = handles_find(h, handle);

	if (o)
		atomic_store_explicit(&o->covered, true, memory_order_relaxed);
}

void handles_each(struct handles *h, void (*fn)(void *arg, uint64_t handle, const struct object *o), void *arg)
{
	pthread_mutex_lock(&h->lock);
	for (uint32_t slot = 1; slot < h->used; slot++) {
		struct object *o = known(h, slot);
		uint64_t handle = atomic_load_explicit(&o->handle, memory_order_relaxed);

		if (handle)
			fn(arg, handle, o);
	}
	pthread_mutex_unlock(&h->lock);
}

void handles_deinit(struct handles *h)
{
	for (uint32_t slot = 1; slot < h->used; slot++) {
		struct object *o = known(h, slot);

		if (o)
			handles_drop(h, o->handle);
	}
	for (uint32_t i = 0; i < HANDLES_CHUNKS; i++)
		free(h->chunk[i]);
	pthread_mutex_destroy(&h->lock);
}
