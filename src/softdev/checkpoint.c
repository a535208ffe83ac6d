/*
 * checkpoint.c: see checkpoint.h.
 *
 * The channel is a file in memory that the process holds open, and which others find below /proc/PID/fd: NVIDIA's
 * driver has its channel there as well (NVIDIA/cuda-checkpoint, issue 41). So it is the kernel that decides who may
 * ask, by the rule for tracing a process, and neither another root folder nor other namespaces are in the way, but for
 * that of process numbers. Nothing of it is left when the process ends, however it ends.
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
#include "softdev/segment_fault.h"
#include "softdev/stream.h"
#include "softdev/thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SINCE 12080 /* the driver's version that has the calls */
#define SHUT (1u << 31)
#define NAP_NS 1000000
#define COPY_PIECE_NS 10000000u
#define PAIRS_MOST SEGMENT_MAX_DEVICES
#define BOX_NAME "mete-soft-checkpoint"
#define BOX_LINK "/memfd:" BOX_NAME
#define LOOK_MS 50 /* how often an asker looks whether the process lives */

enum verb { LOCK, CHECKPOINT, RESTORE, UNLOCK, LOOK, SPOIL };

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

/* The channel's memory. Whoever asks holds the lock of its file (flock()), which ends with him. */
struct box {
	uint64_t folder[2];		  /* device and inode of the segment's folder */
	_Atomic uint32_t asked, answered; /* futexes: the numbers of the last request and of the last answer */
	struct ask ask;			  /* release by `asked`, acquire by the thread that answers */
	struct answer answer;		  /* the same by `answered` */
};

/* Who is inside, and whether others have to wait. */
_Atomic bool soft_gated;
static _Atomic uint32_t gate; /* SHUT and the number of threads inside; a futex */
static __thread unsigned depth;

/* The thread's own; `held_units`: of each visible device, and its contexts there, while they are away. */
static CUprocessState state;
static uint64_t held_units[SEGMENT_MAX_DEVICES];
static uint32_t contexts[SEGMENT_MAX_DEVICES];
static struct box *box;
static int box_fd = -1;

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
	stream_settle_context(c);
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

/* The device of the segment with this UUID. Value: false: there is none. */
static bool index_of(const CUuuid *uuid, uint32_t *ret)
{
	const struct segment *s = driver.place.segment;

	for (uint32_t i = 0; i < s->device_count; i++)
		if (!memcmp(s->device[i].config.uuid, uuid, sizeof(*uuid))) {
			*ret = i;
			return true;
		}
	return false;
}

/* Where the visible device `d`, which holds something, goes. Where pairs are given it has to be named. */
static bool target_of(const struct ask *ask, uint32_t d, uint32_t *ret)
{
	const struct segment_config *from = driver.device[d].config, *to;

	*ret = driver.device[d].index;
	for (uint32_t i = 0; i < ask->pair_count; i++) {
		if (memcmp(&ask->pair[i].oldUuid, from->uuid, sizeof(from->uuid)))
			continue;
		if (!index_of(&ask->pair[i].newUuid, ret))
			return false;
		to = &driver.place.segment->device[*ret].config;
		return to->total_bytes == from->total_bytes && to->cc_major == from->cc_major &&
		       to->cc_minor == from->cc_minor;
	}
	return !ask->pair_count;
}

static bool is_taken(const uint32_t *taken, uint32_t count, uint32_t index)
{
	while (count--)
		if (taken[count] == index)
			return true;
	return false;
}

/* A device that holds nothing makes room for one that does: it is the one that was left. */
static bool targets_of(const struct ask *ask, uint32_t ret[SEGMENT_MAX_DEVICES])
{
	uint32_t taken[SEGMENT_MAX_DEVICES], count = 0;

	for (uint32_t d = 0; d < driver.device_count; d++) {
		if (!held_units[d] && !contexts[d])
			continue;
		if (!target_of(ask, d, &ret[d]) || is_taken(taken, count, ret[d]))
			return false;
		taken[count++] = ret[d];
	}
	for (uint32_t d = 0; d < driver.device_count; d++) {
		if (held_units[d] || contexts[d])
			continue;
		ret[d] = driver.device[d].index;
		for (uint32_t i = 0; is_taken(taken, count, ret[d]); i++)
			ret[d] = driver.device[i].index;
		taken[count++] = ret[d];
	}
	return true;
}

static void renew(void *object, void *unused)
{
	struct context *c = object;

	c->upsets = *segment_upsets(&driver.place, c->device->index);
}

/* The program's ordinals are those devices from now on. */
static void remap(const uint32_t to[SEGMENT_MAX_DEVICES])
{
	for (uint32_t d = 0; d < driver.device_count; d++) {
		/* A process that had this one's place before may have left a word there that ends kernels. */
		atomic_store(segment_cancel(&driver.place, to[d]), driver.ending);
		driver.device[d].index = to[d];
		driver.device[d].config = &driver.place.segment->device[to[d]].config;
	}
	handle_each(HANDLE_CONTEXT, renew, NULL);
}

static CUresult restore(const struct ask *ask)
{
	struct segment_place *p = &driver.place;
	uint32_t to[SEGMENT_MAX_DEVICES], d;

	if (state != CU_PROCESS_STATE_CHECKPOINTED)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (!targets_of(ask, to))
		return CUDA_ERROR_INVALID_VALUE;
	for (d = 0; d < driver.device_count; d++)
		if (segment_charge(p, to[d], held_units[d]))
			break;
	if (d < driver.device_count) {
		while (d--)
			segment_refund(p, to[d], held_units[d]);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (ask->pair_count)
		remap(to);
	for (d = 0; d < driver.device_count; d++) {
		copy(to[d], held_units[d], true);
		for (uint32_t i = 0; i < contexts[d]; i++)
			segment_context_add(p, to[d]);
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

/* As after a checkpoint that has failed halfway. */
static CUresult spoil(const struct ask *ask)
{
	state = CU_PROCESS_STATE_FAILED;
	return CUDA_SUCCESS;
}

static CUresult (*const verbs[])(const struct ask *ask) = {
	[LOCK] = lock, [CHECKPOINT] = checkpoint, [RESTORE] = restore, [UNLOCK] = unlock, [LOOK] = look, [SPOIL] = spoil
};

/* The channel ------------------------------------------------------------------------------------------------------ */

static void wait_word(_Atomic uint32_t *word, uint32_t is, const struct timespec *most)
{
	syscall(SYS_futex, word, FUTEX_WAIT, is, most, NULL, 0);
}

static void wake_word(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void *answer_all(void *argument)
{
	struct box *b = argument;
	uint32_t done = 0, asked;

	for (;; done = asked) {
		struct ask ask;
		struct answer answer = { .result = CUDA_ERROR_INVALID_VALUE, .thread = (int)syscall(SYS_gettid) };

		while ((asked = atomic_load(&b->asked)) == done)
			wait_word(&b->asked, done, NULL);
		ask = b->ask;
		if ((unsigned)ask.verb <= SPOIL && ask.pair_count <= PAIRS_MOST)
			answer.result = verbs[ask.verb](&ask);
		answer.state = state;
		b->answer = answer;
		atomic_store(&b->answered, asked);
		wake_word(&b->answered);
	}
	return NULL;
}

static void folder_of(uint64_t ret[2])
{
	struct stat st = { 0 };

	stat(driver.place.dir, &st);
	ret[0] = st.st_dev;
	ret[1] = st.st_ino;
}

static struct box *box_map(int fd)
{
	struct stat st;
	void *at;

	if (fstat(fd, &st) || st.st_size != sizeof(struct box))
		return NULL;
	at = mmap(NULL, sizeof(struct box), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static bool box_make(void)
{
	box_fd = (int)syscall(SYS_memfd_create, BOX_NAME, MFD_CLOEXEC);
	if (box_fd < 0 || ftruncate(box_fd, sizeof(*box)))
		return false;
	box = box_map(box_fd);
	if (!box)
		return false;
	folder_of(box->folder);
	return true;
}

void checkpoint_begin(void)
{
	const char *word = setting_get("METE_SOFT_CHECKPOINT");

	if (!word || strcmp(word, "1") || driver_version() < SINCE)
		return;
	if (!box_make() || !thread_start(answer_all, box)) {
		log_line("METE_SOFT_CHECKPOINT: %s: this process cannot be checkpointed", strerror(errno));
		checkpoint_forked();
		return;
	}
	atomic_store(&soft_gated, true);
}

void checkpoint_forked(void)
{
	if (box_fd >= 0)
		close(box_fd);
	if (box)
		munmap(box, sizeof(*box));
	box_fd = -1;
	box = NULL;
	state = CU_PROCESS_STATE_RUNNING;
	atomic_store(&soft_gated, false);
	atomic_store(&gate, 0);
	depth = 0;
}

/* The callers' side ------------------------------------------------------------------------------------------------ */

/* The process's channel; -1: it has none in this segment. *ret_denied: its files are not to be seen by us. */
static int box_open(pid_t pid, struct box **ret, bool *ret_denied)
{
	char folder[32], link[64];
	uint64_t ours[2];
	struct dirent *entry;
	int fd = -1;
	DIR *dir;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)pid);
	dir = opendir(folder);
	*ret_denied = !dir && (errno == EACCES || errno == EPERM);
	folder_of(ours);
	while (dir && fd < 0 && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

		if (n < 0 || strncmp(link, BOX_LINK, sizeof(BOX_LINK) - 1))
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC);
		*ret = fd < 0 ? NULL : box_map(fd);
		if (*ret && !memcmp((*ret)->folder, ours, sizeof(ours)))
			break;
		if (*ret)
			munmap(*ret, sizeof(**ret));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	if (dir)
		closedir(dir);
	return fd;
}

/* False: the process has ended. */
static bool box_await(struct box *b, uint32_t serial, int process)
{
	const struct timespec look = { 0, LOOK_MS * 1000000 };
	struct pollfd end = { .fd = process, .events = POLLIN };
	uint32_t is;

	while ((is = atomic_load(&b->answered)) != serial) {
		if (poll(&end, 1, 0))
			return false;
		wait_word(&b->answered, is, &look);
	}
	return true;
}

/* One after the other; the request of an asker that was killed is done before the next one. */
static bool box_ask(struct box *b, int fd, int process, const struct ask *ask, struct answer *ret)
{
	uint32_t serial;

	while (flock(fd, LOCK_EX))
		if (errno != EINTR)
			return false;
	serial = atomic_load(&b->asked);
	if (!box_await(b, serial, process))
		return false;
	b->ask = *ask;
	atomic_store(&b->asked, ++serial);
	wake_word(&b->asked);
	if (!box_await(b, serial, process))
		return false;
	*ret = b->answer;
	return true;
}

static CUresult tell(pid_t pid, const struct ask *ask, struct answer *ret)
{
	_cleanup_close_ int fd = -1, process = -1;
	struct box *b = NULL;
	bool denied = false, told;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (driver_version() < SINCE)
		return CUDA_ERROR_NOT_SUPPORTED;
	process = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	fd = process < 0 ? -1 : box_open(pid, &b, &denied);
	if (fd < 0)
		return denied ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_INVALID_VALUE;
	told = box_ask(b, fd, process, ask, ret);
	munmap(b, sizeof(*b));
	return told ? ret->result : CUDA_ERROR_INVALID_VALUE;
}

/*
 * METE_SOFT_CHECKPOINT_FAULTS: a file of lines "CALL ERROR", as "Restore 304": that call of this process answers this
 * error and does nothing. A third word, "failed": and the other process's state is CU_PROCESS_STATE_FAILED from then
 * on.
 */
static CUresult fault_of(const char *call, bool *ret_spoils)
{
	const char *path = setting_get("METE_SOFT_CHECKPOINT_FAULTS");
	FILE *file = path && *path ? fopen(path, "re") : NULL;
	char line[128], name[64], word[16];
	int error, e = 0;

	*ret_spoils = false;
	while (file && !e && fgets(line, sizeof(line), file)) {
		int n = sscanf(line, "%63s %d %15s", name, &error, word);

		if (n < 2 || strcmp(name, call))
			continue;
		e = error;
		*ret_spoils = n > 2 && !strcmp(word, "failed");
	}
	if (file)
		fclose(file);
	return (CUresult)e;
}

/* True: the call answers *ret. */
static bool is_at_fault(const char *call, pid_t pid, CUresult *ret)
{
	struct answer answer;
	bool spoils;

	*ret = fault_of(call, &spoils);
	if (*ret && spoils)
		tell(pid, &(struct ask){ .verb = SPOIL }, &answer);
	return *ret;
}

static CUresult command(const char *call, pid_t pid, const struct ask *ask)
{
	struct answer answer;
	CUresult e;

	return is_at_fault(call, pid, &e) ? e : tell(pid, ask, &answer);
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
	return command("Lock", pid, &ask);
}

CUresult soft_cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs *args)
{
	/* Memory is not given to the caller here (customStorageInfo_out). */
	if (args && !is_zero(args, sizeof(*args)))
		return CUDA_ERROR_INVALID_VALUE;
	return command("Checkpoint", pid, &(struct ask){ .verb = CHECKPOINT });
}

CUresult soft_cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs *args)
{
	struct ask ask = { .verb = RESTORE, .pair_count = args ? args->gpuPairsCount : 0 };

	if (args && (args->customStorageInfo_out || !is_zero(args->reserved, sizeof(args->reserved)) ||
		     args->gpuPairsCount > PAIRS_MOST || (args->gpuPairsCount && !args->gpuPairs)))
		return CUDA_ERROR_INVALID_VALUE;
	if (ask.pair_count)
		memcpy(ask.pair, args->gpuPairs, ask.pair_count * sizeof(*ask.pair));
	return command("Restore", pid, &ask);
}

CUresult soft_cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs *args)
{
	if (args && !is_zero(args, sizeof(*args)))
		return CUDA_ERROR_INVALID_VALUE;
	return command("Unlock", pid, &(struct ask){ .verb = UNLOCK });
}

CUresult soft_cuCheckpointProcessGetState(int pid, CUprocessState *ret)
{
	struct answer answer;
	CUresult e;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (is_at_fault("GetState", pid, &e))
		return e;
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
	if (is_at_fault("GetRestoreThreadId", pid, &e))
		return e;
	e = tell(pid, &(struct ask){ .verb = LOOK }, &answer);
	if (!e)
		*ret = answer.thread;
	return e;
}
