// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/*
 * guard.bpf.c: the guard's programs in the kernel.
 *
 *	file_open		whose file it is, and may he
 *	file_ioctl		the call as the program shows it: refused, or its charge is reserved
 *	call			the same as the kernel has copied it, judged again: what was changed ends its process
 *	copy_out		the reply of an allocation, still in the kernel: the reservation becomes what was taken
 *	behind call		the manager's answer: the reservation becomes an object, or goes back
 *	behind cleanup		the manager has freed all that a file had
 *	task_alloc, fork, exec, cgroup_attach_task	whose process: a tenant's stays the tenant's
 *
 * The first two are hooks of the kernel's security modules, where bpf is one of them (lsm=). Elsewhere the same
 * programs are attached to the functions that call those hooks (security_file_ioctl() and others; "traced" below): the
 * kernel lets a program change the result of any function of that name (check_attach_modify_return() of
 * kernel/bpf/verifier.c). Two things are different then. Such a program cannot wait for a page of the program's. And
 * the kernel leaves it out when another task on the same processor was interrupted in it (bpf_prog_enter_recur()),
 * which a tenant can provoke where the kernel preempts itself. So nothing rests on it alone: a tenant's call that was
 * not shown is judged at `call`, where a kprobe is never left out that way, and ends its process if it may not pass; a
 * child is noted by a tracepoint; and whose file it is, is looked at again with each call.
 *
 * `call`, `copy_out` and `cleanup` are functions of the driver; mete-guard names them (drivers.c). `call` and `cleanup`
 * are of its core, in which the kernel lets no probe be: the probes are where they are called (sites.h).
 *
 * A program of this kind cannot stop the driver once it is past file_ioctl. So a call that took more than was reserved,
 * with no room for the difference, keeps its charge, and its process is killed before it returns to its own code.
 *
 * The charge is taken in file_ioctl by compare and swap, so that it is never above the quota at any time; every other
 * step moves it by the difference. An object's record holds one reference of its memory. Who changes `memory` of a
 * record from its number to 0, by compare and swap, gives the reference back: so it is given back once, whoever frees
 * the same name at once.
 */
#include <stdbool.h>
#include <stdint.h>

#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "guard/classify.c"
#include "guard/maps.h"

#define EPERM 1
#define ENOMEM 12
#define SIGKILL 9
#define KIND 0170000
#define CHARACTER 0020000
#define CONTROL_MINOR 255
#define MODESET_MINOR 254
#define PUT_TRIES 256

/* Of the kernel's structures what is read here; their places are found when the program is loaded. */
struct inode {
	unsigned short i_mode;
	uint32_t i_rdev;
} __attribute__((preserve_access_index));

struct file {
	struct inode *f_inode;
} __attribute__((preserve_access_index));

struct bpf_local_storage;
struct css_set;

struct task_struct {
	struct task_struct *group_leader;
	struct css_set *cgroups;
	struct bpf_local_storage *bpf_storage;
} __attribute__((preserve_access_index));

struct cgroup;

struct css_set {
	struct cgroup *dfl_cgrp;
} __attribute__((preserve_access_index));

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} __attribute__((preserve_access_index));

struct kernfs_node {
	uint64_t id;
} __attribute__((preserve_access_index));

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
} __attribute__((preserve_access_index));

struct linux_binprm;
struct bpf_map;

const volatile struct guard_options guard_options = { .rewrites = 1 };

enum stage { IDLE, RESERVED, CALLED };

/* A task's, from its first call on; the call in progress. */
struct work {
	uint64_t owner;	  /* the account that the task stays with; 0: none yet. The first word: mete-guard writes it
			     (tenants_join) */
	uint64_t account; /* that the call is charged to */
	uint64_t reserved;
	uint64_t file, data;		     /* the manager's record of the file; the kernel's copy of the argument */
	uint64_t leaving;		     /* the record of a file that is being released */
	uint64_t memory;		     /* the number that a free found, or that a dup has a reference of */
	uint64_t until, leaving_until;	     /* the last number when a free, and when a release, began */
	uint64_t shown_file, shown_argument; /* the call that was judged last, and by which set of programs */
	uint32_t shown_command, set;
	uint32_t stage;
	uint32_t replied; /* what is nested was copied back */
	uint32_t group;	  /* 1: a channel group is counted that is not made yet */
	uint32_t unused;
	struct guard_plan plan;
	struct guard_call call;
	uint8_t nested[GUARD_NESTED_BYTES] __attribute__((aligned(8)));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct guard_config);
} guard_config SEC(".maps");

/* name -> account */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_TENANTS_MOST);
	__type(key, uint64_t);
	__type(value, uint64_t);
} guard_names SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GUARD_TENANTS_MOST);
	__type(key, uint32_t);
	__type(value, struct guard_limits);
} guard_limits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GUARD_TENANTS_MOST);
	__type(key, uint32_t);
	__type(value, struct guard_tenant);
} guard_tenants SEC(".maps");

/* How many of guard_files have this mark (mark_of): where there is none, no lookup is needed. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GUARD_MARKS_MOST);
	__type(key, uint32_t);
	__type(value, uint32_t);
} guard_marks SEC(".maps");

/* Cgroups that are no tenant's and below none's, as far as they are remembered. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GUARD_CGROUPS_MOST);
	__type(key, uint32_t);
	__type(value, uint64_t);
} guard_nobodys SEC(".maps");

/* struct file -> account */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_FILES_MOST);
	__type(key, uint64_t);
	__type(value, uint64_t);
} guard_files SEC(".maps");

/* the manager's record of a file, with objects of a tenant -> account */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_FILES_MOST);
	__type(key, uint64_t);
	__type(value, uint64_t);
} guard_records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_OBJECTS_MOST);
	__type(key, struct guard_key);
	__type(value, struct guard_object);
} guard_objects SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GUARD_OBJECTS_MOST);
	__type(key, uint64_t);
	__type(value, struct guard_memory);
} guard_memories SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct guard_pool);
} guard_pool SEC(".maps");

/* the last number of a memory or of an object */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} guard_number SEC(".maps");

_Static_assert(__builtin_offsetof(struct work, owner) == 0, "where tenants_join() writes");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct work);
} guard_work SEC(".maps");

static struct guard_config *config_get(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&guard_config, &zero);
}

static struct guard_pool *pool_get(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&guard_pool, &zero);
}

/* The account of a name; 0: none. */
static uint64_t name_find(uint64_t id)
{
	uint64_t *account = bpf_map_lookup_elem(&guard_names, &id);

	return account ? *account : 0;
}

static struct guard_limits *limits_find(uint64_t account)
{
	uint32_t row = GUARD_ROW(account);
	struct guard_limits *l = bpf_map_lookup_elem(&guard_limits, &row);

	return l && account && l->account == account ? l : NULL;
}

/* NULL: it is dropped. */
static struct guard_tenant *tenant_find(uint64_t account)
{
	uint32_t row = GUARD_ROW(account);

	return limits_find(account) ? bpf_map_lookup_elem(&guard_tenants, &row) : NULL;
}

/* ---- the account ---- */

static bool account_charge(struct guard_tenant *t, uint64_t quota, uint64_t bytes)
{
	for (int i = 0; i < 64; i++) {
		uint64_t used = *(volatile uint64_t *)&t->used;

		if (used > quota || bytes > quota - used)
			return false;
		if (__sync_val_compare_and_swap(&t->used, used, used + bytes) == used) {
			if (used + bytes > t->peak)
				t->peak = used + bytes;
			return true;
		}
	}
	return false;
}

static void account_refund(uint64_t account, uint64_t bytes)
{
	struct guard_tenant *t = bytes ? tenant_find(account) : NULL;

	if (t)
		__sync_fetch_and_sub(&t->used, bytes);
}

static void refused(struct guard_tenant *t, uint32_t reason)
{
	t->last_reason = reason;
	t->last_pid = (uint32_t)(bpf_get_current_pid_tgid() >> 32);
	__sync_fetch_and_add(&t->refused, 1);
}

static void end_process(uint64_t account, uint32_t reason)
{
	struct guard_tenant *t = tenant_find(account);

	bpf_send_signal(SIGKILL);
	if (!t)
		return;
	t->last_reason = reason;
	t->last_pid = (uint32_t)(bpf_get_current_pid_tgid() >> 32);
	__sync_fetch_and_add(&t->killed, 1);
}

/* Sets the reservation to what was really taken. */
static void work_settle(struct work *w, uint64_t bytes)
{
	struct guard_tenant *t = tenant_find(w->account);
	struct guard_limits *l = limits_find(w->account);

	if (bytes <= w->reserved) {
		account_refund(w->account, w->reserved - bytes);
	} else if (t && !account_charge(t, l ? l->quota : 0, bytes - w->reserved)) {
		__sync_fetch_and_add(&t->used, bytes - w->reserved);
		end_process(w->account, GUARD_CHANGED);
	}
	w->reserved = bytes;
}

/* ---- memories and objects ---- */

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
 * What an object is known by. Its place in the table is another's as soon as it is taken out, whoever looks at it then:
 * what is done with it is done by these numbers, which nothing else has. The memory first: a place that is another's
 * between the two has a number that is later than all of before.
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
 * Once, whoever comes first: two threads may free what is above it. True: this one; who takes it from the counts takes
 * it out of the table, and nobody else does.
 */
static bool object_gone(struct guard_object *o, uint64_t number)
{
	if (!number || __sync_val_compare_and_swap(&o->counted, number, 0) != number)
		return false;
	object_uncount(o);
	return true;
}

/* False: another has been quicker. */
static bool object_give_back(struct guard_object *o, uint64_t number)
{
	if (!number || __sync_val_compare_and_swap(&o->memory, number, 0) != number)
		return false;
	memory_unref(number);
	return true;
}

/* A number that nothing has; of two the later is the greater. 0: never. */
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
 * The one before under this name is gone; who freed it has not come round to saying so, or is about to take it out.
 * What is found there twice had the name in between.
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
 * A name of the client's that nothing has: what gets it goes with its file. The driver knows the memory under another
 * one, of which no second name may be made: that would outlive the charge (judge_objects). The client may be another
 * tenant's, whom that does not concern.
 */
static void key_make_up(struct guard_key *key, uint64_t account)
{
	struct guard_key client = { key->client, key->client };
	struct guard_object *c = bpf_map_lookup_elem(&guard_objects, &client);

	if (c && c->account == account)
		c->unnamed = 1;
	key->handle = bpf_get_prandom_u32() | 0x80000000;
}

static void object_put(struct work *w, const struct guard_key *key, uint32_t parent, uint32_t class,
		       uint64_t number)
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
	/* Nobody lets go of the name: the charge stays until the file is released. */
	if (!p.done)
		key_make_up(&p.key, w->account);
	if (!p.done && bpf_map_update_elem(&guard_objects, &p.key, &p.object, BPF_NOEXIST))
		object_uncount(&o);
}

static void memory_put(struct work *w, const struct guard_key *key, uint64_t bytes)
{
	struct guard_key above = { key->client, w->plan.parent };
	struct guard_memory m = { .account = w->account, .bytes = bytes, .references = 1 };
	uint64_t number = number_next();

	/* A table that is full leaves the charge for ever, which harms nobody else. */
	if (bpf_map_update_elem(&guard_memories, &number, &m, BPF_NOEXIST))
		return;
	if (!bpf_map_lookup_elem(&guard_objects, &above))
		object_put(w, &above, above.client, 0, 0);
	object_put(w, key, w->plan.parent, RM_CLASS_MEMORY, number);
}

/*
 * What goes with a file, or with an object and what is below it. Not what was made since that began: under the same
 * names it is another's, and is below the new ones.
 */
struct sweep {
	uint64_t file;	/* of a release; 0: of a free */
	uint64_t until; /* the last number then */
	uint32_t client, handle;
	uint32_t memory_only; /* what lies below is found through what is between, which goes last */
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
 * What the task's last call left. One that the programs were not told the end of is taken to have succeeded: the kernel
 * watches a few calls at once for their return and counts the rest as missed, and it skips a program while another
 * operation on maps is in progress on the same processor. The memory is charged until its file is released, under the
 * name that the program gave or, where the driver made one up or something has the name, another.
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
	group_leave(w);
	w->reserved = 0;
	w->stage = IDLE;
}

/* The file whose release began in this task is released. */
static void file_leave(struct work *w)
{
	struct sweep s = { .file = w->leaving, .until = w->leaving_until };

	if (!s.file)
		return;
	w->leaving = 0;
	bpf_for_each_map_elem(&guard_objects, sweep_one, &s, 0);
	bpf_map_delete_elem(&guard_records, &s.file);
}

/* ---- whose process ---- */

/* The account of the nearest cgroup above the task's that is a tenant's. */
static uint64_t account_by_cgroup(const struct guard_config *c)
{
	uint64_t own = bpf_get_current_cgroup_id(), found = 0, *nobodys;
	uint32_t changed = *(volatile const uint32_t *)&c->changed, at = own & (GUARD_CGROUPS_MOST - 1);
	bool keeps = changed < GUARD_CHANGES_MOST && !(own >> (64 - GUARD_CHANGES_BITS));
	uint64_t seen = own << GUARD_CHANGES_BITS | changed;

	nobodys = bpf_map_lookup_elem(&guard_nobodys, &at);
	if (nobodys && keeps && *(volatile uint64_t *)nobodys == seen)
		return 0;
	for (int level = 1; level <= GUARD_DEPTH; level++) {
		uint64_t id = bpf_get_current_ancestor_cgroup_id(level), account;

		if (!id)
			break;
		account = name_find(id);
		if (account)
			found = account;
	}
	if (nobodys && keeps && !found)
		*(volatile uint64_t *)nobodys = seen;
	return found;
}

/* What this task left; NULL: nothing. Most tasks have no storage of anybody's. */
static struct work *work_of_current(void)
{
	struct task_struct *me = bpf_get_current_task_btf();

	if (bpf_core_field_exists(me->bpf_storage) && !me->bpf_storage)
		return NULL;
	return bpf_task_storage_get(&guard_work, me, NULL, 0);
}

/*
 * Before 6.2 the kernel does not show what a task left while another one was interrupted in a look at such on the same
 * processor. Others' programs leave something too.
 */
static bool storage_there(void)
{
	struct task_struct *me = bpf_get_current_task_btf();

	return bpf_core_field_exists(me->bpf_storage) && me->bpf_storage;
}

/* Since 6.2 a task's leader may be looked at under this lock alone; before, the kernel did not ask. */
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;

/*
 * Since 6.10: the traced programs are not interrupted by other tasks, so that those find the programs free. Before,
 * such kernels were not the usual ones.
 */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

#define UNDISTURBED(call)                                                                                              \
	({                                                                                                             \
		int result_;                                                                                           \
		if (bpf_preempt_disable)                                                                               \
			bpf_preempt_disable();                                                                         \
		result_ = (call);                                                                                      \
		if (bpf_preempt_enable)                                                                                \
			bpf_preempt_enable();                                                                          \
		result_;                                                                                               \
	})

/* The account that the first thread of the task's process stays with. */
static uint64_t account_of_leader(struct task_struct *me)
{
	struct task_struct *leader;
	struct work *first;
	uint64_t account = 0;

	if (bpf_rcu_read_lock)
		bpf_rcu_read_lock();
	leader = me->group_leader;
	if (leader && bpf_core_field_exists(leader->bpf_storage) && !leader->bpf_storage)
		first = NULL;
	else
		first = leader ? bpf_task_storage_get(&guard_work, leader, NULL, 0) : NULL;
	if (first)
		account = first->owner;
	if (bpf_rcu_read_unlock)
		bpf_rcu_read_unlock();
	return account;
}

static uint64_t account_of_current(void)
{
	struct guard_config *c = config_get();
	struct work *w = work_of_current();
	uint64_t account;

	if (w && w->owner)
		return w->owner;
	account = account_of_leader(bpf_get_current_task_btf());
	if (!account && c)
		account = account_by_cgroup(c);
	if (account && w)
		w->owner = account;
	return account;
}

/* The account of the nearest tenant's cgroup from here on upwards. */
static uint64_t account_above(struct cgroup *to)
{
	uint64_t found = 0;

	for (int level = 0; level < GUARD_DEPTH && to && !found; level++) {
		struct cgroup_subsys_state *above = BPF_CORE_READ(to, self.parent);
		uint64_t account = name_find(BPF_CORE_READ(to, kn, id));

		if (account)
			found = account;
		to = above ? BPF_CORE_READ(above, cgroup) : NULL;
	}
	return found;
}

/* A process that enters a tenant's cgroup is the tenant's from then on. The kernel tells of its first thread. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(guard_attach, struct cgroup *to, const char *path, struct task_struct *task)
{
	uint64_t found = account_above(to);
	struct work *w;

	if (!found)
		return 0;
	w = bpf_task_storage_get(&guard_work, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (w && !w->owner)
		w->owner = found;
	return 0;
}

SEC("?lsm/task_alloc")
int BPF_PROG(guard_task_alloc, struct task_struct *task, unsigned long flags, int ret)
{
	uint64_t account = ret ? 0 : account_of_current();
	struct work *w;

	if (!account)
		return ret;
	w = bpf_task_storage_get(&guard_work, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w)
		return -ENOMEM;
	w->owner = account;
	return 0;
}

/*
 * Before the child runs for the first time. The fork cannot be refused here. A child of nobody's that is born in a
 * tenant's cgroup (CLONE_INTO_CGROUP) is the tenant's, wherever it goes later.
 */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(guard_fork, struct task_struct *parent, struct task_struct *child)
{
	struct css_set *here = BPF_CORE_READ(parent, cgroups), *there = BPF_CORE_READ(child, cgroups);
	uint64_t account = guard_options.traced ? account_of_current() : 0;
	struct work *w;

	if (!account && here != there)
		account = account_above(BPF_CORE_READ(there, dfl_cgrp));
	if (!account)
		return 0;
	w = bpf_task_storage_get(&guard_work, child, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (w && !w->owner)
		w->owner = account;
	else if (!w)
		end_process(account, GUARD_FULL);
	return 0;
}

/*
 * Before the other threads end: the one that calls becomes the first, and what was known of that is gone then. Some
 * have been there since before their cgroup was a tenant's.
 */
static int process_keep(int ret)
{
	uint64_t account = account_of_current();
	struct work *w;

	if (!account)
		return ret;
	w = bpf_task_storage_get(&guard_work, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w)
		return ret ? ret : -ENOMEM;
	w->owner = account;
	return ret;
}

SEC("?lsm/bprm_creds_for_exec")
int BPF_PROG(guard_exec, struct linux_binprm *bprm, int ret)
{
	return process_keep(ret);
}

SEC("?fmod_ret/security_bprm_creds_for_exec")
int BPF_PROG(guard_exec_traced, struct linux_binprm *bprm, int ret)
{
	return UNDISTURBED(process_keep(ret));
}

SEC("raw_tp/sched_process_exit")
int guard_exit(void *context)
{
	struct work *w = work_of_current();

	if (w)
		work_leave(w);
	return 0;
}

/* ---- files ---- */

static bool device_of(struct file *file, uint32_t *ret_major, uint32_t *ret_minor)
{
	struct inode *inode = file->f_inode;

	if ((inode->i_mode & KIND) != CHARACTER)
		return false;
	*ret_major = inode->i_rdev >> 20;
	*ret_minor = inode->i_rdev & 0xfffff;
	return true;
}

/* The mark of a file; NULL never, which the verifier does not know. */
static uint32_t *mark_of(uint64_t file)
{
	uint32_t at;

	/* Half a pointer is a number to the verifier, and a whole one is not. */
	__asm__ volatile("%0 = %1" : "=w"(at) : "w"((uint32_t)file));
	at = (at >> 8 ^ at >> 20) & (GUARD_MARKS_MOST - 1);
	return bpf_map_lookup_elem(&guard_marks, &at);
}

/* The account that a file belongs to; 0: it was opened by nobody's. */
static uint64_t account_of_file(uint64_t file)
{
	uint32_t *mark = mark_of(file);
	uint64_t *account = mark && !*(volatile uint32_t *)mark ? NULL : bpf_map_lookup_elem(&guard_files, &file);

	return account ? *account & ~GUARD_POOLED : 0;
}

static int file_come(struct guard_tenant *t, uint32_t *mark, uint64_t file, uint64_t account)
{
	bool pooled = __sync_fetch_and_add(&t->files, 1) >= GUARD_OWN_FILES;
	struct guard_pool *pool = pool_get();

	if (pooled)
		account |= GUARD_POOLED;
	/* The mark first, and gone last: it is never missing. */
	__sync_fetch_and_add(mark, 1);
	if (pool && t->files <= GUARD_TENANT_FILES && !(pooled && pool->files >= GUARD_POOL_FILES) &&
	    !bpf_map_update_elem(&guard_files, &file, &account, BPF_NOEXIST)) {
		if (pooled)
			__sync_fetch_and_add(&pool->files, 1);
		return 0;
	}
	__sync_fetch_and_sub(mark, 1);
	__sync_fetch_and_sub(&t->files, 1);
	return -ENOMEM;
}

static int file_freed(uint64_t key)
{
	uint64_t account = account_of_file(key), *value;
	struct guard_pool *pool = NULL;
	uint32_t *mark = mark_of(key);
	struct guard_tenant *t;
	struct work *w;

	if (!account)
		return 0;
	value = bpf_map_lookup_elem(&guard_files, &key);
	if (value && *value & GUARD_POOLED)
		pool = pool_get();
	/* Where the kernel did not tell of the end of the release. */
	w = work_of_current();
	if (w)
		file_leave(w);
	t = tenant_find(account);
	if (bpf_map_delete_elem(&guard_files, &key))
		return 0;
	if (mark)
		__sync_fetch_and_sub(mark, 1);
	if (pool)
		__sync_fetch_and_sub(&pool->files, 1);
	if (t)
		__sync_fetch_and_sub(&t->files, 1);
	return 0;
}

static bool may_use(const struct guard_limits *l, uint32_t minor)
{
	return minor == CONTROL_MINOR || (minor < 64 && l->devices >> minor & 1);
}

static int open_device(struct guard_config *c, uint64_t file, uint32_t minor)
{
	uint64_t account = account_of_current();
	uint32_t *mark = mark_of(file);
	struct guard_tenant *t;
	struct guard_limits *l;

	/* Of a file that was at the same place, whose end was left out. */
	if (guard_options.traced && account_of_file(file) != account)
		file_freed(file);
	if (!account)
		return c->flags & GUARD_STRICT && (uint32_t)bpf_get_current_uid_gid() ? -EPERM : 0;
	t = tenant_find(account);
	l = limits_find(account);
	if (!t || !l || !mark)
		return -EPERM;
	if (!may_use(l, minor)) {
		refused(t, GUARD_DEVICE);
		return -EPERM;
	}
	/* While one set of programs takes over from another, both come here. */
	if (bpf_map_lookup_elem(&guard_files, &file))
		return 0;
	if (file_come(t, mark, file, account)) {
		refused(t, GUARD_FULL);
		return -ENOMEM;
	}
	return 0;
}

static int file_opened(struct file *file)
{
	uint32_t major, minor;
	struct guard_config *c;

	if (!device_of(file, &major, &minor))
		return 0;
	c = config_get();
	if (!c)
		return 0;
	if (major == c->major)
		return open_device(c, (uint64_t)file, minor);
	/* Of nvidia-uvm the second node shows other processes' events. */
	if (c->uvm_major && major == c->uvm_major && minor && account_of_current())
		return -EPERM;
	return 0;
}

SEC("?lsm/file_open")
int BPF_PROG(guard_open, struct file *file, int ret)
{
	return ret ? ret : file_opened(file);
}

SEC("?fmod_ret/security_file_open")
int BPF_PROG(guard_open_traced, struct file *file, int ret)
{
	return ret ? ret : UNDISTURBED(file_opened(file));
}

SEC("?lsm/file_free_security")
int BPF_PROG(guard_file_free, struct file *file)
{
	return file_freed((uint64_t)file);
}

SEC("?fentry/security_file_free")
int BPF_PROG(guard_free_traced, struct file *file)
{
	return UNDISTURBED(file_freed((uint64_t)file));
}

/* ---- calls ---- */

/* What needs the tables: whose objects a call names, and how many there are. 0: fine. */
static uint32_t judge_objects(const struct work *w, const struct guard_tenant *t, const struct guard_limits *l)
{
	struct guard_key key = { w->plan.source_client, w->plan.source_client };
	struct guard_pool *pool = pool_get();
	struct guard_object *o;
	uint32_t unnamed;

	if (w->plan.effect == GUARD_DUP) {
		/* From a client that the guard has not seen: memory that is charged to nobody. */
		o = bpf_map_lookup_elem(&guard_objects, &key);
		if (!o)
			return GUARD_FOREIGN;
		unnamed = o->unnamed;
		key.handle = w->plan.source_object;
		o = bpf_map_lookup_elem(&guard_objects, &key);
		if (o ? o->memory && o->account != w->account : unnamed)
			return GUARD_FOREIGN;
	}
	if (w->plan.effect == GUARD_NOTHING || w->plan.effect == GUARD_FREE || t->objects < GUARD_OWN_OBJECTS)
		return GUARD_FINE;
	return !pool || t->objects >= GUARD_TENANT_OBJECTS || pool->objects >= GUARD_POOL_OBJECTS ? GUARD_FULL :
												    GUARD_FINE;
}

/* Counts the group that a call is to make, before it is made: others may ask for the last one at the same time. */
static bool group_take(struct work *w, struct guard_tenant *t, const struct guard_limits *l)
{
	if (w->plan.effect != GUARD_GROUP || w->group)
		return true;
	if (__sync_fetch_and_add(&t->groups, 1) >= l->groups_most) {
		__sync_fetch_and_sub(&t->groups, 1);
		return false;
	}
	w->group = 1;
	return true;
}

static void work_judge(struct work *w, const struct guard_limits *l, uint32_t branch)
{
	struct guard_terms terms = { .branch = branch, .flags = l->flags, .slice_most_us = l->slice_most_us };

	guard_classify(&w->call, &terms, &w->plan);
}

static void work_judge_nested(struct work *w, const struct guard_limits *l, uint32_t branch)
{
	struct guard_terms terms = { .branch = branch, .flags = l->flags, .slice_most_us = l->slice_most_us };

	guard_classify_nested(&w->plan, &terms, w->nested);
}

/* In one register of 64 bits, so that the kernel's verifier sees the bound. */
static __always_inline uint64_t bounded(uint64_t size, uint64_t most)
{
	size &= 0xffffffff;
	__asm__ volatile("" : "+r"(size));
	return size > most ? most : size;
}

/*
 * What the program shows. In a traced function the page must be there, as it is when the program has just written it.
 */
static long user_read(void *to, uint64_t size, const void *from)
{
	return guard_options.traced ? bpf_probe_read_user(to, size, from) : bpf_copy_from_user(to, size, from);
}

/* Reads and judges what the program shows. */
static __always_inline uint32_t judge_shown(struct work *w, const struct guard_tenant *t, const struct guard_limits *l,
					    uint32_t branch, uint32_t command, unsigned long argument)
{
	uint64_t size = command >> 16 & 0x3fff;

	__builtin_memset(&w->call, 0, sizeof w->call);
	w->call.number = command & 0xff;
	w->call.size = (uint32_t)size;
	size = bounded(size, GUARD_ARGUMENT_BYTES);
	if (size && user_read(w->call.bytes, size, (const void *)argument))
		return GUARD_UNREADABLE;
	work_judge(w, l, branch);
	if (w->plan.reason)
		return w->plan.reason;
	if (w->plan.nested_bytes) {
		__builtin_memset(w->nested, 0, sizeof w->nested);
		size = bounded(w->plan.nested_bytes, GUARD_NESTED_BYTES);
		/* Nothing there: the manager will find that too. */
		if (!w->plan.pointer || user_read(w->nested, size, (const void *)w->plan.pointer))
			return GUARD_UNREADABLE;
		work_judge_nested(w, l, branch);
		if (w->plan.reason)
			return w->plan.reason;
	}
	return judge_objects(w, t, l);
}

/*
 * While one set of programs takes over from another, and a moment longer, both are asked of a call: the first has
 * reserved for it. Once only: what a set that is gone left is not this call's.
 */
static bool judged_by_others(struct work *w, uint64_t file, uint32_t command, uint64_t argument)
{
	bool others = w->stage == RESERVED && w->set != guard_options.set && w->shown_file == file &&
		      w->shown_command == command && w->shown_argument == argument;

	if (others)
		w->set = guard_options.set;
	return others;
}

static int call_shown(struct file *file, unsigned int command, unsigned long argument)
{
	uint32_t major, minor, reason;
	uint64_t key = (uint64_t)file, account;
	struct guard_config *c;
	struct guard_tenant *t;
	struct guard_limits *l;
	struct work *w;

	if (!device_of(file, &major, &minor))
		return 0;
	c = config_get();
	if (!c || major != c->major)
		return 0;
	account = account_of_file(key);
	if (!account)
		account = account_of_current();
	if (!account)
		return 0;
	t = tenant_find(account);
	l = limits_find(account);
	if (!t || !l)
		return -EPERM;
	/* Its opening may have been left out. */
	if (guard_options.traced && !may_use(l, minor)) {
		refused(t, GUARD_DEVICE);
		return -EPERM;
	}
	w = bpf_task_storage_get(&guard_work, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w) {
		refused(t, GUARD_FULL);
		return -ENOMEM;
	}
	if (judged_by_others(w, key, command, argument))
		return 0;
	work_leave(w);
	w->shown_file = key;
	w->shown_command = command;
	w->shown_argument = argument;
	w->set = guard_options.set;
	w->account = account;
	reason = judge_shown(w, t, l, c->branch, command, argument);
	if (!reason && !group_take(w, t, l))
		reason = GUARD_GROUPS;
	if (!reason && w->plan.effect == GUARD_MEMORY && !account_charge(t, l->quota, w->plan.bytes))
		reason = GUARD_QUOTA;
	if (reason) {
		refused(t, reason);
		return reason == GUARD_QUOTA || reason == GUARD_FULL || reason == GUARD_ABSURD ? -ENOMEM : -EPERM;
	}
	w->reserved = w->plan.effect == GUARD_MEMORY ? w->plan.bytes : 0;
	w->stage = RESERVED;
	return 0;
}

SEC("?lsm.s/file_ioctl")
int BPF_PROG(guard_ioctl, struct file *file, unsigned int command, unsigned long argument, int ret)
{
	return ret ? ret : call_shown(file, command, argument);
}

SEC("?fmod_ret/security_file_ioctl")
int BPF_PROG(guard_ioctl_traced, struct file *file, unsigned int command, unsigned long argument, int ret)
{
	return ret ? ret : UNDISTURBED(call_shown(file, command, argument));
}

/*
 * Calls of 32-bit programs, on kernels that tell them apart (6.8, and 6.1 of late). The hook cannot wait for a page,
 * and the driver's libraries have no 32-bit form any more: a tenant has none. Where there is no such hook they are
 * judged like others.
 */
static int call_of_32_bits(struct file *file)
{
	struct guard_config *c = config_get();
	uint64_t account;
	struct guard_tenant *t;
	uint32_t major, minor;

	if (!c || !device_of(file, &major, &minor) || major != c->major)
		return 0;
	account = account_of_file((uint64_t)file);
	if (!account)
		account = account_of_current();
	if (!account)
		return 0;
	t = tenant_find(account);
	if (t)
		refused(t, GUARD_COMPAT);
	return -EPERM;
}

SEC("?lsm/file_ioctl_compat")
int BPF_PROG(guard_ioctl_compat, struct file *file, unsigned int command, unsigned long argument, int ret)
{
	return ret ? ret : call_of_32_bits(file);
}

SEC("?fmod_ret/security_file_ioctl_compat")
int BPF_PROG(guard_ioctl_compat_traced, struct file *file, unsigned int command, unsigned long argument, int ret)
{
	return ret ? ret : UNDISTURBED(call_of_32_bits(file));
}

/*
 * A tenant's call that was not shown, because the program for that was left out: nothing is reserved for it. NULL: the
 * task is no tenant's, or it is ended.
 */
static struct work *work_unshown(void)
{
	uint64_t account = account_of_current();
	struct work *w;

	if (!account)
		return NULL;
	w = bpf_task_storage_get(&guard_work, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w) {
		end_process(account, GUARD_FULL);
		return NULL;
	}
	work_leave(w);
	w->account = account;
	w->stage = RESERVED;
	return w;
}

/* The manager's (stack, state, file, number, argument, size). */
SEC("kprobe")
int guard_call(struct pt_regs *regs)
{
	struct work *w = work_of_current();
	struct guard_config *c = config_get();
	struct guard_tenant *t;
	struct guard_limits *l;
	uint64_t size;

	if (guard_options.traced ? !w || w->stage != RESERVED : !w && storage_there())
		w = work_unshown();
	if (!w || w->stage != RESERVED || !c)
		return 0;
	t = tenant_find(w->account);
	l = limits_find(w->account);
	if (!t || !l) {
		/* Its grant ended at this moment. */
		bpf_send_signal(SIGKILL);
		return 0;
	}
	w->stage = CALLED;
	w->replied = 0;
	w->memory = 0;
	w->until = number_last();
	w->file = PT_REGS_PARM3(regs);
	w->data = PT_REGS_PARM5(regs);
	__builtin_memset(&w->call, 0, sizeof w->call);
	w->call.number = (uint32_t)PT_REGS_PARM4(regs);
	w->call.size = (uint32_t)regs->r9;
	size = bounded(w->call.size, GUARD_ARGUMENT_BYTES);
	if (size && bpf_probe_read_kernel(w->call.bytes, size, (const void *)w->data)) {
		end_process(w->account, GUARD_UNREADABLE);
		return 0;
	}
	work_judge(w, l, c->branch);
	if (w->plan.reason || judge_objects(w, t, l) || !group_take(w, t, l)) {
		end_process(w->account, GUARD_CHANGED);
		return 0;
	}
	if (w->plan.effect == GUARD_MEMORY && !w->plan.nested)
		work_settle(w, w->plan.bytes);
	if (w->plan.effect == GUARD_FREE || w->plan.effect == GUARD_DUP) {
		struct guard_key key = { w->plan.client, w->plan.object };
		struct guard_object *o;

		if (w->plan.effect == GUARD_DUP) {
			key.client = w->plan.source_client;
			key.handle = w->plan.source_object;
		}
		o = bpf_map_lookup_elem(&guard_objects, &key);
		if (o)
			w->memory = o->memory;
		/* Before the manager does: a free of the source at the same moment must not be the last. */
		if (w->plan.effect == GUARD_DUP && w->memory && !memory_ref(w->memory))
			w->memory = 0;
	}
	return 0;
}

/* (to, from, size) */
SEC("kprobe")
int guard_copy_out(struct pt_regs *regs)
{
	struct work *w = work_of_current();
	struct guard_config *c;
	struct guard_limits *l;
	uint64_t size = bounded(PT_REGS_PARM3(regs), GUARD_NESTED_BYTES);

	if (!w || w->stage != CALLED || !w->plan.nested_bytes || (uint64_t)PT_REGS_PARM1(regs) != w->plan.pointer)
		return 0;
	c = config_get();
	l = limits_find(w->account);
	if (!c || !l)
		return 0;
	__builtin_memset(w->nested, 0, sizeof w->nested);
	if (!size || bpf_probe_read_kernel(w->nested, size, (const void *)PT_REGS_PARM2(regs)))
		return 0;
	w->replied = 1;
	work_judge_nested(w, l, c->branch);
	if (w->plan.reason)
		end_process(w->account, GUARD_CHANGED);
	else if (w->plan.effect == GUARD_MEMORY)
		work_settle(w, w->plan.bytes);
	return 0;
}

struct rewrite {
	uint64_t at, quota, used;
};

static long rewrite_one(uint32_t i, struct rewrite *r)
{
	struct rm_fb_entry e;

	if (bpf_probe_read_user(&e, sizeof e, (const void *)(r->at + 4 + i * sizeof e)))
		return 1;
	if (guard_rewrite(e.index, &e.data, r->quota, r->used))
		bpf_probe_write_user((void *)(r->at + 4 + i * sizeof e), &e, sizeof e);
	return 0;
}

/* Memory information says the tenant's quota. */
static void answer_info(const struct work *w)
{
	struct guard_limits *l = limits_find(w->account);
	struct guard_tenant *t = tenant_find(w->account);
	struct rewrite r = { .at = w->plan.pointer };
	uint32_t count = 0;

	if (!t || !l)
		return;
	r.quota = l->quota;
	r.used = t->used;
	bpf_probe_read_user(&count, sizeof count, (const void *)r.at);
	bpf_loop(count > RM_FB_MOST ? RM_FB_MOST : count, rewrite_one, &r, 0);
}

static void answer_memory(struct work *w, struct guard_key *key, bool succeeded)
{
	if (!succeeded && !w->replied) {
		account_refund(w->account, w->reserved);
	} else {
		/* The driver took memory and has shown nobody how much: not a driver that this guard knows. */
		if (w->plan.nested && w->plan.effect == GUARD_MEMORY && !w->replied)
			end_process(w->account, GUARD_CHANGED);
		/* What has the name, where the call failed, is something else. */
		if (!succeeded)
			key_make_up(key, w->account);
		memory_put(w, key, w->reserved);
	}
	w->reserved = 0;
}

static void answer(struct work *w, uint32_t status, uint32_t handle)
{
	struct guard_key key = { w->plan.client, handle };
	bool succeeded = !status;

	/* A client is below nothing, whatever the call says. */
	if (w->plan.class == RM_CLASS_CLIENT && w->plan.effect == GUARD_PARENT)
		key.client = w->plan.parent = handle;
	switch (w->plan.effect) {
	case GUARD_MEMORY:
		answer_memory(w, &key, succeeded);
		break;
	case GUARD_PARENT:
	case GUARD_GROUP:
		if (succeeded)
			object_put(w, &key, w->plan.parent, w->plan.class, 0);
		break;
	case GUARD_FREE:
		if (succeeded)
			object_free(w);
		break;
	case GUARD_DUP:
		if (succeeded && w->memory)
			object_put(w, &key, w->plan.parent, RM_CLASS_MEMORY, w->memory);
		else if (w->memory)
			memory_unref(w->memory);
		break;
	default:
		break;
	}
}

/* Behind the call, where its value is. */
SEC("kprobe")
int guard_answer(struct pt_regs *regs)
{
	struct work *w = work_of_current();
	uint32_t status = 0, handle;

	if (!w || w->stage != CALLED)
		return 0;
	w->stage = IDLE;
	handle = w->plan.object;
	if (w->plan.status_at != GUARD_NO_PLACE)
		bpf_probe_read_kernel(&status, sizeof status, (const void *)(w->data + w->plan.status_at));
	/* A call on the wrong kind of node fails by its value alone: its status is what the program has put there. */
	if (!status)
		status = (uint32_t)PT_REGS_RC(regs);
	if (w->plan.object_at != GUARD_NO_PLACE)
		bpf_probe_read_kernel(&handle, sizeof handle, (const void *)(w->data + w->plan.object_at));
	answer(w, status, handle);
	group_leave(w);
	/* What is left was reserved for what the kernel then read as something else. */
	account_refund(w->account, w->reserved);
	w->reserved = 0;
	if (guard_options.rewrites && !status && w->plan.nested == GUARD_NESTED_FB_INFO)
		answer_info(w);
	return 0;
}

/* (stack, state, file) */
SEC("kprobe")
int guard_release(struct pt_regs *regs)
{
	uint64_t file = PT_REGS_PARM3(regs);
	struct work *w;

	if (!bpf_map_lookup_elem(&guard_records, &file))
		return 0;
	w = bpf_task_storage_get(&guard_work, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (w) {
		file_leave(w);
		w->leaving = file;
		w->leaving_until = number_last();
	}
	return 0;
}

SEC("kprobe")
int guard_released(struct pt_regs *regs)
{
	struct work *w = work_of_current();
	if (w)
		file_leave(w);
	return 0;
}

/* The last of a task: what it released while guard_free_traced was left out. */
SEC("?tp_btf/sched_process_free")
int BPF_PROG(guard_task_free, struct task_struct *task)
{
	struct work *w = bpf_task_storage_get(&guard_work, task, NULL, 0);

	if (w)
		file_leave(w);
	return 0;
}

/* For mete-guard, which looks for the places where the driver's core is called (sites.h). */
struct guard_text guard_text;

SEC("syscall")
int guard_read(void *context)
{
	guard_text.result = (int32_t)bpf_probe_read_kernel(guard_text.bytes,
							   bounded(guard_text.size, sizeof guard_text.bytes),
							   (const void *)guard_text.at);
	return 0;
}

char guard_license[] SEC("license") = "GPL";
