/*
 * keep.c: see keep.h.
 *
 * An image that may be handed over is written into memory of its own file. It can be sealed only when nobody has it
 * mapped for writing, or shared so that it could become so: then it is mapped anew for reading, in the same place.
 */
#include "remote/worker/keep.h"

#include "base/send_fds.h"
#include "wire/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int meted = -1;

void keep_open(int fd)
{
	meted = fd;
}

bool keep_next(uint8_t ret_hash[SHA256_BYTES], uint64_t *ret_bytes, int *ret_fd)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
	struct worker_image word;
	struct iovec io = { &word, sizeof(word) };
	struct msghdr msg = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	ssize_t n = meted >= 0 ? recvmsg(meted, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) : -1;
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
		return false;
	memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	if (n != sizeof(word) || word.version != WORKER_IMAGE_VERSION || word.type != WORKER_IMAGE_HELD) {
		close(*ret_fd);
		return false;
	}
	memcpy(ret_hash, word.hash, SHA256_BYTES);
	*ret_bytes = word.bytes;
	return true;
}

static void *plain_room(uint64_t bytes)
{
	void *at = mmap(NULL, worker_image_room(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

void *keep_room(uint64_t bytes, int *ret_fd)
{
	int fd = -1;
	void *at = MAP_FAILED;

	if (meted >= 0 && bytes >= WORKER_IMAGE_LEAST)
		fd = memfd_create("mete-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && !ftruncate(fd, (off_t)worker_image_room(bytes)))
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

static void say(enum worker_image_type type, const uint8_t hash[SHA256_BYTES], uint64_t bytes, int fd)
{
	struct worker_image word = { .type = type, .version = WORKER_IMAGE_VERSION, .bytes = bytes };

	memcpy(word.hash, hash, SHA256_BYTES);
	/* Whether it arrives makes no difference here. */
	if (meted >= 0 && send_fd(meted, &word, sizeof(word), fd, MSG_DONTWAIT) < 0 && errno == EPIPE) {
		close(meted);
		meted = -1;
	}
}

/* In one step, so that the address stays the image's. */
static bool seal(void *data, uint64_t bytes, int fd)
{
	size_t size = worker_image_room(bytes);

	if (mmap(data, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		return false;
	return !fcntl(fd, F_ADD_SEALS, SEALS);
}

void keep_give(void *data, const uint8_t hash[SHA256_BYTES], uint64_t bytes, int fd)
{
	if (seal(data, bytes, fd))
		say(WORKER_IMAGE_KEEP, hash, bytes, fd);
	close(fd);
}

void keep_used(const uint8_t hash[SHA256_BYTES], uint64_t bytes)
{
	say(WORKER_IMAGE_USED, hash, bytes, -1);
}
