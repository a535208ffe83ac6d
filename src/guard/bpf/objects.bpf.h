// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/*
 * objects.bpf.h: device memory and the objects that hold it, until their last name is gone; and the state that a call
 * leaves. Included by guard.bpf.c.
 */
#pragma once

static void memory_unref(uint64_t number)
{
	struct guard_memory *m = bpf_map_lookup_elem(&guard_memories, &number);

	if (!m || __sync_fetch_and_sub(&m->references, 1) != 1)
		return;
	account_refund(m->account, m->bytes);
	bpf_map_delete_elem(&guard_memories, &number);
}

static bool memory_ref(uint64_t number)
{
	struct guard_memory *m = bpf_map_lookup_elem(&guard_memories, &number);

	for (int i = 0; m && i < 64; i++) {
		uint64_t n = *(volatile uint64_t *)&m->references;

		if (!n)
			return false;
		if (__sync_val_compare_and_swap(&m->references, n, n + 1) == n)
			return true;
	}
	return false;
}

static void object_uncount(const struct guard_object *o)
{
	struct guard_tenant *t = tenant_find(o->account);
	struct guard_pool *pool = o->pooled ? pool_get() : NULL;

	if (pool)
		__sync_fetch_and_sub(&pool->objects, 1);
	if (!t)
		return;
	__sync_fetch_and_sub(&t->objects, 1);
	if (o->class == RM_CLASS_GROUP)
		__sync_fetch_and_sub(&t->groups, 1);
}

/*
 * Identifies an object. Its entry in the table may be reused as soon as it is removed, even while it is being read; all
 * changes therefore use these numbers, which are unique. The memory is read first: if the entry is reused between the
 * two reads, its number is greater than all earlier ones.
 */
struct known {
	uint64_t memory, number;
};

static struct known object_known(const struct guard_object *o)
{
	struct known k = { .memory = *(volatile const uint64_t *)&o->memory };

	k.number = *(volatile const uint64_t *)&o->number;
	return k;
}

/*
 * Only the first caller succeeds: two threads may free an object's parent. True: this caller; the caller that takes it
 * from the counts also removes it from the table, and no other does.
 */
static bool object_gone(struct guard_object *o, uint64_t number)
{
	if (!number || __sync_val_compare_and_swap(&o->counted, number, 0) != number)
		return false;
	object_uncount(o);
	return true;
}

/* False: another caller was first. */
static bool object_give_back(struct guard_object *o, uint64_t number)
{
	if (!number || __sync_val_compare_and_swap(&o->memory, number, 0) != number)
		return false;
	memory_unref(number);
	return true;
}

/* A unique number; a later one is greater. Never 0, which means failure. */
static uint64_t number_next(void)
{
	uint32_t zero = 0;
	uint64_t *last = bpf_map_lookup_elem(&guard_number, &zero);

	return last ? __sync_fetch_and_add(last, 1) + 1 : 0;
}

static uint64_t number_last(void)
{
	uint32_t zero = 0;
	uint64_t *last = bpf_map_lookup_elem(&guard_number, &zero);

	return last ? *(volatile uint64_t *)last : 0;
}

/* Counts an object; its group may have been counted already (group_take). */
static void object_come(struct work *w, struct guard_object *o, struct guard_tenant *t)
{
	struct guard_pool *pool = pool_get();

	if (o->class == RM_CLASS_GROUP && t && !w->group)
		__sync_fetch_and_add(&t->groups, 1);
	else if (o->class == RM_CLASS_GROUP)
		w->group = 0;
	if (!t || !pool || __sync_fetch_and_add(&t->objects, 1) < GUARD_OWN_OBJECTS)
		return;
	__sync_fetch_and_add(&pool->objects, 1);
	o->pooled = 1;
}

struct put {
	struct guard_key key;
	struct guard_object object;
	uint64_t done;
};

/*
 * The previous object of this name is gone; the thread that freed it has not recorded that yet, or is about to remove
 * it. An object that is found twice had the name in between.
 */
static long put_once(uint32_t i, struct put *p)
{
	struct guard_object *old;
	struct known known;

	p->done = !bpf_map_update_elem(&guard_objects, &p->key, &p->object, BPF_NOEXIST);
	old = p->done ? NULL : bpf_map_lookup_elem(&guard_objects, &p->key);
	if (!old)
		return p->done;
	known = object_known(old);
	if (bpf_map_lookup_elem(&guard_objects, &p->key) == old && object_gone(old, known.number)) {
		object_give_back(old, known.memory);
		p->done = !bpf_map_update_elem(&guard_objects, &p->key, &p->object, BPF_ANY);
	}
	return p->done;
}

/*
 * Creates an unused name of the client: its object ends with the file. The driver knows the memory under another name,
 * of which no second name may be created, because that would outlive the charge (judge_objects). The client may belong
 * to another tenant, which this does not affect.
 */
static void key_make_up(struct guard_key *key, uint64_t account)
{
	struct guard_key client = { key->client, key->client };
	struct guard_object *c = bpf_map_lookup_elem(&guard_objects, &client);

	if (c && c->account == account)
		c->unnamed = 1;
	key->handle = bpf_get_prandom_u32() | 0x80000000;
}

static void object_put(struct work *w, const struct guard_key *key, uint32_t parent, uint32_t class, uint64_t number)
{
	struct guard_object o = { .memory = number,
				  .number = number_next(),
				  .file = w->file,
				  .account = w->account,
				  .parent = parent,
				  .class = class };
	struct guard_tenant *t = tenant_find(w->account);
	struct put p = { .done = 0 };

	o.counted = o.number;
	object_come(w, &o, t);
	if (key->client != key->handle) {
		struct guard_key client = { key->client, key->client };
		struct guard_object *c = bpf_map_lookup_elem(&guard_objects, &client);

		if (c)
			o.file = c->file;
		else
			bpf_map_update_elem(&guard_records, &o.file, &o.account, BPF_ANY);
	} else {
		bpf_map_update_elem(&guard_records, &o.file, &o.account, BPF_ANY);
	}
	p.key = *key;
	p.object = o;
	bpf_loop(PUT_TRIES, put_once, &p, 0);
	/* The name is not freed: the charge remains until the file is released. */
	if (!p.done)
		key_make_up(&p.key, w->account);
	if (!p.done && bpf_map_update_elem(&guard_objects, &p.key, &p.object, BPF_NOEXIST))
		object_uncount(&o);
}

/*
 * A second name refers to the source's meaning when the manager handles the call, which may be other memory than when
 * the call was judged. Both sides therefore announce what they do before they look at the other: the creator of a
 * second name before it looks up the source; the one that names memory before it looks for second names in progress
 * (named_beside).
 */
static void dup_begin(struct work *w, struct guard_tenant *t, struct guard_key source, uint32_t to)
{
	uint64_t key = (uint64_t)source.client << 32 | source.handle, ended;
	uint32_t at = __sync_fetch_and_add(&t->dups_begun, 1) & (GUARD_DUPS - 1);

	__sync_fetch_and_add(&t->dups, 1);
	if (__sync_val_compare_and_swap(&t->dup_busy[at], 0, 1)) {
		__sync_fetch_and_add(&t->lost, 1);
		w->dup = GUARD_DUPS + 1;
		return;
	}
	/* Who names memory now must not miss the one that was here. */
	ended = t->dup_ended[at];
	if (ended > *(volatile uint64_t *)&t->lost_ended)
		*(volatile uint64_t *)&t->lost_ended = ended;
	__sync_lock_test_and_set(&t->dup_of[at], 0);
	*(volatile uint64_t *)&t->dup_ended[at] = 0;
	*(volatile uint32_t *)&t->dup_to[at] = to;
	__sync_lock_test_and_set(&t->dup_of[at], key);
	w->dup = at + 1;
}

static void dup_end(struct work *w)
{
	struct guard_tenant *t = w->dup ? tenant_find(w->account) : NULL;
	uint32_t at = (w->dup - 1) & (GUARD_DUPS - 1);
	bool lost = w->dup > GUARD_DUPS;
	uint64_t number;

	w->dup = 0;
	if (!t)
		return;
	number = number_next();
	if (lost) {
		*(volatile uint64_t *)&t->lost_ended = number;
		__sync_fetch_and_sub(&t->lost, 1);
	} else {
		*(volatile uint64_t *)&t->dup_ended[at] = number;
		__sync_lock_test_and_set(&t->dup_busy[at], 0);
	}
	*(volatile uint64_t *)&t->dups_ended = number;
	__sync_fetch_and_sub(&t->dups, 1);
}

/* What named_beside() looks for, and what it finds: the client that gets the second name. */
enum { NOT_NAMED = 0, FOR_EVER = 1 };

struct beside {
	uint64_t account, until, of;
	uint32_t found, unused;
};

static long beside_one(uint32_t i, struct beside *b)
{
	struct guard_tenant *t = tenant_find(b->account);
	uint64_t ended;

	if (!t)
		return 1;
	i &= GUARD_DUPS - 1;
	ended = *(volatile uint64_t *)&t->dup_ended[i];
	if (*(volatile uint64_t *)&t->dup_of[i] != b->of || (ended && ended <= b->until))
		return 0;
	b->found = t->dup_to[i] ? t->dup_to[i] : FOR_EVER;
	return 1;
}

/*
 * Whether memory got this name while a second name was being created of an object that had it, and of which client.
 * FOR_EVER: of another driver, or nobody knows.
 */
static uint32_t named_beside(const struct work *w, const struct guard_key *key)
{
	struct beside b = { .account = w->account, .until = w->until, .of = (uint64_t)key->client << 32 | key->handle };
	struct guard_tenant *t = tenant_find(w->account);

	if (!t || (!*(volatile uint64_t *)&t->dups && *(volatile uint64_t *)&t->dups_ended <= w->until))
		return NOT_NAMED;
	bpf_loop(GUARD_DUPS, beside_one, &b, 0);
	if (b.found)
		return b.found;
	return *(volatile uint64_t *)&t->lost || *(volatile uint64_t *)&t->lost_ended > w->until ? FOR_EVER : NOT_NAMED;
}

/*
 * Names memory, of which the caller has one reference in addition to the name's: if it may have an uncounted second
 * name, it stays charged until the file of that one's client is released, or as long as the tenant exists.
 */
static void memory_name(struct work *w, const struct guard_key *key, uint64_t number)
{
	struct guard_key kept = { 0 };
	uint32_t beside;

	object_put(w, key, w->plan.parent, RM_CLASS_MEMORY, number);
	beside = named_beside(w, key);
	if (beside == NOT_NAMED) {
		memory_unref(number);
	} else if (beside != FOR_EVER) {
		kept.client = beside;
		key_make_up(&kept, w->account);
		object_put(w, &kept, kept.client, RM_CLASS_MEMORY, number);
	}
}

static void memory_put(struct work *w, const struct guard_key *key, uint64_t bytes)
{
	struct guard_key above = { key->client, w->plan.parent };
	struct guard_memory m = { .account = w->account, .bytes = bytes, .references = 2 };
	uint64_t number = number_next();

	/* If the table is full, the charge remains for ever, which harms no other tenant. */
	if (bpf_map_update_elem(&guard_memories, &number, &m, BPF_NOEXIST))
		return;
	if (!bpf_map_lookup_elem(&guard_objects, &above))
		object_put(w, &above, above.client, 0, 0);
	memory_name(w, key, number);
}

/*
 * Removes what ends with a file, or with an object and its descendants, but nothing that was created since: under the
 * same names it belongs to another object.
 */
struct sweep {
	uint64_t file;	/* of a release; 0: of a free */
	uint64_t until; /* the last number at that time */
	uint32_t client, handle;
	uint32_t memory_only; /* descendants are found through the objects between, which are removed last */
	uint32_t unused;
};

static bool object_below(uint32_t client, uint32_t parent, uint32_t handle)
{
	struct guard_key key = { client, parent };

	for (int depth = 0; depth < 6; depth++) {
		struct guard_object *o;

		if (key.handle == handle)
			return true;
		o = bpf_map_lookup_elem(&guard_objects, &key);
		if (!o || o->parent == key.handle)
			return false;
		key.handle = o->parent;
	}
	return false;
}

static long sweep_one(struct bpf_map *map, struct guard_key *key, struct guard_object *o, struct sweep *s)
{
	struct known known = object_known(o);
	struct guard_key k = *key;

	if (known.number > s->until || (s->memory_only && !known.memory))
		return 0;
	if (s->file ? o->file != s->file
		    : k.client != s->client || (s->handle != s->client && k.handle != s->handle &&
						!object_below(k.client, o->parent, s->handle)))
		return 0;
	object_give_back(o, known.memory);
	if (object_gone(o, known.number))
		bpf_map_delete_elem(&guard_objects, &k);
	return 0;
}

static void object_free(const struct work *w)
{
	struct guard_key key = { w->plan.client, w->plan.object };
	struct guard_object *o = bpf_map_lookup_elem(&guard_objects, &key);
	struct sweep s = { .until = w->until, .client = key.client, .handle = key.handle };
	struct known known;

	if (!o)
		return;
	known = object_known(o);
	if (w->memory) {
		if (object_give_back(o, w->memory) && object_gone(o, known.number))
			bpf_map_delete_elem(&guard_objects, &key);
	} else if (o->class == RM_CLASS_GROUP) {
		if (known.number <= s.until && object_gone(o, known.number))
			bpf_map_delete_elem(&guard_objects, &key);
	} else if (!known.memory && known.number <= s.until) {
		s.memory_only = key.client != key.handle;
		if (s.memory_only)
			bpf_for_each_map_elem(&guard_objects, sweep_one, &s, 0);
		s.memory_only = 0;
		bpf_for_each_map_elem(&guard_objects, sweep_one, &s, 0);
	}
}

static void group_leave(struct work *w)
{
	struct guard_tenant *t = w->group ? tenant_find(w->account) : NULL;

	w->group = 0;
	if (t)
		__sync_fetch_and_sub(&t->groups, 1);
}

/*
 * Settles what the task's last call left. A call whose end was not reported is assumed to have succeeded: the kernel
 * traces the return of a few calls at a time and counts the others as missed, and it skips a program while another map
 * operation is in progress on the same processor. The memory is charged until its file is released, under the name that
 * the program gave, or under another if the driver chose it or the name is in use.
 */
static void work_leave(struct work *w)
{
	struct guard_key key = { w->plan.client, w->plan.object };
	bool memory = w->stage != IDLE && w->plan.effect == GUARD_MEMORY && w->reserved;
	bool second = w->stage == CALLED && w->plan.effect == GUARD_DUP && w->memory;

	if ((memory || second) && (!key.handle || bpf_map_lookup_elem(&guard_objects, &key)))
		key_make_up(&key, w->account);
	if (memory)
		memory_put(w, &key, w->reserved);
	else if (w->stage != IDLE)
		account_refund(w->account, w->reserved);
	if (second)
		object_put(w, &key, w->plan.parent, RM_CLASS_MEMORY, w->memory);
	dup_end(w);
	/* Whether another driver has mapped it is not known: it stays charged. */
	w->mapping = 0;
	group_leave(w);
	w->reserved = 0;
	w->stage = IDLE;
}

/* Completes the release that began in this task. */
static void file_leave(struct work *w)
{
	struct sweep s = { .file = w->leaving, .until = w->leaving_until };

	if (!s.file)
		return;
	w->leaving = 0;
	bpf_for_each_map_elem(&guard_objects, sweep_one, &s, 0);
	bpf_map_delete_elem(&guard_records, &s.file);
}
