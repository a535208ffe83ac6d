/* yielding.c: see yielding.h. */
#include "daemon/tenants/yielding.h"

#include "base/clock.h"
#include "base/size.h"
#include "daemon/daemon.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/residing.h"
#include "daemon/tenants/tenant.h"

#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t within_ns(const struct client *c)
{
	return c->tenant->daemon->memory->yield_ns;
}

bool yielding_waits(const struct client *c, uint64_t now)
{
	const struct residing *r = &c->residing;

	return !residence_moves(c->tenant) && !c->tenant->grant.overcommit && r->want_units && r->waits_since_ns &&
	       now - r->want_ns < RESIDING_WANT_NS;
}

bool yielding_is_late(struct client *c, uint64_t now)
{
	struct residing *r = &c->residing;
	char want[SIZE_TEXT_BYTES];

	if (!yielding_waits(c, now) || r->late_ns || now - r->waits_since_ns < within_ns(c))
		return false;
	r->late_ns = now;
	tenant_note(c->tenant, 0, JOURNAL_ACTION,
		    "%s waits for %s that it is promised and others were lent: they have not left within %.1f s "
		    "(memory.yield_within)",
		    client_text(c), size_format(r->want_units * WIRE_UNIT_BYTES, want), (double)within_ns(c) / 1e9);
	return true;
}

void yielding_blame(struct client *c, const struct client *whom, uint64_t now)
{
	const bool ends = c->tenant->daemon->memory->yield_end;

	if (c->residing.late_ns)
		return;
	c->residing.late_ns = now;
	c->tenant->suspension.late++;
	tenant_note(c->tenant, 0, ends ? JOURNAL_FAULT : JOURNAL_ACTION,
		    "%s has not left within %.1f s (memory.yield_within) for %s, which is promised the memory%s",
		    client_text(c), (double)within_ns(c) / 1e9, whom->tenant->grant.name,
		    ends ? ": it is ended (memory.yield_end)" : "");
	if (ends)
		syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
}

void yielding_has(struct client *c)
{
	struct yielding *y = &c->tenant->yielding;
	struct residing *r = &c->residing;
	uint64_t waited = r->waits_since_ns ? clock_now_ns() - r->waits_since_ns : 0;

	if (residence_moves(c->tenant) || !r->waits_since_ns)
		return;
	y->waits++;
	y->late += r->late_ns != 0;
	if (waited > y->longest_ns)
		y->longest_ns = waited;
	if (r->late_ns)
		tenant_note(c->tenant, 0, JOURNAL_ACTION, "%s has waited %.1f s for memory that it is promised",
			    client_text(c), (double)waited / 1e9);
	r->late_ns = 0;
}

void yielding_left(struct client *c)
{
	c->residing.late_ns = 0;
}

/* Of several programs that wait the one that has waited for longest. */
static const struct client *waiting(const struct tenant *t, uint64_t now)
{
	const struct client *found = NULL;

	for (const struct client *c = t->clients; c; c = c->next)
		if (yielding_waits(c, now) && (!found || c->residing.waits_since_ns < found->residing.waits_since_ns))
			found = c;
	return found;
}

void yielding_grant_json(const struct tenant *t, json_t *grant)
{
	uint64_t now = clock_now_ns();
	const struct client *c = residence_moves(t) ? NULL : waiting(t, now);
	const struct yielding *y = &t->yielding;

	if (!c && !y->waits)
		return;
	json_object_set_new(grant, "yield",
			    json_pack("{s:f s:I s:I s:f s:I s:f}", "within_seconds",
				      (double)t->daemon->memory->yield_ns / 1e9, "waits", (json_int_t)y->waits, "late",
				      (json_int_t)y->late, "longest_seconds", (double)y->longest_ns / 1e9,
				      "waiting_bytes", (json_int_t)(c ? c->residing.want_units * WIRE_UNIT_BYTES : 0),
				      "waiting_seconds", c ? (double)(now - c->residing.waits_since_ns) / 1e9 : 0.0));
}
