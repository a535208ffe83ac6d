// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/*
 * mapped.bpf.h: memory that another driver maps for a program. nvidia-uvm has the manager make a name of its own for
 * it, and so holds it when the program has freed its own name. Included by guard.bpf.c.
 */
#pragma once

static void mapped_uncount(const struct guard_mapped *m)
{
	struct guard_tenant *t = tenant_find(m->account);
	struct guard_pool *pool = m->pooled ? pool_get() : NULL;

	if (pool)
		__sync_fetch_and_sub(&pool->mapped, 1);
	if (t)
		__sync_fetch_and_sub(&t->mapped, 1);
}

/* Only the first caller gives it back. */
static void mapped_give_back(const struct guard_mapped_key *key, struct guard_mapped *m, uint64_t number)
{
	struct guard_mapped_key k = *key;
	uint64_t memory = *(volatile uint64_t *)&m->memory;

	if (!memory || *(volatile uint64_t *)&m->number != number ||
	    __sync_val_compare_and_swap(&m->memory, memory, 0) != memory)
		return;
	mapped_uncount(m);
	bpf_map_delete_elem(&guard_mapped, &k);
	memory_unref(memory);
}

/* False: the tenant has too many. */
static bool mapped_come(struct guard_mapped *m, struct guard_tenant *t)
{
	struct guard_pool *pool = pool_get();
	uint64_t before = __sync_fetch_and_add(&t->mapped, 1);

	if (!pool || before >= GUARD_TENANT_OBJECTS)
		return false;
	if (before < GUARD_OWN_OBJECTS)
		return true;
	m->pooled = 1;
	return __sync_fetch_and_add(&pool->mapped, 1) < GUARD_POOL_OBJECTS;
}

/*
 * The mapping has the reference of its memory. The process of one that is one too many ends, and gives it back with the
 * others: the table has room for those.
 */
static void mapped_put(struct work *w, uint32_t name)
{
	struct guard_mapped_key key = { .device = w->mapping_device, .name = name };
	struct guard_mapped m = { .memory = w->mapping, .number = number_next(), .account = w->account }, *old;
	struct guard_tenant *t = tenant_find(w->account);
	bool fits;

	if (!t)
		return;
	/* Its end was not reported. */
	old = bpf_map_lookup_elem(&guard_mapped, &key);
	if (old)
		mapped_give_back(&key, old, *(volatile uint64_t *)&old->number);
	fits = mapped_come(&m, t);
	if (bpf_map_update_elem(&guard_mapped, &key, &m, BPF_NOEXIST)) {
		mapped_uncount(&m);
		fits = false;
	}
	if (!fits)
		end_process(w->account, GUARD_FULL);
}

/* (stack, device, client, memory, place of the name, place of what it is) */
SEC("kprobe")
int guard_dup(struct pt_regs *regs)
{
	struct guard_key source = { (uint32_t)PT_REGS_PARM3(regs), (uint32_t)PT_REGS_PARM4(regs) };
	struct guard_key client = { source.client, source.client };
	struct guard_object *o = bpf_map_lookup_elem(&guard_objects, &client);
	/* Who made the client before it was the tenant's maps memory of its own: the manager lets no other process. */
	uint64_t account = o ? o->account : account_of_current();
	struct guard_tenant *t = account ? tenant_find(account) : NULL;
	uint32_t unnamed = o ? o->unnamed : 0;
	struct work *w;

	if (!t)
		return 0;
	w = bpf_task_storage_get(&guard_work, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w) {
		end_process(account, GUARD_FULL);
		return 0;
	}
	work_leave(w);
	w->account = account;
	w->mapping_device = PT_REGS_PARM2(regs);
	w->mapping_name_at = PT_REGS_PARM5(regs);
	dup_begin(w, t, source, 0);
	o = bpf_map_lookup_elem(&guard_objects, &source);
	/* Memory whose name is not known could be held beyond its charge. */
	if (!o && unnamed)
		end_process(account, GUARD_FOREIGN);
	w->mapping = o ? o->memory : 0;
	if (w->mapping && !memory_ref(w->mapping))
		w->mapping = 0;
	return 0;
}

SEC("kprobe")
int guard_duped(struct pt_regs *regs)
{
	struct work *w = work_of_current();
	uint32_t name = 0;

	if (!w || !w->mapping_name_at)
		return 0;
	if ((uint32_t)PT_REGS_RC(regs) || bpf_probe_read_kernel(&name, sizeof name, (const void *)w->mapping_name_at)) {
		if (w->mapping)
			memory_unref(w->mapping);
	} else if (w->mapping) {
		mapped_put(w, name);
	}
	w->mapping = w->mapping_name_at = 0;
	dup_end(w);
	return 0;
}

/* (stack, device, name) */
SEC("kprobe")
int guard_undup(struct pt_regs *regs)
{
	struct guard_mapped_key key = { .device = PT_REGS_PARM2(regs), .name = (uint32_t)PT_REGS_PARM3(regs) };
	struct guard_mapped *m = bpf_map_lookup_elem(&guard_mapped, &key);
	struct work *w;

	if (!m)
		return 0;
	w = bpf_task_storage_get(&guard_work, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w) {
		mapped_give_back(&key, m, m->number);
		return 0;
	}
	w->unmapping_device = key.device;
	w->unmapping_name = key.name;
	w->unmapping_number = m->number;
	return 0;
}

/* The memory is given back when the manager has freed the name. */
SEC("kprobe")
int guard_unduped(struct pt_regs *regs)
{
	struct work *w = work_of_current();
	struct guard_mapped_key key = { 0 };
	struct guard_mapped *m;
	uint64_t number;

	if (!w || !w->unmapping_number)
		return 0;
	number = w->unmapping_number;
	w->unmapping_number = 0;
	key.device = w->unmapping_device;
	key.name = w->unmapping_name;
	m = (uint32_t)PT_REGS_RC(regs) ? NULL : bpf_map_lookup_elem(&guard_mapped, &key);
	if (m)
		mapped_give_back(&key, m, number);
	return 0;
}
