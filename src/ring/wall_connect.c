/* wall_connect.c: the client's half of the handshake, see wall.h. Nothing that the other side says is believed. */
#include "base/connect_remedy.h"
#include "base/send_fds.h"
#include "ring/wall.h"
#include "base/raw_fd.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#define PAGE 4096u
#define PATIENCE_NAP_NS 5000000

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef F_GET_SEALS
#define F_GET_SEALS 1034
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#endif

static uint64_t now_ms(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static long kernel(long r)
{
	return r < 0 ? -errno : r;
}

/* A high number, where programs rarely look. */
static int move_high(int fd)
{
	struct rlimit limit = { 0 };
	long least, high;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return fd;
	least = limit.rlim_cur > 4096 ? 3072 : (long)limit.rlim_cur * 3 / 4;
	high = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
	if (high < 0)
		return fd;
	raw_fd_close(fd);
	return (int)high;
}

static int wait_readable(int fd, uint64_t until_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t now;
	long r;

	for (;;) {
		now = now_ms();
		if (now >= until_ms)
			return -ETIMEDOUT;
		r = kernel(syscall(SYS_ppoll, &p, 1,
				   &(struct timespec){ (time_t)((until_ms - now) / 1000),
						       (long)((until_ms - now) % 1000) * 1000000 },
				   NULL, 0));
		if (r > 0)
			return 0;
		if (r < 0 && r != -EINTR)
			return (int)r;
	}
}

/* A listener whose queue is full answers -EAGAIN: asked again until the time is over. */
static int connect_to(const char *path, uint64_t until_ms)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(path);
	long fd, r;

	if (!length || length >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, length + 1);
	fd = kernel(syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return connect_socket_error((int)fd);
	for (;;) {
		r = kernel(
			syscall(SYS_connect, (int)fd, &address, offsetof(struct sockaddr_un, sun_path) + length + 1));
		if (!r)
			return move_high((int)fd);
		if ((r != -EAGAIN && r != -EINTR) || now_ms() >= until_ms)
			break;
		syscall(SYS_nanosleep, &(struct timespec){ 0, PATIENCE_NAP_NS }, NULL);
	}
	raw_fd_close((int)fd);
	return r == -EAGAIN ? -ETIMEDOUT : (int)r;
}

/* One packet with at most two descriptors; fds[] is -1 where none came. */
static int receive_welcome(int socket, struct wall_welcome *ret, int fds[2])
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct iovec io = { ret, sizeof(*ret) };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	long n = kernel(syscall(SYS_recvmsg, socket, &m, MSG_CMSG_CLOEXEC));
	struct cmsghdr *c;

	if (n < 0)
		return (int)n;
	for (c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			size_t got = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

			memcpy(fds, CMSG_DATA(c), (got < 2 ? got : 2) * sizeof(int));
		}
	if (!n)
		return -ECONNRESET;
	/* The kernel gives no more descriptors than the process may have open. */
	if (m.msg_flags & MSG_CTRUNC && fds[1] < 0)
		return -EMFILE;
	if (n >= (long)offsetof(struct wall_welcome, status) && ret->magic == WALL_MAGIC &&
	    ret->version != WALL_VERSION)
		return WALL_WRONG_VERSION;
	return n == sizeof(*ret) && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ? 0 : -EPROTO;
}

static bool part_good(uint64_t offset, uint64_t bytes, uint64_t least, uint64_t most)
{
	uint64_t end;

	return !(offset % PAGE) && !(bytes % PAGE) && offset >= least && !__builtin_add_overflow(offset, bytes, &end) &&
	       end <= most;
}

static bool welcome_good(const struct wall_welcome *w)
{
	return w->ring_bytes >= RING_LEAST_BYTES && w->ring_bytes <= RING_MOST_BYTES &&
	       !(w->ring_bytes & (w->ring_bytes - 1)) && !(w->arena_bytes % PAGE) &&
	       w->arena_bytes <= (UINT64_C(1) << 46) && part_good(w->in_offset, w->in_bytes, PAGE, w->arena_bytes) &&
	       part_good(w->out_offset, w->out_bytes, w->in_offset + w->in_bytes, w->arena_bytes) &&
	       part_good(w->heap_offset, 0, w->out_offset + w->out_bytes, w->arena_bytes);
}

/* The file can be neither shorter than it is to be, nor become so. */
static bool sealed(int fd, uint64_t bytes)
{
	struct stat st;
	long seals = syscall(SYS_fcntl, fd, F_GET_SEALS);

	return seals >= 0 && (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) == (F_SEAL_SHRINK | F_SEAL_GROW) &&
	       syscall(SYS_fstat, fd, &st) == 0 && (uint64_t)st.st_size == bytes;
}

static int map_control(struct wall *wall, int control)
{
	const struct wall_welcome *w = &wall->welcome;
	void *at;

	wall->control_bytes = WALL_AREA_BYTES + 2 * (uint64_t)ring_area_bytes(w->ring_bytes);
	wall->control_bytes = (wall->control_bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	if (!sealed(control, wall->control_bytes))
		return -EPROTO;
	at = mmap(NULL, wall->control_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, control, 0);
	if (at == MAP_FAILED)
		return -errno;
	wall->control = at;
	return 0;
}

static int map_arena(struct wall *wall, int arena)
{
	const struct wall_welcome *w = &wall->welcome;
	void *at = MAP_FAILED;

	wall->arena_bytes = w->arena_bytes;
	if (!sealed(arena, wall->arena_bytes))
		return -EPROTO;
	if (w->base && !(w->base % PAGE))
		at = mmap((void *)(uintptr_t)w->base, wall->arena_bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, arena, 0);
	if (at == MAP_FAILED)
		at = mmap(NULL, wall->arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, arena, 0);
	if (at == MAP_FAILED)
		return -errno;
	wall->arena = at;
	return 0;
}

/* Of an arena that stays the parts are to be where they were. */
static bool same_parts(const struct wall_welcome *a, const struct wall_welcome *b)
{
	return a->arena_bytes == b->arena_bytes && a->in_offset == b->in_offset && a->in_bytes == b->in_bytes &&
	       a->out_offset == b->out_offset && a->out_bytes == b->out_bytes && a->heap_offset == b->heap_offset &&
	       a->base == b->base && a->ring_bytes == b->ring_bytes;
}

static int enter(struct wall *wall, const int fds[2], const struct wall_welcome *before)
{
	const struct wall_welcome *w = &wall->welcome;
	int r;

	if (fds[0] < 0 || fds[1] < 0 || !welcome_good(w) || (before && !same_parts(w, before)))
		return -EPROTO;
	r = map_control(wall, fds[0]);
	if (!r && !before)
		r = map_arena(wall, fds[1]);
	if (r < 0)
		return r;
	ring_attach(&wall->requests, (struct ring_shared *)(void *)(wall->control + WALL_AREA_BYTES), w->ring_bytes,
		    &wall->bell.bell);
	ring_attach(&wall->replies,
		    (struct ring_shared *)(void *)(wall->control + WALL_AREA_BYTES + ring_area_bytes(w->ring_bytes)),
		    w->ring_bytes, &wall->bell.bell);
	return 0;
}

static int shake(struct wall *wall, const struct wall_hello *hello, const struct wall_welcome *before,
		 uint64_t until_ms, int fds[2])
{
	struct wall_welcome *w = &wall->welcome;
	const char mark = WALL_ARENA_MARK;
	int fd = wall->bell.socket;
	long r;

	r = kernel(syscall(SYS_sendto, fd, hello, sizeof(*hello), MSG_NOSIGNAL, NULL, 0));
	if (r >= 0)
		r = wait_readable(fd, until_ms);
	if (r >= 0)
		r = receive_welcome(fd, w, fds);
	if (r < 0)
		return (int)r;
	w->grant[sizeof(w->grant) - 1] = w->server[sizeof(w->server) - 1] = w->text[sizeof(w->text) - 1] = 0;
	if (r > 0)
		return (int)r;
	if (w->magic != WALL_MAGIC)
		return -EPROTO;
	if (w->status != WALL_OK)
		return (int)(w->status <= WALL_STATUS_MOST ? w->status : WALL_BAD);
	if (w->fingerprint != hello->fingerprint)
		return WALL_WRONG_VERSION;
	/* The bell that the flags ask for; the socket is the same. */
	struct wall_bell old = wall->bell;

	wall_bell_init(&wall->bell, w->flags);
	wall->bell.socket = old.socket;
	wall->bell.device = old.device;
	wall->bell.inode = old.inode;
	r = enter(wall, fds, before);
	if (!r && before)
		r = kernel(send_fd(fd, &mark, sizeof(mark), wall->arena_fd, 0));
	return r < 0 ? (int)r : 0;
}

/* `socket`: taken over; -errno when there is none. */
static int enter_by(struct wall *ret, int socket, const struct wall_hello *hello, uint64_t until_ms)
{
	int fds[2] = { -1, -1 }, r = socket;

	memset(ret, 0, sizeof(*ret));
	ret->control_fd = ret->arena_fd = -1;
	wall_bell_init(&ret->bell, 0);
	if (socket >= 0) {
		ret->bell.socket = socket;
		raw_fd_identify(socket, &ret->bell.device, &ret->bell.inode);
		r = shake(ret, hello, NULL, until_ms, fds);
	}
	raw_fd_close(fds[0]);
	if (!r && raw_fd_identify(fds[1], &ret->arena_device, &ret->arena_inode))
		ret->arena_fd = move_high(fds[1]);
	else
		raw_fd_close(fds[1]);
	if (r)
		wall_abandon(ret);
	return r;
}

/* What is the session's with one worker, and not the next one's. */
static void leave(struct wall *wall)
{
	if (wall->control)
		munmap(wall->control, wall->control_bytes);
	wall->control = NULL;
	if (raw_fd_is(wall->bell.socket, wall->bell.device, wall->bell.inode))
		raw_fd_close(wall->bell.socket);
	wall_bell_init(&wall->bell, 0);
}

int wall_leave(struct wall *wall)
{
	int saved = errno;

	if (wall->arena_fd < 0 || !raw_fd_is(wall->arena_fd, wall->arena_device, wall->arena_inode)) {
		wall->arena_fd = -1;
		errno = saved;
		return -EBADF;
	}
	wall_hang_up(wall);
	leave(wall);
	errno = saved;
	return 0;
}

void wall_part(struct wall *wall)
{
	int saved = errno;

	wall_hang_up(wall);
	leave(wall);
	errno = saved;
}

static int receive_stored(int socket, struct wall_stored *ret, int *ret_fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec io = { ret, sizeof(*ret) };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	long n = kernel(syscall(SYS_recvmsg, socket, &m, MSG_CMSG_CLOEXEC));
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m);
	int fd;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		*ret_fd = move_high(fd);
	}
	if (n != sizeof(*ret) || ret->magic != WALL_STORE_MAGIC || ret->place > WALL_STORED_NOWHERE)
		return n < 0 ? (int)n : -EPROTO;
	return (int)ret->place;
}

int wall_ask_store(const char *path, enum wall_store_word word, uint64_t bytes, unsigned int timeout_ms, int *ret_fd)
{
	const struct wall_store ask = {
		.magic = WALL_STORE_MAGIC, .version = WALL_STORE_VERSION, .word = word, .bytes = bytes
	};
	const uint64_t until_ms = now_ms() + timeout_ms;
	struct wall_stored answer;
	int saved = errno, fd = connect_to(path, until_ms);
	long r = fd;

	*ret_fd = -1;
	if (fd >= 0)
		r = kernel(syscall(SYS_sendto, fd, &ask, sizeof(ask), MSG_NOSIGNAL, NULL, 0));
	if (r >= 0 && word == WALL_STORE_ENDS)
		r = 0;
	else if (r >= 0)
		r = wait_readable(fd, until_ms);
	if (r >= 0 && word != WALL_STORE_ENDS)
		r = receive_stored(fd, &answer, ret_fd);
	if (r < 0) {
		raw_fd_close(*ret_fd);
		*ret_fd = -1;
	}
	raw_fd_close(fd);
	errno = saved;
	return (int)r;
}

int wall_return(struct wall *wall, const char *path, const struct wall_hello *hello, unsigned int timeout_ms)
{
	const struct wall_welcome before = wall->welcome;
	uint64_t until_ms = now_ms() + timeout_ms;
	int saved = errno, fds[2] = { -1, -1 }, r = connect_to(path, until_ms);

	if (r >= 0) {
		wall->bell.socket = r;
		raw_fd_identify(r, &wall->bell.device, &wall->bell.inode);
		r = shake(wall, hello, &before, until_ms, fds);
	}
	raw_fd_close(fds[0]);
	raw_fd_close(fds[1]);
	if (r) {
		leave(wall);
		/* What was refused is told; the shape is that of the arena. */
		memcpy(wall->refused, wall->welcome.text, sizeof(wall->refused));
		wall->welcome = before;
	}
	errno = saved;
	return r;
}

int wall_join(struct wall *ret, const struct wall *first, const char *path, const struct wall_hello *hello,
	      unsigned int timeout_ms)
{
	*ret = (struct wall){ .arena = first->arena,
			      .arena_bytes = first->arena_bytes,
			      .control_fd = -1,
			      .arena_fd = first->arena_fd,
			      .arena_device = first->arena_device,
			      .arena_inode = first->arena_inode,
			      .welcome = first->welcome };
	wall_bell_init(&ret->bell, 0);
	if (ret->arena_fd < 0 || !raw_fd_is(ret->arena_fd, ret->arena_device, ret->arena_inode))
		return -EBADF;
	return wall_return(ret, path, hello, timeout_ms);
}

void wall_exchange(struct wall *a, struct wall *b)
{
	struct wall was = *a;

	*a = *b;
	*b = was;
	/* Rings know where their bell is. */
	a->requests.bell = a->replies.bell = &a->bell.bell;
	b->requests.bell = b->replies.bell = &b->bell.bell;
}

int wall_connect(struct wall *ret, const char *path, const struct wall_hello *hello, unsigned int timeout_ms)
{
	uint64_t until_ms = now_ms() + timeout_ms;
	int saved = errno, r;

	r = enter_by(ret, connect_to(path, until_ms), hello, until_ms);
	errno = saved;
	return r;
}

int wall_connect_socket(struct wall *ret, int take_socket, const struct wall_hello *hello, unsigned int timeout_ms)
{
	int saved = errno, r;

	r = enter_by(ret, take_socket, hello, now_ms() + timeout_ms);
	errno = saved;
	return r;
}
