/*
 * main.c: meted, the daemon that meters devices: start and end.
 *
 * It stays in the foreground and says nothing on standard output; a reason not to start is one line on standard error.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/notify.h"
#include "daemon/turns/arbitrate.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/descriptors.h"
#include "daemon/health/device_watch.h"
#include "daemon/tenants/end.h"
#include "daemon/store/history.h"
#include "daemon/store/meters.h"
#include "daemon/http/http.h"
#include "daemon/health/faults.h"
#include "daemon/health/health.h"
#include "daemon/health/sensors.h"
#include "daemon/journal.h"
#include "daemon/upgrade/children.h"
#include "daemon/upgrade/handover.h"
#include "daemon/upgrade/handover_windows.h"
#include "daemon/upgrade/keeper.h"
#include "daemon/upgrade/priority.h"
#include "daemon/log.h"
#include "daemon/settings/options.h"
#include "daemon/settings/refusal.h"
#include "daemon/tenants/book.h"
#include "daemon/tenants/holder.h"
#include "daemon/tenants/page.h"
#include "daemon/tenants/remember.h"
#include "daemon/settings/service.h"
#include "daemon/tenants/session.h"
#include "daemon/store/store.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/trace.h"
#include "daemon/upgrade/upgrade.h"
#include "daemon/upgrade/version.h"
#include "daemon/workers/cgroup.h"
#include "daemon/workers/images.h"
#include "daemon/workers/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASK_MS 20

enum { EXIT_TROUBLE = 1, EXIT_USAGE = 2 };

static struct options options;

/* What was refused is a line on standard error, for whoever starts us, and in the log. */
static void complain(const char *text)
{
	fprintf(stderr, "meted: %s\n", text);
}

/* It may be otherwise in a moment: no memory or descriptors, or another meted that is just leaving. Whatever else keeps
 * it from starting will do so at the next start as well. */
static bool wants_mending(int r)
{
	static const int passing[] = { -ENOMEM, -EAGAIN, -EINTR, -EMFILE, -ENFILE, -EBUSY };

	for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++)
		if (r == passing[i])
			return false;
	return true;
}

/* Tells the service manager, which knows of one that has `taken_over`, and whoever waits on --ready-fd. */
static void tell_ready(int ready_fd, bool taken_over)
{
	if (!taken_over)
		notify_tell("READY=1");
	if (ready_fd >= 0) {
		ssize_t n = write(ready_fd, "\n", 1);

		(void)n; /* who waited has gone */
		close(ready_fd);
	}
}

/* Ends and idleness. */

static void end_grants(struct daemon *daemon)
{
	struct tenant *next;
	char why[128], error[512];

	for (struct tenant *t = daemon->tenants; t; t = next) {
		next = t->next;
		if (!tenant_ended(t, why, sizeof(why)))
			continue;
		log_line("grant %s %s", t->grant.name, why);
		journal_add(daemon, JOURNAL_GRANT, t->grant.name, NULL, "%s", why);
		/* A store that cannot be written keeps a grant whose command is gone: the next meted drops it. */
		if (store_remove(daemon->store, t->grant.id, error, sizeof(error)))
			log_line("grant %s: %s", t->grant.name, error);
		tenant_free(t, false);
	}
}

static void on_round(void *owner)
{
	struct daemon *daemon = owner;

	round_begin(&daemon->round);
}

static void on_reap(void *owner)
{
	struct daemon *daemon = owner;
	uint64_t now = clock_now_ns(), idle;

	end_grants(daemon);
	if (daemon->tenants || daemon->control_count || !daemon->idle_exit_ns) {
		daemon->idle_since_ns = 0;
		return;
	}
	if (!daemon->idle_since_ns)
		daemon->idle_since_ns = now;
	idle = now - daemon->idle_since_ns;
	if (idle >= daemon->idle_exit_ns) {
		log_line("idle: leaving");
		daemon_stop(daemon);
	} else {
		timer_start(daemon->reap, (daemon->idle_exit_ns - idle) / 1000000 + 1, 0);
	}
}

static void on_sweep(void *owner)
{
	struct daemon *daemon = owner;
	unsigned int waiting = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next)
		waiting += session_sweep(t, clock_now_ns());
	waiting += control_sweep(daemon, clock_now_ns());
	if (!waiting)
		timer_stop(daemon->sweep);
}

/* SIGHUP: what the file says now, as far as it can change under running programs. */

static uint64_t idle_exit_ns(const struct options *o)
{
	if (o->exit_when_idle_ns == OPTIONS_NEVER_NS)
		return 0;
	return o->exit_when_idle_ns ? o->exit_when_idle_ns : 1;
}

static void on_asked(void *owner)
{
	struct daemon *daemon = owner;

	for (unsigned int i = 0; i < MACHINE_DRIVERS; i++)
		log_line("%s driver: %s", device_kind_name(daemon->machine.driver[i].kind),
			 daemon->machine.driver[i].status);
}

/* Starts children, which takes its time: after an upgrade those come first who wait for an answer. */
static void ask_drivers(void *owner)
{
	struct daemon *daemon = owner;

	machine_refresh(daemon, on_asked, daemon);
	device_watch_update(daemon);
}

static void reload(struct daemon *daemon)
{
	struct options now;
	const char *log = options.log;
	char error[512];
	int r;

	if (options_read_again(&options, http_address(daemon), &now, error, sizeof(error))) {
		log_line("settings stay as they were: %s", error);
		return;
	}
	if (!options_take(&options, &now))
		return;
	if (options.log && options.log != log && !options.foreground) {
		r = log_open(options.log);
		if (r)
			log_line("cannot write the log %s: %s; it goes on here", options.log, strerror(-r));
	}
	daemon->idle_exit_ns = idle_exit_ns(&options);
	daemon->machine.options = options.machine;
	daemon->fault_rule = options.faults;
	daemon->container_expires_ns = options.container_expires_ns;
	images_limit(daemon, options.images_bytes);
	daemon->fence = options.fence;
	cgroup_limit(daemon);
	machine_refresh(daemon, on_asked, daemon);
	daemon_reap_soon(daemon);
}

static int signal_fd = -1;

static void upgrade_by_signal(struct daemon *daemon)
{
	char error[512];

	if (upgrade_begin(daemon, NULL, false, NULL, error, sizeof(error)))
		log_line("not upgraded: %s", error);
}

static void on_signal(void *owner)
{
	struct signalfd_siginfo info;

	while (read(signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP) {
			log_reopen();
			reload(owner);
			continue;
		}
		if (info.ssi_signo == SIGUSR2) {
			upgrade_by_signal(owner);
			continue;
		}
		log_line("signal %u: leaving; running programs keep what they hold", info.ssi_signo);
		daemon_stop(owner);
	}
}

/* Signals are read like anything else, so that none is lost whatever a thread is doing; libuv gives children none of
 * the mask. */
static struct watch *watch_signals(struct daemon *daemon)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2);
	signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd < 0)
		return NULL;
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return watch_new(daemon->loop, signal_fd, on_signal, daemon);
}

static int start(struct daemon *daemon, const struct options *o, char *error, size_t size)
{
	char path[GRANT_PATH_BYTES], dir[PATH_MAX];
	int r;

	options_runtime_dir(o, dir, sizeof(dir));
	r = runtime_open(&daemon->runtime, daemon->runtime.handover, dir, o->system, error, size);
	if (r)
		return r;
	refusal_forget(o);
	snprintf(path, sizeof(path), "%s/meted.log", daemon->runtime.dir);
	r = o->foreground ? 0 : log_open(o->log ? o->log : path);
	if (r) {
		snprintf(error, size, "cannot write the log %.900s: %s", o->log ? o->log : path, strerror(-r));
		return r;
	}
	options_state_dir(o, daemon->state_dir, sizeof(daemon->state_dir));
	snprintf(path, sizeof(path), "%.*s/mete.db", (int)sizeof(path) - 16, daemon->state_dir);
	if (handover_get(daemon->runtime.handover, "back"))
		store_take_back(path);
	r = store_open(path, json_is_true(handover_get(daemon->runtime.handover, "copied")), &daemon->store, error,
		       size);
	if (r)
		return r;
	daemon->journal = journal_new();
	daemon->reap = timer_new(daemon->loop, on_reap, daemon);
	daemon->sweep = timer_new(daemon->loop, on_sweep, daemon);
	daemon->ask = timer_new(daemon->loop, ask_drivers, daemon);
	daemon->rounds = rounds_new(daemon->loop, on_round, daemon);
	if (!daemon->journal || !daemon->reap || !daemon->sweep || !daemon->ask || !daemon->rounds)
		return -ENOMEM;
	r = health_start(daemon, error, size);
	return r ? r : faults_start(daemon, error, size);
}

/* What there was before this meted. */
static int restore(struct daemon *daemon, const struct options *o, char *error, size_t size)
{
	struct handover *h = daemon->runtime.handover;
	int r = daemon_restore(daemon, error, size);
	pid_t keeper;

	if (!r) {
		children_restore(daemon, handover_get(h, "children"));
		handover_windows_restore(daemon, h);
		r = telemetry_start(daemon);
	}
	if (!r) {
		history_store_open(daemon);
		telemetry_resume(daemon);
		remember_events(daemon);
	}
	if (!r)
		r = http_start(daemon, &o->http, error, size);
	if (r && h) { /* the programs matter more */
		log_line("%s", error);
		r = 0;
	}
	if (!r)
		r = control_listen(daemon, error, size);
	if (r || !h)
		return r;
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

/* Without one that can be read this is a start like any other: pages and store have what matters. */
static void read_handover(struct daemon *daemon, int fd)
{
	int r = fd < 0 ? 0 : handover_read(fd, &daemon->runtime.handover);

	if (!r) {
		if (daemon->runtime.handover) {
			children_look();
			keeper_find(daemon->runtime.handover);
		}
		return;
	}
	log_line("the handover cannot be read (%s): programs connect again", strerror(-r));
	for (int i = 3; i < 65536; i++)
		close(i);
}

static void leave(struct daemon *daemon)
{
	daemon->stopping = true;
	machine_stop(daemon);
	upgrade_stop(daemon);
	service_leave();
	notify_tell("STOPPING=1");
	device_watch_stop(daemon);
	faults_stop(daemon);
	control_close(daemon, true);
	http_stop(daemon, true);
	trace_close(daemon);
	end_stop(daemon);
	telemetry_read(daemon);
	history_store_close(daemon);
	while (daemon->tenants)
		tenant_free(daemon->tenants, true);
	book_close(daemon->book);
	meters_close(daemon->meters);
	daemon->meters = NULL;
	telemetry_stop(daemon);
	children_forget();
	sensors_free(daemon);
	worker_leave(daemon);
	cgroup_leave(daemon);
	images_stop(daemon);
	arbitrate_stop();
	timer_free(daemon->reap);
	timer_free(daemon->sweep);
	rounds_free(daemon->rounds);
	timer_free(daemon->ask);
	health_stop(daemon);
	uv_run(daemon->loop, UV_RUN_DEFAULT); /* until all handles are closed */
	journal_free(daemon->journal);
	store_close(daemon->store);
	cleanup_close(&daemon->spare_fd);
	runtime_close(&daemon->runtime);
}

static int serve(const struct options *o)
{
	static struct daemon daemon;
	char error[1024] = "no memory";
	struct watch *signals;
	uv_loop_t loop;
	bool inherited;
	int r;

	daemon = (struct daemon){ .loop = &loop,
				  .runtime = RUNTIME_NONE,
				  .control_fd = -1,
				  .idle_exit_ns = idle_exit_ns(o),
				  .fault_rule = o->faults,
				  .container_expires_ns = o->container_expires_ns,
				  .images_most_bytes = o->images_bytes,
				  .limits = &o->limits,
				  .fence = o->fence,
				  .machine.options = o->machine };
	read_handover(&daemon, o->handover_fd);
	uv_loop_init(&loop);
	daemon.spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	inherited = daemon.runtime.handover;
	r = start(&daemon, o, error, sizeof(error));
	if (r && daemon.runtime.handover)
		upgrade_go_back(daemon.runtime.handover, error);
	if (!r)
		r = restore(&daemon, o, error, sizeof(error));
	if (!r) {
		signals = watch_signals(&daemon);
		if (!inherited)
			log_line("meted %s serves %s", daemon_version(), daemon.runtime.dir);
		if (!inherited)
			journal_add(&daemon, JOURNAL_DAEMON, NULL, NULL, "meted %s started (pid %d)", daemon_version(),
				    (int)getpid());
		if (inherited)
			timer_start(daemon.ask, ASK_MS, 0);
		else
			ask_drivers(&daemon);
		tell_ready(o->ready_fd, inherited);
		service_watch(&daemon, inherited);
		daemon_reap_soon(&daemon);
		priority_serve();
		uv_run(&loop, UV_RUN_DEFAULT);
		watch_free(signals);
		close(signal_fd);
	}
	leave(&daemon);
	uv_loop_close(&loop);
	if (r) {
		if (log_is_file())
			log_line("not started: %s", error);
		complain(error);
		if (wants_mending(r))
			refusal_tell(o, error);
		r = wants_mending(r) ? OPTIONS_EXIT_MEND : EXIT_TROUBLE;
	}
	log_close();
	return r;
}

/*
 * What is large has pages of its own: they are not there before they are written to, as most of an arbiter's places
 * never are, and go back when it ends, as answers to a scrape do. Threads of the pool share the other memory.
 */
static void spare_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 65536);
	mallopt(M_ARENA_MAX, 1);
}

int main(int argc, char **argv)
{
	int r;

	if (argc == 4 && !strcmp(argv[1], "--watch"))
		return device_watcher_main(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "--hold-pages"))
		return holder_main(argv[2]);
	if (argc >= 2 && !strcmp(argv[1], "--probe")) {
		if (argc == 4)
			return prober_main(argv[2], argv[3]);
		fprintf(stderr, "meted: --probe wants LIBNVML and LIBCUDA (meted --help)\n");
		return EXIT_USAGE;
	}
	r = options_read(&options, argc, argv);
	if (r < 0 && options.check_fd >= 0) {
		r = upgrade_check_main(options.check_fd);
	} else if (r < 0) {
		upgrade_remember_binary();
		/* Beside the loop only the history's file is written; and execve() waits for threads. */
		setenv("UV_THREADPOOL_SIZE", "1", 1);
		umask(077);
		signal(SIGPIPE, SIG_IGN);
		signal(SIGXFSZ, SIG_IGN); /* a file at its limit is a full disk */
		descriptors_raise_limit();
		page_guard();
		spare_memory();
		r = serve(&options);
	}
	options_deinit(&options);
	return r;
}
