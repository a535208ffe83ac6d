// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/*
 * processes.bpf.h: the owner of a process: a tenant's process stays the tenant's, wherever it moves. Included by
 * guard.bpf.c.
 */
#pragma once

/* The account of the task's nearest ancestor cgroup that is a tenant's. */
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

/* The state of this task; NULL: none. Most tasks have no storage of any program. */
static struct work *work_of_current(void)
{
	struct task_struct *me = bpf_get_current_task_btf();

	if (bpf_core_field_exists(me->bpf_storage) && !me->bpf_storage)
		return NULL;
	return bpf_task_storage_get(&guard_work, me, NULL, 0);
}

/*
 * Before 6.2 the kernel does not return a task's storage while it has interrupted another access to task storage on the
 * same processor. Other programs use task storage too.
 */
static bool storage_there(void)
{
	struct task_struct *me = bpf_get_current_task_btf();

	return bpf_core_field_exists(me->bpf_storage) && me->bpf_storage;
}

/* Since 6.2 a task's leader may be read only under this lock; before, the kernel did not require it. */
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;

/*
 * Since 6.10: prevents preemption of the traced programs by other tasks, for which they would be busy. Earlier kernels
 * of that kind were not common.
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

/* The account of the first thread of the task's process. */
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

/* The account of the nearest tenant's cgroup, from this one upwards. */
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

/* A process that enters a tenant's cgroup belongs to the tenant from then on. The kernel reports its first thread. */
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
 * Runs before the child first runs; the fork cannot be refused here. A child of no tenant that is created in a tenant's
 * cgroup (CLONE_INTO_CGROUP) belongs to the tenant, wherever it moves later.
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
 * Runs before exec ends the other threads: the calling thread becomes the first one, whose state is then lost. Some
 * threads exist since before their cgroup was a tenant's.
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
