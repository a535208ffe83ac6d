/*
 * worker.c: see worker.h.
 *
 * The end of the control connection is the end of the worker as far as we are concerned; its memory stays until the
 * kernel has told us of the process's end as well. With a client, the process's end is the worker's too, whoever holds
 * its connections: a worker that was taken over can hand them on, and its number goes to another process. What the
 * worker holds of devices is a client's account like any other (client.c).
 */
#include "daemon/workers/worker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/send_fds.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/workers/cgroup.h"
#include "daemon/workers/fence.h"
#include "daemon/workers/images.h"
#include "daemon/workers/pool.h"
#include "daemon/workers/traffic.h"
#include "daemon/workers/words.h"
#include "daemon/tenants/process.h"
#include "daemon/tenants/session.h"
#include "daemon/tenants/tenant.h"
#include "wire/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SESSIONS_MOST 8u /* connections of one worker to its grant */
#define WAIT_PIDFD 3	 /* P_PIDFD of Linux 5.4, which older headers lack */

extern char **environ;

const char *worker_path(void)
{
	static const char *const places[] = { "../libexec/mete/mete-worker", "../lib/mete/mete-worker", "mete-worker",
					      "../remote/worker/mete-worker" };
	static char path[PATH_MAX];
	char self[PATH_MAX - 64], *slash;
	ssize_t n;

	if (*path)
		return path;
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = 0;
	slash = strrchr(self, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s/%s", self, places[i]);
		if (!access(path, X_OK))
			return path;
	}
	*path = 0;
	return path;
}

/* Sockets. */

void worker_address(struct daemon *daemon, const char *place, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", daemon->runtime.dir_fd, place);
}

/* Bound, for the worker to listen on. */
static int bind_place(struct worker *worker)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;

	if (fd < 0)
		return -errno;
	if (mkdirat(worker->daemon->runtime.dir_fd, WORKER_FOLDER, 0700) && errno != EEXIST)
		return -errno;
	snprintf(worker->place, sizeof(worker->place), WORKER_FOLDER "/idle-%" PRIx64, daemon_new_id(worker->daemon));
	worker_address(worker->daemon, worker->place, &address);
	unlinkat(worker->daemon->runtime.dir_fd, worker->place, 0);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		*worker->place = 0;
		return -errno;
	}
	return steal_fd(&fd);
}

/* So that a meted after this one knows whose client it has. */
static void name_place(struct worker *worker)
{
	char place[sizeof(worker->place)];

	snprintf(place, sizeof(place), WORKER_FOLDER "/%" PRIx64 "-%d", worker->grant_id, (int)worker->pid);
	traffic_rename(worker, place);
	if (!renameat(worker->daemon->runtime.dir_fd, worker->place, worker->daemon->runtime.dir_fd, place))
		memcpy(worker->place, place, sizeof(place));
}

static bool say(struct worker *worker, const struct worker_word *word, int fd)
{
	return send_fd(worker->control_fd, word, sizeof(*word), fd, MSG_DONTWAIT) == (ssize_t)sizeof(*word);
}

/* Of a grant, for a worker that is not in it. Value: -1: there is none, or it is. */
static int open_cgroup(struct worker *worker, uint64_t grant_id)
{
	if (!(worker->fence & WORKER_FENCE_CGROUP) || worker->entered == grant_id)
		return -1;
	return cgroup_open(worker->daemon, grant_id);
}

/* With its grant's cgroup: the worker enters before it serves. */
static bool say_take(struct worker *worker, const struct worker_word *word, int client_fd)
{
	_cleanup_close_ int cgroup_fd = open_cgroup(worker, word->grant_id);
	int fds[] = { client_fd, cgroup_fd };

	return send_fds(worker->control_fd, word, sizeof(*word), fds, cgroup_fd < 0 ? 1 : 2, MSG_DONTWAIT) ==
	       (ssize_t)sizeof(*word);
}

void worker_aim(struct worker *worker, struct tenant *tenant)
{
	struct worker_word word = { .type = WORKER_ENTER, .version = WORKER_VERSION, .grant_id = tenant->grant.id };
	_cleanup_close_ int cgroup_fd = open_cgroup(worker, tenant->grant.id);

	if (cgroup_fd >= 0 && say(worker, &word, cgroup_fd))
		worker->entered = tenant->grant.id;
}

/* Lives. */

static void unlink_worker(struct worker *worker)
{
	struct worker **at = &worker->daemon->workers;

	while (*at && *at != worker)
		at = &(*at)->next;
	if (*at)
		*at = worker->next;
}

static void on_closed(uv_handle_t *handle)
{
	struct worker *worker = handle->data;

	worker->child = false;
	if (worker->control_fd < 0)
		free(worker);
}

static void note_signal(struct worker *worker, int term_signal)
{
	struct tenant *tenant = tenant_find_id(worker->daemon, worker->grant_id);

	if (worker->state == WORKER_BUSY && term_signal)
		log_of_programs(tenant ? tenant->grant.uid : 0, worker->grant_id,
				"grant %s: a worker (pid %d) ended with signal %d (%s)",
				tenant ? tenant->grant.name : "?", (int)worker->pid, term_signal,
				strsignal(term_signal));
}

/* Its connections to the grant that have not said who they are: they would be taken for whoever has its number next. */
static void end_sessions(struct worker *worker)
{
	struct tenant *tenant = tenant_find_id(worker->daemon, worker->grant_id);
	struct session *next;

	for (struct session *s = tenant ? tenant->sessions : NULL; s; s = next) {
		next = s->next;
		if (s->peer_pid == worker->pid && !s->client)
			session_free(s);
	}
}

/* The process is gone. One that waits may have said why, which is still to be read. */
static void process_gone(struct worker *worker, int term_signal)
{
	note_signal(worker, term_signal);
	if (worker->control_fd < 0 || worker->state != WORKER_BUSY)
		return;
	end_sessions(worker);
	worker_free(worker);
}

static void on_exit_child(uv_process_t *process, int64_t exit_status, int term_signal)
{
	(void)exit_status;
	process_gone(process->data, term_signal);
	/* While meted stops, worker_free() has done it. */
	if (!uv_is_closing((uv_handle_t *)process))
		uv_close((uv_handle_t *)process, on_closed);
}

/* Value: whether it has ended; what it was ended by is known of children alone. */
static bool has_ended(const struct worker *worker, int *ret_signal)
{
	siginfo_t info = { 0 };

	*ret_signal = 0;
	if (waitid((idtype_t)WAIT_PIDFD, (id_t)worker->pidfd, &info, WEXITED | WNOHANG))
		return process_ended(worker->pidfd);
	*ret_signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
	return info.si_pid;
}

/* The same for a process that the loop does not know, for another meted has started it. */
static void on_end(void *owner)
{
	struct worker *worker = owner;
	bool over = worker->control_fd < 0;
	int term_signal;

	if (!has_ended(worker, &term_signal))
		return;
	watch_free(worker->end);
	worker->end = NULL;
	close(worker->pidfd);
	worker->pidfd = -1;
	process_gone(worker, term_signal); /* which is the end of one that has a client */
	if (over)
		free(worker);
}

bool worker_watch_process(struct worker *worker, int take_pidfd)
{
	worker->pidfd = take_pidfd;
	if (worker->pidfd < 0)
		return false;
	worker->end = watch_new(worker->daemon->loop, worker->pidfd, on_end, worker);
	if (worker->end)
		return true;
	close(worker->pidfd);
	worker->pidfd = -1;
	return false;
}

/* With its last words. The next meted goes on with the file of one that has a client. */
static void end_traffic(struct worker *worker)
{
	struct tenant *tenant = worker->daemon->stopping ? NULL : tenant_find_id(worker->daemon, worker->grant_id);

	if (tenant && tenant->telemetry)
		traffic_take(worker, tenant->telemetry);
	if (tenant)
		moving_ends(tenant, worker);
	traffic_end(worker, worker->state != WORKER_BUSY || !worker->daemon->stopping);
}

void worker_free(struct worker *worker)
{
	unlink_worker(worker);
	watch_free(worker->watch);
	worker->watch = NULL;
	images_end(worker);
	words_end(worker);
	pledge_release(&worker->pledge, tenant_find_id(worker->daemon, worker->grant_id));
	if (worker->control_fd >= 0)
		close(worker->control_fd);
	worker->control_fd = -1;
	end_traffic(worker);
	if (*worker->place && (worker->state != WORKER_BUSY || !worker->daemon->stopping))
		unlinkat(worker->daemon->runtime.dir_fd, worker->place, 0);
	if (worker->pidfd >= 0) {
		if (worker->state != WORKER_BUSY)
			kill(worker->pid, SIGKILL);
		if (!worker->daemon->stopping)
			return; /* on_end() */
		watch_free(worker->end);
		close(worker->pidfd);
	}
	if (!worker->child) {
		free(worker);
		return;
	}
	/* Not one that could not be started: it has no pid, and a signal to that would go to our whole group. */
	if (worker->state != WORKER_BUSY && worker->pid > 0 && uv_is_active((uv_handle_t *)&worker->process))
		uv_process_kill(&worker->process, SIGKILL);
	if (worker->daemon->stopping && !uv_is_closing((uv_handle_t *)&worker->process))
		uv_close((uv_handle_t *)&worker->process, on_closed);
}

struct worker *worker_find(struct daemon *daemon, pid_t pid)
{
	struct worker *w = daemon->workers;

	while (w && (w->state != WORKER_BUSY || w->pid != pid))
		w = w->next;
	return w;
}

unsigned int worker_count(struct daemon *daemon, uint64_t grant_id)
{
	unsigned int n = 0;

	for (struct worker *w = daemon->workers; w; w = w->next)
		n += w->state == WORKER_BUSY && w->grant_id == grant_id;
	return n;
}

unsigned int worker_count_all(struct daemon *daemon)
{
	unsigned int n = 0;

	for (struct worker *w = daemon->workers; w; w = w->next)
		n += w->state == WORKER_BUSY;
	return n;
}

void worker_end(struct daemon *daemon, uint64_t grant_id)
{
	/* Its connection still stands, so the process is still the one that we know. */
	for (struct worker *w = daemon->workers; w; w = w->next)
		if (w->state == WORKER_BUSY && w->grant_id == grant_id && w->pid > 0)
			kill(w->pid, SIGKILL);
}

/* What it says. */

static unsigned int sessions_of(const struct tenant *tenant, pid_t pid)
{
	unsigned int n = 0;

	for (const struct session *s = tenant->sessions; s; s = s->next)
		n += s->peer_pid == pid;
	return n;
}

static int connect_grant(struct worker *worker, int *ret_fd)
{
	struct tenant *tenant = tenant_find_id(worker->daemon, worker->grant_id);
	struct session *session;
	int ends[2];

	if (!tenant)
		return -ENOENT;
	if (sessions_of(tenant, worker->pid) >= SESSIONS_MOST)
		return -EAGAIN;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	send_fds_admit(ends[0], false);
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) || !(session = session_new(tenant, ends[0]))) {
		close(ends[1]);
		return -ENOMEM;
	}
	session->peer_pid = worker->pid;
	daemon_sweep_soon(worker->daemon);
	*ret_fd = ends[1];
	return 0;
}

static bool on_connect(struct worker *worker)
{
	struct worker_word answer = { .type = WORKER_CONNECTED, .version = WORKER_VERSION };
	_cleanup_close_ int fd = -1;

	answer.status = worker->state == WORKER_BUSY ? connect_grant(worker, &fd) : -EPERM;
	return say(worker, &answer, fd);
}

/* One that has a client, and has left us while it runs: nobody could end it with its grant. */
static void end_process(struct worker *worker)
{
	if (worker->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, worker->pidfd, SIGKILL, NULL, 0);
	else if (worker->child && worker->pid > 0 && uv_is_active((uv_handle_t *)&worker->process))
		uv_process_kill(&worker->process, SIGKILL);
}

static void lost(struct worker *worker, const char *why)
{
	struct pool *pool = worker->state == WORKER_BUSY ? NULL : worker->pool;

	if (!pool)
		end_process(worker);
	worker_free(worker);
	if (pool)
		pool_lost(pool, why);
}

static bool on_ready(struct worker *worker, const struct worker_word *word)
{
	char why[sizeof(word->text) + 1] = "";

	if (worker->state != WORKER_STARTING || !worker->pool)
		return false;
	if (word->status) {
		memcpy(why, word->text, sizeof(word->text));
		lost(worker, why);
		return true;
	}
	worker->fence = word->fence;
	if (!fence_take(worker->daemon, word->fence, why, sizeof(why))) {
		lost(worker, why);
		return true;
	}
	worker->state = WORKER_IDLE;
	pool_measured(worker->pool, word->context_bytes);
	pool_idle(worker->pool, worker);
	return true;
}

static const char *why_lost(const struct worker *worker, bool other_version)
{
	if (other_version)
		return "mete-worker is of another release than this meted: install both from one";
	return worker->state == WORKER_STARTING ? "a worker ended before its driver had started"
						: "a waiting worker ended";
}

bool worker_may_speak(const struct worker *worker)
{
	struct tenant *tenant = worker->state == WORKER_BUSY ? tenant_find_id(worker->daemon, worker->grant_id) : NULL;

	return !tenant || daemon_may_hear(worker->daemon, tenant->grant.uid);
}

void worker_spoke(struct daemon *daemon, uint64_t grant_id, uint64_t since_ns)
{
	struct tenant *tenant = grant_id ? tenant_find_id(daemon, grant_id) : NULL;

	if (tenant)
		daemon_heard(daemon, tenant->grant.uid, since_ns);
}

static void hear(struct worker *worker)
{
	struct worker_word word;
	bool good = false, other;
	ssize_t n = recv(worker->control_fd, &word, sizeof(word), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	other = n >= (ssize_t)offsetof(struct worker_word, status) && word.version != WORKER_VERSION;
	if (n == sizeof(word) && !other && word.type == WORKER_READY)
		good = on_ready(worker, &word); /* which may be the end of it */
	else if (n == sizeof(word) && !other && word.type == WORKER_CONNECT)
		good = on_connect(worker);
	if (!good)
		lost(worker, why_lost(worker, other));
}

static void on_word(void *owner)
{
	struct worker *worker = owner;
	struct daemon *daemon = worker->daemon;
	uint64_t grant_id = worker->grant_id, since_ns = clock_now_ns();

	if (!worker_may_speak(worker))
		return;
	hear(worker); /* which may be the end of it */
	worker_spoke(daemon, grant_id, since_ns);
}

/* Beginnings. */

static struct worker *worker_new(struct daemon *daemon)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return NULL;
	worker->daemon = daemon;
	worker->control_fd = worker->pidfd = worker->images_fd = -1;
	worker->process.data = worker;
	worker->began_ns = clock_now_ns();
	worker->next = daemon->workers;
	daemon->workers = worker;
	return worker;
}

static bool unwanted(const char *entry)
{
	static const char *const names[] = { "LD_PRELOAD=",  "LD_LIBRARY_PATH=", "CUDA_VISIBLE_DEVICES=",
					     "METE_SOCKET=", "METE_DRIVER=",	 "METE_NVML=",
					     "METE_LOG=",    "METE_REMOTE=",	 "METE_TIER=",
					     "METE_OPEN=",   "METE_SPILL=",	 "NOTIFY_SOCKET=",
					     "METE_LIBRARIES=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(entry, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Ours, but for what would put a shim, or a choice of devices, into the worker. */
static char **child_environment(char *driver, char *nvml, char *libraries, bool spill)
{
	size_t count = 0, kept = 0;
	char **list;

	while (environ[count])
		count++;
	list = calloc(count + 5, sizeof(*list));
	for (size_t i = 0; list && i < count; i++)
		if (!unwanted(environ[i]))
			list[kept++] = environ[i];
	if (list) {
		list[kept++] = driver;
		list[kept++] = nvml;
		list[kept++] = libraries;
		if (spill)
			list[kept++] = (char *)"METE_SPILL=1";
	}
	return list;
}

static int spawn(struct worker *worker, int error_fd, int control_fd, int listen_fd, int traffic_fd, int images_fd)
{
	static char driver[GRANT_PATH_BYTES + 16], nvml[GRANT_PATH_BYTES + 16], libraries[FENCE_LIBRARIES + 16];
	char devices[WIRE_MAX_DEVICES * DEVICE_UUID_TEXT] = "", uuid[DEVICE_UUID_TEXT];
	const struct pool *pool = worker->pool;
	char *args[10] = { (char *)"mete-worker", (char *)"--wait", devices }, uid[16];
	unsigned int arg = 3;
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_IGNORE },
		{ .flags = UV_IGNORE },
		{ .flags = UV_INHERIT_FD, .data.fd = error_fd },
		{ .flags = UV_INHERIT_FD, .data.fd = control_fd },
		{ .flags = UV_INHERIT_FD, .data.fd = listen_fd },
		{ .flags = traffic_fd < 0 ? UV_IGNORE : UV_INHERIT_FD, .data.fd = traffic_fd },
		{ .flags = UV_INHERIT_FD, .data.fd = images_fd },
	};
	uv_process_options_t options = {
		.file = worker_path(),
		.args = args,
		.exit_cb = on_exit_child,
		.flags = UV_PROCESS_DETACHED,
		.stdio = stdio,
		.stdio_count = images_fd >= 0	 ? 7
			       : traffic_fd >= 0 ? 6
						 : 5,
	};
	int r;

	for (unsigned int i = 0; i < pool->device_count; i++) {
		size_t used = strlen(devices);

		snprintf(devices + used, sizeof(devices) - used, "%s%s", i ? "," : "",
			 device_uuid_format(pool->uuid[i], uuid));
	}
	if (pool->kind != DEVICE_SOFT)
		args[arg++] = (char *)"--nodes";
	if (worker->daemon->fence.observe_devices)
		args[arg++] = (char *)"--observe";
	if (images_fd >= 0)
		args[arg++] = (char *)"--images";
	if (!worker->daemon->fence.namespaces)
		args[arg++] = (char *)"--no-namespaces";
	worker->uid = fence_choose_uid(worker->daemon);
	if (worker->uid) {
		snprintf(uid, sizeof(uid), "%u", (unsigned int)worker->uid);
		args[arg++] = (char *)"--uid";
		args[arg++] = uid;
	}
	snprintf(driver, sizeof(driver), "METE_DRIVER=%s", pool->libcuda);
	snprintf(nvml, sizeof(nvml), "METE_NVML=%s", pool->libnvml);
	snprintf(libraries, sizeof(libraries), "METE_LIBRARIES=%s",
		 worker->daemon->fence.libraries ? worker->daemon->fence.libraries : "");
	options.env = child_environment(driver, nvml, libraries, pool->spill);
	r = options.env ? uv_spawn(worker->daemon->loop, &worker->process, &options) : UV_ENOMEM;
	free(options.env);
	/* A handle that failed to start must be closed all the same. */
	worker->child = options.env || r != UV_ENOMEM;
	if (r && worker->child)
		uv_close((uv_handle_t *)&worker->process, on_closed);
	worker->pid = r ? 0 : worker->process.pid;
	return r;
}

int worker_start(struct daemon *daemon, struct pool *pool, struct worker **ret, char *error, size_t size)
{
	_cleanup_close_ int listen_fd = -1, theirs = -1, traffic_fd = -1, images_fd = -1, error_fd = -1;
	struct worker *worker = *worker_path() ? worker_new(daemon) : NULL;
	int ends[2], r;

	if (!worker) {
		snprintf(error, size, "%s",
			 *worker_path() ? "no memory" : "mete-worker is not beside meted: install all of mete");
		return *worker_path() ? -ENOMEM : -ENOENT;
	}
	worker->pool = pool;
	r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
	if (!r) {
		worker->control_fd = ends[0];
		theirs = ends[1];
		send_fds_admit(worker->control_fd, false);
		error_fd = words_begin(worker);
		listen_fd = error_fd < 0 ? error_fd : bind_place(worker);
		traffic_fd = listen_fd < 0 ? -1 : traffic_create(worker);
		images_fd = listen_fd < 0 ? -1 : images_begin(worker);
		r = listen_fd < 0 ? listen_fd : spawn(worker, error_fd, theirs, listen_fd, traffic_fd, images_fd);
	}
	if (!r) {
		worker->watch = watch_new(daemon->loop, worker->control_fd, on_word, worker);
		r = worker->watch ? 0 : -ENOMEM;
	}
	if (r) {
		snprintf(error, size, "%s: cannot be started: %s", worker_path(), strerror(-r));
		worker->pool = NULL;
		worker_free(worker);
		return r;
	}
	*ret = worker;
	return 0;
}

bool worker_give(struct worker *worker, struct tenant *tenant, int client_fd, struct pledge *pledge)
{
	struct worker_word word = { .type = WORKER_TAKE, .version = WORKER_VERSION, .grant_id = tenant->grant.id };

	snprintf(word.grant, sizeof(word.grant), "%s", tenant->grant.name);
	images_show(worker, tenant);
	if (!say_take(worker, &word, client_fd))
		return false;
	worker->state = WORKER_BUSY;
	worker->given_ns = clock_now_ns();
	worker->grant_id = tenant->grant.id;
	worker->pool = NULL;
	worker->pledge = *pledge;
	pledge->made = false;
	name_place(worker);
	close(client_fd);
	return true;
}

struct worker *worker_adopt(struct daemon *daemon, enum worker_state state, pid_t pid, const char *place,
			    int control_fd)
{
	struct worker *worker = worker_new(daemon);
	unsigned int uids[4];

	if (!worker) {
		close(control_fd);
		return NULL;
	}
	worker->state = state;
	worker->given_ns = clock_now_ns();
	worker->pid = pid;
	if (!geteuid() && !process_uids(pid, uids))
		worker->uid = uids[0];
	snprintf(worker->place, sizeof(worker->place), "%s", place);
	worker->control_fd = control_fd;
	send_fds_admit(control_fd, false);
	worker->watch = watch_new(daemon->loop, worker->control_fd, on_word, worker);
	traffic_find(worker);
	if (worker->watch)
		return worker;
	worker_free(worker);
	return NULL;
}

void worker_leave(struct daemon *daemon)
{
	cgroup_expect(daemon);
	while (daemon->workers)
		worker_free(daemon->workers);
}
