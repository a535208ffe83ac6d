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
#define ERROR_NOT_SUPPORTED 801
#define PAIRS_SINCE 13000 /* r580: the first driver that brings a program back on another device */

enum state { RUNNING, LOCKED, CHECKPOINTED, FAILED };

struct lock_args {
	unsigned int timeout_ms;
	unsigned int reserved[15];
};

struct gpu_pair {
	uint8_t from[DEVICE_UUID_BYTES], to[DEVICE_UUID_BYTES];
};

struct restore_args {
	struct gpu_pair *pairs;
	unsigned int count;
	char reserved[64 - sizeof(struct gpu_pair *) - sizeof(unsigned int)];
};

static struct driver_calls {
	int (*init)(unsigned int);
	int (*version)(int *);
	int (*name)(int, const char **);
	int (*state)(int, int *);
	int (*lock)(int, struct lock_args *);
	int (*checkpoint)(int, void *);
	int (*restore)(int, struct restore_args *);
	int (*unlock)(int, void *);
} driver;

static const struct {
	const char *symbol;
	void *to;
} symbols[] = {
	{ "cuInit", &driver.init },
	{ "cuDriverGetVersion", &driver.version },
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

static bool has_pairs(void)
{
	int version = 0;

	return !driver.version(&version) && version >= PAIRS_SINCE;
}

static int save(int pid, unsigned int drain_ms, bool goes)
{
	struct lock_args args = { .timeout_ms = drain_ms };
	int state = FAILED, r = driver.state(pid, &state);

	if (goes && !has_pairs())
		return fail("this driver cannot bring a program back on another device: drivers of CUDA 13.0 and newer "
			    "can");

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

/* The first of the list, and which one is named by `at`. False: there are no more. */
static bool next_uuid(const char **at, uint8_t ret[DEVICE_UUID_BYTES])
{
	char text[DEVICE_UUID_TEXT];
	size_t n = strcspn(*at, ",");

	if (!n || n >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)n, *at);
	*at += n + ((*at)[n] == ',');
	return !device_uuid_parse(text, ret);
}

/*
 * The driver says where a process was taken from only by what it takes: pairs have to name it. What it does not take
 * changes nothing (NVIDIA/cuda-checkpoint, issue 35).
 */
static int restore_on(int pid, const char *devices)
{
	struct gpu_pair pair;
	struct restore_args args = { .pairs = &pair, .count = 1 };
	const bool must = *devices == *CHECKPOINTER_MUST;
	const char *at = devices + must;
	int r = ERROR_INVALID_VALUE;

	if (!next_uuid(&at, pair.to) || !has_pairs())
		return must ? ERROR_NOT_SUPPORTED : driver.restore(pid, NULL);
	for (at = devices + must; r == ERROR_INVALID_VALUE && next_uuid(&at, pair.from);)
		r = driver.restore(pid, &args);
	/* One that takes no pair at all has not brought it elsewhere before. */
	return r == ERROR_INVALID_VALUE && !must ? driver.restore(pid, NULL) : r;
}

static int restore(int pid, const char *devices)
{
	int state = FAILED, r = driver.state(pid, &state);

	if (has_ended() || r == ERROR_INVALID_VALUE || r == ERROR_NOT_INITIALIZED)
		return CHECKPOINTER_NONE;
	if (r)
		return fail("the driver answers %s to the question for its state", name_of(r));
	if (state == CHECKPOINTED) {
		r = restore_on(pid, devices);
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

int checkpointer_main(const char *libcuda, const char *verb, const char *pid, const char *drain_ms, const char *devices)
{
	int r;

	signal(SIGPIPE, SIG_IGN); /* a meted that ends does not end what is under way */
	r = open_driver(libcuda);
	if (!r)
		r = !strcmp(verb, "restore") ? restore(atoi(pid), devices)
					     : save(atoi(pid), (unsigned int)atoi(drain_ms), *devices);
	fflush(stdout);
	_Exit(r);
}
