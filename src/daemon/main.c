/*
 * main.c: meted, the daemon that meters devices: options, start and end.
 *
 * It stays in the foreground and says nothing on standard output; a reason not to start is one line on standard error.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fallback_dir.h"
#include "daemon/arbitrate.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/page.h"
#include "daemon/session.h"
#include "daemon/store.h"
#include "daemon/tenant.h"
#include "daemon/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef METE_VERSION
#define METE_VERSION "unknown"
#endif

enum { EXIT_TROUBLE = 1, EXIT_USAGE = 2 };

static const char help[] =
	"Usage: meted [OPTION]...\n"
	"Serves grants of device memory to the programs of `mete run`; see mete(1).\n"
	"\n"
	"  --runtime-dir DIR      sockets, pages and lock; default: METE_RUNTIME_DIR, /run/mete with\n"
	"                         --system, $XDG_RUNTIME_DIR/mete, or /dev/shm/mete-UID\n"
	"  --state-dir DIR        where mete.db is kept; default: the runtime directory\n"
	"  --system               serve all users\n"
	"  --soft-only            offer the software device alone\n"
	"  --libcuda FILE         NVIDIA's libcuda.so.1, where the loader does not find it\n"
	"  --libnvml FILE         NVIDIA's libnvidia-ml.so.1, likewise\n"
	"  --exit-when-idle SECS  end when there has been no grant and no connection for that long\n"
	"  --log FILE             append the log to FILE; default: meted.log in the runtime directory\n"
	"  --foreground           write the log to standard error (meted never puts itself into the background)\n"
	"  --ready-fd N           write one byte to descriptor N, and close it, when the sockets listen\n"
	"  --probe LIBNVML LIBCUDA  ask these libraries for devices, print them as JSON, and end (\"\": where the\n"
	"                         loader looks)\n"
	"  --version, --help\n";

struct options {
	const char *runtime_dir;
	const char *state_dir;
	const char *log;
	bool system;
	bool foreground;
	int ready_fd;
	uint64_t idle_exit_ns;
	struct machine_options machine;
};

/* What was refused is a line on standard error, for whoever starts us, and in the log. */
static int complain(const char *text)
{
	fprintf(stderr, "meted: %s\n", text);
	return EXIT_TROUBLE;
}

static bool read_number(const char *text, unsigned long most, unsigned long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *ret <= most;
}

static int usage(const char *what)
{
	fprintf(stderr, "meted: %s (meted --help)\n", what);
	return EXIT_USAGE;
}

enum {
	OPTION_BASE = 256,
	RUNTIME_DIR,
	STATE_DIR,
	SYSTEM,
	SOFT_ONLY,
	LIBCUDA,
	LIBNVML,
	IDLE,
	LOG,
	FOREGROUND,
	READY_FD,
	VERSION,
	HELP
};

static const struct option long_options[] = {
	{ "runtime-dir", required_argument, NULL, RUNTIME_DIR },
	{ "state-dir", required_argument, NULL, STATE_DIR },
	{ "system", no_argument, NULL, SYSTEM },
	{ "soft-only", no_argument, NULL, SOFT_ONLY },
	{ "libcuda", required_argument, NULL, LIBCUDA },
	{ "libnvml", required_argument, NULL, LIBNVML },
	{ "exit-when-idle", required_argument, NULL, IDLE },
	{ "log", required_argument, NULL, LOG },
	{ "foreground", no_argument, NULL, FOREGROUND },
	{ "ready-fd", required_argument, NULL, READY_FD },
	{ "version", no_argument, NULL, VERSION },
	{ "help", no_argument, NULL, HELP },
	{ 0 },
};

/* Value: -1 to go on, else the exit status. */
static int take_option(struct options *o, int option)
{
	unsigned long n;

	switch (option) {
	case RUNTIME_DIR:
		o->runtime_dir = optarg;
		return -1;
	case STATE_DIR:
		o->state_dir = optarg;
		return -1;
	case SYSTEM:
		o->system = true;
		return -1;
	case SOFT_ONLY:
		o->machine.soft_only = true;
		return -1;
	case LIBCUDA:
		o->machine.libcuda = optarg;
		return -1;
	case LIBNVML:
		o->machine.libnvml = optarg;
		return -1;
	case LOG:
		o->log = optarg;
		return -1;
	case FOREGROUND:
		o->foreground = true;
		return -1;
	case IDLE:
		if (!read_number(optarg, 1000000000, &n))
			return usage("--exit-when-idle wants a number of seconds");
		o->idle_exit_ns = n ? n * 1000000000ull : 1;
		return -1;
	case READY_FD:
		if (!read_number(optarg, INT_MAX, &n) || fcntl((int)n, F_GETFD) < 0)
			return usage("--ready-fd wants the number of an open descriptor");
		o->ready_fd = (int)n;
		fcntl(o->ready_fd, F_SETFD, FD_CLOEXEC);
		return -1;
	case VERSION:
		printf("meted %s\n", METE_VERSION);
		return 0;
	case HELP:
		fputs(help, stdout);
		return 0;
	default:
		return EXIT_USAGE;
	}
}

static int read_options(struct options *o, int argc, char **argv)
{
	int option, r;

	*o = (struct options){ .ready_fd = -1 };
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
		r = take_option(o, option);
		if (r >= 0)
			return r;
	}
	if (optind < argc)
		return usage("it takes options only");
	if (o->log && o->foreground)
		return usage("--log and --foreground exclude each other");
	return -1;
}

static void choose_runtime_dir(const struct options *o, char *dir, size_t size)
{
	const char *env = getenv("METE_RUNTIME_DIR"), *xdg = getenv("XDG_RUNTIME_DIR");

	if (o->runtime_dir)
		snprintf(dir, size, "%s", o->runtime_dir);
	else if (env && *env)
		snprintf(dir, size, "%s", env);
	else if (o->system)
		snprintf(dir, size, "/run/mete");
	else if (xdg && *xdg == '/')
		snprintf(dir, size, "%s/mete", xdg);
	else
		fallback_dir(dir, size);
}

/* Every client costs two descriptors, every grant three. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Tells systemd, and whoever waits on --ready-fd. */
static void tell_ready(int ready_fd)
{
	static const char state[] = "READY=1";
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = name ? strlen(name) : 0;

	if (length > 1 && length < sizeof(address.sun_path) && (*name == '/' || *name == '@')) {
		int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		memcpy(address.sun_path, name, length);
		if (*name == '@')
			address.sun_path[0] = 0;
		if (fd >= 0) {
			sendto(fd, state, sizeof(state) - 1, MSG_NOSIGNAL, (struct sockaddr *)&address,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
			close(fd);
		}
	}
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
	char error[512];

	for (struct tenant *t = daemon->tenants; t; t = next) {
		next = t->next;
		if (!tenant_ended(t))
			continue;
		log_line("grant %s ends with its command (pid %d)", t->grant.name, (int)t->grant.runner_pid);
		/* A store that cannot be written keeps a grant whose command is gone: the next meted drops it. */
		if (store_remove(daemon->store, t->grant.id, error, sizeof(error)))
			log_line("grant %s: %s", t->grant.name, error);
		tenant_free(t, false);
	}
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
	if (!waiting)
		timer_stop(daemon->sweep);
}

static int signal_fd = -1;

static void on_signal(void *owner)
{
	struct signalfd_siginfo info;

	while (read(signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP) {
			log_reopen();
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
	signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd < 0)
		return NULL;
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return watch_new(daemon->loop, signal_fd, on_signal, daemon);
}

static void on_asked(void *owner)
{
	struct daemon *daemon = owner;

	for (unsigned int i = 0; i < MACHINE_DRIVERS; i++)
		log_line("%s driver: %s", device_kind_name(daemon->machine.driver[i].kind),
			 daemon->machine.driver[i].status);
}

static int start(struct daemon *daemon, const struct options *o, char *error, size_t size)
{
	char path[GRANT_PATH_BYTES], dir[PATH_MAX];
	int r;

	choose_runtime_dir(o, dir, sizeof(dir));
	r = runtime_open(&daemon->runtime, dir, o->system, error, size);
	if (r)
		return r;
	snprintf(path, sizeof(path), "%s/meted.log", daemon->runtime.dir);
	r = o->foreground ? 0 : log_open(o->log ? o->log : path);
	if (r) {
		snprintf(error, size, "cannot write the log %.900s: %s", o->log ? o->log : path, strerror(-r));
		return r;
	}
	snprintf(path, sizeof(path), "%s/mete.db", o->state_dir ? o->state_dir : daemon->runtime.dir);
	r = store_open(path, &daemon->store, error, size);
	if (r)
		return r;
	daemon->reap = timer_new(daemon->loop, on_reap, daemon);
	daemon->sweep = timer_new(daemon->loop, on_sweep, daemon);
	if (!daemon->reap || !daemon->sweep)
		return -ENOMEM;
	r = arbitrate_start();
	if (r) {
		snprintf(error, size, "cannot start the thread that gives turns: %s", strerror(-r));
		return r;
	}
	r = daemon_restore(daemon, error, size);
	if (r)
		return r;
	return control_listen(daemon, error, size);
}

static void leave(struct daemon *daemon)
{
	daemon->stopping = true;
	machine_stop(daemon);
	control_close(daemon, true);
	trace_close(daemon);
	while (daemon->tenants)
		tenant_free(daemon->tenants, true);
	arbitrate_stop();
	timer_free(daemon->reap);
	timer_free(daemon->sweep);
	uv_run(daemon->loop, UV_RUN_DEFAULT); /* until all handles are closed */
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
	int r;

	uv_loop_init(&loop);
	daemon = (struct daemon){ .loop = &loop,
				  .runtime = RUNTIME_NONE,
				  .control_fd = -1,
				  .idle_exit_ns = o->idle_exit_ns,
				  .machine.options = o->machine };
	daemon.spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	r = start(&daemon, o, error, sizeof(error));
	if (!r) {
		signals = watch_signals(&daemon);
		log_line("meted %s serves %s", METE_VERSION, daemon.runtime.dir);
		machine_refresh(&daemon, on_asked, &daemon);
		tell_ready(o->ready_fd);
		daemon_reap_soon(&daemon);
		uv_run(&loop, UV_RUN_DEFAULT);
		watch_free(signals);
		close(signal_fd);
	}
	leave(&daemon);
	uv_loop_close(&loop);
	if (r) {
		if (log_is_file())
			log_line("not started: %s", error);
		r = complain(error);
	}
	log_close();
	return r;
}

int main(int argc, char **argv)
{
	struct options o;
	int r;

	if (argc >= 2 && !strcmp(argv[1], "--probe"))
		return argc == 4 ? prober_main(argv[2], argv[3]) : usage("--probe wants LIBNVML and LIBCUDA");
	r = read_options(&o, argc, argv);
	if (r >= 0)
		return r;
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file at its limit is a full disk */
	raise_descriptor_limit();
	page_guard();
	return serve(&o);
}
