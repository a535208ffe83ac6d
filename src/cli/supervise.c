/*
 * supervise.c: see supervise.h.
 *
 * All signals that are passed on are blocked and read from a signalfd, so that one loop waits for signals, for the end
 * of the connection to meted and for the log. Blocking keeps what was ignored ignored (nohup). The log is looked at
 * every LOG_MS, because a program must be able to write it without anybody listening.
 */
#include "cli/supervise.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/env_note.h"
#include "client/program.h"
#include "verb/say.h"
#include "verb/verb.h"
#include "cli/waker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_GUARDED (-ENOTRECOVERABLE) /* from the child: the guard does not hold it */
#define LOG_MS 150
#define REOPEN_FIRST_MS 100
#define REOPEN_MOST_MS 10000

/* Passed on to the program. */
static const int passed[] = { SIGHUP,  SIGINT,	SIGQUIT, SIGTERM, SIGUSR1,  SIGUSR2,
			      SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGALRM };

struct watch {
	const struct supervision *s;
	sigset_t old_mask;
	struct sigaction old_pipe, old_child;
	int signals; /* signalfd */
	int pidfd;   /* of meted; -1: the connection is watched instead, or there is none */
	pid_t child;
	struct waker waker;
	bool ended;
	int status;
	uint64_t reopen_at_ns; /* 0: connected */
	unsigned int reopen_ms;
	bool reopen_failed;
};

static int signals_take(struct watch *w, struct fault *f)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, normal = { .sa_handler = SIG_DFL };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
		sigaddset(&set, passed[i]);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &w->old_mask);
	/* A closed stderr must not end mete before the program; an ignored SIGCHLD would take its status away. */
	sigaction(SIGPIPE, &ignore, &w->old_pipe);
	sigaction(SIGCHLD, &normal, &w->old_child);
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->signals < 0)
		return fault_set(f, -errno, "signalfd: %s; raise the limit of open files (ulimit -n)", strerror(errno));
	return 0;
}

static void signals_restore(struct watch *w)
{
	sigaction(SIGPIPE, &w->old_pipe, NULL);
	sigaction(SIGCHLD, &w->old_child, NULL);
	sigprocmask(SIG_SETMASK, &w->old_mask, NULL);
}

/* In the child: becomes the program, or reports why not through `tell`. */
_Noreturn static void become_program(struct watch *w, int tell, pid_t mete)
{
	struct fault f = { .text = "" };
	char **before;
	int r;

	signals_restore(w);
	if (w->s->together && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != mete))
		_exit(125);
	before = w->s->verbose ? env_copy() : NULL;
	r = w->s->remote ? remote_env_enter(w->s->remote, &f) : w->s->env ? tenant_env_enter(w->s->env, &f) : 0;
	env_note(before);
	if (!r && w->s->guarded && guarded_enter(w->s->guarded))
		r = NOT_GUARDED;
	if (!r) {
		/* By its path, as found before; argv[0] stays as it was written. */
		execv(w->s->path, w->s->argv);
		r = -errno;
		if (r == -ENOEXEC && program_is_text(w->s->path)) { /* a script without #!, as execvp() treats it */
			execvp(w->s->argv[0], w->s->argv);
			r = -errno;
		}
	}
	if (write(tell, &r, sizeof(r)) < 0)
		_exit(125);
	_exit(r == -ENOENT ? 127 : 126);
}

static int start_child(struct watch *w, struct fault *f)
{
	_cleanup_close_ int hear = -1, tell = -1;
	int ends[2], why = 0;
	pid_t mete;

	if (pipe2(ends, O_CLOEXEC))
		return fault_set(f, -errno, "pipe: %s; raise the limit of open files (ulimit -n)", strerror(errno));
	hear = ends[0];
	tell = ends[1];
	fflush(NULL);
	mete = getpid();
	w->child = fork();
	if (w->child < 0)
		return fault_set(f, -errno, "%s: cannot be started: %s; raise the limit of processes (ulimit -u)",
				 w->s->argv[0], strerror(errno));
	if (!w->child)
		become_program(w, tell, mete);
	close(steal_fd(&tell));
	while (read(hear, &why, sizeof(why)) < 0 && errno == EINTR)
		;
	if (!why)
		return 0;
	while (waitpid(w->child, NULL, 0) < 0 && errno == EINTR)
		;
	if (why == NOT_GUARDED)
		return fault_set(f, -EPERM,
				 "--guard: %s is not started: it could not be brought before its supervisor "
				 "(mete-guard-notify, see above) or into its cgroup",
				 w->s->argv[0]);
	if (why == -ENOENT)
		return fault_set(f, SUPERVISE_NOT_FOUND,
				 "%s: its interpreter or dynamic linker is missing; install it, or correct its first "
				 "line",
				 w->s->argv[0]);
	return fault_set(f, SUPERVISE_NOT_EXECUTABLE, "%s: cannot be executed: %s; check its format and mode",
			 w->s->argv[0], strerror(-why));
}

/* Until a shell continues the job, somebody us, or somebody the program. */
static void stop_with_child(struct watch *w)
{
	tenant_log_show(w->s->log, false);
	waker_start(&w->waker, w->child);
	kill(getpid(), SIGSTOP);
	/* The shell continues the whole job; a lone kill -CONT us alone. */
	if (!waker_end(&w->waker))
		kill(w->child, SIGCONT);
}

/* A child changed state. Stops with the program when it stopped; as process 1 of a container it reaps others too. */
static void reap(struct watch *w)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != w->child)
			continue;
		if (!WIFSTOPPED(status)) {
			w->ended = true;
			w->status = status;
			return;
		}
		stop_with_child(w);
	}
	if (pid < 0 && errno == ECHILD) {
		w->ended = true;
		w->status = EXIT_FAILURE << 8;
	}
}

static void take_signal(struct watch *w, const struct signalfd_siginfo *info)
{
	if (info->ssi_signo == SIGCHLD)
		return reap(w);
	/* What the kernel sends for the terminal it sends to the program too; what the program sent, it has; and the
	 * waker only says that the program goes on. */
	if (info->ssi_code == SI_KERNEL || (pid_t)info->ssi_pid == w->child ||
	    (w->waker.pid > 0 && (pid_t)info->ssi_pid == w->waker.pid))
		return;
	kill(w->child, (int)info->ssi_signo);
}

static void take_signals(struct watch *w)
{
	struct signalfd_siginfo info;

	while (!w->ended && read(w->signals, &info, sizeof(info)) == sizeof(info))
		take_signal(w, &info);
}

/* Watches meted itself where that can be done, else the connection. */
static void watch_meted(struct watch *w)
{
	w->pidfd = control_pidfd(w->s->control);
	if (w->pidfd >= 0)
		control_close(w->s->control);
}

/* meted went away: the programs' shims reconnect as soon as there is one again. */
static void reopen(struct watch *w)
{
	struct fault f;

	if (clock_now_ns() < w->reopen_at_ns)
		return;
	if (!control_reopen(w->s->control, &f)) {
		w->reopen_at_ns = 0;
		watch_meted(w);
		if (w->s->verbose || w->reopen_failed)
			say_note("meted is there again (process %d)", (int)w->s->control->daemon_pid);
		w->reopen_failed = false;
		return;
	}
	if (!w->reopen_failed)
		say_error("meted went away and cannot be had again yet: %s; the program goes on with what it holds",
			  f.text);
	w->reopen_failed = true;
	w->reopen_ms = w->reopen_ms * 2 < REOPEN_MOST_MS ? w->reopen_ms * 2 : REOPEN_MOST_MS;
	w->reopen_at_ns = clock_now_ns() + w->reopen_ms * UINT64_C(1000000);
}

static void lost(struct watch *w)
{
	if (w->s->verbose)
		say_note("meted (process %d) went away", (int)w->s->control->daemon_pid);
	if (w->pidfd >= 0)
		close(w->pidfd);
	w->pidfd = -1;
	control_close(w->s->control);
	w->reopen_ms = REOPEN_FIRST_MS;
	w->reopen_at_ns = clock_now_ns() + REOPEN_FIRST_MS * UINT64_C(1000000);
}

static void stand_by(struct watch *w)
{
	while (!w->ended) {
		struct pollfd p[2] = { { .fd = w->signals, .events = POLLIN },
				       { .fd = w->pidfd >= 0 ? w->pidfd : w->s->control->fd, .events = POLLIN } };

		poll(p, 2, LOG_MS);
		take_signals(w);
		tenant_log_show(w->s->log, false);
		if (w->ended)
			break;
		/* meted says nothing unasked: a connection that can be read has ended. */
		if (p[1].fd >= 0 && p[1].revents && (w->pidfd >= 0 || !control_alive(w->s->control)))
			lost(w);
		if (w->reopen_at_ns)
			reopen(w);
	}
}

int supervise_find(const struct command_line *line, char path[PATH_MAX], int *ret_status, struct fault *f)
{
	int r = program_find(line->args[0], path, f);

	if (!r && option_given(line, "strict"))
		r = program_reachable(path, f);
	if (r)
		*ret_status = exit_of_program(r);
	return r;
}

int supervise(const struct supervision *s, int *ret_status, struct fault *f)
{
	struct watch w = { .s = s, .signals = -1, .pidfd = -1 };
	int r;

	r = signals_take(&w, f);
	if (!r)
		r = start_child(&w, f);
	if (!r) {
		if (s->warning)
			say_warning("%s", s->warning);
		if (w.s->control->fd >= 0)
			watch_meted(&w);
		stand_by(&w);
	}
	if (w.pidfd >= 0)
		close(w.pidfd);
	if (w.signals >= 0)
		close(w.signals);
	signals_restore(&w);
	*ret_status = w.status;
	return r;
}

int supervise_failure(int r, int otherwise)
{
	return r == SUPERVISE_NOT_FOUND	       ? EXIT_RUN_NOT_FOUND
	       : r == SUPERVISE_NOT_EXECUTABLE ? EXIT_RUN_NOT_EXECUTABLE
					       : otherwise;
}

int end_like(int status)
{
	int sig;
	sigset_t set;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	sig = WTERMSIG(status);
	/* The program has left its core already; mete has nothing to tell in one. */
	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	fflush(NULL);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	return 128 + sig;
}
