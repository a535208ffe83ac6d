/* stash.c: see stash.h. System calls are made directly: none is a cancellation point. */
#include "shim/stash.h"
#include "base/cipher.h"
#include "core/attach.h"
#include "core/connection.h"
#include "core/file_identity.h"
#include "core/log.h"
#include "core/thread.h"
#include "core/tick.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PATIENCE_MS 5000u
#define NAP_NS 1000000000u

static _Atomic bool is_open;
static struct {
	int fd; /* 0: none, or the program has closed it */
	struct file_identity file;
	uint64_t bytes, used;
	uint8_t key[CIPHER_KEY_BYTES];
	unsigned int device;
} stash;

bool stash_open(void)
{
	return atomic_load_explicit(&is_open, memory_order_relaxed);
}

/* The program may have closed it, and opened something else. */
static bool stands(void)
{
	struct file_identity is;

	return stash.fd > 0 && file_identify(stash.fd, &is) == 0 && file_same(&is, &stash.file);
}

void stash_end(void)
{
	if (stands())
		syscall(SYS_close, stash.fd);
	atomic_store(&is_open, false);
	memset(&stash, 0, sizeof(stash));
	__asm__ volatile("" : : "r"(&stash) : "memory"); /* the key is wiped, whatever the compiler thinks of it */
}

static bool key_new(void)
{
	return syscall(SYS_getrandom, stash.key, sizeof(stash.key), 0) == (long)sizeof(stash.key);
}

/* The program's own limit: the kernel would refuse to write beyond it. */
static bool may_be_so_large(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur >= bytes;
}

static enum stash_place ask(unsigned int device, uint64_t bytes, int *ret_fd)
{
	struct wire_store request = { .head = { .type = WIRE_STORE, .size = sizeof(request) },
				      .device = device,
				      .units = (uint32_t)wire_units(bytes) };
	struct wire_stored answer;
	int r;

	*ret_fd = -1;
	r = attach_ask_fd(&request, &answer, sizeof(answer), PATIENCE_MS, ret_fd);
	if (r != WIRE_OK) {
		raw_fd_close(*ret_fd);
		return STASH_NOWHERE;
	}
	return *ret_fd < 0 ? STASH_HOST : STASH_DISK;
}

static bool take(int fd)
{
	stash.fd = connection_move_high(fd);
	if (file_identify(stash.fd, &stash.file) == 0)
		return true;
	syscall(SYS_close, stash.fd);
	stash.fd = 0;
	return false;
}

bool stash_asks(unsigned int device)
{
	return attach_page() && attach_welcome()->device[device].flags & WIRE_DEVICE_STORES;
}

enum stash_place stash_begin(unsigned int device, uint64_t bytes)
{
	enum stash_place place;
	int fd;

	stash_end();
	if (!stash_asks(device))
		return STASH_HOST;
	place = ask(device, bytes, &fd);
	if (place != STASH_DISK)
		return place;
	if (!take(fd))
		return STASH_NOWHERE;
	stash.bytes = bytes;
	stash.device = device;
	atomic_store(&is_open, true);
	if (may_be_so_large(bytes) && key_new())
		return STASH_DISK;
	log_line("memory does not go to the disk: the program's limit of a file's size (ulimit -f) is below %llu "
		 "bytes, or there are no random numbers",
		 (unsigned long long)bytes);
	stash_end();
	return STASH_NOWHERE;
}

/* The program has closed it: meted has it as well. */
static bool open_again(void)
{
	struct file_identity was = stash.file;
	int fd;

	if (stands())
		return true;
	stash.fd = 0;
	if (!stash_open() || ask(stash.device, stash.bytes, &fd) != STASH_DISK || !take(fd))
		return false;
	if (file_same(&was, &stash.file))
		return true;
	syscall(SYS_close, stash.fd);
	stash.fd = 0;
	stash.file = was;
	return false;
}

typedef long (*transfer_fn)(void *buffer, uint64_t bytes);

static long write_some(void *buffer, uint64_t bytes)
{
	return syscall(SYS_write, stash.fd, buffer, bytes);
}

static long read_some(void *buffer, uint64_t bytes)
{
	return syscall(SYS_read, stash.fd, buffer, bytes);
}

/* 0 or a negative errno. */
static int transfer(transfer_fn some, uint64_t at, char *buffer, uint64_t bytes)
{
	long n;

	if (!open_again())
		return -EBADF;
	if (syscall(SYS_lseek, stash.fd, at, SEEK_SET) < 0)
		return -errno;
	while (bytes) {
		n = some(buffer, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENODATA;
		buffer += n;
		bytes -= (uint64_t)n;
	}
	return 0;
}

static bool complain(const char *what, uint64_t bytes, int error)
{
	log_line("memory.disk: %s of %llu bytes: error %d%s", what, (unsigned long long)bytes, -error,
		 error == -EBADF ? " (the program has closed the descriptor, and meted has it no more)" : "");
	return false;
}

static void sum_add(uint64_t *sum, const void *buffer, uint64_t bytes)
{
	uint64_t word, is = *sum ^ bytes;

	for (uint64_t i = 0; i < bytes; i += sizeof(word)) {
		memcpy(&word, (const char *)buffer + i, sizeof(word));
		is = (is + word) * UINT64_C(0x9e3779b97f4a7c15);
		is ^= is >> 29;
	}
	*sum = is;
}

/*
 * Each part has a stream of its own, by its place in the file, and a new one after as many blocks as the cipher counts.
 * Buffers do not reach from one into the next.
 */
static void encrypt(const struct stash_part *part, uint64_t at, void *buffer, uint64_t bytes)
{
	uint64_t block = at / CIPHER_BLOCK_BYTES;
	uint32_t again = (uint32_t)(block >> 32);
	uint8_t nonce[CIPHER_NONCE_BYTES];
	struct cipher cipher;

	memcpy(nonce, &part->at, sizeof(part->at));
	memcpy(nonce + sizeof(part->at), &again, sizeof(again));
	cipher_begin(&cipher, stash.key, nonce);
	cipher_apply(&cipher, (uint32_t)block, buffer, bytes);
	memset(&cipher, 0, sizeof(cipher));
	__asm__ volatile("" : : "r"(&cipher) : "memory");
}

static bool write_part(struct stash_part *part, uint64_t at, void *buffer, uint64_t bytes)
{
	int saved = errno, r;

	if (!at)
		*part = (struct stash_part){ .at = stash.used };
	sum_add(&part->sum, buffer, bytes);
	encrypt(part, at, buffer, bytes);
	stash.used += bytes;
	r = transfer(write_some, part->at + at, buffer, bytes);
	errno = saved;
	return r == 0 || complain("to write", bytes, r);
}

static bool read_part(struct stash_part *part, uint64_t at, void *buffer, uint64_t bytes)
{
	int saved = errno, r = transfer(read_some, part->at + at, buffer, bytes);

	errno = saved;
	if (r < 0)
		return complain("to read", bytes, r);
	encrypt(part, at, buffer, bytes);
	if (!at)
		part->read_sum = 0;
	sum_add(&part->read_sum, buffer, bytes);
	return true;
}

/* ---- the other thread ---- */

typedef bool (*step_fn)(struct stash_part *part, uint64_t at, void *buffer, uint64_t bytes);

enum { JOB_NONE, JOB_BEGUN, JOB_GOOD, JOB_BAD };

static struct {
	_Atomic uint32_t state; /* a futex; what follows is whoever's turn it is */
	bool thread;		/* there is one */
	step_fn step;
	struct stash_part *part;
	uint64_t at, bytes;
	void *buffer;
} job;

static void do_job(void)
{
	bool good = job.step(job.part, job.at, job.buffer, job.bytes);

	atomic_store(&job.state, good ? JOB_GOOD : JOB_BAD);
	tick_wake(&job.state);
}

static void *work(void *unused)
{
	uint32_t is;

	thread_begin("mete-disk");
	for (;;) {
		is = atomic_load(&job.state);
		if (is == JOB_BEGUN)
			do_job();
		else
			tick_wait(&job.state, is, NAP_NS, false);
	}
	return unused;
}

static void begin(step_fn step, struct stash_part *part, uint64_t at, void *buffer, uint64_t bytes)
{
	job.step = step;
	job.part = part;
	job.at = at;
	job.buffer = buffer;
	job.bytes = bytes;
	if (!job.thread)
		job.thread = thread_start(work, NULL);
	atomic_store(&job.state, JOB_BEGUN);
	if (job.thread)
		tick_wake(&job.state);
	else
		do_job();
}

void stash_begin_write(struct stash_part *part, uint64_t at, void *buffer, uint64_t bytes)
{
	begin(write_part, part, at, buffer, bytes);
}

void stash_begin_read(struct stash_part *part, uint64_t at, void *buffer, uint64_t bytes)
{
	begin(read_part, part, at, buffer, bytes);
}

bool stash_wait(void)
{
	uint32_t is;

	while ((is = atomic_load(&job.state)) == JOB_BEGUN)
		tick_wait(&job.state, is, NAP_NS, false);
	atomic_store(&job.state, JOB_NONE);
	return is != JOB_BAD;
}

bool stash_is_whole(const struct stash_part *part)
{
	if (part->sum == part->read_sum)
		return true;
	log_line("memory.disk: it gives back other bytes than it was given");
	return false;
}

void stash_reset(void)
{
	atomic_store(&job.state, JOB_NONE);
	job.thread = false;
	stash_end();
}
