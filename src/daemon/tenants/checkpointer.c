/*
 * checkpointer.c: the child that has the driver take a process off its devices, or bring it back: see checkpoint.h.
 *
 * The calls' types are written from their public documentation; they are there since CUDA 12.8. Each step begins with
 * the process's state, so that it goes on where one before it was killed.
 */
#include "daemon/tenants/checkpoint.h"

#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUCCESS 0
#define ERROR_INVALID_VALUE 1
#define ERROR_OUT_OF_MEMORY 2
#define ERROR_NOT_INITIALIZED 3
#define ERROR_NOT_READY 600

enum state { RUNNING, LOCKED, CHECKPOINTED, FAILED };

struct lock_args {
	unsigned int timeout_ms;
	unsigned int reserved[15];
};

static struct driver_calls {
	int (*init)(unsigned int);
	int (*name)(int, const char **);
	int (*state)(int, int *);
	int (*lock)(int, struct lock_args *);
	int (*checkpoint)(int, void *);
	int (*restore)(int, void *);
	int (*unlock)(int, void *);
} driver;

static const struct {
	const char *symbol;
	void *to;
} symbols[] = {
	{ "cuInit", &driver.init },
	{ "cuGetErrorName", &driver.name },
	{ "cuCheckpointProcessGetState", &driver.state },
	{ "cuCheckpointProcessLock", &driver.lock },
	{ "cuCheckpointProcessCheckpoint", &driver.checkpoint },
	{ "cuCheckpointProcessRestore", &driver.restore },
	{ "cuCheckpointProcessUnlock", &driver.unlock },
};

__attribute__((format(printf, 1, 2))) static int fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	return CHECKPOINTER_FAILED;
}

static const char *name_of(int error)
{
	const char *name = NULL;

	return !driver.name(error, &name) && name ? name : "an unknown error";
}

static int open_driver(const char *libcuda)
{
	void *library = dlopen(libcuda, RTLD_NOW | RTLD_LOCAL);
	int r;

	if (!library)
		return fail("the driver does not open: %s", dlerror());
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *f = dlsym(library, symbols[i].symbol);

		if (!f)
			return fail("this driver cannot checkpoint a program (%s): drivers of CUDA 12.8 and newer can",
				    symbols[i].symbol);
		memcpy(symbols[i].to, &f, sizeof(f));
	}
	r = driver.init(0);
	return r ? fail("the driver does not start: %s", name_of(r)) : 0;
}

/* The number may be another process's, and no answer of the driver's is about ours. */
static bool has_ended(void)
{
	struct pollfd p = { .fd = CHECKPOINTER_PIDFD, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

/* The lock or the checkpoint has failed: another child, of a meted before this one, may be at it as well. */
static int as_it_was(int pid)
{
	int state = RUNNING;

	if (driver.state(pid, &state))
		return CHECKPOINTER_DOUBT;
	if (state == FAILED)
		fail(": its program cannot go on, end it");
	return state == LOCKED || state == CHECKPOINTED ? CHECKPOINTER_DOUBT : CHECKPOINTER_FAILED;
}

/* The driver's channel to a process is below /proc (checkpoint.h). */
static int cannot_ask(int pid, int error)
{
	char folder[32];
	DIR *dir;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", pid);
	dir = opendir(folder);
	if (!dir)
		return fail("meted may not look into it, and so the driver cannot checkpoint it (%s): a meted of root "
			    "may, with CAP_SYS_PTRACE",
			    name_of(error));
	closedir(dir);
	return fail("the driver cannot checkpoint it (%s)", name_of(error));
}

static int save(int pid, unsigned int drain_ms)
{
	struct lock_args args = { .timeout_ms = drain_ms };
	int state = FAILED, r = driver.state(pid, &state);

	if (has_ended())
		return CHECKPOINTER_NONE;
	if (r)
		return cannot_ask(pid, r);
	if (state == FAILED)
		return fail("a checkpoint of it has failed before: its program cannot go on, end it");
	if (state == RUNNING) {
		r = driver.lock(pid, &args);
		if (r == ERROR_NOT_READY) {
			fail("its work on the device did not end in time");
			return CHECKPOINTER_LATE;
		}
		if (r) {
			fail("the driver answers %s to the lock", name_of(r));
			return as_it_was(pid);
		}
		/* It lives: it has had its number all the time, and what is locked is it. */
		if (has_ended()) {
			driver.unlock(pid, NULL);
			return CHECKPOINTER_NONE;
		}
		state = LOCKED;
	}
	if (state == LOCKED) {
		r = driver.checkpoint(pid, NULL);
		if (r) {
			driver.unlock(pid, NULL);
			fail("the driver answers %s to the checkpoint: other processes can open memory of it, or this "
			     "driver cannot save what it holds",
			     name_of(r));
			return as_it_was(pid);
		}
	}
	return CHECKPOINTER_DONE;
}

static int restore(int pid)
{
	int state = FAILED, r = driver.state(pid, &state);

	if (has_ended() || r == ERROR_INVALID_VALUE || r == ERROR_NOT_INITIALIZED)
		return CHECKPOINTER_NONE;
	if (r)
		return fail("the driver answers %s to the question for its state", name_of(r));
	if (state == CHECKPOINTED) {
		r = driver.restore(pid, NULL);
		if (r == ERROR_OUT_OF_MEMORY)
			return CHECKPOINTER_FULL;
		if (r)
			return fail("the driver answers %s to the restore", name_of(r));
		state = LOCKED;
	}
	if (state == LOCKED) {
		r = driver.unlock(pid, NULL);
		if (r)
			return fail("the driver answers %s to the unlock", name_of(r));
	}
	return state == FAILED ? fail("a checkpoint of it has failed: its program cannot go on, end it")
			       : CHECKPOINTER_DONE;
}

int checkpointer_main(const char *libcuda, const char *verb, const char *pid, const char *drain_ms)
{
	int r;

	signal(SIGPIPE, SIG_IGN); /* a meted that ends does not end what is under way */
	r = open_driver(libcuda);
	if (!r)
		r = !strcmp(verb, "restore") ? restore(atoi(pid)) : save(atoi(pid), (unsigned int)atoi(drain_ms));
	fflush(stdout);
	_Exit(r);
}
