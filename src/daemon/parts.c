/* parts.c: see parts.h. */
#include "daemon/parts.h"

#include "base/cleanup.h"
#include "base/notify.h"
#include "daemon/changes.h"
#include "daemon/clockwork.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/health/device_watch.h"
#include "daemon/health/faults.h"
#include "daemon/health/health.h"
#include "daemon/health/sensors.h"
#include "daemon/http/http.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/settings/options.h"
#include "daemon/settings/refusal.h"
#include "daemon/settings/reload.h"
#include "daemon/settings/service.h"
#include "daemon/store/history.h"
#include "daemon/store/meters.h"
#include "daemon/store/store.h"
#include "daemon/tenants/book.h"
#include "daemon/tenants/disk.h"
#include "daemon/tenants/end.h"
#include "daemon/tenants/remember.h"
#include "daemon/tenants/residence.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/arbitrate.h"
#include "daemon/turns/trace.h"
#include "daemon/upgrade/children.h"
#include "daemon/upgrade/handover.h"
#include "daemon/upgrade/handover_windows.h"
#include "daemon/upgrade/keeper.h"
#include "daemon/upgrade/priority.h"
#include "daemon/upgrade/upgrade.h"
#include "daemon/workers/cgroup.h"
#include "daemon/workers/images.h"
#include "daemon/workers/worker.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct starting {
	const struct options *o;
	char *error; /* the line for the user */
	size_t size;
};

struct part {
	const char *name; /* also of what it saves in a handover */
	/* Each may be NULL. start, restore: 0 or a negative errno. */
	int (*start)(struct daemon *daemon, const struct starting *s);
	int (*restore)(struct daemon *daemon, const struct starting *s);
	json_t *(*save)(const struct daemon *daemon, struct handover *h);
	void (*stop)(struct daemon *daemon);
};

static int start_runtime(struct daemon *daemon, const struct starting *s)
{
	char dir[PATH_MAX];
	int r;

	options_runtime_dir(s->o, dir, sizeof(dir));
	r = runtime_open(&daemon->runtime, daemon->runtime.handover, dir, s->o->system, s->error, s->size);
	if (!r)
		refusal_forget(s->o);
	return r;
}

static void stop_runtime(struct daemon *daemon)
{
	runtime_close(&daemon->runtime);
}

static int start_log(struct daemon *daemon, const struct starting *s)
{
	const struct options *o = s->o;
	char path[GRANT_PATH_BYTES];
	int r;

	snprintf(path, sizeof(path), "%s/meted.log", daemon->runtime.dir);
	r = o->foreground ? 0 : log_open(o->log ? o->log : path);
	if (r)
		snprintf(s->error, s->size, "cannot write the log %.900s: %s", o->log ? o->log : path, strerror(-r));
	return r;
}

static void stop_spare(struct daemon *daemon)
{
	cleanup_close(&daemon->spare_fd);
}

static int start_store(struct daemon *daemon, const struct starting *s)
{
	const struct handover *h = daemon->runtime.handover;
	char path[GRANT_PATH_BYTES];

	options_state_dir(s->o, daemon->state_dir, sizeof(daemon->state_dir));
	snprintf(path, sizeof(path), "%.*s/mete.db", (int)sizeof(path) - 16, daemon->state_dir);
	if (handover_get(h, "back"))
		store_take_back(path);
	return store_open(path, json_is_true(handover_get(h, "copied")), &daemon->store, s->error, s->size);
}

static void stop_store(struct daemon *daemon)
{
	store_close(daemon->store);
}

static int start_journal(struct daemon *daemon, const struct starting *s)
{
	daemon->journal = journal_new();
	return daemon->journal ? 0 : -ENOMEM;
}

/* Programs that run wait for whoever takes over: the disk does not make them wait longer. */
static int start_disk(struct daemon *daemon, const struct starting *s)
{
	disk_open(daemon, !daemon->runtime.handover);
	return 0;
}

/* Whoever waits for a file is answered before the next meted comes, which knows nothing of it. */
static json_t *save_disk(const struct daemon *daemon, struct handover *h)
{
	(void)h;
	disk_settle(daemon);
	return json_null();
}

static void stop_journal(struct daemon *daemon)
{
	journal_free(daemon->journal);
}

/* Until all handles are closed. */
static void stop_loop(struct daemon *daemon)
{
	uv_run(daemon->loop, UV_RUN_DEFAULT);
}

static int start_clockwork(struct daemon *daemon, const struct starting *s)
{
	return clockwork_start(daemon);
}

static int start_health(struct daemon *daemon, const struct starting *s)
{
	return health_start(daemon, s->error, s->size);
}

static void stop_turns(struct daemon *daemon)
{
	arbitrate_stop();
}

static json_t *save_children(const struct daemon *daemon, struct handover *h)
{
	return children_save();
}

static void stop_children(struct daemon *daemon)
{
	children_forget();
}

static void stop_meters(struct daemon *daemon)
{
	meters_close(daemon->meters);
	daemon->meters = NULL;
}

static void stop_book(struct daemon *daemon)
{
	book_close(daemon->book);
}

/* With them their images, workers and sessions, and the thread that gives turns. */
static int restore_tenants(struct daemon *daemon, const struct starting *s)
{
	return daemon_restore(daemon, s->error, s->size);
}

static void stop_tenants(struct daemon *daemon)
{
	while (daemon->tenants)
		tenant_free(daemon->tenants, true);
}

/* What tenants had: children of meted's that are theirs, windows of their shares, their counters. */
static int restore_measures(struct daemon *daemon, const struct starting *s)
{
	struct handover *h = daemon->runtime.handover;

	children_restore(daemon, handover_get(h, "children"));
	handover_windows_restore(daemon, h);
	return telemetry_start(daemon);
}

static int restore_history(struct daemon *daemon, const struct starting *s)
{
	history_store_open(daemon);
	telemetry_resume(daemon);
	remember_events(daemon);
	return 0;
}

static void stop_history(struct daemon *daemon)
{
	telemetry_read(daemon);
	history_store_close(daemon);
}

/* After an upgrade the programs matter more. */
static int restore_http(struct daemon *daemon, const struct starting *s)
{
	int r = http_start(daemon, &s->o->http, s->error, s->size);

	if (!r || !daemon->runtime.handover)
		return r;
	log_line("%s", s->error);
	return 0;
}

static void stop_http(struct daemon *daemon)
{
	http_stop(daemon, true);
}

static int restore_controls(struct daemon *daemon, const struct starting *s)
{
	return control_listen(daemon, s->error, s->size);
}

static void stop_controls(struct daemon *daemon)
{
	control_close(daemon, true);
}

static int start_faults(struct daemon *daemon, const struct starting *s)
{
	return faults_start(daemon, s->error, s->size);
}

static void stop_service(struct daemon *daemon)
{
	service_leave();
	notify_tell("STOPPING=1");
}

/* The last: whoever asked the meted before this one is answered, and that one's turns are no longer needed. */
static int restore_upgrade(struct daemon *daemon, const struct starting *s)
{
	struct handover *h = daemon->runtime.handover;
	pid_t keeper;

	if (!h)
		return 0;
	upgrade_taken(daemon);
	control_restore(daemon, h);
	daemon->runtime.handover = NULL;
	keeper = keeper_end();
	if (keeper)
		children_adopt(daemon, keeper);
	priority_restore(handover_get(h, "priority"));
	handover_free(h);
	return 0;
}

static const struct part parts[] = {
	/* clang-format off: a row is a line */
	{ "runtime", start_runtime, NULL, NULL, stop_runtime },
	{ "log", start_log, NULL, NULL, NULL }, /* closed by main(), which has the last line */
	{ "spare descriptor", NULL, NULL, NULL, stop_spare },
	{ "store", start_store, NULL, NULL, stop_store },
	{ "journal", start_journal, NULL, NULL, stop_journal },
	{ "loop", NULL, NULL, NULL, stop_loop },
	{ "clockwork", start_clockwork, NULL, NULL, clockwork_stop },
	{ "health", start_health, NULL, NULL, health_stop },
	{ "turns", NULL, NULL, NULL, stop_turns },
	{ "images", NULL, NULL, images_save, images_stop },
	{ "cgroups", NULL, NULL, NULL, cgroup_leave },
	{ "workers", NULL, NULL, worker_save, worker_leave },
	{ "sensors", NULL, NULL, NULL, sensors_free },
	{ "children", NULL, NULL, save_children, stop_children },
	{ "telemetry", NULL, NULL, NULL, telemetry_stop },
	{ "meters", NULL, NULL, NULL, stop_meters },
	{ "book", NULL, NULL, NULL, stop_book },
	{ "residence", NULL, NULL, NULL, residence_stop },
	{ "disk", start_disk, NULL, save_disk, disk_close },
	{ "tenants", NULL, restore_tenants, NULL, stop_tenants },
	{ "measures", NULL, restore_measures, NULL, NULL },
	{ "history", NULL, restore_history, NULL, stop_history },
	{ "ends", NULL, NULL, NULL, end_stop },
	{ "traces", NULL, NULL, NULL, trace_close },
	{ "http", NULL, restore_http, http_save, stop_http },
	{ "changes", NULL, NULL, NULL, changes_stop },
	{ "controls", NULL, restore_controls, control_save, stop_controls },
	{ "faults", start_faults, NULL, NULL, faults_stop },
	{ "device watch", NULL, NULL, NULL, device_watch_stop },
	{ "reload", NULL, NULL, NULL, reload_stop },
	{ "service", NULL, NULL, NULL, stop_service },
	{ "upgrade", NULL, restore_upgrade, NULL, upgrade_stop },
	{ "machine", NULL, NULL, NULL, machine_stop },
	/* clang-format on */
};

#define PARTS (sizeof(parts) / sizeof(*parts))

int parts_start(struct daemon *daemon, const struct options *o, char *error, size_t size)
{
	const struct starting s = { o, error, size };
	int r = 0;

	for (size_t i = 0; !r && i < PARTS; i++)
		r = parts[i].start ? parts[i].start(daemon, &s) : 0;
	return r;
}

int parts_restore(struct daemon *daemon, const struct options *o, char *error, size_t size)
{
	const struct starting s = { o, error, size };
	int r = 0;

	for (size_t i = 0; !r && i < PARTS; i++)
		r = parts[i].restore ? parts[i].restore(daemon, &s) : 0;
	return r;
}

void parts_save(struct daemon *daemon, struct handover *h)
{
	for (size_t i = 0; i < PARTS; i++)
		if (parts[i].save)
			handover_put(h, parts[i].name, parts[i].save(daemon, h));
}

void parts_stop(struct daemon *daemon)
{
	for (size_t i = PARTS; i--;)
		if (parts[i].stop)
			parts[i].stop(daemon);
}
