/* keeper.c: see keeper.h. The two talk over a pair of sockets; the end of a process is the end of its socket. */
#include "daemon/upgrade/keeper.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/notify.h"
#include "daemon/log.h"
#include "daemon/turns/arbitrate.h"
#include "daemon/upgrade/handover.h"
#include "daemon/upgrade/own.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_NS 15000000000ull /* for the next one to be loaded, and then to serve */
#define ANSWER_S 10		/* for the keeper to say a word */
#define BARRIER_MS 3000

/* WORD_BEGUN and WORD_STOPPED are the keeper's, the others are said to it. */
enum { WORD_BEGUN, WORD_STOP, WORD_STOPPED, WORD_END };

struct word {
	uint32_t what;
	int32_t pid;	/* the keeper's */
	uint64_t at_ns; /* WORD_STOPPED: since when there are no turns */
};

/* Of the side that goes: both ends; of the keeper: its own; of the side that comes: `to`. */
static int to = -1, own_end = -1;
static pid_t keeper;

static bool say(int fd, uint32_t what, uint64_t at_ns)
{
	struct word word = { .what = what, .pid = (int32_t)getpid(), .at_ns = at_ns };

	return send(fd, &word, sizeof(word), MSG_NOSIGNAL) == (ssize_t)sizeof(word);
}

static bool hear(int fd, int flags, struct word *ret)
{
	ssize_t n;

	do
		n = recv(fd, ret, sizeof(*ret), flags);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*ret);
}

static void wait_at_most(int fd, time_t seconds)
{
	struct timeval limit = { .tv_sec = seconds };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* The keeper itself. */

static void tell_main_pid(pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "MAINPID=%d", (int)pid);
	notify_tell(text);
}

/* What was sent to the service meanwhile was meant for the next one. */
static void pass_signals_on(pid_t to_pid)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR2 };
	sigset_t pending;

	sigpending(&pending);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigismember(&pending, signals[i]) == 1)
			kill(to_pid, signals[i]);
}

static _Noreturn void leave(int status)
{
	syscall(SYS_exit_group, status); /* what the parent has at its exit is not ours to do */
	abort();
}

static _Noreturn void go(pid_t parent)
{
	tell_main_pid(parent);
	notify_barrier(BARRIER_MS); /* only the main process is heard: it must be there until then */
	pass_signals_on(parent);
	leave(0);
}

/* The next one may be hanging, or just ending. */
static void make_an_end(int parent_fd)
{
	struct pollfd end = { .fd = parent_fd, .events = POLLIN };

	syscall(SYS_pidfd_send_signal, parent_fd, SIGKILL, NULL, 0);
	poll(&end, 1, ANSWER_S * 1000);
}

static void take_watchdog(pid_t parent)
{
	const char *pid = getenv("WATCHDOG_PID");
	char text[16];

	if (!pid || strtol(pid, NULL, 10) != (long)parent)
		return;
	snprintf(text, sizeof(text), "%d", (int)getpid());
	setenv("WATCHDOG_PID", text, 1);
}

static _Noreturn void go_back(struct handover *h, int file, int own_file, pid_t parent, const char *why)
{
	char text[256];

	snprintf(text, sizeof(text), "the next meted %s; this one goes on, as pid %d", why, (int)getpid());
	take_watchdog(parent);
	if (!handover_write_back(h, file, text))
		own_become(NULL, own_file, own_binary(), file);
	leave(1);
}

static _Noreturn void keep(struct handover *h, int file, int own_file, pid_t parent, int parent_fd)
{
	const char *why = "ended before it served";
	uint64_t stopped_ns = 0;
	struct word word;
	bool asked;

	say(own_end, WORD_BEGUN, 0);
	asked = arbitrate_keep(own_end, clock_now_ns() + LIMIT_NS);
	wait_at_most(own_end, (time_t)(LIMIT_NS / 1000000000u));
	while (asked && hear(own_end, 0, &word)) {
		if (word.what == WORD_END)
			go(parent);
		stopped_ns = stopped_ns ? stopped_ns : clock_now_ns();
		say(own_end, WORD_STOPPED, stopped_ns);
	}
	if (!asked || errno == EAGAIN)
		why = "did not serve in time";
	make_an_end(parent_fd);
	go_back(h, file, own_file, parent, why);
}

/* The side that goes. */

static void close_ends(void)
{
	cleanup_close(&to);
	cleanup_close(&own_end);
	to = own_end = -1;
}

json_t *keeper_prepare(struct handover *h)
{
	int ends[2];

	close_ends();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return json_null();
	to = ends[0];
	own_end = ends[1];
	return handover_give(h, to);
}

void keeper_begin(struct handover *h, int file, int own_file)
{
	_cleanup_close_ int parent_fd = -1;
	pid_t parent = getpid();
	int nice;

	if (own_end < 0 || own_file < 0)
		return;
	parent_fd = (int)syscall(SYS_pidfd_open, parent, 0);
	nice = getpriority(PRIO_PROCESS, 0);
	keeper = parent_fd < 0 ? -1 : fork();
	if (!keeper) {
		close(to); /* or its end would never be seen */
		setpriority(PRIO_PROCESS, 0, nice);
		keep(h, file, own_file, parent, parent_fd);
	}
	cleanup_close(&own_end);
	own_end = -1;
	if (keeper > 0)
		tell_main_pid(keeper);
	else
		close_ends();
}

void keeper_dismiss(void)
{
	if (to >= 0 && say(to, WORD_END, 0))
		waitpid(keeper, NULL, 0);
	close_ends();
}

/* The side that comes. */

void keeper_find(struct handover *h)
{
	struct word word;

	to = handover_take(h, handover_get(h, "keeper"));
	if (to < 0)
		return;
	fcntl(to, F_SETFD, FD_CLOEXEC);
	wait_at_most(to, ANSWER_S);
	/* Its first word stays, for the one before this meted, should this one not get as far as to stop it. */
	if (hear(to, MSG_PEEK, &word)) {
		keeper = word.pid;
		return;
	}
	log_line("who was to give turns meanwhile does not answer: no turns were given");
	close_ends();
}

void keeper_stop(struct handover *h)
{
	struct word word = { .what = WORD_BEGUN };
	bool heard;

	if (to < 0)
		return;
	heard = say(to, WORD_STOP, 0);
	while (heard && word.what == WORD_BEGUN)
		heard = hear(to, 0, &word);
	if (heard) {
		handover_set_stopped(h, word.at_ns);
		return;
	}
	log_line("who gave turns meanwhile (pid %d) does not stop: it is ended", (int)keeper);
	kill(keeper, SIGKILL);
	waitpid(keeper, NULL, 0);
	close_ends();
}

pid_t keeper_pid(void)
{
	return to >= 0 ? keeper : 0;
}

pid_t keeper_end(void)
{
	bool said = to >= 0 && say(to, WORD_END, 0);

	close_ends();
	return said ? keeper : 0;
}
