/*
 * keep.c: see keep.h.
 *
 * An image that may be handed over is written into memory that meted has made. meted can seal it only when nobody has
 * it mapped for writing, or shared so that it could become so: before, it is mapped anew for reading, in the same
 * place.
 */
#include "remote/worker/keep.h"

#include "base/clock.h"
#include "base/send_fds.h"
#include "wire/worker.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static int meted = -1;
static uint64_t asks_ns; /* not before */

void keep_open(int fd)
{
	meted = fd;
}

/* The next word of meted's, with a descriptor that is the caller's, or -1. False: none is there. */
static bool receive(struct worker_image *ret, int *ret_fd)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
	struct iovec io = { ret, sizeof(*ret) };
	struct msghdr msg = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	ssize_t n = meted >= 0 ? recvmsg(meted, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) : -1;
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	*ret_fd = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	if (n == sizeof(*ret) && ret->version == WORKER_IMAGE_VERSION)
		return true;
	if (*ret_fd >= 0)
		close(*ret_fd);
	return false;
}

bool keep_next(uint8_t ret_hash[SHA256_BYTES], uint64_t *ret_bytes, int *ret_fd)
{
	struct worker_image word;

	if (!receive(&word, ret_fd))
		return false;
	if (word.type != WORKER_IMAGE_HELD || *ret_fd < 0) {
		if (*ret_fd >= 0)
			close(*ret_fd);
		return false;
	}
	memcpy(ret_hash, word.hash, SHA256_BYTES);
	*ret_bytes = word.bytes;
	return true;
}

static void say(enum worker_image_type type, const uint8_t hash[SHA256_BYTES], uint64_t bytes)
{
	struct worker_image word = { .type = type, .version = WORKER_IMAGE_VERSION, .bytes = bytes };

	memcpy(word.hash, hash, SHA256_BYTES);
	/* Whether it arrives makes no difference here. */
	if (meted >= 0 && send_fd(meted, &word, sizeof(word), -1, MSG_DONTWAIT) < 0 && errno == EPIPE) {
		close(meted);
		meted = -1;
	}
}

/* Within the time that is left. What answers an earlier question comes too late. */
static bool answered(const uint8_t hash[SHA256_BYTES], uint64_t until_ns, int *ret_fd)
{
	struct pollfd p = { .fd = meted, .events = POLLIN };
	struct worker_image word;
	uint64_t now_ns;

	while (meted >= 0 && (now_ns = clock_now_ns()) < until_ns) {
		if (poll(&p, 1, (int)((until_ns - now_ns) / 1000000) + 1) <= 0)
			continue;
		if (!receive(&word, ret_fd))
			return false;
		if (word.type == WORKER_IMAGE_ROOM && !memcmp(word.hash, hash, SHA256_BYTES))
			return true;
		if (*ret_fd >= 0)
			close(*ret_fd);
	}
	return false;
}

/* Value: meted's memory for an image of these bytes, or -1. */
static int ask_room(const uint8_t hash[SHA256_BYTES], uint64_t bytes)
{
	uint64_t now_ns = clock_now_ns();
	int fd = -1;

	if (meted < 0 || bytes < WORKER_IMAGE_LEAST || now_ns < asks_ns)
		return -1;
	say(WORKER_IMAGE_ROOM, hash, bytes);
	if (answered(hash, now_ns + KEEP_WAIT_MS * 1000000u, &fd))
		return fd;
	asks_ns = clock_now_ns() + KEEP_REST_MS * UINT64_C(1000000);
	return -1;
}

static void *plain_room(uint64_t bytes)
{
	void *at = mmap(NULL, worker_image_room(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

void *keep_room(const uint8_t hash[SHA256_BYTES], uint64_t bytes, int *ret_fd)
{
	int fd = ask_room(hash, bytes);
	void *at = MAP_FAILED;

	if (fd >= 0)
		at = mmap(NULL, worker_image_room(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*ret_fd = at != MAP_FAILED ? fd : -1;
	if (at != MAP_FAILED)
		return at;
	if (fd >= 0)
		close(fd);
	return plain_room(bytes);
}

const void *keep_map(int fd, uint64_t bytes)
{
	void *at;

	/* Not fstat(): the C library may make another call of it, which a worker may not make. */
	if (lseek(fd, 0, SEEK_END) != (off_t)worker_image_room(bytes))
		return NULL;
	at = mmap(NULL, worker_image_room(bytes), PROT_READ, MAP_PRIVATE, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

/* In one step, so that the address stays the image's. */
static bool give_up_writing(void *data, uint64_t bytes, int fd)
{
	return mmap(data, worker_image_room(bytes), PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED;
}

void keep_give(void *data, const uint8_t hash[SHA256_BYTES], uint64_t bytes, int take_fd)
{
	if (give_up_writing(data, bytes, take_fd))
		say(WORKER_IMAGE_KEEP, hash, bytes);
	close(take_fd);
}

void keep_used(const uint8_t hash[SHA256_BYTES], uint64_t bytes)
{
	say(WORKER_IMAGE_USED, hash, bytes);
}
