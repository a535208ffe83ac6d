/*
 * verbs.c: what can be asked on the control socket, one function per "op".
 *
 * A refusal is {"ok":false,"code":WORD,"error":LINE}; the line names the thing, the figures and the remedy, and is what
 * a user reads. Codes: malformed, unknown-op, unknown-device, ambiguous-device, unknown-grant, bad-name, name-taken,
 * bad-size, bad-share, over-device, over-promised, out-of-service, lost, no-driver, store, busy, not-yours, runtime;
 * and those of traces, trace_ask.c.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/kept_text.h"
#include "base/size.h"
#include "daemon/tenants/account.h"
#include "daemon/ask.h"
#include "daemon/tenants/container.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/http/audit.h"
#include "daemon/tenants/end.h"
#include "daemon/http/http.h"
#include "daemon/health/faults.h"
#include "daemon/health/health.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/store/store.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/terms.h"
#include "daemon/turns/trace.h"
#include "daemon/upgrade/upgrade.h"
#include "daemon/upgrade/version.h"
#include "daemon/workers/images.h"
#include "daemon/workers/wall.h"
#include "daemon/workers/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FRESH_NS 5000000000u /* what the drivers said is believed for this long when a grant is made */

enum verbs_result answer(struct ask *ask, json_t *take_answer)
{
	if (take_answer)
		json_object_set_new(take_answer, "ok", json_true());
	ask->answer = take_answer;
	return VERBS_ANSWERED;
}

static json_t *bytes_json(uint64_t units)
{
	return json_integer((json_int_t)(units * WIRE_UNIT_BYTES));
}

/* Replies. */

static enum verbs_result do_hello(struct ask *ask)
{
	return answer(ask, json_pack("{s:s s:i s:i s:s s:b s:s s:s s:s s:b}", "version", daemon_version(), "protocol",
				     DAEMON_PROTOCOL, "pid", (int)getpid(), "runtime_dir", ask->daemon->runtime.dir,
				     "system", ask->daemon->runtime.system, "turns", arbitrate_priority(), "http",
				     http_address(ask->daemon), "state_dir", ask->daemon->state_dir, "replaced",
				     upgrade_replaced()));
}

static json_t *device_json(struct daemon *daemon, const struct device *d)
{
	char uuid[DEVICE_UUID_TEXT];
	json_t *json;

	json = json_pack("{s:s s:i s:s s:s s:I s:I s:o s:o s:i s:s s:f}", "driver", device_kind_name(d->kind), "index",
			 (int)d->index, "uuid", device_uuid_format(d->uuid, uuid), "name", d->name, "total_bytes",
			 (json_int_t)d->total_bytes, "promised_bytes",
			 (json_int_t)daemon_promised_bytes(daemon, d->uuid, NULL), "held_bytes",
			 json_integer((json_int_t)daemon_held_bytes(daemon, d->uuid)), "used_bytes",
			 d->used_known ? json_integer((json_int_t)d->used_bytes) : json_null(), "granule_bytes",
			 (int)d->granule_bytes, "policy", policy_name(terms_default(daemon, d->uuid)), "promised_cores",
			 daemon_promised_ppm(daemon, d->uuid, NULL) / 1e4);
	health_json(daemon, d->uuid, json);
	return json;
}

static json_t *path_json(const char *path)
{
	json_t *json = *path ? json_string(path) : NULL;

	return json ? json : json_null();
}

/* Who is in a hurry takes what the drivers said at any time before ("known": true): a container that begins. */
static bool is_known(const struct ask *ask)
{
	return json_is_true(json_object_get(ask->request, "known")) && ask->daemon->machine.asked_ns;
}

static enum verbs_result do_devices(struct ask *ask)
{
	struct machine *machine = &ask->daemon->machine;
	json_t *devices, *drivers;

	if (ask->turn == VERBS_FIRST && !is_known(ask))
		return VERBS_ASK_MACHINE;
	devices = json_array();
	drivers = json_array();
	for (unsigned int i = 0; i < machine->device_count; i++)
		json_array_append_new(devices, device_json(ask->daemon, &machine->device[i]));
	for (unsigned int i = 0; i < MACHINE_DRIVERS; i++) {
		const struct driver *d = &machine->driver[i];

		json_array_append_new(drivers, json_pack("{s:s s:b s:o s:o s:o s:s}", "kind", device_kind_name(d->kind),
							 "usable", d->usable, "libcuda", path_json(d->libcuda), "nvml",
							 path_json(d->libnvml), "version", path_json(d->version),
							 "status", d->status));
	}
	return answer(ask, json_pack("{s:o s:o}", "devices", devices, "drivers", drivers));
}

static json_t *driver_json(const struct grant *g)
{
	return json_pack("{s:s s:o s:o}", "kind", device_kind_name(g->kind), "libcuda", path_json(g->libcuda), "nvml",
			 path_json(g->libnvml));
}

static json_t *share_json(struct tenant *t, unsigned int i)
{
	struct grant_share *share = &t->grant.share[i];
	uint64_t held = account_measure(t, i);
	char uuid[DEVICE_UUID_TEXT];
	json_t *json;

	json = json_pack("{s:i s:s s:s s:I s:o s:o s:o s:o s:o s:I}", "index", (int)share->device.index, "uuid",
			 device_uuid_format(share->device.uuid, uuid), "name", share->device.name, "total_bytes",
			 (json_int_t)share->device.total_bytes, "quota_bytes", bytes_json(share->ledger.quota_units),
			 "held_bytes", bytes_json(held), "granted_bytes", bytes_json(share->ledger.granted_units),
			 "shared_bytes", bytes_json(share->ledger.object_units), "peak_bytes",
			 bytes_json(share->ledger.peak_units), "refused", (json_int_t)share->ledger.refused);
	if (json && ledger_shrink_pending(&share->ledger))
		json_object_set_new(json, "target_bytes", bytes_json(share->ledger.target_units));
	terms_json(t, i, json);
	return json;
}

static json_t *client_json(struct tenant *t, struct client *c)
{
	json_t *devices = json_array();
	char command[PROCESS_COMMAND_BYTES];

	for (unsigned int i = 0; i < t->grant.share_count; i++) {
		json_t *held =
			json_pack("{s:i s:o s:o s:o}", "index", (int)t->grant.share[i].device.index, "held_bytes",
				  bytes_json(account_held(c, i)), "credit_bytes", bytes_json(account_credit(c, i)),
				  "peak_bytes", bytes_json(c->page.map->account[i].peak_units));

		if (held)
			terms_client_json(c, i, held);
		json_array_append_new(devices, held);
	}
	memcpy(command, c->process.command, sizeof(command));
	for (char *k = command; *k; k++)
		if (*k < ' ' || *k > '~')
			*k = '?';
	return json_pack("{s:i s:s s:b s:b s:o}", "pid", (int)c->process.pid, "command", command, "attached",
			 c->sessions > 0, "worker", worker_find(t->daemon, c->process.pid) != NULL, "devices", devices);
}

static json_t *events_json(const struct tenant *t)
{
	json_t *events = json_array();
	const struct event *e;

	for (unsigned int i = 0; (e = event_get(&t->events, i)); i++)
		json_array_append_new(events, json_pack("{s:I s:I s:s}", "time", (json_int_t)e->time, "count",
							(json_int_t)e->count, "text", e->text));
	return events;
}

static const char *state_text(const struct tenant *t)
{
	uint32_t wait_s;

	if (t->listen_fd < 0)
		return "no socket";
	if ((t->grant.runner_pid && t->runner_fd < 0) || end_is_under_way(t))
		return "ending";
	for (unsigned int i = 0; i < t->grant.share_count; i++)
		if (health_state(t->daemon, t->grant.share[i].device.uuid) == DEVICE_LOST)
			return "lost";
	if (!faults_let_begin(t, &wait_s))
		return "quarantined";
	return t->clients ? "active" : "idle";
}

static json_t *grant_json(struct tenant *t)
{
	char wall[sizeof(t->socket) + 16];
	json_t *devices = json_array(), *processes = json_array(), *json;

	for (unsigned int i = 0; i < t->grant.share_count; i++)
		json_array_append_new(devices, share_json(t, i));
	for (struct client *c = t->clients; c; c = c->next)
		json_array_append_new(processes, client_json(t, c));
	json = json_pack("{s:s s:I s:i s:o s:s s:s s:o s:o s:o s:I s:b s:I s:o s:o s:o}", "name", t->grant.name, "id",
			 (json_int_t)t->grant.id, "uid", (int)t->grant.uid, "driver", driver_json(&t->grant), "state",
			 state_text(t), "socket", t->socket, "wall", path_json(wall_path(t, wall, sizeof(wall))),
			 "container", container_json(t), "runner_pid",
			 t->grant.runner_pid ? json_integer(t->grant.runner_pid) : json_null(), "created",
			 (json_int_t)t->grant.created, "overcommit", t->grant.overcommit, "attached_total",
			 (json_int_t)t->attached_total, "devices", devices, "processes", processes, "events",
			 events_json(t));
	if (t->grant.wall)
		json_object_set_new(json, "images", images_json(t));
	faults_json(t, json);
	return json;
}

/* Requests' fields. */

static enum verbs_result find_grant(struct ask *ask, struct tenant **ret)
{
	const char *name = json_string_value(json_object_get(ask->request, "name"));

	if (!name)
		return refuse(ask, "malformed", "the request names no grant: give its \"name\"");
	*ret = tenant_find(ask->daemon, name);
	if (!*ret)
		return refuse(ask, "unknown-grant", "there is no grant %.64s: `mete ps` lists those that there are",
			      name);
	return VERBS_ANSWERED;
}

static bool may_change(const struct ask *ask, const struct tenant *t)
{
	return !ask->asker->uid || ask->asker->uid == geteuid() || ask->asker->uid == t->grant.uid;
}

static enum verbs_result refuse_other(struct ask *ask, const struct tenant *t)
{
	return refuse(ask, "not-yours", "grant %s belongs to uid %u: only they and root may change it", t->grant.name,
		      (unsigned int)t->grant.uid);
}

/*
 * The device that an entry of "devices" names, in a list. "device" may be left out where the list has one. Value: false
 * when it was refused.
 */
static bool entry_device(struct ask *ask, json_t *entry, const struct device *list, unsigned int count,
			 const char *where, unsigned int *ret)
{
	json_t *named = json_object_get(entry, "device");
	const char *spec = json_string_value(named);
	int found;

	if (!json_is_object(entry) || (named && !spec)) {
		refuse(ask, "malformed", "an entry of \"devices\" must be an object whose \"device\" is a text");
		return false;
	}
	if (!spec && count != 1) {
		refuse(ask, "unknown-device", "%s has %u devices: say which", where, count);
		return false;
	}
	found = spec ? device_find(list, count, spec) : 0;
	if (found >= 0) {
		*ret = (unsigned int)found;
		return true;
	}
	if (found == DEVICE_AMBIGUOUS)
		refuse(ask, "ambiguous-device", "device %.64s: several UUIDs of %s begin like that: give more of it",
		       spec, where);
	else
		refuse(ask, "unknown-device",
		       "device %.64s: %s has none of that index or UUID: `mete devices` lists them", spec, where);
	return false;
}

/* The bytes that an entry asks of a device; `rest` when it names none. Value: false when it was refused. */
static bool entry_bytes(struct ask *ask, json_t *entry, const struct device *device, uint64_t rest, uint64_t *ret)
{
	json_t *bytes = json_object_get(entry, "mem_bytes"), *pct = json_object_get(entry, "mem_pct");

	if ((bytes && !json_is_integer(bytes)) || (pct && !json_is_number(pct)) || (bytes && pct)) {
		refuse(ask, "malformed",
		       "\"mem_bytes\" must be a whole number and \"mem_pct\" a number, and only one of them given");
		return false;
	}
	*ret = rest;
	if (bytes)
		*ret = json_integer_value(bytes) < 0
			       ? 0
			       : (uint64_t)json_integer_value(bytes) / WIRE_UNIT_BYTES * WIRE_UNIT_BYTES;
	if (pct) {
		double x = json_number_value(pct);

		if (!(x > 0 && x <= 100)) {
			refuse(ask, "bad-size", "device %u: a share of the memory is above 0 and at most 100 %%",
			       device->index);
			return false;
		}
		*ret = grant_pct_bytes(device, x);
	}
	if (*ret || (!bytes && !pct))
		return true;
	refuse(ask, "bad-size", "device %u: the quota must be at least %u bytes", device->index, WIRE_UNIT_BYTES);
	return false;
}

/* Value: false when it was refused. */
static bool check_fit(struct ask *ask, const struct device *d, uint64_t others, uint64_t bytes, bool overcommit)
{
	char asked[SIZE_TEXT_BYTES], total[SIZE_TEXT_BYTES], rest[SIZE_TEXT_BYTES];

	size_format(bytes, asked);
	size_format(d->total_bytes, total);
	size_format(d->total_bytes > others ? d->total_bytes - others : 0, rest);
	switch (grant_fits(d, others, bytes, overcommit)) {
	case GRANT_FITS:
		return true;
	case GRANT_OVER_DEVICE:
		refuse(ask, "over-device", "device %u (%s) has %s, asked were %s (%" PRIu64 " bytes): ask for less",
		       d->index, d->name, total, asked, bytes);
		return false;
	case GRANT_OVER_PROMISED:
		refuse(ask, "over-promised",
		       "device %u (%s): %s of %s are not promised to others yet, asked were %s (%" PRIu64
		       " bytes): ask for less, shrink or delete a grant (`mete ps`), or overcommit",
		       d->index, d->name, rest, total, asked, bytes);
		return false;
	case GRANT_OVER_COUNTABLE:
		refuse(ask, "over-device", "device %u: one grant may have just under 1 TiB of a device", d->index);
		return false;
	case GRANT_NOTHING:
		refuse(ask, "over-promised",
		       "device %u (%s): all of its %s are promised to others: shrink or delete a grant (`mete ps`), or "
		       "overcommit",
		       d->index, d->name, total);
		return false;
	}
	return false;
}

/* grant_create. */

static unsigned int devices_of(const struct machine *machine, enum device_kind kind, struct device *ret)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < machine->device_count; i++)
		if (machine->device[i].kind == kind)
			ret[n++] = machine->device[i];
	return n;
}

static bool add_share(struct ask *ask, struct grant *g, json_t *entry, const struct device *list, unsigned int count)
{
	uint64_t others, bytes;
	char error[512];
	unsigned int at;

	if (!entry_device(ask, entry, list, count, "the driver", &at))
		return false;
	if (grant_find_share(g, list[at].uuid)) {
		refuse(ask, "malformed", "device %u is named twice: name every device once", list[at].index);
		return false;
	}
	if (!health_admits(ask->daemon, &list[at], error, sizeof(error))) {
		refuse(ask, "out-of-service", "%s", error);
		return false;
	}
	others = daemon_promised_bytes(ask->daemon, list[at].uuid, NULL);
	bytes = list[at].total_bytes > others ? list[at].total_bytes - others : 0;
	if (!bytes && g->overcommit)
		bytes = list[at].total_bytes;
	if (bytes > GRANT_MAX_BYTES)
		bytes = GRANT_MAX_BYTES;
	bytes = bytes / WIRE_UNIT_BYTES * WIRE_UNIT_BYTES;
	if (!entry_bytes(ask, entry, &list[at], bytes, &bytes) ||
	    !check_fit(ask, &list[at], others, bytes, g->overcommit))
		return false;
	if (!terms_read(ask, entry, &list[at], NULL, g->overcommit, NULL, &g->share[g->share_count].compute))
		return false;
	g->share[g->share_count].device = list[at];
	ledger_init(&g->share[g->share_count].ledger, bytes / WIRE_UNIT_BYTES);
	g->share_count++;
	return true;
}

static bool fill_shares(struct ask *ask, struct grant *g)
{
	struct device list[MACHINE_MAX_DEVICES];
	unsigned int count = devices_of(&ask->daemon->machine, g->kind, list);
	json_t *entries = json_object_get(ask->request, "devices"), *entry;
	size_t i;

	if (!json_is_array(entries) || !json_array_size(entries) || json_array_size(entries) > WIRE_MAX_DEVICES) {
		refuse(ask, "malformed", "\"devices\" must be a list of 1 to %u entries", WIRE_MAX_DEVICES);
		return false;
	}
	json_array_foreach(entries, i, entry) if (!add_share(ask, g, entry, list, count)) return false;
	return true;
}

static bool fill_driver(struct ask *ask, struct grant *g)
{
	const char *word = json_string_value(json_object_get(ask->request, "driver"));
	const struct machine *machine = &ask->daemon->machine;
	const struct driver *driver = NULL;

	if (!word || !strcmp(word, "auto"))
		driver = machine_driver(machine, 0);
	else if (!strcmp(word, "soft"))
		driver = machine_driver(machine, DEVICE_SOFT);
	else if (!strcmp(word, "nvidia"))
		driver = machine_driver(machine, DEVICE_NVIDIA);
	else
		refuse(ask, "no-driver", "driver %.32s: it must be auto, soft or nvidia", word);
	if (ask->answer)
		return false;
	if (!driver || !driver->usable) {
		if (driver)
			refuse(ask, "no-driver", "the %s driver cannot be used: %s", device_kind_name(driver->kind),
			       driver->status);
		else
			refuse(ask, "no-driver", "no driver can be used: nvidia: %s; soft: %s",
			       machine->driver[0].status, machine->driver[1].status);
		return false;
	}
	g->kind = driver->kind;
	g->libcuda = kept_text(driver->libcuda);
	g->libnvml = kept_text(driver->libnvml);
	if (!g->libcuda || !g->libnvml)
		refuse(ask, "no-driver", "no memory: ask again");
	return g->libcuda && g->libnvml;
}

static bool fill_name(struct ask *ask, struct grant *g)
{
	json_t *named = json_object_get(ask->request, "name");
	const char *name = json_string_value(named);

	if (!named || json_is_null(named)) {
		for (unsigned int n = 1; !*g->name || tenant_find(ask->daemon, g->name); n++)
			snprintf(g->name, sizeof(g->name), "grant-%u", n);
		return true;
	}
	if (!name || !grant_name_valid(name)) {
		refuse(ask, "bad-name",
		       "a grant's name is 1 to %u letters, digits, '.', '_' and '-', and begins with neither '.' nor "
		       "'-'",
		       GRANT_NAME_BYTES - 1);
		return false;
	}
	if (tenant_find(ask->daemon, name)) {
		refuse(ask, "name-taken", "there is a grant %s already: choose another name, or delete that one", name);
		return false;
	}
	strcpy(g->name, name);
	return true;
}

/* "images": under what images are kept beyond the grant's end; letters and digits, so that it is part of a name. */
static bool read_images(struct ask *ask, const char **ret)
{
	static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	json_t *given = json_object_get(ask->request, "images");
	struct tenant *t = NULL;

	*ret = json_string_value(given);
	if (!given || json_is_null(given))
		return true;
	if (*ret && strlen(*ret) < sizeof(t->images) && **ret &&
	    strspn(*ret, letters) == strlen(*ret))
		return true;
	refuse(ask, "malformed", "\"images\" must be 1 to %zu letters and digits", sizeof(t->images) - 1);
	return false;
}

static enum verbs_result create(struct ask *ask, struct grant *g)
{
	const char *images;
	char error[512];
	struct tenant *t;
	int r;

	g->uid = ask->asker->uid;
	g->gid = ask->asker->gid;
	g->created = time(NULL);
	g->overcommit = json_is_true(json_object_get(ask->request, "overcommit"));
	g->wall = json_is_true(json_object_get(ask->request, "wall"));
	if (g->wall && !*worker_path())
		return refuse(ask, "runtime", "a grant behind a wall needs mete-worker, which is not beside meted: "
					      "install mete whole");
	if (g->overcommit && ask->daemon->runtime.system && ask->asker->uid && ask->asker->uid != geteuid())
		return refuse(ask, "not-yours",
			      "only root may promise more than a device has, where all users are served");
	if (!read_images(ask, &images) || !fill_name(ask, g) || !container_read_runner(ask, g) ||
	    !container_read(ask, g) || !fill_driver(ask, g) || !fill_shares(ask, g))
		return VERBS_ANSWERED;
	g->id = daemon_new_id(ask->daemon);
	r = store_add(ask->daemon->store, g, error, sizeof(error));
	if (r)
		return refuse(ask, "store", "grant %s is not made: %s", g->name, error);
	r = tenant_new(ask->daemon, g, true, &t, error, sizeof(error));
	if (r) {
		char also[512];

		if (store_remove(ask->daemon->store, g->id, also, sizeof(also)))
			log_line("grant %s: %s", g->name, also);
		if (g->container.is)
			container_remove(ask->daemon, g);
		return refuse(ask, "runtime", "grant %s is not made: %s", g->name, error);
	}
	if (images)
		strcpy(t->images, images);
	ask->daemon->idle_since_ns = 0;
	event_add(&t->events, "made by uid %u", (unsigned int)g->uid);
	journal_add(ask->daemon, JOURNAL_GRANT, g->name, NULL, "made by uid %u: %u device(s) of the %s driver",
		    (unsigned int)g->uid, g->share_count, device_kind_name(g->kind));
	log_line("grant %s made for uid %u: %u device(s) of the %s driver", g->name, (unsigned int)g->uid,
		 g->share_count, device_kind_name(g->kind));
	return answer(ask, json_pack("{s:o}", "grant", grant_json(t)));
}

static enum verbs_result do_grant_create(struct ask *ask)
{
	_cleanup_free_ struct grant *g = NULL;

	if (ask->turn == VERBS_FIRST && clock_now_ns() - ask->daemon->machine.asked_ns > FRESH_NS && !is_known(ask))
		return VERBS_ASK_MACHINE;
	g = calloc(1, sizeof(*g));
	return g ? create(ask, g) : refuse(ask, "runtime", "no memory");
}

/* The others. */

static enum verbs_result do_grants(struct ask *ask)
{
	struct tenant *only = NULL;
	json_t *grants;

	if (json_is_string(json_object_get(ask->request, "name"))) {
		find_grant(ask, &only);
		if (!only)
			return VERBS_ANSWERED;
	}
	grants = json_array();
	for (struct tenant *t = ask->daemon->tenants; t; t = t->next)
		if (!only || t == only)
			json_array_insert_new(grants, 0, grant_json(t)); /* the oldest first */
	return answer(ask, json_pack("{s:o}", "grants", grants));
}

/* What a request asks for a share of the grant that it names; quota 0: as it is. Value: false when it was refused. */
static bool read_quota(struct ask *ask, struct tenant *t, unsigned int i, json_t *entry, uint64_t *ret_units)
{
	const struct grant_share *share = &t->grant.share[i];
	uint64_t bytes, others = daemon_promised_bytes(ask->daemon, share->device.uuid, t);

	if (!entry_bytes(ask, entry, &share->device, 0, &bytes))
		return false;
	/* What it has promised already it may keep, whatever others were promised on top of it. */
	if (bytes > share->ledger.quota_units * WIRE_UNIT_BYTES &&
	    !check_fit(ask, &share->device, others, bytes, t->grant.overcommit))
		return false;
	*ret_units = bytes / WIRE_UNIT_BYTES;
	return true;
}

static bool read_changes(struct ask *ask, struct tenant *t, uint64_t quota_units[WIRE_MAX_DEVICES],
			 struct grant_compute compute[WIRE_MAX_DEVICES])
{
	json_t *entries = json_object_get(ask->request, "devices"), *entry;
	struct device list[WIRE_MAX_DEVICES];
	bool named[WIRE_MAX_DEVICES] = { 0 };
	size_t n;

	for (unsigned int i = 0; i < t->grant.share_count; i++)
		list[i] = t->grant.share[i].device;
	if (!json_is_array(entries) || !json_array_size(entries)) {
		refuse(ask, "malformed", "\"devices\" must be a list of at least one entry");
		return false;
	}
	json_array_foreach(entries, n, entry)
	{
		unsigned int i;

		if (!entry_device(ask, entry, list, t->grant.share_count, "the grant", &i))
			return false;
		if (named[i]) {
			refuse(ask, "malformed", "device %u is named twice: name every device once", list[i].index);
			return false;
		}
		named[i] = true;
		if (!read_quota(ask, t, i, entry, &quota_units[i]) ||
		    !terms_read(ask, entry, &list[i], &compute[i], t->grant.overcommit, t, &compute[i]))
			return false;
		if (!quota_units[i] && !terms_given(entry)) {
			refuse(ask, "malformed", "device %u: give \"mem_bytes\" or \"mem_pct\", or a share of its time",
			       list[i].index);
			return false;
		}
	}
	return true;
}

static enum verbs_result do_grant_set(struct ask *ask)
{
	struct grant_compute compute[WIRE_MAX_DEVICES];
	uint64_t quota_units[WIRE_MAX_DEVICES] = { 0 };
	struct tenant *t = NULL;
	char error[512] = "";
	int r;

	find_grant(ask, &t);
	if (!t)
		return VERBS_ANSWERED;
	if (!may_change(ask, t))
		return refuse_other(ask, t);
	for (unsigned int i = 0; i < t->grant.share_count; i++)
		compute[i] = t->grant.share[i].compute;
	if (!read_changes(ask, t, quota_units, compute))
		return VERBS_ANSWERED;
	r = tenant_change(t, quota_units, compute, json_is_true(json_object_get(ask->request, "soon")), error,
			  sizeof(error));
	if (r == -EAGAIN && ask->turn != VERBS_LAST)
		return VERBS_LATER;
	if (r == -EAGAIN)
		return refuse(ask, "busy",
			      "grant %s: a program is taking memory right now: try again, or ask with --soon",
			      t->grant.name);
	if (r)
		return refuse(ask, r == -EBUSY ? "busy" : "store", "%s", error);
	log_line("grant %s: changed by uid %u", t->grant.name, (unsigned int)ask->asker->uid);
	return answer(ask, json_pack("{s:o}", "grant", grant_json(t)));
}

/* A container of the grant begins. */
static enum verbs_result do_grant_bind(struct ask *ask)
{
	struct tenant *t = NULL;

	find_grant(ask, &t);
	if (!t)
		return VERBS_ANSWERED;
	if (!may_change(ask, t))
		return refuse_other(ask, t);
	return container_bind(ask, t) ? answer(ask, json_pack("{s:o}", "grant", grant_json(t))) : VERBS_ANSWERED;
}

static enum verbs_result do_grant_delete(struct ask *ask)
{
	struct tenant *t = NULL;
	char error[512];

	find_grant(ask, &t);
	if (!t)
		return VERBS_ANSWERED;
	if (!may_change(ask, t))
		return refuse_other(ask, t);
	if (t->clients || t->sessions)
		return refuse(ask, "busy", "grant %s has running programs (%s is one): end them first", t->grant.name,
			      t->clients ? client_text(t->clients) : "one that is just starting");
	if (t->runner_fd >= 0 && ask->asker->pid != t->grant.runner_pid)
		return refuse(ask, "busy", "grant %s belongs to the running command with pid %d: it ends with it",
			      t->grant.name, (int)t->grant.runner_pid);
	if (store_remove(ask->daemon->store, t->grant.id, error, sizeof(error)))
		return refuse(ask, "store", "%s", error);
	log_line("grant %s deleted by uid %u", t->grant.name, (unsigned int)ask->asker->uid);
	journal_add(ask->daemon, JOURNAL_GRANT, t->grant.name, NULL, "deleted by uid %u",
		    (unsigned int)ask->asker->uid);
	tenant_free(t, false);
	daemon_reap_soon(ask->daemon);
	return answer(ask, json_object());
}

/*
 * An operator's word from the command line is written down like one from the console, whose asker has no connection
 * here. A user's own, about what is theirs, is not: the log has no bound. Value: false when it was refused.
 */
static bool write_down_end(struct ask *ask, const struct tenant *t, const char *who, uint64_t *ret_id)
{
	struct audit_entry entry = { .who = who, .action = "end", .target = t->grant.name };
	char error[512];

	*ret_id = 0;
	if (!ask->asker->control || (ask->asker->uid && ask->asker->uid != geteuid()))
		return true;
	if (!audit_begin(ask->daemon->state_dir, &entry, ret_id, error, sizeof(error)))
		return true;
	refuse(ask, "store", "%s", error);
	return false;
}

static enum verbs_result do_grant_end(struct ask *ask)
{
	struct tenant *t = NULL;
	char who[64];
	uint64_t id;
	int r;

	find_grant(ask, &t);
	if (!t)
		return VERBS_ANSWERED;
	if (!may_change(ask, t))
		return refuse_other(ask, t);
	snprintf(who, sizeof(who), "uid %u, pid %d", (unsigned int)ask->asker->uid, (int)ask->asker->pid);
	if (!write_down_end(ask, t, who, &id))
		return VERBS_ANSWERED;
	r = end_begin(t, who);
	if (id)
		audit_end(ask->daemon->state_dir, id, r ? "no memory" : "done");
	return r ? refuse(ask, "runtime", "no memory") : answer(ask, json_object());
}

/* A quarantine protects others from the tenant, so it is not the tenant's to end. */
static enum verbs_result do_grant_release(struct ask *ask)
{
	struct tenant *t = NULL;

	find_grant(ask, &t);
	if (!t)
		return VERBS_ANSWERED;
	if (ask->asker->uid && ask->asker->uid != geteuid())
		return refuse(ask, "not-yours", "only root and uid %u may end a quarantine",
			      (unsigned int)geteuid());
	faults_release(t);
	log_line("grant %s: released by uid %u", t->grant.name, (unsigned int)ask->asker->uid);
	journal_add(ask->daemon, JOURNAL_ACTION, t->grant.name, NULL, "released by uid %u: programs may begin",
		    (unsigned int)ask->asker->uid);
	return answer(ask, json_pack("{s:o}", "grant", grant_json(t)));
}

/* The devices' default policies. */
static enum verbs_result do_policy_set(struct ask *ask)
{
	struct machine *machine = &ask->daemon->machine;
	unsigned int at;

	if (ask->turn == VERBS_FIRST && clock_now_ns() - machine->asked_ns > FRESH_NS)
		return VERBS_ASK_MACHINE;
	if (ask->asker->uid && ask->asker->uid != geteuid())
		return refuse(ask, "not-yours", "only root and uid %u may set a device's policy",
			      (unsigned int)geteuid());
	if (entry_device(ask, ask->request, machine->device, machine->device_count, "this machine", &at))
		terms_set_default(ask, &machine->device[at]);
	return ask->answer ? VERBS_ANSWERED
			   : answer(ask, json_pack("{s:o}", "device", device_json(ask->daemon, &machine->device[at])));
}

static enum verbs_result do_policies(struct ask *ask)
{
	json_t *list = json_array();

	for (int i = 0; i < POLICIES; i++)
		json_array_append_new(list, json_pack("{s:s s:s}", "name", policy_name((enum policy)i), "describe",
						      policy_describe((enum policy)i)));
	return answer(ask, json_pack("{s:o}", "policies", list));
}

static enum verbs_result do_stop(struct ask *ask)
{
	unsigned int grants = 0;

	if (ask->asker->uid && ask->asker->uid != geteuid())
		return refuse(ask, "not-yours", "only root and uid %u may stop this meted", (unsigned int)geteuid());
	for (struct tenant *t = ask->daemon->tenants; t; t = t->next)
		grants++;
	if (grants)
		return refuse(ask, "busy", "%u grant(s) are being served: end their programs or delete them first",
			      grants);
	daemon_stop(ask->daemon);
	return answer(ask, json_object());
}

static enum verbs_result do_upgrade(struct ask *ask)
{
	json_t *binary = json_object_get(ask->request, "binary");
	char error[512];

	if (ask->turn == VERBS_TAKEN_OVER) {
		ask->answer = upgrade_answer(ask->daemon);
		return VERBS_ANSWERED;
	}
	if (ask->asker->uid && ask->asker->uid != geteuid())
		return refuse(ask, "not-yours", "only root and uid %u may upgrade this meted", (unsigned int)geteuid());
	if (binary && !json_is_string(binary))
		return refuse(ask, "malformed", "\"binary\" must be a path");
	if (upgrade_begin(ask->daemon, json_string_value(binary), json_is_true(json_object_get(ask->request, "check")),
			  ask->asker->control, error, sizeof(error)))
		return refuse(ask, "upgrade", "%s", error);
	return VERBS_HELD;
}

static enum verbs_result do_trace(struct ask *ask)
{
	char error[256];
	json_t *said;
	const char *code = trace_ask(ask->daemon, ask->asker->uid, ask->request, &said, error, sizeof(error));

	return code ? refuse(ask, code, "%s", error) : answer(ask, said);
}

static const struct {
	const char *op;
	enum verbs_result (*fn)(struct ask *ask);
} verbs[] = {
	{ "hello", do_hello },	 { "devices", do_devices },	{ "grant_create", do_grant_create },
	{ "grants", do_grants }, { "grant_set", do_grant_set }, { "grant_delete", do_grant_delete },
	{ "grant_end", do_grant_end },
	{ "token_new", console_ask }, { "token_show", console_ask }, { "token_revoke", console_ask },
	{ "audit", console_ask },
	{ "grant_bind", do_grant_bind },
	{ "stop", do_stop },	 { "policies", do_policies },	{ "policy_set", do_policy_set },
	{ "device_cordon", health_ask }, { "device_uncordon", health_ask }, { "device_drain", health_ask },
	{ "device_health", health_ask }, { "grant_release", do_grant_release },
	{ "events", journal_ask },
	{ "metrics", metrics_ask },
	{ "upgrade", do_upgrade },
	{ "trace_start", do_trace }, { "trace_read", do_trace }, { "trace_stop", do_trace },
};

enum verbs_result verbs_treat(struct daemon *daemon, const struct asker *asker, json_t *request, enum verbs_turn turn,
			      json_t **ret_answer)
{
	const char *op = json_string_value(json_object_get(request, "op"));
	struct ask ask = { .daemon = daemon, .asker = asker, .request = request, .turn = turn };
	enum verbs_result result = VERBS_ANSWERED;
	size_t i = 0;

	while (op && i < sizeof(verbs) / sizeof(verbs[0]) && strcmp(verbs[i].op, op))
		i++;
	if (!op)
		refuse(&ask, "malformed", "the request has no \"op\"");
	else if (i == sizeof(verbs) / sizeof(verbs[0]))
		refuse(&ask, "unknown-op", "this meted (%s) knows no \"%.32s\"", daemon_version(), op);
	else
		result = verbs[i].fn(&ask);
	*ret_answer = ask.answer;
	return result;
}
