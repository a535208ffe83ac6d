// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/* calls.bpf.h: calls of the driver, from the program's arguments to the manager's answer. Included by guard.bpf.c. */
#pragma once

/* Judges what needs the tables: the owners of the objects that a call names, and their number. 0: permitted. */
static uint32_t judge_objects(const struct work *w, const struct guard_tenant *t, const struct guard_limits *l)
{
	struct guard_key key = { w->plan.source_client, w->plan.source_client };
	struct guard_pool *pool = pool_get();
	struct guard_object *o;
	uint32_t unnamed;

	if (w->plan.effect == GUARD_DUP) {
		/* From a client that the guard has not seen: its memory is charged to nobody. */
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

/*
 * Counts the group that a call will create before it is created, because others may request the last one at the same
 * time.
 */
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

static void work_judge(struct work *w, const struct guard_limits *l, uint32_t branch, uint32_t flags)
{
	struct guard_terms terms = { .branch = branch,
				     .flags = l->flags | flags,
				     .slice_most_us = l->slice_most_us };

	guard_classify(&w->call, &terms, &w->plan);
	if (w->plan.effect == GUARD_CHANNEL) {
		struct guard_key above = { w->plan.client, w->plan.parent };
		struct guard_object *o = bpf_map_lookup_elem(&guard_objects, &above);

		guard_channel(&w->plan, o && o->class == RM_CLASS_GROUP);
	}
}

static void work_judge_nested(struct work *w, const struct guard_limits *l, uint32_t branch, uint32_t flags)
{
	struct guard_terms terms = { .branch = branch,
				     .flags = l->flags | flags,
				     .slice_most_us = l->slice_most_us };

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
 * Reads the program's memory. In a traced function the page must be resident, as it is when the program has just
 * written it.
 */
static long user_read(void *to, uint64_t size, const void *from)
{
	return guard_options.traced ? bpf_probe_read_user(to, size, from) : bpf_copy_from_user(to, size, from);
}

/* Reads and judges the program's arguments. */
static __always_inline uint32_t judge_shown(struct work *w, const struct guard_tenant *t, const struct guard_limits *l,
					    uint32_t branch, uint32_t command, unsigned long argument)
{
	uint64_t size = command >> 16 & 0x3fff;

	w->call.number = command & 0xff;
	w->call.size = (uint32_t)size;
	size = bounded(size, GUARD_ARGUMENT_BYTES);
	if (size && user_read(w->call.bytes, size, (const void *)argument))
		return GUARD_UNREADABLE;
	work_judge(w, l, branch, 0);
	if (w->plan.reason)
		return w->plan.reason;
	if (w->plan.nested_bytes) {
		__builtin_memset(w->nested, 0, sizeof w->nested);
		size = bounded(w->plan.nested_bytes, GUARD_NESTED_BYTES);
		/* Not readable: the manager will find that too. */
		if (!w->plan.pointer || user_read(w->nested, size, (const void *)w->plan.pointer))
			return GUARD_UNREADABLE;
		work_judge_nested(w, l, branch, 0);
		if (w->plan.reason)
			return w->plan.reason;
	}
	return judge_objects(w, t, l);
}

/*
 * While one set of programs takes over from another, and a moment longer, both see a call: the first one has reserved
 * for it. This holds only once: a reservation of a set that is gone does not belong to this call.
 */
static bool judged_by_others(struct work *w, uint64_t file, uint32_t command, uint64_t argument)
{
	bool others = w->stage == RESERVED && w->set != guard_options.set && w->shown_file == file &&
		      w->shown_command == command && w->shown_argument == argument;

	if (others)
		w->set = guard_options.set;
	return others;
}

/*
 * nvidia-drm takes device memory by calls of its own, which are not charged: a tenant makes none, whoever has opened
 * the node. The kernel's graphics have one major number for all drivers.
 */
static int graphics_shown(struct file *file)
{
	uint64_t account = account_of_current();
	char name[GUARD_MODULE] = { 0 };
	struct guard_tenant *t;
	struct module *owner;

	if (!account)
		return 0;
	owner = BPF_CORE_READ(file, f_op, owner);
	if (!owner || bpf_core_read_str(name, sizeof name, &owner->name) < 0)
		return 0;
	for (int i = 0; i < GUARD_MODULE; i++) {
		if (name[i] != guard_options.graphics[i])
			return 0;
		if (!name[i])
			break;
	}
	t = tenant_find(account);
	if (t)
		refused(t, GUARD_DEVICE);
	return -EPERM;
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
	if (major != guard_options.major)
		return major == GRAPHICS_MAJOR ? graphics_shown(file) : 0;
	account = account_of_file(key);
	if (!account)
		account = account_of_current();
	if (!account)
		return 0;
	c = config_get();
	l = limits_find(account);
	t = tenant_of(account, l);
	if (!c || !t)
		return -EPERM;
	/* A process outside may have opened it, and where it is traced, its opening may not have been shown. */
	if (!may_use(l, minor)) {
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
	return ret || guard_options.idle ? ret : call_shown(file, command, argument);
}

SEC("?fmod_ret/security_file_ioctl")
int BPF_PROG(guard_ioctl_traced, struct file *file, unsigned int command, unsigned long argument, int ret)
{
	return ret ? ret : UNDISTURBED(call_shown(file, command, argument));
}

/*
 * Calls of 32-bit programs, on kernels that distinguish them (6.8, and recent 6.1). The hook cannot wait for a page,
 * and the driver's libraries have no 32-bit form any more, so a tenant's calls are refused. Without such a hook they
 * are judged like others.
 */
static int call_of_32_bits(struct file *file)
{
	struct guard_config *c = config_get();
	uint64_t account;
	struct guard_tenant *t;
	uint32_t major, minor;

	if (!c || !device_of(file, &major, &minor))
		return 0;
	if (major != c->major)
		return major == GRAPHICS_MAJOR ? graphics_shown(file) : 0;
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
 * A tenant's call whose first hook did not run: nothing is reserved for it. NULL: the task is not a tenant's, or it is
 * ended.
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

/* The manager's function (stack, state, file, number, argument, size). */
static int call_copied(struct pt_regs *regs)
{
	struct guard_config *c;
	struct guard_tenant *t;
	struct guard_limits *l;
	struct work *w;
	uint64_t size;

	/* Most tasks, and all that belong to no tenant. */
	if (!guard_options.traced && bpf_core_field_exists(((struct task_struct *)0)->bpf_storage) && !storage_there())
		return 0;
	w = work_of_current();
	c = config_get();
	if (guard_options.traced ? !w || w->stage != RESERVED : !w && storage_there())
		w = work_unshown();
	if (!w || w->stage != RESERVED || !c)
		return 0;
	l = limits_find(w->account);
	t = tenant_of(w->account, l);
	if (!t) {
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
	w->call.number = (uint32_t)PT_REGS_PARM4(regs);
	w->call.size = (uint32_t)regs->r9;
	size = bounded(w->call.size, GUARD_ARGUMENT_BYTES);
	if (size && bpf_probe_read_kernel(w->call.bytes, size, (const void *)w->data)) {
		end_process(w->account, GUARD_UNREADABLE);
		return 0;
	}
	work_judge(w, l, c->branch, 0);
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
			uint32_t to = w->plan.client;

			key.client = w->plan.source_client;
			key.handle = w->plan.source_object;
			dup_begin(w, t, key, to);
		}
		o = bpf_map_lookup_elem(&guard_objects, &key);
		if (o)
			w->memory = o->memory;
		/* Before the manager does: a simultaneous free of the source must not drop the last reference. */
		if (w->plan.effect == GUARD_DUP && w->memory && !memory_ref(w->memory))
			w->memory = 0;
	}
	return 0;
}

SEC("kprobe")
int guard_call(struct pt_regs *regs)
{
	return guard_options.idle ? 0 : call_copied(regs);
}

/* (to, from, size) */
static int reply_copied(struct pt_regs *regs)
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
	work_judge_nested(w, l, c->branch, GUARD_ANSWERED);
	if (w->plan.reason)
		end_process(w->account, GUARD_CHANGED);
	else if (w->plan.effect == GUARD_MEMORY)
		work_settle(w, w->plan.bytes);
	return 0;
}

SEC("kprobe")
int guard_copy_out(struct pt_regs *regs)
{
	return guard_options.idle ? 0 : reply_copied(regs);
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

/* Replaces memory information by the tenant's quota. */
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

/* The older calls return the allocated size, and its attributes, in the kernel's copy of the argument. */
static void answer_taken(struct work *w)
{
	struct guard_config *c = config_get();
	struct guard_limits *l = limits_find(w->account);
	uint64_t size = bounded(w->call.size, GUARD_ARGUMENT_BYTES);

	if (!c || !l || !size || bpf_probe_read_kernel(w->call.bytes, size, (const void *)w->data))
		return;
	work_judge(w, l, c->branch, GUARD_ANSWERED);
	if (!w->plan.reason && w->plan.effect == GUARD_MEMORY)
		work_settle(w, w->plan.bytes);
}

static void answer_memory(struct work *w, struct guard_key *key, bool succeeded)
{
	if (succeeded && w->plan.taken)
		answer_taken(w);
	if (!succeeded && !w->replied) {
		account_refund(w->account, w->reserved);
	} else {
		/* The driver took memory without showing its size: this is not a driver that the guard knows. */
		if (w->plan.nested && w->plan.effect == GUARD_MEMORY && !w->replied)
			end_process(w->account, GUARD_CHANGED);
		/* If the call failed, the name belongs to another object. */
		if (!succeeded)
			key_make_up(key, w->account);
		memory_put(w, key, w->reserved);
	}
	w->reserved = 0;
}

/*
 * A channel was counted as its group's when the call was looked at. While the call waited the group may have gone and a
 * device got its name, below which the driver makes a group for the channel. One more than the tenant may have ends its
 * process.
 */
static void answer_channel(struct work *w, const struct guard_key *key)
{
	struct guard_key above = { w->plan.client, w->plan.parent };
	struct guard_object *o = bpf_map_lookup_elem(&guard_objects, &above);
	struct guard_limits *l;
	struct guard_tenant *t;

	if (o && o->class == RM_CLASS_GROUP && o->number <= w->until)
		return;
	object_put(w, key, w->plan.parent, RM_CLASS_GROUP, 0);
	l = limits_find(w->account);
	t = tenant_of(w->account, l);
	if (t && l && t->groups > l->groups_most)
		end_process(w->account, GUARD_GROUPS);
}

static void answer(struct work *w, uint32_t status, uint32_t handle)
{
	struct guard_key key = { w->plan.client, handle };
	bool succeeded = !status;

	/* A client has no parent, whatever the call says. */
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
		if (succeeded && w->memory && memory_ref(w->memory))
			memory_name(w, &key, w->memory);
		else if (w->memory)
			memory_unref(w->memory);
		break;
	default:
		if (succeeded && w->call.number == RM_ESC_ALLOC && rm_class_is_channel(w->plan.class))
			answer_channel(w, &key);
		break;
	}
}

/* Runs after the call, when its value is known. */
static int call_answered(struct pt_regs *regs)
{
	struct work *w = work_of_current();
	uint32_t status = 0, handle;

	if (!w || w->stage != CALLED)
		return 0;
	w->stage = IDLE;
	handle = w->plan.object;
	if (w->plan.status_at != GUARD_NO_PLACE)
		bpf_probe_read_kernel(&status, sizeof status, (const void *)(w->data + w->plan.status_at));
	/*
	 * A call on the wrong kind of node fails only by its value: its status is what the program has written there.
	 */
	if (!status)
		status = (uint32_t)PT_REGS_RC(regs);
	if (w->plan.object_at != GUARD_NO_PLACE)
		bpf_probe_read_kernel(&handle, sizeof handle, (const void *)(w->data + w->plan.object_at));
	answer(w, status, handle);
	dup_end(w);
	group_leave(w);
	/* The rest was reserved for arguments that the kernel then read differently. */
	account_refund(w->account, w->reserved);
	w->reserved = 0;
	if (guard_options.rewrites && !status && w->plan.nested == GUARD_NESTED_FB_INFO)
		answer_info(w);
	return 0;
}

SEC("kprobe")
int guard_answer(struct pt_regs *regs)
{
	return guard_options.idle ? 0 : call_answered(regs);
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

/* The last event of a task: handles a release for which guard_free_traced did not run. */
SEC("?tp_btf/sched_process_free")
int BPF_PROG(guard_task_free, struct task_struct *task)
{
	struct work *w = bpf_task_storage_get(&guard_work, task, NULL, 0);

	if (w)
		file_leave(w);
	return 0;
}
