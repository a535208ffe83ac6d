// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/* account.bpf.h: charges tenants and records refusals. Included by guard.bpf.c. */
#pragma once

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

/* Sets the reservation to what the manager has taken. */
static void work_settle(struct work *w, uint64_t bytes)
{
	struct guard_limits *l;
	struct guard_tenant *t;

	if (bytes == w->reserved)
		return;
	l = limits_find(w->account);
	t = tenant_of(w->account, l);
	if (bytes <= w->reserved) {
		account_refund(w->account, w->reserved - bytes);
	} else if (t && !account_charge(t, l ? l->quota : 0, bytes - w->reserved)) {
		__sync_fetch_and_add(&t->used, bytes - w->reserved);
		end_process(w->account, GUARD_CHANGED);
	}
	w->reserved = bytes;
}
