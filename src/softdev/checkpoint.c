/*
 * checkpoint.c: see checkpoint.h.
 *
 * The socket's name is abstract, so nothing of it is left when the process ends, however it ends. It is made of the
 * segment's folder and the pid.
 */
#include "softdev/checkpoint.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/setting.h"
#include "softdev/context.h"
#include "softdev/driver.h"
#include "softdev/duration.h"
#include "softdev/log.h"
#include "softdev/pace.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SINCE 12080 /* the driver's version that has the calls */
#define SHUT (1u << 31)
#define NAP_NS 1000000
#define COPY_PIECE_NS 10000000u
#define PAIRS_MOST SEGMENT_MAX_DEVICES

enum verb { LOCK, CHECKPOINT, RESTORE, UNLOCK, LOOK };

struct ask {
	enum verb verb;
	uint32_t timeout_ms;
	uint32_t pair_count;
	CUcheckpointGpuPair pair[PAIRS_MOST];
};

struct answer {
	CUresult result;
	CUprocessState state;
	int thread;
};

/* Who is inside, and whether others have to wait. */
_Atomic bool soft_gated;
static _Atomic uint32_t gate; /* SHUT and the number of threads inside; a futex */
static __thread unsigned depth;

/* The thread's own; `held_units`: of each visible device, and its contexts there, while they are away. */
static CUprocessState state;
static uint64_t held_units[SEGMENT_MAX_DEVICES];
static uint32_t contexts[SEGMENT_MAX_DEVICES];
static int listener = -1;

/* The gate --------------------------------------------------------------------------------------------------------- */

void soft_gate_enter(void)
{
	uint32_t is;

	/* A host function is part of the work that a lock waits for. */
	if (driver_in_callback || depth++)
		return;
	while (atomic_fetch_add(&gate, 1) & SHUT) {
		atomic_fetch_sub(&gate, 1);
		while ((is = atomic_load(&gate)) & SHUT)
			syscall(SYS_futex, &gate, FUTEX_WAIT_PRIVATE, is, NULL, NULL, 0);
	}
}

void soft_gate_leave(void)
{
	if (!driver_in_callback && !--depth)
		atomic_fetch_sub(&gate, 1);
}

static void gate_open(void)
{
	atomic_fetch_and(&gate, ~SHUT);
	syscall(SYS_futex, &gate, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* What the process has --------------------------------------------------------------------------------------------- */

struct sum {
	uint32_t pending;
	bool failed;
};

static void add(void *object, void *arg)
{
	struct context *c = object;
	struct sum *sum = arg;

	if (!c->active)
		return;
	sum->pending += c->pending;
	sum->failed |= c->sticky != 0;
}

static struct sum sum_up(void)
{
	struct sum sum = { 0 };

	handle_each(HANDLE_CONTEXT, add, &sum);
	return sum;
}

/* It has made memory that other processes can open. */
static bool shares(void)
{
	const struct segment *s = driver.place.segment;
	uint64_t start = atomic_load(&s->process[driver.place.index].start_time);

	for (uint32_t i = 0; i < atomic_load(&s->objects) && i < SEGMENT_MAX_OBJECTS; i++) {
		const struct segment_object *o = &s->object[i];

		if (atomic_load(&o->id) && atomic_load(&o->owner_pid) == getpid() &&
		    atomic_load(&o->owner_start_time) == start)
			return true;
	}
	return false;
}

/* The copies' time passes. */
static void copy(uint32_t device, uint64_t units, bool to_device)
{
	uint64_t left = duration_copy(units * SEGMENT_UNIT_BYTES), at = clock_now_ns();

	while (left) {
		uint64_t piece = left < COPY_PIECE_NS ? left : COPY_PIECE_NS;

		at = pace_copy(device, to_device, at, piece);
		left -= piece;
		pace_sleep(at);
	}
}

/* What is asked ---------------------------------------------------------------------------------------------------- */

static CUresult lock(const struct ask *ask)
{
	const struct timespec nap = { 0, NAP_NS };
	uint64_t until = clock_now_ns() + ask->timeout_ms * 1000000ull;

	if (state != CU_PROCESS_STATE_RUNNING)
		return CUDA_ERROR_ILLEGAL_STATE;
	atomic_fetch_or(&gate, SHUT);
	while (atomic_load(&gate) != SHUT || sum_up().pending) {
		if (ask->timeout_ms && clock_now_ns() >= until) {
			gate_open();
			return CUDA_ERROR_NOT_READY;
		}
		nanosleep(&nap, NULL);
	}
	state = CU_PROCESS_STATE_LOCKED;
	return CUDA_SUCCESS;
}

static CUresult checkpoint(const struct ask *ask)
{
	struct segment_place *p = &driver.place;

	if (state != CU_PROCESS_STATE_LOCKED)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (shares())
		return CUDA_ERROR_NOT_SUPPORTED;
	/* What has failed cannot be saved, and there is no way back. */
	if (sum_up().failed) {
		state = CU_PROCESS_STATE_FAILED;
		return CUDA_ERROR_UNKNOWN;
	}
	for (uint32_t d = 0; d < driver.device_count; d++) {
		uint32_t index = driver.device[d].index;

		held_units[d] = segment_held_units(p, index);
		copy(index, held_units[d], false);
		contexts[d] = atomic_load(&p->segment->process[p->index].share[index].contexts);
		for (uint32_t i = 0; i < contexts[d]; i++)
			segment_context_remove(p, index);
		segment_refund(p, index, held_units[d]);
	}
	state = CU_PROCESS_STATE_CHECKPOINTED;
	return CUDA_SUCCESS;
}

/* Where pairs are given all devices have to be named, each as itself. */
static bool pairs_fit(const struct ask *ask)
{
	for (uint32_t d = 0; d < driver.device_count; d++) {
		bool named = !ask->pair_count || !held_units[d];

		for (uint32_t i = 0; i < ask->pair_count; i++)
			named |= !memcmp(&ask->pair[i].oldUuid, driver.device[d].config->uuid, 16) &&
				 !memcmp(&ask->pair[i].newUuid, driver.device[d].config->uuid, 16);
		if (!named)
			return false;
	}
	return true;
}

static CUresult restore(const struct ask *ask)
{
	struct segment_place *p = &driver.place;
	uint32_t d;

	if (state != CU_PROCESS_STATE_CHECKPOINTED)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (!pairs_fit(ask))
		return CUDA_ERROR_INVALID_VALUE;
	for (d = 0; d < driver.device_count; d++)
		if (segment_charge(p, driver.device[d].index, held_units[d]))
			break;
	if (d < driver.device_count) {
		while (d--)
			segment_refund(p, driver.device[d].index, held_units[d]);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (d = 0; d < driver.device_count; d++) {
		copy(driver.device[d].index, held_units[d], true);
		for (uint32_t i = 0; i < contexts[d]; i++)
			segment_context_add(p, driver.device[d].index);
	}
	state = CU_PROCESS_STATE_LOCKED;
	return CUDA_SUCCESS;
}

static CUresult unlock(const struct ask *ask)
{
	if (state != CU_PROCESS_STATE_LOCKED)
		return CUDA_ERROR_ILLEGAL_STATE;
	state = CU_PROCESS_STATE_RUNNING;
	gate_open();
	return CUDA_SUCCESS;
}

static CUresult look(const struct ask *ask)
{
	return CUDA_SUCCESS;
}

static CUresult (*const verbs[])(const struct ask *ask) = {
	[LOCK] = lock, [CHECKPOINT] = checkpoint, [RESTORE] = restore, [UNLOCK] = unlock, [LOOK] = look
};

/* The socket ------------------------------------------------------------------------------------------------------- */

static socklen_t address_of(pid_t pid, struct sockaddr_un *ret)
{
	struct stat st = { 0 };
	int n;

	stat(driver.place.dir, &st);
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "mete-soft-checkpoint-%llx-%llx-%d",
		     (unsigned long long)st.st_dev, (unsigned long long)st.st_ino, (int)pid);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* As who may trace a process: its own user, and root. */
static bool may_ask(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && (!peer.uid || peer.uid == geteuid());
}

static void serve(int fd)
{
	struct ask ask;
	struct answer answer = { .result = CUDA_ERROR_INVALID_VALUE, .thread = (int)syscall(SYS_gettid) };

	if (!may_ask(fd) || recv(fd, &ask, sizeof(ask), 0) != sizeof(ask) || (unsigned)ask.verb > LOOK ||
	    ask.pair_count > PAIRS_MOST)
		return;
	answer.result = verbs[ask.verb](&ask);
	answer.state = state;
	send(fd, &answer, sizeof(answer), MSG_NOSIGNAL);
}

static void *answer_all(void *unused)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == EINTR || errno == ECONNABORTED) {
		if (fd < 0)
			continue;
		serve(fd);
		close(fd);
	}
	return unused;
}

static bool thread_begin(void)
{
	sigset_t all, before;
	pthread_t thread;
	bool good;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	good = !pthread_create(&thread, NULL, answer_all, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (good)
		pthread_detach(thread);
	return good;
}

void checkpoint_begin(void)
{
	const char *word = setting_get("METE_SOFT_CHECKPOINT");
	struct sockaddr_un address;
	socklen_t size = address_of(getpid(), &address);

	if (!word || strcmp(word, "1") || driver_version() < SINCE)
		return;
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) || listen(listener, 8) ||
	    !thread_begin()) {
		log_line("METE_SOFT_CHECKPOINT: %s: this process cannot be checkpointed", strerror(errno));
		checkpoint_forked();
		return;
	}
	atomic_store(&soft_gated, true);
}

void checkpoint_forked(void)
{
	if (listener >= 0)
		close(listener);
	listener = -1;
	state = CU_PROCESS_STATE_RUNNING;
	atomic_store(&soft_gated, false);
	atomic_store(&gate, 0);
	depth = 0;
}

/* The callers' side ------------------------------------------------------------------------------------------------ */

/* The name is anybody's to take: who answers is the process itself. */
static bool is_of(int fd, pid_t pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.pid == pid;
}

static CUresult tell(pid_t pid, const struct ask *ask, struct answer *ret)
{
	_cleanup_close_ int fd = -1;
	struct sockaddr_un address;
	socklen_t size;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (driver_version() < SINCE)
		return CUDA_ERROR_NOT_SUPPORTED;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	size = address_of(pid, &address);
	if (pid <= 0 || connect(fd, (struct sockaddr *)&address, size) || !is_of(fd, pid) ||
	    send(fd, ask, sizeof(*ask), MSG_NOSIGNAL) != sizeof(*ask) || recv(fd, ret, sizeof(*ret), 0) != sizeof(*ret))
		return CUDA_ERROR_INVALID_VALUE;
	return ret->result;
}

static CUresult command(pid_t pid, const struct ask *ask)
{
	struct answer answer;

	return tell(pid, ask, &answer);
}

static bool is_zero(const void *bytes, size_t n)
{
	const unsigned char *b = bytes;

	while (n--)
		if (*b++)
			return false;
	return true;
}

CUresult soft_cuCheckpointProcessLock(int pid, CUcheckpointLockArgs *args)
{
	struct ask ask = { .verb = LOCK, .timeout_ms = args ? args->timeoutMs : 0 };

	if (args && (args->reserved0 || !is_zero(args->reserved1, sizeof(args->reserved1))))
		return CUDA_ERROR_INVALID_VALUE;
	return command(pid, &ask);
}

CUresult soft_cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs *args)
{
	/* Memory is not given to the caller here (customStorageInfo_out). */
	if (args && !is_zero(args, sizeof(*args)))
		return CUDA_ERROR_INVALID_VALUE;
	return command(pid, &(struct ask){ .verb = CHECKPOINT });
}

CUresult soft_cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs *args)
{
	struct ask ask = { .verb = RESTORE, .pair_count = args ? args->gpuPairsCount : 0 };

	if (args && (args->customStorageInfo_out || !is_zero(args->reserved, sizeof(args->reserved)) ||
		     args->gpuPairsCount > PAIRS_MOST || (args->gpuPairsCount && !args->gpuPairs)))
		return CUDA_ERROR_INVALID_VALUE;
	if (ask.pair_count)
		memcpy(ask.pair, args->gpuPairs, ask.pair_count * sizeof(*ask.pair));
	return command(pid, &ask);
}

CUresult soft_cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs *args)
{
	if (args && !is_zero(args, sizeof(*args)))
		return CUDA_ERROR_INVALID_VALUE;
	return command(pid, &(struct ask){ .verb = UNLOCK });
}

CUresult soft_cuCheckpointProcessGetState(int pid, CUprocessState *ret)
{
	struct answer answer;
	CUresult e;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	e = tell(pid, &(struct ask){ .verb = LOOK }, &answer);
	if (!e)
		*ret = answer.state;
	return e;
}

CUresult soft_cuCheckpointProcessGetRestoreThreadId(int pid, int *ret)
{
	struct answer answer;
	CUresult e;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	e = tell(pid, &(struct ask){ .verb = LOOK }, &answer);
	if (!e)
		*ret = answer.thread;
	return e;
}
