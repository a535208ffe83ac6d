/* grant_create.c: "grant_create": a grant as asked for, in the store and served. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/kept_text.h"
#include "daemon/daemon.h"
#include "daemon/owner.h"
#include "daemon/health/health.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/store/store.h"
#include "daemon/tenants/container.h"
#include "daemon/tenants/grant_ask.h"
#include "daemon/tenants/limit.h"
#include "daemon/tenants/placing.h"
#include "daemon/tenants/tenant.h"
#include "daemon/tenants/waiting.h"
#include "daemon/turns/terms.h"
#include "daemon/workers/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Memory that may leave the device competes for it: of that, only what need not leave has to fit beside others. */
static bool fits(struct ask *ask, const struct grant *g, const struct device *device, uint64_t others, uint64_t bytes)
{
	if (!g->spill)
		return grant_check_fit(ask, device, others, bytes, g->overcommit);
	if (g->resident_units > bytes / WIRE_UNIT_BYTES) {
		refuse(ask, CODE_BAD_SIZE,
		       "the memory that is to stay on the device (--resident, \"resident_bytes\") is more than the "
		       "quota (--mem): ask for no more than that");
		return false;
	}
	return grant_check_fit(ask, device, 0, bytes, false) &&
	       (!g->resident_units ||
		grant_check_fit(ask, device, others, g->resident_units * WIRE_UNIT_BYTES, g->overcommit));
}

static bool read_spill(struct ask *ask, struct grant *g)
{
	json_t *resident = json_object_get(ask->request, "resident_bytes");

	g->spill = json_is_true(json_object_get(ask->request, "spill"));
	if (!json_object_get(ask->request, "spill") && !json_object_get(ask->request, "container"))
		g->spill = ask->daemon->memory->spill && json_array_size(json_object_get(ask->request, "devices")) == 1;
	if (resident && (!json_is_integer(resident) || json_integer_value(resident) < 0 ||
			 (uint64_t)json_integer_value(resident) > GRANT_MAX_BYTES)) {
		refuse(ask, CODE_BAD_SIZE, "\"resident_bytes\" must be a number of bytes");
		return false;
	}
	g->resident_units = resident ? (uint64_t)json_integer_value(resident) / WIRE_UNIT_BYTES : 0;
	if (g->resident_units && !g->spill) {
		refuse(ask, CODE_MALFORMED,
		       "\"resident_bytes\" (--resident) without \"spill\" (--spill): all memory of the grant is "
		       "resident");
		return false;
	}
	if (g->spill && json_array_size(json_object_get(ask->request, "devices")) > 1) {
		refuse(ask, CODE_MALFORMED,
		       "memory that may leave its device (--spill, \"spill\") is of one device: name one, or leave "
		       "\"spill\" "
		       "away");
		return false;
	}
	return true;
}

/* Value: false when it was refused. */
static bool add_share(struct ask *ask, struct grant *g, json_t *entry, const struct device *device)
{
	struct grant_share *share = &g->share[g->share_count];
	uint64_t others, bytes;
	char error[512];

	if (!health_admits(ask->daemon, device, error, sizeof(error))) {
		refuse(ask, CODE_OUT_OF_SERVICE, "%s", error);
		return false;
	}
	if (!waiting_lets_pass(ask, device))
		return false;
	others = daemon_promised_bytes(ask->daemon, device->uuid, NULL) +
		 residence_occupied_bytes(ask->daemon, device->uuid, ask->asker->uid);
	bytes = device->total_bytes > others ? device->total_bytes - others : 0;
	if (!bytes && (g->overcommit || g->spill))
		bytes = device->total_bytes;
	if (bytes > GRANT_MAX_BYTES)
		bytes = GRANT_MAX_BYTES;
	if (bytes > limit_rest_bytes(ask, device, NULL))
		bytes = limit_rest_bytes(ask, device, NULL);
	bytes = bytes / WIRE_UNIT_BYTES * WIRE_UNIT_BYTES;
	if (!grant_entry_bytes(ask, entry, device, bytes, &bytes) || !limit_check_bytes(ask, device, bytes, NULL) ||
	    !fits(ask, g, device, others, bytes) ||
	    !terms_read(ask, entry, device, NULL, g->overcommit, NULL, &share->compute))
		return false;
	share->device = *device;
	ledger_init(&share->ledger, bytes / WIRE_UNIT_BYTES);
	g->share_count++;
	return true;
}

static bool add_named(struct ask *ask, struct grant *g, json_t *entry, const struct device *list, unsigned int count,
		      uint64_t *wanted)
{
	unsigned int at;

	if (!grant_entry_device(ask, entry, list, count, "the driver", &at))
		return false;
	*wanted |= waiting_bit(ask->daemon, list[at].uuid);
	if (!grant_find_share(g, list[at].uuid))
		return add_share(ask, g, entry, &list[at]);
	refuse(ask, CODE_MALFORMED, "device %u is named twice: name every device once", list[at].index);
	return false;
}

/* "any": the best of the devices that the grant has not yet, and when that cannot be, the next one. */
static bool add_any(struct ask *ask, struct grant *g, json_t *entry, const struct device *list, unsigned int count,
		    uint64_t *wanted)
{
	unsigned int order[MACHINE_MAX_DEVICES], n = placing_order(ask, g, entry, list, count, order);
	bool quiet = ask->quiet;

	for (unsigned int i = 0; i < n; i++) {
		ask->quiet = true;
		if (add_share(ask, g, entry, &list[order[i]])) {
			ask->quiet = quiet;
			return true;
		}
		json_decref(ask->answer);
		ask->answer = NULL;
	}
	ask->quiet = quiet;
	if (!n) {
		refuse(ask, CODE_UNKNOWN_DEVICE, "device any: the driver has %u: ask for fewer", count);
		return false;
	}
	/* Of the best one it is said what is in the way. */
	*wanted |= waiting_bit(ask->daemon, list[order[0]].uuid);
	add_share(ask, g, entry, &list[order[0]]);
	return false;
}

static bool is_any(json_t *entry)
{
	const char *word = json_string_value(json_object_get(entry, "device"));

	return word && !strcmp(word, "any");
}

/* Devices that are named come first, so that any other is another one. *ret_wanted: bits of what it waits for. */
static bool fill_shares(struct ask *ask, struct grant *g, uint64_t *ret_wanted)
{
	struct device list[MACHINE_MAX_DEVICES];
	unsigned int count = machine_devices(&ask->daemon->machine, g->kind, list);
	json_t *entries = json_object_get(ask->request, "devices"), *entry;
	size_t i;

	if (!json_is_array(entries) || !json_array_size(entries) || json_array_size(entries) > WIRE_MAX_DEVICES) {
		refuse(ask, CODE_MALFORMED, "\"devices\" must be a list of 1 to %u entries", WIRE_MAX_DEVICES);
		return false;
	}
	json_array_foreach(entries, i, entry) if (!is_any(entry) &&
						  !add_named(ask, g, entry, list, count, ret_wanted)) return false;
	json_array_foreach(entries, i,
			   entry) if (is_any(entry) && !add_any(ask, g, entry, list, count, ret_wanted)) return false;
	return true;
}

/* What each driver lacks. */
static void refuse_all(struct ask *ask, const struct machine *machine)
{
	char text[1536] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < MACHINE_DRIVERS && used < sizeof(text); i++)
		if (machine->driver[i].kind)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s: %s", used ? "; " : "",
						 device_kind_name(machine->driver[i].kind), machine->driver[i].status);
	refuse(ask, CODE_NO_DRIVER, "no driver can be used: %s", text);
}

/* The first device that is named; "": none. */
static const char *first_device(json_t *request)
{
	json_t *entry = json_array_get(json_object_get(request, "devices"), 0);
	const char *spec = json_string_value(json_object_get(entry, "device"));

	return spec ? spec : "";
}

enum device_kind grant_asked_kind(json_t *request)
{
	const char *word = json_string_value(json_object_get(request, "driver")), *spec = first_device(request);
	size_t prefix = device_kind_prefix(spec);
	char name[32];

	if (word && strcmp(word, "auto"))
		return device_kind_named(word);
	snprintf(name, sizeof(name), "%.*s", prefix ? (int)prefix - 1 : 0, spec);
	return device_kind_named(name);
}

/* A device that is named by its UUID needs no word on its kind; 0: none is named so. */
static enum device_kind kind_of_first(struct ask *ask)
{
	const struct machine *machine = &ask->daemon->machine;
	uint8_t uuid[DEVICE_UUID_BYTES];

	if (device_uuid_parse(first_device(ask->request), uuid))
		return 0;
	for (unsigned int i = 0; i < machine->device_count; i++)
		if (!memcmp(machine->device[i].uuid, uuid, sizeof(uuid)))
			return machine->device[i].kind;
	return 0;
}

/* Its programs' memory can leave it: their face is the shim's, under CUDA's names or others. */
static bool spills(enum device_kind kind)
{
	const struct shape_row *row = shape_named(device_kind_name(kind));

	return device_kind_has_cuda(kind) || (row && !strcmp(row->api, "cuda"));
}

bool grant_refuse_kind(struct ask *ask)
{
	const char *word = json_string_value(json_object_get(ask->request, "driver"));

	if (!word || device_kind_named(word) || !strcmp(word, "auto"))
		return false;
	refuse(ask, CODE_NO_DRIVER, "driver %.32s: it must be auto, " DEVICE_KIND_WORDS, word);
	return true;
}

static bool fill_driver(struct ask *ask, struct grant *g)
{
	const struct machine *machine = &ask->daemon->machine;
	enum device_kind asked = grant_asked_kind(ask->request);
	const struct driver *driver = machine_driver(machine, asked ? asked : kind_of_first(ask));

	if (grant_refuse_kind(ask))
		return false;
	if (!driver || !driver->usable) {
		if (driver)
			refuse(ask, CODE_NO_DRIVER, "the %s driver cannot be used: %s", device_kind_name(driver->kind),
			       driver->status);
		else
			refuse_all(ask, machine);
		return false;
	}
	if (g->wall && !device_kind_has_cuda(driver->kind)) {
		refuse(ask, CODE_NO_DRIVER, "a wall is for CUDA: a device of kind %s has none; leave --wall away",
		       device_kind_name(driver->kind));
		return false;
	}
	if (g->spill && !spills(driver->kind) && json_is_true(json_object_get(ask->request, "spill"))) {
		refuse(ask, CODE_NOT_MOVABLE,
		       "memory that may leave its device (\"spill\") is CUDA's alone: a device of kind %s has none; "
		       "leave \"spill\" (--spill) away",
		       device_kind_name(driver->kind));
		return false;
	}
	g->spill &= spills(driver->kind); /* the node's default is for those that can */
	g->kind = driver->kind;
	g->libcuda = kept_text(driver->libcuda);
	g->libnvml = kept_text(driver->libnvml);
	if (!g->libcuda || !g->libnvml)
		refuse(ask, CODE_NO_DRIVER, "no memory: ask again");
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
		refuse(ask, CODE_BAD_NAME,
		       "a grant's name is 1 to %u ASCII letters, digits, '.', '_' and '-', and begins with neither '.' "
		       "nor '-'",
		       GRANT_NAME_BYTES - 1);
		return false;
	}
	if (tenant_find(ask->daemon, name)) {
		refuse(ask, CODE_NAME_TAKEN, "there is a grant %s already: choose another name, or delete that one",
		       name);
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
	if (*ret && strlen(*ret) < sizeof(t->images) && **ret && strspn(*ret, letters) == strlen(*ret))
		return true;
	refuse(ask, CODE_MALFORMED, "\"images\" must be 1 to %zu letters and digits", sizeof(t->images) - 1);
	return false;
}

#define EXPIRES_MOST_S 31536000

/* "expires_s": how long it waits for its first process; 0: for ever. It may be left out, also of a container's. */
static bool read_expires(struct ask *ask, struct grant *g)
{
	json_t *given = json_object_get(ask->request, "expires_s");
	json_int_t s = json_integer_value(given);

	if (!given && g->container.is && !g->container.keep && !g->runner_pid)
		s = (json_int_t)(ask->daemon->container_expires_ns / 1000000000u);
	if ((given && !json_is_integer(given)) || s < 0 || s > EXPIRES_MOST_S) {
		refuse(ask, CODE_MALFORMED, "\"expires_s\" must be a whole number of seconds, 0 to %d", EXPIRES_MOST_S);
		return false;
	}
	/* One that has a command ends with that. */
	g->expires = s && !g->runner_pid ? g->created + s : 0;
	return true;
}

/* What was asked, in full. *ret_wanted: bits of the devices that it waits for, where it was refused. */
static bool fill(struct ask *ask, struct grant *g, const char **ret_images, uint64_t *ret_wanted)
{
	return limit_admits(ask, g) && read_images(ask, ret_images) && fill_name(ask, g) &&
	       container_read_runner(ask, g) && container_read(ask, g) && container_read_labels(ask, g) &&
	       read_expires(ask, g) && fill_driver(ask, g) && fill_shares(ask, g, ret_wanted);
}

static enum verbs_result create(struct ask *ask, struct grant *g)
{
	const char *images;
	uint64_t wanted = 0;
	char error[512];
	struct tenant *t;
	int r;

	g->uid = ask->asker->uid;
	g->gid = ask->asker->gid;
	g->created = time(NULL);
	g->overcommit = json_is_true(json_object_get(ask->request, "overcommit"));
	g->wall = json_is_true(json_object_get(ask->request, "wall"));
	if (!read_spill(ask, g))
		return VERBS_ANSWERED;
	if (g->wall && !*worker_path())
		return refuse(ask, CODE_RUNTIME,
			      "a grant behind a wall needs mete-worker, which is not beside meted: "
			      "install all of mete");
	if (g->overcommit && ask->daemon->runtime.system && !owner_is(ask->asker->uid))
		return refuse(ask, CODE_NOT_YOURS,
			      "only root may promise more than a device has, where all users are served");
	if (!placing_reads(ask))
		return VERBS_ANSWERED;
	ask->quiet = json_is_true(json_object_get(ask->request, "wait"));
	if (!fill(ask, g, &images, &wanted)) {
		if (ask->quiet)
			waiting_refused(ask, wanted);
		return VERBS_ANSWERED;
	}
	ask->quiet = false;
	if (daemon_keeps_back(ask->daemon, g->uid))
		return refuse(
			ask, CODE_FULL,
			"meted has no descriptors left for one more grant: end programs, delete grants, or let root "
			"raise LimitNOFILE= of meted.service");
	g->id = daemon_new_id(ask->daemon);
	r = store_add(ask->daemon->store, g, error, sizeof(error));
	if (r)
		return refuse(ask, CODE_STORE, "grant %s is not made: %s", g->name, error);
	r = tenant_new(ask->daemon, g, true, &t, error, sizeof(error));
	if (r) {
		char also[512];

		if (store_remove(ask->daemon->store, g->id, also, sizeof(also)))
			log_line("grant %s: %s", g->name, also);
		if (g->container.is)
			container_remove(ask->daemon, g);
		return refuse(ask, CODE_RUNTIME, "grant %s is not made: %s", g->name, error);
	}
	if (images)
		strcpy(t->images, images);
	ask->daemon->idle_since_ns = 0;
	waiting_leave(ask->daemon, ask->asker->control);
	event_add(&t->events, "made by uid %u", (unsigned int)g->uid);
	journal_add(ask->daemon, JOURNAL_GRANT, g->name, NULL, "made by uid %u: %u device%s of the %s driver",
		    (unsigned int)g->uid, g->share_count, g->share_count == 1 ? "" : "s", device_kind_name(g->kind));
	log_of(g->uid, "grant %s made for uid %u: %u device%s of the %s driver", g->name, (unsigned int)g->uid,
	       g->share_count, g->share_count == 1 ? "" : "s", device_kind_name(g->kind));
	return answer(ask, json_pack("{s:o}", "grant", grant_json(t)));
}

enum verbs_result grant_create_ask(struct ask *ask)
{
	_cleanup_free_ struct grant *g = NULL;

	if (ask->turn == VERBS_FIRST && clock_now_ns() - ask->daemon->machine.asked_ns > GRANT_FRESH_NS &&
	    !ask_is_known(ask))
		return VERBS_ASK_DRIVER;
	g = calloc(1, sizeof(*g));
	return g ? create(ask, g) : refuse(ask, CODE_RUNTIME, "no memory");
}
