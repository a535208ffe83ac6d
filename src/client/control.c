/* control.c: see control.h. Starting a meted stands in start.c. */
#include "client/control.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fallback_dir.h"
#include "client/place.h"
#include "client/requests.h"
#include "client/start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MS 20000
#define ANSWER_LIMIT_BYTES (64u << 20)
#define REFUSAL_FILE "refused" /* daemon/settings/refusal.h */
#define NOT_STARTED "not-started"

/* Where systemd is told to start the system's meted with the machine. */
static const char *const wanted_units[] = {
	"/etc/systemd/system/sockets.target.wants/meted.socket",
	"/etc/systemd/system/multi-user.target.wants/meted.service",
};

static int address_set(struct sockaddr_un *a, const char *dir, struct fault *f)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if ((size_t)snprintf(a->sun_path, sizeof(a->sun_path), "%s/control.sock", dir) >= sizeof(a->sun_path))
		return fault_set(f, -ENAMETOOLONG,
				 "runtime directory %s: too long for a socket's name (%zu letters at most); set "
				 "METE_RUNTIME_DIR to a shorter path",
				 dir, sizeof(a->sun_path) - sizeof("/control.sock"));
	return 0;
}

static bool read_number(const char *path, const char *format, unsigned int *ret)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	return f && fscanf(f, format, ret) == 1;
}

/* A folder of somebody who has no name here, and in which nobody else may write. */
static bool is_nameless(const char *path, uid_t overflow)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == overflow && !(st.st_mode & 022);
}

/*
 * In the user namespace of a container runtime without root, where its hook runs, the machine's root has no name
 * (user_namespaces(7), "unmapped user and group IDs"), and neither have other users. Only the machine's root can have
 * made the system's folder in its place: whoever has no name and listens there is root.
 */
static bool is_nameless_root(uid_t uid, const char *dir)
{
	unsigned int overflow, mapped = 0;

	return !strcmp(dir, CONTROL_SYSTEM_DIR) &&
	       read_number("/proc/sys/kernel/overflowuid", "%u", &overflow) && uid == overflow &&
	       read_number("/proc/self/uid_map", "%*u %*u %u", &mapped) && mapped != UINT32_MAX &&
	       is_nameless("/run", overflow) && is_nameless(dir, overflow);
}

/* Who listens must be this user or root. */
static int check_peer(int fd, const char *dir, struct fault *f)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return fault_set(f, -errno, "%s/control.sock: who listens is unknown (%s); remove the socket", dir,
				 strerror(errno));
	if (peer.uid && peer.uid != geteuid() && !is_nameless_root(peer.uid, dir))
		return fault_set(f, -EPERM,
				 "%s/control.sock: belongs to user %u, not to you; set METE_RUNTIME_DIR to a folder of "
				 "your own",
				 dir, peer.uid);
	return 0;
}

/*
 * A meted of a service manager has said why it does not start, and will not be started again before somebody has mended
 * that: to connect would start it in vain. Value: 0, or -EHOSTDOWN with its line.
 */
static int check_refusal(const char *dir, struct fault *f)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX], *end;
	struct fault said;
	struct stat st;
	ssize_t n;

	if (!path_join(path, "%s/" REFUSAL_FILE, dir))
		return 0;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || (st.st_uid && st.st_uid != geteuid()))
		return 0;
	n = read(fd, said.text, sizeof(said.text) - 1);
	if (n <= 0)
		return 0;
	said.text[n] = 0;
	end = strchr(said.text, '\n');
	if (end)
		*end = 0;
	return fault_set(f, -EHOSTDOWN, "%s", said.text);
}

/* Value: 0 with *ret_fd, CONTROL_NOBODY, or a negative errno; -EAGAIN: `flags` say that nothing may be waited for. */
static int connect_to(const char *dir, int flags, int *ret_fd, struct fault *f)
{
	_cleanup_close_ int fd = -1;
	struct sockaddr_un a;
	int r;

	r = address_set(&a, dir, f);
	if (!r)
		r = check_refusal(dir, f);
	if (r)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	if (fd < 0)
		return fault_set(f, -errno, "socket: %s; raise the limit of open files (ulimit -n)", strerror(errno));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR)
			return fault_set(f, CONTROL_NOBODY,
					 strcmp(dir, CONTROL_SYSTEM_DIR) ?
						 "no meted listens in %s; start one with `mete run` or meted" :
						 "no meted listens in %s; `systemctl start meted.socket meted` starts "
						 "the system's",
					 dir);
		return fault_set(f, -errno, "%s/control.sock: %s; %s", dir, strerror(errno),
				 errno == EACCES ? "ask its owner, or set METE_RUNTIME_DIR to a folder of your own" :
						   "remove it, or set METE_RUNTIME_DIR");
	}
	r = check_peer(fd, dir, f);
	if (r)
		return r;
	*ret_fd = steal_fd(&fd);
	return 0;
}

/* A private directory is this user's alone; it is made when missing. */
static int check_private_dir(const char *dir, struct fault *f)
{
	struct stat st;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return fault_set(f, -errno, "%s: cannot make the runtime directory: %s; set METE_RUNTIME_DIR", dir,
				 strerror(errno));
	if (lstat(dir, &st))
		return fault_set(f, -errno, "%s: %s; set METE_RUNTIME_DIR", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return fault_set(f, -ENOTDIR, "%s: not a folder; remove it, or set METE_RUNTIME_DIR", dir);
	if (st.st_uid != geteuid())
		return fault_set(f, -EPERM,
				 "%s: belongs to user %u, not to you; set METE_RUNTIME_DIR to a folder of your own",
				 dir, st.st_uid);
	if (st.st_mode & 022)
		return fault_set(f, -EPERM, "%s: others may write in it; chmod 700 it, or set METE_RUNTIME_DIR", dir);
	return 0;
}

/*
 * This machine's shares are the system's meted's: no other stands in for one that is down, since nobody
 * would know what running programs hold, and each device would be promised twice.
 */
static bool is_service(void)
{
	struct stat st;

	if (stat("/run/systemd/system", &st))
		return false;
	for (size_t i = 0; i < sizeof(wanted_units) / sizeof(*wanted_units); i++)
		if (!lstat(wanted_units[i], &st))
			return true;
	return false;
}

int control_dir(char dir[PATH_MAX], bool *ret_system, struct fault *f)
{
	const char *set = getenv("METE_RUNTIME_DIR"), *xdg = getenv("XDG_RUNTIME_DIR");
	struct fault no_system;
	struct stat st;
	int fd, r;

	*ret_system = false;
	if (set && *set) {
		if (*set != '/')
			return fault_set(f, -EINVAL, "METE_RUNTIME_DIR=%s: not an absolute path; begin it with /", set);
		if (!path_join(dir, "%s", set))
			return fault_set(f, -ENAMETOOLONG, "METE_RUNTIME_DIR: too long; set a shorter path");
		*ret_system = !strcmp(dir, CONTROL_SYSTEM_DIR) && is_service();
		return 0;
	}
	r = connect_to(CONTROL_SYSTEM_DIR, 0, &fd, &no_system);
	if (r == CONTROL_NOBODY && is_service())
		return fault_set(f, -EHOSTDOWN,
				 "the system's meted does not run: `systemctl status meted` says why, `systemctl "
				 "reset-failed meted.service meted.socket` and `systemctl start meted.socket meted` "
				 "start it; METE_RUNTIME_DIR names a folder for one of your own");
	/* There is one, for others, or it does not start: as above. */
	if (r == -EACCES || r == -EHOSTDOWN) {
		*f = no_system;
		return r;
	}
	if (!r) {
		close(fd);
		*ret_system = true;
		path_join(dir, "%s", CONTROL_SYSTEM_DIR);
		return 0;
	}
	if (xdg && *xdg == '/' && !stat(xdg, &st) && S_ISDIR(st.st_mode) && path_join(dir, "%s/mete", xdg))
		return 0;
	fallback_dir(dir, PATH_MAX);
	return 0;
}

static bool store_exists(const char *dir)
{
	char path[PATH_MAX];

	return path_join(path, "%s/mete.db", dir) && !access(path, R_OK);
}

static json_t *hello(void)
{
	return request_plain("hello");
}

static int take_hello(struct control *c, json_t *take_answer, struct fault *f)
{
	int r = 0;

	if (json_integer_value(json_object_get(take_answer, "protocol")) != 1)
		r = fault_set(f, -EPROTO, "%s: this meted (%s) speaks another protocol; restart it with this version",
			      c->dir, json_string_value(json_object_get(take_answer, "version")));
	c->daemon_pid = (pid_t)json_integer_value(json_object_get(take_answer, "pid"));
	json_decref(take_answer);
	return r;
}

static int say_hello(struct control *c, struct fault *f)
{
	json_t *answer;
	char code[64];
	int r = control_ask(c, hello(), &answer, code, f);

	if (r == CONTROL_REFUSED && !strcmp(code, NOT_STARTED))
		return -EHOSTDOWN;
	return r ? r : take_hello(c, answer, f);
}

/* Connects, to a meted that is started if need be. */
static int reach(struct control *c, enum control_how how, int flags, struct fault *f)
{
	int r = connect_to(c->dir, flags, &c->fd, f);

	if (r == CONTROL_NOBODY && !c->system &&
	    (how == CONTROL_START || (how == CONTROL_STORED && store_exists(c->dir)))) {
		r = check_private_dir(c->dir, f);
		if (!r)
			r = start_meted(c->dir, f);
		if (!r) {
			c->started = true;
			r = connect_to(c->dir, flags, &c->fd, f);
		}
	}
	return r;
}

static int open_in_dir(struct control *c, enum control_how how, struct fault *f)
{
	int r = reach(c, how, 0, f);

	if (!r)
		r = say_hello(c, f);
	if (r)
		control_close(c);
	return r;
}

int control_open(struct control *c, enum control_how how, struct fault *f)
{
	int r = control_dir(c->dir, &c->system, f);

	return r ? r : open_in_dir(c, how, f);
}

int control_begin(struct control *c, enum control_how how, struct fault *f)
{
	int r = control_dir(c->dir, &c->system, f);

	if (!r)
		r = reach(c, how, SOCK_NONBLOCK, f);
	if (!r)
		r = control_send(c, hello(), f);
	if (r)
		control_close(c);
	else
		c->greets = true;
	return r;
}

int control_reopen(struct control *c, struct fault *f)
{
	control_close(c);
	return open_in_dir(c, CONTROL_START, f);
}

void control_close(struct control *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	free(c->line);
	c->line = NULL;
	c->line_bytes = 0;
	c->greets = false;
}

static int send_line(struct control *c, const char *text, struct fault *f)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = send(c->fd, text, left, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fault_set(f, CONTROL_LOST, "%s: meted went away (%s); see %s/meted.log", c->dir,
					 strerror(errno), c->dir);
		text += n;
		left -= (size_t)n;
	}
	return 0;
}

/*
 * Reads until a whole line is there, or, with wait_ms 0, as long as there is something to read (-EAGAIN). Value as for
 * control_ask(); *ret is the line, to be freed.
 */
static int receive_line(struct control *c, unsigned int wait_ms, char **ret, struct fault *f)
{
	uint64_t deadline_ns = clock_now_ns() + wait_ms * UINT64_C(1000000), now_ns;
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	char *end, *more;
	ssize_t n;

	for (;;) {
		end = c->line ? memchr(c->line, '\n', c->line_bytes) : NULL;
		if (end)
			break;
		if (c->line_bytes > ANSWER_LIMIT_BYTES)
			return fault_set(f, -EPROTO, "%s/control.sock: does not speak meted's protocol; remove it",
					 c->dir);
		now_ns = clock_now_ns();
		if (wait_ms && now_ns >= deadline_ns)
			return fault_set(f, -ETIMEDOUT, "%s: meted does not answer (%u s); restart it", c->dir,
					 wait_ms / 1000);
		if (poll(&p, 1, wait_ms ? (int)((deadline_ns - now_ns) / 1000000) + 1 : 0) <= 0) {
			if (!wait_ms)
				return -EAGAIN;
			continue;
		}
		more = realloc(c->line, c->line_bytes + 65536);
		if (!more)
			return fault_set(f, -ENOMEM, "no memory for meted's answer; end other programs");
		c->line = more;
		n = recv(c->fd, c->line + c->line_bytes, 65536, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fault_set(f, CONTROL_LOST, "%s: meted went away before it answered; see %s/meted.log",
					 c->dir, c->dir);
		c->line_bytes += (size_t)n;
	}
	*ret = strndup(c->line, (size_t)(end - c->line));
	if (!*ret)
		return fault_set(f, -ENOMEM, "no memory for meted's answer; end other programs");
	c->line_bytes -= (size_t)(end + 1 - c->line);
	memmove(c->line, end + 1, c->line_bytes);
	return 0;
}

static int read_answer(struct control *c, unsigned int wait_ms, json_t **ret, char code[64], struct fault *f)
{
	_cleanup_free_ char *line = NULL;
	json_error_t error;
	json_t *answer;
	int r;

	if (code)
		*code = 0;
	r = receive_line(c, wait_ms, &line, f);
	if (r)
		return r;
	answer = json_loads(line, 0, &error);
	if (!answer || !json_is_boolean(json_object_get(answer, "ok"))) {
		json_decref(answer);
		return fault_set(f, -EPROTO,
				 "%s/control.sock: does not speak meted's protocol; remove it, or set METE_RUNTIME_DIR",
				 c->dir);
	}
	if (!json_is_true(json_object_get(answer, "ok"))) {
		const char *text = json_string_value(json_object_get(answer, "error"));
		const char *said = json_string_value(json_object_get(answer, "code"));

		if (code)
			snprintf(code, 64, "%s", said ? said : "");
		r = fault_set(f, CONTROL_REFUSED, "%s", text ? text : "meted refused and gave no reason; see its log");
		json_decref(answer);
		return r;
	}
	*ret = answer;
	return 0;
}

int control_send(struct control *c, json_t *request, struct fault *f)
{
	_cleanup_free_ char *text = NULL, *line = NULL;

	text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	json_decref(request);
	if (!text || asprintf(&line, "%s\n", text) < 0) {
		line = NULL;
		return fault_set(f, -EINVAL, "the request cannot be written as JSON; use names in UTF-8");
	}
	return send_line(c, line, f);
}

/* Value: as control_receive(); a meted that is none for us is as good as lost. */
static int receive_hello(struct control *c, struct fault *f)
{
	json_t *answer = NULL;
	int r = read_answer(c, 0, &answer, NULL, f);

	if (!r)
		r = take_hello(c, answer, f);
	if (!r)
		c->greets = false;
	return r && r != -EAGAIN ? CONTROL_LOST : r;
}

int control_receive(struct control *c, json_t **ret, char code[64], struct fault *f)
{
	int r = c->greets ? receive_hello(c, f) : 0;

	return r ? r : read_answer(c, 0, ret, code, f);
}

int control_ask(struct control *c, json_t *request, json_t **ret, char code[64], struct fault *f)
{
	int r = control_send(c, request, f);

	return r ? r : read_answer(c, ANSWER_MS, ret, code, f);
}

bool control_alive(const struct control *c)
{
	char byte;
	ssize_t n = recv(c->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

int control_pidfd(struct control *c)
{
	_cleanup_close_ int fd = -1;
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid <= 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	/* Still connected: the process that listens has not ended before the descriptor was made. */
	return fd >= 0 && control_alive(c) ? steal_fd(&fd) : -1;
}

int control_ask_again(struct control *c, enum control_how how, json_t *request, json_t **ret, char code[64],
		      struct fault *f)
{
	int r = CONTROL_LOST;

	for (int tries = 0; tries < 6; tries++) {
		if (tries > 1) /* it is ending, or has no place for one more connection just now */
			usleep(25000u << tries);
		if (c->fd < 0)
			r = control_open(c, how, f);
		else
			r = 0;
		if (!r)
			r = control_ask(c, json_incref(request), ret, code, f);
		if (r != CONTROL_LOST)
			break;
		control_close(c);
	}
	json_decref(request);
	return r;
}
