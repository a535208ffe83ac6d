/*
 * line.c: see line.h.
 *
 * Shared memory holds a ring for each direction; each side writes its own counters alone, and trusts none of the
 * other's. The socket beside it tells that the other process has ended. A goodbye is a byte on that socket; on a line
 * without shared memory it is what the thread sends last (run.c), so that the end of the stream alone is a loss. A
 * child made by fork() would keep the sockets open when this process ends, so it closes them.
 */
#include "libs/nccl/line.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING (1u << 20)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct ring {
	_Alignas(64) _Atomic uint64_t written; /* release by the writer; pairs with the reader's acquire */
	_Alignas(64) _Atomic uint64_t read;    /* release by the reader; pairs with the writer's acquire */
	_Alignas(64) uint8_t data[RING];
};

struct line {
	int fd;
	struct ring *memory; /* NULL: the socket; else two rings */
	struct ring *in, *out;
	struct line *next;
};

static pthread_mutex_t lines_lock = PTHREAD_MUTEX_INITIALIZER;
static struct line *lines; /* of this process; lines_lock guards it */

static void fork_begin(void)
{
	pthread_mutex_lock(&lines_lock);
}

static void fork_end(void)
{
	pthread_mutex_unlock(&lines_lock);
}

static void fork_child(void)
{
	for (struct line *l = lines; l; l = l->next) {
		close(l->fd);
		l->fd = -1;
	}
	pthread_mutex_unlock(&lines_lock);
}

static void fork_watch(void)
{
	pthread_atfork(fork_begin, fork_end, fork_child);
}

struct line *line_new(int fd)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct line *l = calloc(1, sizeof(*l));

	if (!l) {
		close(fd);
		return NULL;
	}
	pthread_once(&once, fork_watch);
	l->fd = fd;
	pthread_mutex_lock(&lines_lock);
	l->next = lines;
	lines = l;
	pthread_mutex_unlock(&lines_lock);
	return l;
}

static void line_forget(const struct line *l)
{
	struct line **at = &lines;

	pthread_mutex_lock(&lines_lock);
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	pthread_mutex_unlock(&lines_lock);
}

static struct line *line_shared(int fd, int memory, bool first)
{
	struct line *l = line_new(fd);
	void *at;

	if (!l)
		return NULL;
	at = mmap(NULL, 2 * sizeof(struct ring), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (at == MAP_FAILED) {
		line_free(l, true);
		return NULL;
	}
	l->memory = at;
	l->out = l->memory + (first ? 0 : 1);
	l->in = l->memory + (first ? 1 : 0);
	return l;
}

struct line *line_offer(int fd)
{
	int memory = (int)syscall(SYS_memfd_create, "mete-nccl", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 'm';
	struct iovec iov = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	struct line *l = NULL;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &memory, sizeof(int));
	if (memory >= 0 && !ftruncate(memory, 2 * sizeof(struct ring)) && !fcntl(memory, F_ADD_SEALS, SEALS) &&
	    sendmsg(fd, &m, MSG_NOSIGNAL) == 1)
		l = line_shared(fd, memory, true);
	else
		close(fd);
	if (memory >= 0)
		close(memory);
	return l;
}

struct line *line_accept(int fd, int memory)
{
	struct stat st;

	/* sealed: it cannot shrink under the reader */
	if (fstat(memory, &st) || (size_t)st.st_size != 2 * sizeof(struct ring) ||
	    (fcntl(memory, F_GET_SEALS) & SEALS) != SEALS) {
		close(fd);
		errno = EPROTO;
		return NULL;
	}
	return line_shared(fd, memory, false);
}

void line_free(struct line *l, bool lost)
{
	char byte = 'b';

	if (!l)
		return;
	if (l->memory) {
		if (!lost)
			send(l->fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		munmap(l->memory, 2 * sizeof(struct ring));
	}
	line_forget(l);
	close(l->fd);
	free(l);
}

static long ring_write(struct ring *r, const uint8_t *from, size_t bytes)
{
	uint64_t at = atomic_load_explicit(&r->written, memory_order_relaxed);
	uint64_t used = at - atomic_load_explicit(&r->read, memory_order_acquire);
	size_t room, first;

	if (used > RING)
		return -1;
	room = RING - used;
	bytes = bytes < room ? bytes : room;
	first = RING - at % RING;
	first = first < bytes ? first : bytes;
	memcpy(r->data + at % RING, from, first);
	memcpy(r->data, from + first, bytes - first);
	atomic_store_explicit(&r->written, at + bytes, memory_order_release);
	return (long)bytes;
}

static long ring_read(struct ring *r, uint8_t *to, size_t bytes)
{
	uint64_t at = atomic_load_explicit(&r->read, memory_order_relaxed);
	uint64_t there = atomic_load_explicit(&r->written, memory_order_acquire) - at;
	size_t first;

	if (there > RING)
		return -1;
	bytes = bytes < there ? bytes : there;
	first = RING - at % RING;
	first = first < bytes ? first : bytes;
	memcpy(to, r->data + at % RING, first);
	memcpy(to + first, r->data, bytes - first);
	atomic_store_explicit(&r->read, at + bytes, memory_order_release);
	return (long)bytes;
}

static long outcome(ssize_t n)
{
	if (n > 0)
		return n;
	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? 0 : -1;
}

long line_write(struct line *l, const void *from, size_t bytes)
{
	if (l->memory)
		return ring_write(l->out, from, bytes);
	return outcome(send(l->fd, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL));
}

long line_read(struct line *l, void *to, size_t bytes)
{
	if (l->memory)
		return ring_read(l->in, to, bytes);
	return outcome(recv(l->fd, to, bytes, MSG_DONTWAIT));
}

bool line_lost(struct line *l)
{
	char byte;
	ssize_t n = recv(l->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	return !n || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

bool line_over(struct line *l)
{
	char byte;

	return l->memory && recv(l->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1 &&
	       atomic_load_explicit(&l->in->written, memory_order_acquire) ==
		       atomic_load_explicit(&l->in->read, memory_order_relaxed);
}

int line_fd(const struct line *l)
{
	return l->memory ? -1 : l->fd;
}
