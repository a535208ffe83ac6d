/* move_store.c: see move_store.h. One session moves at a time, by its own thread alone. */
#include "remote/client/move_store.h"

#include "base/cipher.h"
#include "base/raw_fd.h"
#include "core/log.h"
#include "remote/client/session.h"
#include "ring/wall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define WINDOW (UINT64_C(8) << 20)
#define BLOCK UINT64_C(4096) /* of what a disk takes without copying */
#define PATIENCE_MS 5000u
#define TELL_MS 500u

static struct {
	const struct session *session;
	uint64_t bytes, mapped;
	uint8_t *memory; /* all of it, or a window; NULL: there is none */
	uint64_t at;	 /* of this pass */
	bool reads;
	int fd; /* 0: it is in this process */
	uint64_t device, inode;
	uint8_t key[CIPHER_KEY_BYTES];
	uint64_t *sum; /* of each window */
} store;

static bool is_on_disk(void)
{
	return store.fd > 0;
}

static bool map(uint64_t bytes)
{
	store.mapped = bytes + 1;
	store.memory = mmap(NULL, store.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (store.memory == MAP_FAILED)
		store.memory = NULL;
	if (store.memory)
		madvise(store.memory, store.mapped, MADV_HUGEPAGE);
	return store.memory;
}

/* The kernel would refuse to write beyond the program's own limit, by a signal. */
static bool may_be_so_large(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur >= bytes;
}

static bool take(int fd)
{
	store.fd = fd;
	return raw_fd_identify(fd, &store.device, &store.inode) && may_be_so_large(store.bytes + BLOCK) &&
	       syscall(SYS_getrandom, store.key, sizeof(store.key), 0) == (long)sizeof(store.key);
}

static uint64_t file_bytes(void)
{
	return (store.bytes + BLOCK - 1) / BLOCK * BLOCK;
}

static enum store_outcome begin_on_disk(int fd)
{
	const uint64_t windows = store.bytes / WINDOW + 1;

	store.sum = calloc(windows, sizeof(*store.sum));
	if (take(fd) && store.sum && map(WINDOW)) {
		madvise(store.memory, store.mapped, MADV_DONTFORK);
		return STORE_READY;
	}
	store_end();
	return STORE_NO_MEMORY;
}

enum store_outcome store_begin(const struct session *session, uint64_t bytes, bool near)
{
	int fd = -1, place = WALL_STORED_HOST;

	store_end();
	store.session = session;
	store.bytes = bytes;
	/* Only meted itself knows the question, and only by a wall of this machine. */
	if (near && bytes && session->coherent)
		place = wall_ask_store(session->path, WALL_STORE_ASKS, file_bytes(), PATIENCE_MS, &fd);
	if (place == WALL_STORED_NOWHERE)
		return STORE_NO_ROOM;
	if (place == WALL_STORED_DISK && fd >= 0)
		return begin_on_disk(fd);
	return map(bytes) ? STORE_READY : STORE_NO_MEMORY;
}

/* ---- windows ---- */

static uint64_t window_bytes(uint64_t at)
{
	const uint64_t begin = at / WINDOW * WINDOW;

	return store.bytes - begin < WINDOW ? store.bytes - begin : WINDOW;
}

static uint64_t sum_of(const uint8_t *data, uint64_t bytes)
{
	uint64_t word, sum = bytes;

	for (uint64_t i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
		memcpy(&word, data + i, sizeof(word));
		sum = (sum + word) * UINT64_C(0x9e3779b97f4a7c15);
		sum ^= sum >> 29;
	}
	return sum;
}

/* Each window has a stream of its own; a key is used for one writing alone. */
static void encrypt(uint64_t begin, uint64_t bytes)
{
	uint8_t nonce[CIPHER_NONCE_BYTES] = { 0 };
	struct cipher cipher;

	memcpy(nonce, &begin, sizeof(begin));
	cipher_begin(&cipher, store.key, nonce);
	cipher_apply(&cipher, 0, store.memory, bytes);
	memset(&cipher, 0, sizeof(cipher));
	__asm__ volatile("" : : "r"(&cipher) : "memory");
}

/* The program may have closed it: meted has it as well. */
static bool stands(void)
{
	int fd = -1;

	if (raw_fd_is(store.fd, store.device, store.inode))
		return true;
	if (wall_ask_store(store.session->path, WALL_STORE_HAS, file_bytes(), PATIENCE_MS, &fd) == WALL_STORED_DISK &&
	    fd >= 0 && raw_fd_is(fd, store.device, store.inode)) {
		store.fd = fd;
		return true;
	}
	raw_fd_close(fd);
	return false;
}

static bool complain(const char *what, int error)
{
	log_line("memory.disk: %s: error %d%s", what, error,
		 error == EBADF ? " (the program has closed the descriptor, and meted has it no more)" : "");
	return false;
}

static bool transfer(uint64_t begin, uint64_t bytes, bool in)
{
	int saved = errno;
	long n = 0;

	if (!stands())
		return complain("the file is gone", EBADF);
	for (uint64_t done = 0; done<bytes; done += n> 0 ? (uint64_t)n : 0) {
		uint8_t *at = store.memory + done;

		n = in ? syscall(SYS_pread64, store.fd, at, bytes - done, begin + done)
		       : syscall(SYS_pwrite64, store.fd, at, bytes - done, begin + done);
		if (n <= 0 && !(n < 0 && errno == EINTR)) {
			complain(in ? "a read" : "a write", n ? errno : ENODATA);
			errno = saved;
			return false;
		}
	}
	errno = saved;
	return true;
}

static uint64_t padded(uint64_t bytes)
{
	return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

static bool write_window(uint64_t at)
{
	const uint64_t begin = at / WINDOW * WINDOW, bytes = padded(window_bytes(at));

	memset(store.memory + window_bytes(at), 0, bytes - window_bytes(at));
	store.sum[begin / WINDOW] = sum_of(store.memory, bytes);
	encrypt(begin, bytes);
	return transfer(begin, bytes, false);
}

static bool read_window(uint64_t begin)
{
	const uint64_t bytes = padded(window_bytes(begin));

	if (!transfer(begin, bytes, true))
		return false;
	encrypt(begin, bytes);
	if (sum_of(store.memory, bytes) == store.sum[begin / WINDOW])
		return true;
	log_line("memory.disk: it gives back other bytes than it was given");
	return false;
}

/* ---- steps ---- */

bool store_rewind(bool reads)
{
	store.at = 0;
	store.reads = reads;
	return !reads || !is_on_disk() || !store.bytes || read_window(0);
}

uint8_t *store_at(uint64_t *bytes)
{
	const uint64_t in_window = store.at % WINDOW;

	if (!is_on_disk())
		return store.memory + store.at;
	if (*bytes > WINDOW - in_window)
		*bytes = WINDOW - in_window;
	return store.memory + in_window;
}

bool store_done(uint64_t bytes)
{
	const uint64_t before = store.at;

	store.at += bytes;
	if (!is_on_disk() || store.at % WINDOW)
		return true;
	if (!store.reads)
		return write_window(before);
	return store.at >= store.bytes || read_window(store.at);
}

bool store_flush(void)
{
	return !is_on_disk() || !(store.at % WINDOW) || write_window(store.at);
}

void store_tell(void)
{
	int fd = -1;

	if (is_on_disk())
		wall_ask_store(store.session->path, WALL_STORE_HAS, file_bytes(), TELL_MS, &fd);
	raw_fd_close(fd);
}

static void let_go(void)
{
	if (is_on_disk() && raw_fd_is(store.fd, store.device, store.inode))
		raw_fd_close(store.fd);
	free(store.sum);
	memset(&store, 0, sizeof(store));
	__asm__ volatile("" : : "r"(&store) : "memory"); /* the key is wiped */
}

void store_end(void)
{
	int none;

	if (is_on_disk())
		wall_ask_store(store.session->path, WALL_STORE_ENDS, 0, TELL_MS, &none);
	if (store.memory)
		munmap(store.memory, store.mapped);
	let_go();
}

void store_forget(void)
{
	if (store.memory && !is_on_disk()) /* the window is not there in a child */
		munmap(store.memory, store.mapped);
	let_go();
}
