/*
 * main.c: meted, the daemon that meters devices: start and end. What there is to start, and in which order, is the
 * table of parts.c.
 *
 * It stays in the foreground and says nothing on standard output; a reason not to start is one line on standard error.
 */
#include "base/notify.h"
#include "daemon/clockwork.h"
#include "daemon/daemon.h"
#include "daemon/descriptors.h"
#include "daemon/health/device_watch.h"
#include "daemon/health/health.h"
#include "daemon/health/probe.h"
#include "daemon/tenants/checkpoint.h"
#include "daemon/http/http.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/parts.h"
#include "daemon/serving.h"
#include "daemon/settings/options.h"
#include "daemon/settings/refusal.h"
#include "daemon/settings/reload.h"
#include "daemon/settings/service.h"
#include "daemon/tenants/disk.h"
#include "daemon/tenants/holder.h"
#include "daemon/tenants/page.h"
#include "daemon/upgrade/children.h"
#include "daemon/upgrade/handover.h"
#include "daemon/upgrade/keeper.h"
#include "daemon/upgrade/upgrade.h"
#include "daemon/upgrade/version.h"
#include "daemon/workers/cgroup.h"
#include "daemon/workers/images.h"

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
			reload_begin(owner, &options);
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
				  .idle_exit_ns = options_idle_exit_ns(o),
				  .fault_rule = o->faults,
				  .guard = o->guard,
				  .placement = o->placement,
				  .container_expires_ns = o->container_expires_ns,
				  .images_most_bytes = o->images_bytes,
				  .memory = &o->memory,
				  .limits = &o->limits,
				  .fence = o->fence,
				  .machine.options = o->machine };
	read_handover(&daemon, o->handover_fd);
	uv_loop_init(&loop);
	daemon.spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	inherited = daemon.runtime.handover;
	r = parts_start(&daemon, o, error, sizeof(error));
	if (r && daemon.runtime.handover)
		upgrade_go_back(daemon.runtime.handover, error);
	if (!r)
		r = parts_restore(&daemon, o, error, sizeof(error));
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
			clockwork_ask_drivers(&daemon);
		tell_ready(o->ready_fd, inherited);
		service_watch(&daemon, inherited);
		daemon_reap_soon(&daemon);
		serving_begin();
		uv_run(&loop, UV_RUN_DEFAULT);
		watch_free(signals);
		close(signal_fd);
	}
	daemon.stopping = true;
	parts_stop(&daemon);
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
	if (argc == 3 && !strcmp(argv[1], "--disk"))
		return disk_main(argv[2]);
	if (argc >= 2 && !strncmp(argv[1], "--probe", 7))
		prober_begin();
	if (argc >= 2 && !strcmp(argv[1], "--probe")) {
		if (argc == 4)
			return prober_main(argv[2], argv[3]);
		fprintf(stderr, "meted: --probe wants LIBNVML and LIBCUDA (meted --help)\n");
		return EXIT_USAGE;
	}
	if (argc == 7 && !strcmp(argv[1], "--checkpoint"))
		return checkpointer_main(argv[2], argv[3], argv[4], argv[5], argv[6]);
	if (argc == 3 && !strcmp(argv[1], "--probe-opencl"))
		return prober_opencl_main(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "--probe-hip"))
		return prober_hip_main(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "--probe-shape"))
		return prober_shape_main(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "--probe-ascend"))
		return prober_ascend_main(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "--probe-cambricon"))
		return prober_cambricon_main(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "--probe-levelzero"))
		return prober_levelzero_main(argv[2]);
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
