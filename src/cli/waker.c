/* waker.c: see waker.h. It has a process group of its own, so that what stops the job does not stop it. */
#include "cli/waker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 30000000L
#define LOOK_MOST_NS 250000000L /* for who stays stopped */

/* The letter of its state as /proc says; 0: it is not there, or there is no /proc. */
static char state_of(pid_t pid)
{
	char path[64], text[512] = "", *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	end = strrchr(text, ')'); /* the name before it may contain anything */
	return end && end[1] == ' ' ? end[2] : 0;
}

_Noreturn static void watch(pid_t mete, pid_t program, int tell)
{
	struct timespec nap = { .tv_nsec = LOOK_NS };
	char state;

	setpgid(0, 0);
	prctl(PR_SET_NAME, "mete-waker");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == mete && (state = state_of(program))) {
		/* Not before mete has stopped: it would stop after that. The word first: mete ends us when it goes
		 * on. */
		if (state != 'T' && state_of(mete) == 'T' && write(tell, "c", 1) == 1) {
			kill(mete, SIGCONT);
			break;
		}
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < LOOK_MOST_NS)
			nap.tv_nsec += nap.tv_nsec / 32;
	}
	_exit(0);
}

void waker_start(struct waker *waker, pid_t program)
{
	pid_t mete = getpid();
	int ends[2];

	*waker = (struct waker){ .heard = -1 };
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return;
	waker->heard = ends[0];
	waker->pid = fork();
	if (!waker->pid)
		watch(mete, program, ends[1]);
	close(ends[1]);
}

bool waker_end(struct waker *waker)
{
	char word;
	bool said;

	if (waker->heard < 0)
		return false;
	if (waker->pid > 0)
		kill(waker->pid, SIGKILL);
	while (waker->pid > 0 && waitpid(waker->pid, NULL, 0) < 0 && errno == EINTR)
		;
	said = read(waker->heard, &word, 1) == 1;
	close(waker->heard);
	waker->heard = -1;
	return said;
}
