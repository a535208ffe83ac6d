/* upgrade.c: see upgrade.h. */
#include "daemon/codes.h"
#include "daemon/upgrade/upgrade.h"

#include "base/clean_text.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/turns/arbitrate.h"
#include "daemon/daemon.h"
#include "daemon/health/device_watch.h"
#include "daemon/health/faults.h"
#include "daemon/http/http.h"
#include "daemon/journal.h"
#include "daemon/parts.h"
#include "daemon/log.h"
#include "daemon/store/history.h"
#include "daemon/store/steps.h"
#include "daemon/store/store.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/trace.h"
#include "daemon/upgrade/children.h"
#include "daemon/upgrade/handover.h"
#include "daemon/upgrade/handover_tenants.h"
#include "daemon/upgrade/handover_windows.h"
#include "daemon/upgrade/keeper.h"
#include "daemon/upgrade/own.h"
#include "daemon/upgrade/priority.h"
#include "daemon/upgrade/trusted.h"
#include "daemon/upgrade/version.h"
#include "daemon/workers/images.h"
#include "daemon/workers/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK_MS 15000	       /* for the next meted to say that it can */
#define DRAIN_MS 2	       /* then again */
#define DRAIN_NS 3000000000ull /* for answers that are on their way */
#define SAID_BYTES 2048

struct upgrade {
	struct daemon *daemon;
	struct control *control; /* who is told; NULL: nobody, or it has gone */
	struct timer *timer;
	uv_process_t check;
	bool spawned, checking, check_only, stopped;
	int said;     /* what the check has printed */
	int own_file; /* the program that this meted is */
	int windows;  /* handover_windows.h */
	uint64_t deadline_ns;
	json_t *next; /* what the next meted is */
	char binary[PATH_MAX];
};

/* Ends. */

static void on_closed(uv_handle_t *handle)
{
	struct upgrade *u = handle->data;

	free(u);
}

static void upgrade_free(struct upgrade *u)
{
	if (u->daemon->upgrade == u)
		u->daemon->upgrade = NULL;
	timer_free(u->timer);
	cleanup_close(&u->said);
	cleanup_close(&u->own_file);
	cleanup_close(&u->windows);
	json_decref(u->next);
	if (u->spawned)
		uv_close((uv_handle_t *)&u->check, on_closed);
	else
		free(u);
}

__attribute__((format(printf, 2, 3))) static void give_up(struct upgrade *u, const char *fmt, ...)
{
	char why[SAID_BYTES + 512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (!u->check_only) {
		log_line("not upgraded: %s", why);
		journal_add(u->daemon, JOURNAL_DAEMON, NULL, NULL, "not upgraded: %s", why);
	}
	if (u->control)
		control_answer(u->control, json_pack("{s:b s:s s:s}", "ok", 0, "code", code_word(CODE_UPGRADE),
						     "error", why));
	device_watch_pause(u->daemon, false);
	upgrade_free(u);
}

void upgrade_forget(struct daemon *daemon, const struct control *control)
{
	if (daemon->upgrade && daemon->upgrade->control == control)
		daemon->upgrade->control = NULL;
}

void upgrade_stop(struct daemon *daemon)
{
	struct upgrade *u = daemon->upgrade;

	if (!u)
		return;
	u->control = NULL;
	u->stopped = true;
	if (u->checking)
		uv_process_kill(&u->check, SIGKILL);
	else
		upgrade_free(u);
}

/* The handover. */

static struct handover *collect(struct upgrade *u, json_t *take_priority, int *ret_file, char *error, size_t size)
{
	struct daemon *daemon = u->daemon;
	struct handover *h = handover_new();

	if (!h) {
		json_decref(take_priority);
		snprintf(error, size, "no memory for the handover");
		return NULL;
	}
	handover_put(h, "priority", take_priority);
	handover_put(h, "book", json_true()); /* what stands there is up to date */
	handover_put(h, "version", json_string(daemon_version()));
	handover_put(h, "binary", json_string(own_binary()));
	handover_put(h, "lock", handover_give(h, daemon->runtime.lock_fd));
	handover_put(h, "copied", json_boolean(true));
	handover_put(h, "own_file", handover_give(h, u->own_file));
	handover_tenants_save(daemon, h);
	parts_save(daemon, h);
	handover_put(h, "control_given", json_boolean(daemon->control_given));
	handover_put(h, "windows", handover_windows_save(daemon, h, &u->windows));
	if (json_integer_value(json_object_get(u->next, "keeper")) == KEEPER_VERSION)
		handover_put(h, "keeper", keeper_prepare(h));
	*ret_file = handover_write(h, error, size);
	if (*ret_file >= 0)
		return h;
	handover_free(h);
	return NULL;
}

/* Everything that goes to a disk. 0 or -errno. */
static int write_out(struct upgrade *u, char *error, size_t size)
{
	struct daemon *daemon = u->daemon;

	faults_flush(daemon);
	history_store_flush(daemon);
	if (json_integer_value(json_object_get(u->next, "store")) <= (json_int_t)store_step_count)
		return 0;
	return store_keep(daemon->store, error, size);
}

/* Between the two locks turns are the keeper's, or nobody's. Value: -errno, for it has not come to pass. */
static int leap(struct upgrade *u, struct handover *h, int file)
{
	int r;

	arbitrate_lock(); /* the other thread ends here, and not within a change of turns */
	handover_seal(h, file, clock_now_ns());
	keeper_begin(h, file, u->own_file);
	r = own_become(u->binary, -1, u->binary, file);
	handover_unseal(h, file);
	keeper_dismiss();
	arbitrate_unlock();
	return r;
}

static void go(struct upgrade *u)
{
	_cleanup_close_ int file = -1;
	struct handover *h = NULL;
	json_t *priority;
	char error[1024];
	int r = write_out(u, error, sizeof(error));

	if (r) {
		give_up(u, "%s", error);
		return;
	}
	log_line("meted %s goes, %s %s comes", daemon_version(), u->binary,
		 json_string_value(json_object_get(u->next, "version")));
	priority = priority_raise();
	h = collect(u, json_incref(priority), &file, error, sizeof(error));
	r = h ? leap(u, h, file) : 0;
	priority_restore(priority);
	json_decref(priority);
	handover_free(h);
	if (r)
		snprintf(error, sizeof(error), "%.900s cannot be executed: %s", u->binary, strerror(-r));
	give_up(u, "%s", error);
}

/*
 * What must come to its end first: children of ours that the next one knows nothing of, answers that have been begun,
 * traces that are being read, and what another thread writes.
 */
static bool busy(const struct daemon *daemon)
{
	return daemon->machine.probes || device_watch_runs(daemon) || control_writing(daemon) || http_busy(daemon) ||
	       history_store_busy(daemon) || trace_is_read(daemon);
}

static void on_drain(void *owner)
{
	struct upgrade *u = owner;

	if (u->daemon->stopping)
		return;
	if (busy(u->daemon) && clock_now_ns() < u->deadline_ns) {
		timer_start(u->timer, DRAIN_MS, 0);
		return;
	}
	go(u);
}

/* The check. */

/* The first line of what was printed. */
static void read_said(const struct upgrade *u, char text[SAID_BYTES])
{
	ssize_t n = pread(u->said, text, SAID_BYTES - 1, 0);

	text[n > 0 ? n : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	clean_text_ascii(text);
}

static bool reads_ours(const json_t *next)
{
	const json_t *formats = json_object_get(next, "handover");

	return json_integer_value(json_array_get(formats, 0)) <= HANDOVER_FORMAT &&
	       json_integer_value(json_array_get(formats, 1)) >= HANDOVER_FORMAT;
}

/* The pages of programs that run are as it knows them; one that does not say is as ours. */
static bool reads_pages(const struct upgrade *u)
{
	const json_t *page = json_object_get(u->next, "page");

	if (!page || json_integer_value(page) == (json_int_t)WIRE_PAGE_VERSION)
		return true;
	for (const struct tenant *t = u->daemon->tenants; t; t = t->next)
		if (t->clients)
			return false;
	return true;
}

static void checked(struct upgrade *u, int64_t status, int sig)
{
	char said[SAID_BYTES];

	read_said(u, said);
	u->next = json_loads(said, 0, NULL);
	if (sig)
		give_up(u, "%s: the check ended with signal %d (%s): this meted goes on", u->binary, sig,
			strsignal(sig));
	else if (status)
		give_up(u, "%s cannot take over: %s", u->binary, *said ? said : "it says nothing");
	else if (!json_is_string(json_object_get(u->next, "version")))
		give_up(u, "%s does not say what it is: it is no meted, or one from before upgrades", u->binary);
	else if (!reads_ours(u->next))
		give_up(u,
			"%s (%s) does not know this handover: upgrade to a release between, or restart meted: "
			"programs outlive that too",
			u->binary, json_string_value(json_object_get(u->next, "version")));
	else if (!reads_pages(u))
		give_up(u,
			"%s (%s) does not know what the programs that run share with this meted: upgrade to a release "
			"between, or when no program runs (`mete ps`)",
			u->binary, json_string_value(json_object_get(u->next, "version")));
	else if (u->check_only) {
		if (u->control)
			control_answer(u->control, json_pack("{s:b s:s s:s s:s}", "ok", 1, "version",
							     json_string_value(json_object_get(u->next, "version")),
							     "from", daemon_version(), "binary", u->binary));
		upgrade_free(u);
	} else {
		device_watch_pause(u->daemon, true);
		trace_end_all(u->daemon, "meted is being upgraded: the recording ends here");
		u->deadline_ns = clock_now_ns() + DRAIN_NS;
		timer_start(u->timer, 0, 0);
	}
}

static void on_checked(uv_process_t *process, int64_t status, int sig)
{
	struct upgrade *u = process->data;

	u->checking = false;
	timer_stop(u->timer);
	if (u->stopped)
		upgrade_free(u);
	else
		checked(u, status, sig);
}

static void on_timer(void *owner)
{
	struct upgrade *u = owner;

	if (u->checking)
		uv_process_kill(&u->check, SIGKILL);
	else
		on_drain(u);
}

/* What will be executed, without links: nobody can change now where they lead. */
static int find_binary(struct upgrade *u, char *error, size_t size)
{
	char path[PATH_MAX];
	int r;

	if (!realpath(u->binary, path)) {
		r = -errno;
		snprintf(error, size, "%s cannot be executed: %s", u->binary, strerror(-r));
		return r;
	}
	strcpy(u->binary, path);
	return trusted_check(u->binary, error, size);
}

static int start_check(struct upgrade *u, char *error, size_t size)
{
	_cleanup_close_ int snapshot = -1;
	char *args[OPTIONS_MOST + 4];
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_IGNORE },
		{ .flags = UV_INHERIT_FD, .data.fd = u->said },
		{ .flags = UV_INHERIT_FD, .data.fd = u->said },
		{ .flags = UV_INHERIT_FD }, /* the snapshot */
	};
	uv_process_options_t options = {
		.file = u->binary, .args = args, .exit_cb = on_checked, .stdio = stdio, .stdio_count = 4
	};
	int n = 0, r;

	r = find_binary(u, error, size);
	if (r)
		return r;
	r = own_fits(u->binary);
	if (r) {
		snprintf(error, size, "%s cannot be executed: it is no program for this machine", u->binary);
		return r;
	}
	snapshot = stdio[3].data.fd = store_snapshot(u->daemon->store);
	if (snapshot < 0) {
		snprintf(error, size, "the store cannot be copied: %s", strerror(-snapshot));
		return snapshot;
	}
	args[n++] = u->binary;
	n += own_options(args + n);
	args[n++] = (char *)"--check-upgrade";
	args[n++] = (char *)"3";
	args[n] = NULL;
	r = uv_spawn(u->daemon->loop, &u->check, &options);
	u->spawned = true; /* also when it failed: the handle must be closed */
	if (r) {
		snprintf(error, size, "%s cannot be executed: %s", u->binary, strerror(-r));
		return r;
	}
	u->checking = true;
	timer_start(u->timer, CHECK_MS, 0);
	return 0;
}

int upgrade_begin(struct daemon *daemon, const char *binary, bool check_only, struct control *control, char *error,
		  size_t size)
{
	struct upgrade *u;
	int r;

	if (daemon->upgrade) {
		snprintf(error, size, "an upgrade is under way: wait for its end");
		return -EALREADY;
	}
	if (binary && (*binary != '/' || strlen(binary) >= sizeof(u->binary))) {
		snprintf(error, size, "%.200s: the program must be named by its absolute path", binary);
		return -EINVAL;
	}
	u = calloc(1, sizeof(*u));
	if (u)
		u->timer = timer_new(daemon->loop, on_timer, u);
	if (!u || !u->timer) {
		free(u);
		snprintf(error, size, "no memory");
		return -ENOMEM;
	}
	u->daemon = daemon;
	u->said = u->own_file = u->windows = -1;
	u->control = control;
	u->check_only = check_only;
	u->check.data = u;
	u->said = memfd_create("mete-check", MFD_CLOEXEC);
	u->own_file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	strcpy(u->binary, binary ? binary : own_binary());
	r = start_check(u, error, size);
	if (r) {
		upgrade_free(u);
		return r;
	}
	daemon->upgrade = u;
	return 0;
}
