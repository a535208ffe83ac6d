/* upgrade.c: see upgrade.h. */
#include "daemon/upgrade/upgrade.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/turns/arbitrate.h"
#include "daemon/daemon.h"
#include "daemon/health/device_watch.h"
#include "daemon/health/faults.h"
#include "daemon/upgrade/handover.h"
#include "daemon/upgrade/handover_tenants.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/store/store.h"
#include "daemon/store/steps.h"
#include "daemon/tenants/tenant.h"
#include "daemon/upgrade/version.h"
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

#define OPTIONS_MOST 62
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
	uint64_t deadline_ns;
	json_t *next; /* what the next meted is */
	char binary[PATH_MAX];
};

static struct {
	char binary[PATH_MAX];
	char *options[OPTIONS_MOST];
	int count;
} own;

void upgrade_keep_options(char **options, int count)
{
	for (int i = 0; i < count && own.count < OPTIONS_MOST; i++)
		own.options[own.count++] = options[i];
}

void upgrade_remember_binary(void)
{
	static const char gone[] = " (deleted)";
	ssize_t n = readlink("/proc/self/exe", own.binary, sizeof(own.binary) - 1);
	size_t end;

	own.binary[n > 0 ? n : 0] = 0;
	end = strlen(own.binary);
	/* We have come back from a next one by our file's descriptor. */
	if (end > strlen(gone) && !strcmp(own.binary + end - strlen(gone), gone))
		own.binary[end - strlen(gone)] = 0;
}

bool upgrade_replaced(void)
{
	struct stat now, running;

	return stat("/proc/self/exe", &running) == 0 &&
	       (stat(own.binary, &now) || now.st_dev != running.st_dev || now.st_ino != running.st_ino);
}

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
		control_answer(u->control, json_pack("{s:b s:s s:s}", "ok", 0, "code", "upgrade", "error", why));
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

static struct handover *collect(struct upgrade *u, int *ret_file, char *error, size_t size)
{
	struct daemon *daemon = u->daemon;
	struct handover *h = handover_new();

	if (!h) {
		snprintf(error, size, "no memory for the handover");
		return NULL;
	}
	handover_put(h, "version", json_string(daemon_version()));
	handover_put(h, "binary", json_string(own.binary));
	handover_put(h, "lock", handover_give(h, daemon->runtime.lock_fd));
	handover_put(h, "copied", json_boolean(true));
	handover_put(h, "own_file", handover_give(h, u->own_file));
	handover_tenants_save(daemon, h);
	handover_put(h, "workers", worker_save(daemon, h));
	handover_put(h, "control_given", json_boolean(daemon->control_given));
	handover_put(h, "controls", control_save(daemon, h));
	*ret_file = handover_write(h);
	if (*ret_file >= 0)
		return h;
	snprintf(error, size, "the handover cannot be written: %s", strerror(-*ret_file));
	handover_free(h);
	return NULL;
}

/* Becomes `binary`, or the program behind `fd` where that is NULL. Returns when it cannot: -errno. */
static int become(const char *binary, int fd, const char *name, int file)
{
	char *args[OPTIONS_MOST + 4], number[16];
	int n = 0;

	snprintf(number, sizeof(number), "%d", file);
	args[n++] = (char *)(uintptr_t)name;
	for (int i = 0; i < own.count; i++)
		args[n++] = own.options[i];
	args[n++] = (char *)"--handover";
	args[n++] = number;
	args[n] = NULL;
	if (binary)
		execv(binary, args);
	else
		syscall(SYS_execveat, fd, "", args, environ, AT_EMPTY_PATH);
	return -errno;
}

static void go(struct upgrade *u)
{
	char error[1024];
	struct handover *h;
	int file, r = 0;

	faults_flush(u->daemon);
	if (json_integer_value(json_object_get(u->next, "store")) > (json_int_t)store_step_count)
		r = store_keep(u->daemon->store, error, sizeof(error));
	h = r ? NULL : collect(u, &file, error, sizeof(error));
	if (!h) {
		give_up(u, "%s", error);
		return;
	}
	log_line("meted %s goes, %s %s comes", daemon_version(), u->binary,
		 json_string_value(json_object_get(u->next, "version")));
	arbitrate_lock(); /* the other thread ends here, and not within a change of turns */
	handover_seal(h, file, clock_now_ns());
	r = become(u->binary, -1, u->binary, file);
	handover_unseal(h, file);
	arbitrate_unlock();
	close(file);
	handover_free(h);
	give_up(u, "%s cannot be executed: %s", u->binary, strerror(-r));
}

static void on_drain(void *owner)
{
	struct upgrade *u = owner;

	if (u->daemon->stopping)
		return;
	/* A child of ours that the next one knows nothing of; and answers that have been begun. */
	if ((u->daemon->machine.running || device_watch_runs(u->daemon) || control_writing(u->daemon)) &&
	    clock_now_ns() < u->deadline_ns) {
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
}

static bool reads_ours(const json_t *next)
{
	const json_t *formats = json_object_get(next, "handover");

	return json_integer_value(json_array_get(formats, 0)) <= HANDOVER_FORMAT &&
	       json_integer_value(json_array_get(formats, 1)) >= HANDOVER_FORMAT;
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
	else if (u->check_only) {
		if (u->control)
			control_answer(u->control, json_pack("{s:b s:s s:s s:s}", "ok", 1, "version",
							     json_string_value(json_object_get(u->next, "version")),
							     "from", daemon_version(), "binary", u->binary));
		upgrade_free(u);
	} else {
		device_watch_pause(u->daemon, true);
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

static int start_check(struct upgrade *u, char *error, size_t size)
{
	_cleanup_close_ int snapshot = store_snapshot(u->daemon->store);
	char *args[OPTIONS_MOST + 4];
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_IGNORE },
		{ .flags = UV_INHERIT_FD, .data.fd = u->said },
		{ .flags = UV_INHERIT_FD, .data.fd = u->said },
		{ .flags = UV_INHERIT_FD, .data.fd = snapshot },
	};
	uv_process_options_t options = {
		.file = u->binary, .args = args, .exit_cb = on_checked, .stdio = stdio, .stdio_count = 4
	};
	int n = 0, r;

	if (snapshot < 0) {
		snprintf(error, size, "the store cannot be copied: %s", strerror(-snapshot));
		return snapshot;
	}
	args[n++] = u->binary;
	for (int i = 0; i < own.count; i++)
		args[n++] = own.options[i];
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
	u->control = control;
	u->check_only = check_only;
	u->check.data = u;
	u->said = memfd_create("mete-check", MFD_CLOEXEC);
	u->own_file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	strcpy(u->binary, binary ? binary : own.binary);
	r = start_check(u, error, size);
	if (r) {
		upgrade_free(u);
		return r;
	}
	daemon->upgrade = u;
	return 0;
}

/* The side that comes. */

/* Why the next one could not take over and this is the one before again; NULL: it is not. */
static const char *why_back(const struct daemon *daemon)
{
	return json_string_value(handover_get(daemon->runtime.handover, "back"));
}

static double stopped_ms(const struct daemon *daemon)
{
	return (double)(clock_now_ns() - handover_stopped_ns(daemon->runtime.handover)) / 1e6;
}

json_t *upgrade_answer(struct daemon *daemon)
{
	const char *from = json_string_value(handover_get(daemon->runtime.handover, "version"));

	if (why_back(daemon))
		return json_pack("{s:b s:s s:s}", "ok", 0, "code", "upgrade", "error", why_back(daemon));
	return json_pack("{s:b s:s s:s s:f s:i}", "ok", 1, "version", daemon_version(), "from", from ? from : "",
			 "pause_ms", stopped_ms(daemon), "pid", (int)getpid());
}

void upgrade_taken(struct daemon *daemon)
{
	const char *from = json_string_value(handover_get(daemon->runtime.handover, "version"));

	if (why_back(daemon)) {
		log_line("not upgraded: %s; meted %s goes on after %.1f ms", why_back(daemon), daemon_version(),
			 stopped_ms(daemon));
		journal_add(daemon, JOURNAL_DAEMON, NULL, NULL, "not upgraded: %s", why_back(daemon));
		return;
	}
	log_line("meted %s has taken over from %s: no turns were given for %.1f ms", daemon_version(),
		 from ? from : "?", stopped_ms(daemon));
	journal_add(daemon, JOURNAL_DAEMON, NULL, NULL, "upgraded from meted %s to %s, no turns for %.1f ms",
		    from ? from : "?", daemon_version(), stopped_ms(daemon));
}

void upgrade_go_back(struct handover *h, const char *why)
{
	const char *binary = json_string_value(handover_get(h, "binary"));
	json_int_t fd = json_integer_value(handover_get(h, "own_file"));
	char text[1200];
	int file;

	if (!binary || fd <= 0 || handover_get(h, "back"))
		return;
	snprintf(text, sizeof(text), "meted %s could not take over: %s", daemon_version(), why);
	file = handover_return(h, text);
	if (file >= 0)
		become(NULL, (int)fd, binary, file);
}
