/* limit.c: see limit.h. */
#include "daemon/tenants/limit.h"

#include "base/size.h"
#include "daemon/ask.h"
#include "daemon/daemon.h"
#include "daemon/descriptors.h"
#include "daemon/owner.h"
#include "daemon/subordinate.h"
#include "daemon/tenants/tenant.h"

#include <stdio.h>

#define KEY_BYTES 128u
#define LIMIT_PROCESSES_OF_USER 4u /* times as many as of one grant */

/* Whether two ids are one user's. */
static bool same_user(uid_t a, uid_t b)
{
	return a == b || subordinate_user(a) == subordinate_user(b);
}

static const char *word_of(enum limit what)
{
	static const char *const words[LIMITS] = {
		[LIMIT_GRANTS] = "grants", [LIMIT_PROCESSES] = "processes", [LIMIT_MEM] = "mem",
		[LIMIT_CORES] = "cores",   [LIMIT_WAITING] = "waiting",	    [LIMIT_SOCKETS] = "sockets"
	};

	return words[what];
}

/* The key of meted.yaml that a figure follows from. */
static void write_key(char key[KEY_BYTES], enum limit what, const struct limits_entry *entry)
{
	snprintf(key, KEY_BYTES, "limits.%s%s%s%s", entry ? (entry->group ? "groups." : "users.") : "",
		 entry ? entry->name : "", entry ? "." : "", word_of(what));
}

/* In a user namespace of his own a user has what groups he likes: there those count that he is in outside. */
static uint64_t most_of_user(const struct limits *l, enum limit what, uid_t uid, const gid_t *groups,
			     unsigned int group_count, const struct limits_entry **ret_entry)
{
	subordinate_groups(uid, &groups, &group_count);
	return limits_most(l, what, subordinate_user(uid), groups, group_count, ret_entry);
}

/* UINT64_MAX: no bound. */
static uint64_t most_of(const struct ask *ask, enum limit what, char key[KEY_BYTES])
{
	const struct limits *l = ask->daemon->limits;
	const struct limits_entry *entry;
	uint64_t most;

	write_key(key, what, NULL);
	if (!l || owner_is(ask->asker->uid))
		return UINT64_MAX;
	most = most_of_user(l, what, ask->asker->uid, ask->asker->groups, ask->asker->group_count, &entry);
	write_key(key, what, entry);
	return most;
}

static uint64_t most_of_tenant(const struct tenant *tenant, enum limit what, char key[KEY_BYTES])
{
	const struct limits *l = tenant->daemon->limits;
	const struct grant *g = &tenant->grant;
	const struct limits_entry *entry;
	uint64_t most;

	if (!l || owner_is(g->uid))
		return UINT64_MAX;
	most = most_of_user(l, what, g->uid, &g->gid, 1, &entry);
	write_key(key, what, entry);
	return most;
}

/* Creating. */

struct made {
	unsigned int grants, sockets, all; /* all: of all users that are no owners */
};

static struct made count_made(const struct daemon *daemon, uid_t uid)
{
	struct made n = { 0 };

	for (const struct tenant *t = daemon->tenants; t; t = t->next) {
		n.all += !owner_is(t->grant.uid);
		if (!same_user(t->grant.uid, uid))
			continue;
		n.grants++;
		n.sockets += 1 + t->grant.wall;
	}
	return n;
}

static bool refuse_count(struct ask *ask, const char *key, unsigned int have, uint64_t most, const char *what)
{
	refuse(ask, CODE_OVER_LIMIT,
	       "uid %u has %u %s, and may have %llu: delete some (`mete ps`, `mete delete`), or let root raise %s in "
	       "meted.yaml",
	       (unsigned int)ask->asker->uid, have, what, (unsigned long long)most, key);
	return false;
}

bool limit_admits(struct ask *ask, const struct grant *g)
{
	struct made made = count_made(ask->daemon, ask->asker->uid);
	char key[KEY_BYTES];
	uint64_t most;

	most = most_of(ask, LIMIT_GRANTS, key);
	if (made.grants >= most)
		return refuse_count(ask, key, made.grants, most, "grants");
	most = most_of(ask, LIMIT_SOCKETS, key);
	if (made.sockets + 1 + g->wall > most)
		return refuse_count(ask, key, made.sockets, most, "sockets of grants");
	if (!ask->daemon->limits || owner_is(ask->asker->uid) || made.all < ask->daemon->limits->all_grants)
		return true;
	refuse(ask, CODE_OVER_LIMIT,
	       "the users of this machine have %u grants, and may have %llu together: wait, or let root end some or "
	       "raise limits.all_grants in meted.yaml",
	       made.all, (unsigned long long)ask->daemon->limits->all_grants);
	return false;
}

/* Promising. */

static uint64_t bytes_of_user(const struct ask *ask, const struct device *device, const struct tenant *except)
{
	uint64_t bytes = 0;

	for (const struct tenant *t = ask->daemon->tenants; t; t = t->next)
		if (t != except && same_user(t->grant.uid, ask->asker->uid))
			bytes += grant_promised_bytes(&t->grant, device->uuid);
	return bytes;
}

static uint64_t part_of(uint64_t whole, uint64_t pct)
{
	return pct >= 100 ? UINT64_MAX : whole / 100 * pct + whole % 100 * pct / 100;
}

static uint64_t most_bytes(const struct ask *ask, const struct device *device, char key[KEY_BYTES])
{
	return part_of(device->total_bytes, most_of(ask, LIMIT_MEM, key));
}

uint64_t limit_part(const struct tenant *tenant, uint64_t whole)
{
	char key[KEY_BYTES];

	return part_of(whole, most_of_tenant(tenant, LIMIT_MEM, key));
}

uint64_t limit_rest_bytes(struct ask *ask, const struct device *device, const struct tenant *except)
{
	char key[KEY_BYTES];
	uint64_t most = most_bytes(ask, device, key), have = bytes_of_user(ask, device, except);

	return most > have ? most - have : 0;
}

bool limit_check_bytes(struct ask *ask, const struct device *device, uint64_t bytes, const struct tenant *except)
{
	char key[KEY_BYTES], asked[SIZE_TEXT_BYTES], had[SIZE_TEXT_BYTES], most_text[SIZE_TEXT_BYTES];
	uint64_t most = most_bytes(ask, device, key), have = bytes_of_user(ask, device, except);

	if (most == UINT64_MAX || (have <= most && bytes && bytes <= most - have))
		return true;
	size_format(bytes, asked);
	size_format(have, had);
	size_format(most, most_text);
	refuse(ask, CODE_OVER_LIMIT,
	       "device %u (%s): uid %u may have %s of it promised, other grants of it have %s, asked were %s: ask for "
	       "less, shrink or delete a grant (`mete ps`), or let root raise %s in meted.yaml",
	       device->index, device->name, (unsigned int)ask->asker->uid, most_text, had, asked, key);
	return false;
}

bool limit_check_ppm(struct ask *ask, const struct device *device, uint32_t ppm, const struct tenant *except)
{
	char key[KEY_BYTES];
	uint64_t most = most_of(ask, LIMIT_CORES, key), have = 0;

	for (const struct tenant *t = ask->daemon->tenants; t; t = t->next)
		if (t != except && same_user(t->grant.uid, ask->asker->uid))
			have += grant_promised_ppm(&t->grant, device->uuid);
	if (!ppm || most >= 100 || have + ppm <= most * 10000)
		return true;
	refuse(ask, CODE_OVER_LIMIT,
	       "device %u (%s): uid %u may have %llu %% of its time guaranteed, other grants of it have %.4g %%, asked "
	       "were %.4g %%: ask for less, lower or delete a grant (`mete ps`), or let root raise %s in meted.yaml",
	       device->index, device->name, (unsigned int)ask->asker->uid, (unsigned long long)most, (double)have / 1e4,
	       ppm / 1e4, key);
	return false;
}

/* What there is. */

/* UINT64_MAX: no bound. have -1: it is counted for each grant by itself. */
static void add_row(json_t *rows, const char *limit, const char *of, json_int_t have, uint64_t most, const char *key)
{
	json_array_append_new(rows,
			      json_pack("{s:s s:s s:o s:o s:s}", "limit", limit, "of", of, "have",
					have < 0 ? json_null() : json_integer(have), "most",
					most == UINT64_MAX ? json_null() : json_integer((json_int_t)most), "key", key));
}

static void add_device_rows(struct ask *ask, const struct device *d, json_t *rows)
{
	char key[KEY_BYTES], of[64];
	uint64_t most = most_bytes(ask, d, key), ppm = 0;

	snprintf(of, sizeof(of), "device %u (%s)", d->index, device_kind_name(d->kind));
	add_row(rows, "mem", of, (json_int_t)bytes_of_user(ask, d, NULL), most == UINT64_MAX ? d->total_bytes : most,
		key);
	most = most_of(ask, LIMIT_CORES, key);
	for (const struct tenant *t = ask->daemon->tenants; t; t = t->next)
		if (same_user(t->grant.uid, ask->asker->uid))
			ppm += grant_promised_ppm(&t->grant, d->uuid);
	add_row(rows, "cores", of, (json_int_t)(ppm / 10000), most > 100 ? 100 : most, key);
}

enum verbs_result limits_ask(struct ask *ask)
{
	struct made made = count_made(ask->daemon, ask->asker->uid);
	const struct limits *l = ask->daemon->limits;
	bool bounded = l && !owner_is(ask->asker->uid);
	json_t *rows = json_array();
	json_int_t waiting = 0;
	char key[KEY_BYTES];
	uint64_t most;

	for (const struct tenant *t = ask->daemon->tenants; t; t = t->next)
		if (same_user(t->grant.uid, ask->asker->uid))
			waiting += t->waiting_count;
	most = most_of(ask, LIMIT_GRANTS, key);
	add_row(rows, "grants", "user", made.grants, most, key);
	most = most_of(ask, LIMIT_SOCKETS, key);
	add_row(rows, "sockets", "user", made.sockets, most, key);
	most = most_of(ask, LIMIT_WAITING, key);
	add_row(rows, "waiting", "user", waiting, most, key);
	most = most_of(ask, LIMIT_PROCESSES, key);
	add_row(rows, "processes", "grant", -1, most, key);
	for (unsigned int i = 0; i < ask->daemon->machine.device_count; i++)
		add_device_rows(ask, &ask->daemon->machine.device[i], rows);
	add_row(rows, "grants", "all users", made.all, bounded ? l->all_grants : UINT64_MAX, "limits.all_grants");
	return answer(ask, json_pack("{s:i s:b s:o}", "uid", (int)ask->asker->uid, "bounded", bounded, "limits", rows));
}

/* What programs do. */

bool limit_admits_process(const struct tenant *tenant)
{
	char key[KEY_BYTES];
	uint64_t most = most_of_tenant(tenant, LIMIT_PROCESSES, key), all = 0;
	const unsigned int own = tenant->client_count + tenant->held_count;

	for (const struct tenant *t = tenant->daemon->tenants; t; t = t->next)
		all += same_user(t->grant.uid, tenant->grant.uid) ? t->client_count + t->held_count : 0;
	if (own < most && (most == UINT64_MAX || all / LIMIT_PROCESSES_OF_USER < most))
		return true;
	log_of_programs(
		tenant->grant.uid, tenant->grant.id,
		"grant %s: it has %u processes, all grants of uid %u %llu, and they may have no more: end some, or "
		"raise %s in meted.yaml",
		tenant->grant.name, own, (unsigned int)tenant->grant.uid, (unsigned long long)all, key);
	return false;
}

bool limit_admits_waiting(const struct tenant *tenant)
{
	char key[KEY_BYTES];
	uint64_t most = most_of_tenant(tenant, LIMIT_WAITING, key), have = 0;

	for (const struct tenant *t = tenant->daemon->tenants; t; t = t->next)
		if (same_user(t->grant.uid, tenant->grant.uid))
			have += t->waiting_count;
	if (have < most)
		return true;
	log_of_programs(
		tenant->grant.uid, tenant->grant.id,
		"grant %s: %llu requests for memory of uid %u wait, and no more may (%s in meted.yaml): one is decided "
		"at once",
		tenant->grant.name, (unsigned long long)have, (unsigned int)tenant->grant.uid, key);
	return false;
}
