/* guarded.c: see guarded.h. */
#include "daemon/tenants/guarded.h"

#include "base/size.h"
#include "daemon/daemon.h"
#include "daemon/journal.h"
#include "daemon/tenants/account.h"
#include "daemon/tenants/process.h"
#include "daemon/tenants/tenant.h"
#include "guard/classify.h"
#include "guard/counts.h"
#include "guard/held.h"
#include "model/guarding.h"

#include <errno.h>
#include <unistd.h>

const char *guarded_rule_word(const struct daemon *daemon)
{
	return daemon->guard ? daemon->guard : guarding_word(GUARDING_ASKED);
}

int guarded_check_rule(const char *value, char *why, size_t size)
{
	if (guarding_find(value) >= 0)
		return 0;
	snprintf(why, size, "knows no \"%.40s\"; its words are asked, preferred, required", value);
	return -EINVAL;
}

bool guarded_admits(struct tenant *t, const struct process *process, int pidfd, char *why, size_t size)
{
	enum guarding rule = (enum guarding)guarding_find(guarded_rule_word(t->daemon));
	char how[HELD_WHY];

	if (guarding_wish(rule, false, device_kind_name(t->grant.kind), false) != GUARDING_MUST ||
	    held_for(t->grant.id, process->pid, pidfd, how))
		return true;
	event_add(&t->events, "pid %d (%s) was refused: it %s, and this node requires that (guard.grants)",
		  (int)process->pid, process->command, how);
	journal_add(t->daemon, JOURNAL_REFUSAL, t->grant.name, NULL, "pid %d (%s) was refused: it %s",
		    (int)process->pid, process->command, how);
	snprintf(why, size,
		 "it %s, and this node requires that (guard.grants: required): start it by `mete run`, or in the "
		 "grant's container",
		 how);
	return false;
}

static uint64_t said_bytes(struct tenant *t)
{
	uint64_t units = 0;

	for (unsigned int i = 0; i < t->grant.share_count; i++)
		units += account_tenant_held(t, i);
	return units * WIRE_UNIT_BYTES;
}

/* What the guard's quota has above the tenant's: the reserve for contexts. */
static uint64_t reserve_bytes(const struct tenant *t)
{
	uint64_t units = 0;

	for (unsigned int i = 0; i < t->grant.share_count; i++)
		units += t->grant.share[i].ledger.quota_units;
	return t->guarded.quota_bytes > units * WIRE_UNIT_BYTES ? t->guarded.quota_bytes - units * WIRE_UNIT_BYTES : 0;
}

int64_t guarded_difference(const struct guarded *g)
{
	return (int64_t)g->used_bytes - (int64_t)g->said_bytes;
}

static void say_difference(struct tenant *t)
{
	struct guarded *g = &t->guarded;
	char used[SIZE_TEXT_BYTES], said[SIZE_TEXT_BYTES], reserve[SIZE_TEXT_BYTES];
	uint64_t most = reserve_bytes(t);
	bool over = guarded_difference(g) > (int64_t)most;

	if (over == g->over)
		return;
	g->over = over;
	size_format(g->used_bytes, used);
	size_format(g->said_bytes, said);
	size_format(most, reserve);
	if (over) {
		event_add(&t->events,
			  "the guard counts %s, the programs say %s: more than the reserve of %s apart; a "
			  "program calls the driver itself",
			  used, said, reserve);
		journal_add(t->daemon, JOURNAL_FAULT, t->grant.name, NULL,
			    "the guard counts %s, the programs say %s: a program calls the driver itself", used, said);
	} else {
		event_add(&t->events, "the guard counts %s, the programs say %s: within the reserve of %s again", used,
			  said, reserve);
	}
}

/* Channels of a tenant of which no program is attached: their work passes no gate. */
static void say_ungated(struct tenant *t)
{
	struct guarded *g = &t->guarded;
	bool ungated = g->groups && !t->clients;

	if (ungated && !g->ungated) {
		event_add(&t->events,
			  "the guard counts %llu channel groups, and no program is attached: their work passes no gate",
			  (unsigned long long)g->groups);
		journal_add(t->daemon, JOURNAL_FAULT, t->grant.name, NULL,
			    "%llu channel groups without an attached program: their work passes no gate",
			    (unsigned long long)g->groups);
	}
	g->ungated = ungated;
}

/* What was refused and ended since the count before. */
static void say_refusals(struct tenant *t, const struct guard_count *c, bool first)
{
	uint64_t refused = c->refused - t->guarded.refused, killed = c->killed - t->guarded.killed;

	if (first || (!refused && !killed))
		return;
	event_add(&t->events, "the guard refused %llu calls and ended %llu processes, the last of pid %u: %s",
		  (unsigned long long)refused, (unsigned long long)killed, c->last_pid,
		  guard_reason_text(c->last_reason));
	journal_add(t->daemon, killed ? JOURNAL_FAULT : JOURNAL_REFUSAL, t->grant.name, NULL, "the guard %s pid %u: %s",
		    killed ? "ended" : "refused a call of", c->last_pid, guard_reason_text(c->last_reason));
}

static void read_one(struct tenant *t)
{
	struct guarded *g = &t->guarded;
	bool first = !g->known;
	struct guard_count c;
	int r = counts_get(t->grant.id, &c);

	if (r == -ENOENT) {
		*g = (struct guarded){ 0 };
		return;
	}
	if (r)
		return;
	/* A count that began anew (the guard was loaded again). */
	if (c.refused < g->refused || c.killed < g->killed)
		first = true;
	say_refusals(t, &c, first);
	*g = (struct guarded){
		.known = true,
		.stale = counts_age_ns(&c) > GUARDED_STALE_S * UINT64_C(1000000000),
		.over = g->over,
		.ungated = g->ungated,
		.front = c.front,
		.quota_bytes = c.quota,
		.used_bytes = c.used,
		.peak_bytes = c.peak,
		.said_bytes = said_bytes(t),
		.groups = c.channel_groups,
		.refused = c.refused,
		.killed = c.killed,
	};
	if (!g->stale)
		say_difference(t);
	/* A program begins with its channels and attaches a moment later: said when it stands a second on. */
	if (!g->stale && !first)
		say_ungated(t);
}

void guarded_read(struct daemon *daemon)
{
	if (access(counts_folder(), X_OK))
		return;
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		read_one(t);
}

json_t *guarded_json(const struct tenant *t)
{
	const struct guarded *g = &t->guarded;

	if (!g->known)
		return json_null();
	return json_pack("{s:s s:b s:I s:I s:I s:I s:I s:I s:I s:I}", "front", counts_front_name(g->front), "stale",
			 g->stale, "quota_bytes", (json_int_t)g->quota_bytes, "used_bytes", (json_int_t)g->used_bytes,
			 "peak_bytes", (json_int_t)g->peak_bytes, "said_bytes", (json_int_t)g->said_bytes,
			 "difference_bytes", (json_int_t)guarded_difference(g), "channel_groups", (json_int_t)g->groups,
			 "refused", (json_int_t)g->refused, "killed", (json_int_t)g->killed);
}
