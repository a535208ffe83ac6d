/* health.c: see health.h. drain.c has what takes time. */
#include "daemon/health/health.h"

#include "base/clean_text.h"
#include "daemon/daemon.h"
#include "daemon/health/device_watch.h"
#include "daemon/health/drain.h"
#include "daemon/health/faults.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/store/store.h"
#include "daemon/store/health.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/pool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAVE_MS 5000u
#define AGAIN_FIRST_MS 2000u /* a driver is asked whether a lost device is back */
#define AGAIN_MOST_MS 30000u

const char *device_state_name(enum device_state state)
{
	static const char *const names[] = { "active", "cordoned", "draining", "lost" };

	return names[state];
}

enum device_state health_state_of(const struct health *h)
{
	if (!h)
		return DEVICE_ACTIVE;
	return h->lost ? DEVICE_LOST : h->draining ? DEVICE_DRAINING : h->cordoned ? DEVICE_CORDONED : DEVICE_ACTIVE;
}

struct health *health_find(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	struct health *h = daemon->health;

	while (h && memcmp(h->device.uuid, uuid, DEVICE_UUID_BYTES))
		h = h->next;
	return h;
}

struct health *health_get(struct daemon *daemon, const struct device *device)
{
	struct health *h = health_find(daemon, device->uuid);

	if (!h) {
		h = calloc(1, sizeof(*h));
		if (!h)
			return NULL;
		h->next = daemon->health;
		daemon->health = h;
	}
	h->device = *device;
	return h;
}

enum device_state health_state(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	return health_state_of(health_find(daemon, uuid));
}

static const char *reason_of(const struct health *h)
{
	return !h ? "" : h->lost ? h->lost_reason : h->cordoned ? h->reason : "";
}

const char *health_reason(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	return reason_of(health_find(daemon, uuid));
}

uint64_t health_faults(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	struct health *h = health_find(daemon, uuid);

	return h ? h->faults : 0;
}

void health_count_faults(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES], uint64_t most)
{
	struct health *h = health_find(daemon, uuid);

	if (!h || h->faults >= most)
		return;
	h->faults = most;
	h->unsaved = true;
}

void health_json(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES], json_t *json)
{
	struct health *h = health_find(daemon, uuid);

	if (!json)
		return;
	json_object_set_new(json, "state", json_string(device_state_name(health_state_of(h))));
	json_object_set_new(json, "reason", json_string(reason_of(h)));
	json_object_set_new(json, "who", h && h->cordoned && *h->who ? json_string(h->who) : json_null());
	json_object_set_new(json, "since", h && h->since ? json_integer(h->since) : json_null());
	json_object_set_new(json, "faults", json_integer(h ? (json_int_t)h->faults : 0));
	json_object_set_new(json, "drained", json_boolean(h && h->drained));
}

/* Who may come. */

bool health_admits(struct daemon *daemon, const struct device *device, char *error, size_t size)
{
	struct health *h = health_find(daemon, device->uuid);
	enum device_state state = health_state_of(h);

	if (state == DEVICE_ACTIVE)
		return true;
	if (state == DEVICE_LOST)
		snprintf(error, size,
			 "device %u (%s) is lost: %s: take another device, or `mete uncordon %s:%u` when it is there "
			 "again",
			 device->index, device->name, h->lost_reason, device_kind_name(device->kind), device->index);
	else
		snprintf(error, size,
			 "device %u (%s) is %s and takes no new grants: %s: take another device, or wait for `mete "
			 "uncordon %s:%u`",
			 device->index, device->name, device_state_name(state), h->reason,
			 device_kind_name(device->kind), device->index);
	return false;
}

bool health_serves(struct tenant *tenant, char *error, size_t size)
{
	for (unsigned int i = 0; i < tenant->grant.share_count; i++) {
		const struct device *device = &tenant->grant.share[i].device;
		struct health *h = health_find(tenant->daemon, device->uuid);

		if (!h || (!h->draining && !h->drained))
			continue;
		snprintf(error, size, "device %u is %s: %s: no program may begin on it before `mete uncordon %s:%u`",
			 device->index, h->draining ? "being drained" : "out of service", h->reason,
			 device_kind_name(device->kind), device->index);
		return false;
	}
	return true;
}

bool health_lets_begin(struct tenant *tenant, char *error, size_t size)
{
	return tenant_present(tenant) || suspension_holds(tenant) || health_serves(tenant, error, size);
}

/* Keeping. */

int health_keep(struct daemon *daemon, struct health *h, char *error, size_t size)
{
	char line[512];
	int r = store_put_health(daemon->store, h, line, sizeof(line));

	h->unsaved = r != 0;
	if (r && error)
		snprintf(error, size, "%s", line);
	else if (r)
		log_line("device %u: %s", h->device.index, line);
	return r;
}

void health_save(struct daemon *daemon)
{
	for (struct health *h = daemon->health; h; h = h->next)
		if (h->unsaved)
			health_keep(daemon, h, NULL, 0);
	faults_save(daemon);
}

void health_clock_set(struct daemon *daemon, int64_t by_s)
{
	for (struct health *h = daemon->health; h; h = h->next) {
		h->since += h->since ? by_s : 0;
		h->unsaved = true;
	}
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		t->faults_unsaved |= t->quarantine.faults || t->quarantine.until_ns;
	health_save(daemon);
}

static void on_save(void *owner)
{
	health_save(owner);
}

void health_save_soon(struct daemon *daemon)
{
	if (!timer_running(daemon->health_save))
		timer_start(daemon->health_save, SAVE_MS, 0);
}

static void take_stored(const struct health *stored, void *owner)
{
	struct daemon *daemon = owner;
	struct health *h = health_get(daemon, &stored->device), *next;

	if (!h)
		return;
	next = h->next;
	*h = *stored;
	h->next = next;
}

static void on_again(void *owner);

int health_start(struct daemon *daemon, char *error, size_t size)
{
	bool lost = false;
	int r;

	daemon->health_save = timer_new(daemon->loop, on_save, daemon);
	daemon->health_again = timer_new(daemon->loop, on_again, daemon);
	r = daemon->health_save && daemon->health_again ? drain_start(daemon) : -ENOMEM;
	if (!r)
		r = store_load_health(daemon->store, take_stored, daemon, error, size);
	for (struct health *h = daemon->health; !r && h; h = h->next) {
		lost |= h->lost;
		if (h->draining)
			drain_begin(daemon, h);
	}
	daemon->health_again_ms = AGAIN_FIRST_MS;
	if (lost)
		timer_start(daemon->health_again, AGAIN_FIRST_MS, 0);
	return r;
}

void health_stop(struct daemon *daemon)
{
	struct health *h;

	if (daemon->store)
		health_save(daemon);
	timer_free(daemon->health_save);
	timer_free(daemon->health_again);
	drain_stop(daemon);
	while ((h = daemon->health)) {
		daemon->health = h->next;
		free(h);
	}
}

/* By an operator. */

static void set_text(char to[HEALTH_REASON_BYTES], const char *from)
{
	snprintf(to, HEALTH_REASON_BYTES, "%s", from);
	clean_text_ascii(to);
}

/* Makes the change when the store takes it. */
static int change(struct daemon *daemon, const struct device *device, const struct health *want, char *error,
		  size_t size)
{
	struct health *h = health_get(daemon, device), before;
	int r;

	if (!h) {
		snprintf(error, size, "no memory");
		return -ENOMEM;
	}
	before = *h;
	h->cordoned = want->cordoned;
	h->draining = want->draining;
	h->drained = want->drained;
	h->ends = want->ends;
	h->until_ns = want->until_ns;
	h->asked = 0;
	set_text(h->reason, want->reason);
	memcpy(h->who, want->who, sizeof(h->who));
	if (health_state_of(h) != health_state_of(&before))
		h->since = time(NULL);
	r = health_keep(daemon, h, error, size);
	if (r)
		*h = before;
	return r;
}

/* What was given, else what was given before, else what can be said. */
static void choose_reason(char to[HEALTH_REASON_BYTES], const char *reason, const struct health *before)
{
	if (reason && *reason)
		set_text(to, reason);
	else if (before && before->cordoned && *before->reason)
		set_text(to, before->reason);
	else
		set_text(to, "taken out by an operator");
}

static void set_who(struct health *h, const char *who)
{
	snprintf(h->who, sizeof(h->who), "%s", who);
	clean_text_ascii(h->who);
}

int health_cordon(struct daemon *daemon, const struct device *device, const char *who, const char *reason, char *error,
		  size_t size)
{
	struct health want = { .cordoned = true }, *h = health_find(daemon, device->uuid);
	int r;

	want.drained = h && h->drained; /* a drained device stays so */
	choose_reason(want.reason, reason, h);
	set_who(&want, who);
	r = change(daemon, device, &want, error, size);
	if (r)
		return r;
	log_line("device %u: cordoned by %s: %s", device->index, want.who, want.reason);
	journal_add(daemon, JOURNAL_DEVICE, NULL, device->uuid, "cordoned by %s: %s", want.who, want.reason);
	return 0;
}

int health_drain(struct daemon *daemon, const struct device *device, const char *who, const char *reason,
		 uint64_t grace_s, bool end, char *error, size_t size)
{
	struct health want = { .cordoned = true, .draining = true, .ends = end };
	int r;

	want.until_ns = drain_deadline(grace_s);
	choose_reason(want.reason, reason, health_find(daemon, device->uuid));
	set_who(&want, who);
	r = change(daemon, device, &want, error, size);
	if (r)
		return r;
	log_line("device %u: draining, by %s: tenants with programs on it: %u", device->index, want.who,
		 health_tenants(daemon, device->uuid));
	journal_add(daemon, JOURNAL_DEVICE, NULL, device->uuid,
		    "draining, by %s: %s: tenants with programs on it: %u%s", want.who, want.reason,
		    health_tenants(daemon, device->uuid), end ? ", who will be ended" : "");
	drain_begin(daemon, health_find(daemon, device->uuid));
	return 0;
}

int health_uncordon(struct daemon *daemon, const struct device *device, const char *who, char *error, size_t size)
{
	struct health want = { 0 }, *h = health_find(daemon, device->uuid);
	int64_t since;
	int r;

	if (!h || health_state_of(h) == DEVICE_ACTIVE)
		return 0;
	since = h->since;
	if (h->lost) {
		snprintf(error, size,
			 "device %u is still lost: %s: its driver does not answer for it: reset it, or restart the "
			 "machine",
			 device->index, h->lost_reason);
		return -ENODEV;
	}
	r = change(daemon, device, &want, error, size);
	if (r)
		return r;
	log_line("device %u: in service again, by %s", device->index, who);
	journal_add(daemon, JOURNAL_DEVICE, NULL, device->uuid, "in service again, by %s", who);
	drain_call_off(daemon, device, since);
	return 0;
}

unsigned int health_tenants(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	unsigned int n = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next)
		n += tenant_present(t) && grant_find_share(&t->grant, uuid);
	return n;
}

/* What the device does by itself. */

void health_count(struct daemon *daemon, const struct device *device)
{
	struct health *h = health_get(daemon, device);

	if (!h)
		return;
	h->faults++;
	h->unsaved = true;
	health_save_soon(daemon);
}

void health_lose(struct daemon *daemon, const struct device *device, const char *why)
{
	struct health *h = health_get(daemon, device);

	if (!h || h->lost)
		return;
	h->lost = true;
	h->since = time(NULL);
	set_text(h->lost_reason, why);
	health_keep(daemon, h, NULL, 0);
	log_line("device %u is lost: %s", device->index, h->lost_reason);
	journal_add(daemon, JOURNAL_DEVICE, NULL, device->uuid, "lost: %s: tenants with programs on it: %u",
		    h->lost_reason, health_tenants(daemon, device->uuid));
	daemon->health_again_ms = AGAIN_FIRST_MS;
	timer_start(daemon->health_again, AGAIN_FIRST_MS, 0);
}

void health_lose_index(struct daemon *daemon, enum device_kind kind, unsigned int index, const struct device *old,
		       unsigned int old_count)
{
	static const char why[] = "its driver cannot reach it";

	for (unsigned int i = 0; i < old_count; i++)
		if (old[i].kind == kind && old[i].index == index) {
			health_lose(daemon, &old[i], why);
			return;
		}
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		for (unsigned int i = 0; i < t->grant.share_count; i++)
			if (t->grant.kind == kind && t->grant.share[i].device.index == index) {
				health_lose(daemon, &t->grant.share[i].device, why);
				return;
			}
}

static void back(struct daemon *daemon, struct health *h)
{
	h->lost = false;
	h->since = time(NULL);
	health_keep(daemon, h, NULL, 0);
	device_watch_renew(daemon, h->device.kind);
	pool_renew(daemon, h->device.uuid);
	log_line("device %u is back: %s", h->device.index, device_state_name(health_state_of(h)));
	journal_add(daemon, JOURNAL_DEVICE, NULL, h->device.uuid, "back: %s", device_state_name(health_state_of(h)));
}

/* Asks the drivers whether a lost device is back, less and less often. */
static void on_again(void *owner)
{
	struct daemon *daemon = owner;
	bool lost = false;

	for (struct health *h = daemon->health; h; h = h->next)
		lost |= h->lost;
	if (!lost)
		return;
	machine_refresh(daemon, NULL, daemon);
	if (daemon->health_again_ms < AGAIN_MOST_MS)
		daemon->health_again_ms *= 2;
	timer_start(daemon->health_again, daemon->health_again_ms, 0);
}

static struct device *listed(struct machine *machine, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	for (unsigned int i = 0; i < machine->device_count; i++)
		if (!memcmp(machine->device[i].uuid, uuid, DEVICE_UUID_BYTES))
			return &machine->device[i];
	return NULL;
}

static bool has_grants(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (grant_find_share(&t->grant, uuid))
			return true;
	return false;
}

/* A lost device keeps its place among its driver's. */
static void list_lost(struct machine *machine, const struct device *device)
{
	unsigned int at = 0;

	if (machine->device_count == MACHINE_MAX_DEVICES)
		return;
	while (at < machine->device_count &&
	       (machine->device[at].kind != device->kind || machine->device[at].index < device->index))
		at++;
	memmove(&machine->device[at + 1], &machine->device[at],
		(machine->device_count - at) * sizeof(machine->device[0]));
	machine->device[at] = *device;
	machine->device[at].used_known = 0;
	machine->device_count++;
}

static void missing(struct daemon *daemon, const struct device *device)
{
	if (!listed(&daemon->machine, device->uuid) && has_grants(daemon, device->uuid))
		health_lose(daemon, device, "its driver does not list it any more");
}

void health_probed(struct daemon *daemon, enum device_kind kind, const struct device *old, unsigned int old_count)
{
	for (unsigned int i = 0; i < old_count; i++)
		if (old[i].kind == kind)
			missing(daemon, &old[i]);
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		for (unsigned int i = 0; i < t->grant.share_count; i++)
			if (t->grant.share[i].device.kind == kind)
				missing(daemon, &t->grant.share[i].device);
	for (struct health *h = daemon->health; h; h = h->next) {
		const struct device *now = listed(&daemon->machine, h->device.uuid);

		if (h->device.kind != kind)
			continue;
		if (now)
			h->device = *now;
		if (now && h->lost)
			back(daemon, h);
		else if (h->lost)
			list_lost(&daemon->machine, &h->device);
	}
}
