/* wall_make.c: the worker's (and the relay's) half of the handshake, see wall.h. */
#include "base/cleanup.h"
#include "base/send_fds.h"
#include "ring/wall.h"
#include "ring/wall_peek.h"
#include "base/raw_fd.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#define PAGE 4096u
#define RING_BYTES (1u << 20)
#define STAGING_BYTES (UINT64_C(16) << 20) /* given out lowest place first: of this only what is needed is touched */
#define HEAP_BYTES (UINT64_C(64) << 30)

/*
 * Where neither programs nor libraries nor heaps lie on 64-bit Linux: a gigabyte's multiple, at random. The thread
 * sanitizer refuses these addresses: it keeps its own data there. It leaves the lowest half terabyte to programs (LLVM,
 * compiler-rt/lib/tsan/rtl/tsan_platform.h, kLoAppMemEnd).
 */
#if defined(__SANITIZE_THREAD__)
#define BASE_LEAST UINT64_C(0x1000000000)
#define BASE_SPAN UINT64_C(0x5000000000)
#else
#define BASE_LEAST UINT64_C(0x200000000000)
#define BASE_SPAN UINT64_C(0x300000000000)
#endif
#define BASE_STEP (UINT64_C(1) << 30)
#define BASE_TRIES 16

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

static int make_sealed(const char *name, uint64_t bytes)
{
	_cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	return steal_fd(&fd);
}

/* At an address that is likely to be free in the client as well. */
static void *map_arena(int fd, uint64_t bytes)
{
	uint64_t random = 0;
	void *at, *wanted;

	for (int i = 0; i < BASE_TRIES; i++) {
		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
			random = random * 6364136223846793005u + (uint64_t)clock() + (uint64_t)getpid();
		wanted = (void *)(uintptr_t)(BASE_LEAST + random % (BASE_SPAN / BASE_STEP) * BASE_STEP);
		at = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd,
			  0);
		if (at == wanted)
			return at;
		if (at != MAP_FAILED)
			munmap(at, bytes);
	}
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
}

static int map_both(struct wall *wall)
{
	void *at = mmap(NULL, wall->control_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, wall->control_fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	wall->control = at;
	at = map_arena(wall->arena_fd, wall->arena_bytes);
	if (at == MAP_FAILED)
		return -errno;
	wall->arena = at;
	return 0;
}

static void fill(struct wall *wall, const struct wall_shape *shape)
{
	struct wall_welcome *w = &wall->welcome;

	w->magic = WALL_MAGIC;
	w->version = WALL_VERSION;
	w->flags = shape->flags;
	w->ring_bytes = shape->ring_bytes ? shape->ring_bytes : RING_BYTES;
	w->in_offset = PAGE;
	w->in_bytes = shape->in_bytes ? shape->in_bytes : STAGING_BYTES;
	w->out_offset = w->in_offset + w->in_bytes;
	w->out_bytes = shape->out_bytes ? shape->out_bytes : STAGING_BYTES;
	w->heap_offset = w->out_offset + w->out_bytes;
	w->arena_bytes = w->heap_offset + (shape->heap_bytes ? shape->heap_bytes : HEAP_BYTES);
	wall->arena_bytes = w->arena_bytes;
	wall->control_bytes = WALL_AREA_BYTES + 2 * (uint64_t)ring_area_bytes(w->ring_bytes);
	wall->control_bytes = (wall->control_bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static void describe(struct wall *wall)
{
	const struct wall_welcome *w = &wall->welcome;

	*(struct wall_area *)(void *)wall->control = (struct wall_area){
		.magic = w->magic,
		.version = w->version,
		.flags = w->flags,
		.ring_bytes = w->ring_bytes,
		.requests_offset = WALL_AREA_BYTES,
		.replies_offset = WALL_AREA_BYTES + ring_area_bytes(w->ring_bytes),
	};
}

int wall_make(struct wall *ret, const struct wall_shape *shape)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->control_fd = ret->arena_fd = -1;
	wall_bell_init(&ret->bell, shape->flags);
	fill(ret, shape);
	ret->control_fd = make_sealed("mete-rings", ret->control_bytes);
	r = ret->control_fd < 0 ? ret->control_fd : 0;
	if (!r) {
		ret->arena_fd = make_sealed("mete-arena", ret->arena_bytes);
		r = ret->arena_fd < 0 ? ret->arena_fd : map_both(ret);
	}
	if (r < 0) {
		wall_abandon(ret);
		return r;
	}
	describe(ret);
	ret->welcome.base = (uint64_t)(uintptr_t)ret->arena;
	ring_attach(&ret->requests, (struct ring_shared *)(void *)(ret->control + WALL_AREA_BYTES),
		    ret->welcome.ring_bytes, &ret->bell.bell);
	ring_attach(&ret->replies,
		    (struct ring_shared *)(void *)(ret->control + WALL_AREA_BYTES +
						   ring_area_bytes(ret->welcome.ring_bytes)),
		    ret->welcome.ring_bytes, &ret->bell.bell);
	return 0;
}

/* What a hello of `n` bytes is worth, the fingerprint aside. 0, or an enum wall_status. */
static int judge_hello(const struct wall_hello *hello, ssize_t n)
{
	if ((size_t)n < offsetof(struct wall_hello, fingerprint) || hello->magic != WALL_MAGIC)
		return WALL_BAD;
	if (hello->version != WALL_VERSION)
		return WALL_WRONG_VERSION;
	return n == sizeof(*hello) ? 0 : WALL_BAD;
}

int wall_peek_hello(int socket)
{
	struct wall_hello hello = { 0 };
	ssize_t n = recv(socket, &hello, sizeof(hello), MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);

	if (n <= 0)
		return n < 0 ? -errno : -ECONNRESET;
	return judge_hello(&hello, n);
}

int wall_take_store(int socket, struct wall_store *ret)
{
	ssize_t n = recv(socket, ret, sizeof(*ret), MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);

	if (n < (ssize_t)sizeof(ret->magic) || ret->magic != WALL_STORE_MAGIC)
		return -EAGAIN;
	n = recv(socket, ret, sizeof(*ret), MSG_TRUNC | MSG_DONTWAIT);
	return n == sizeof(*ret) && ret->version == WALL_STORE_VERSION && ret->word >= WALL_STORE_ASKS &&
			       ret->word <= WALL_STORE_ENDS && !(ret->bytes % 4096)
		       ? 0
		       : -EPROTO;
}

bool wall_peek_brings(int socket, uint64_t *ret_bytes)
{
	struct wall_hello hello = { 0 };
	ssize_t n = recv(socket, &hello, sizeof(hello), MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);

	if (n != sizeof(hello) || !(hello.flags & (WALL_BRINGS | WALL_BASED)))
		return false;
	*ret_bytes = hello.brings.bytes;
	return true;
}

/* Takes a packet with at most one descriptor. */
static ssize_t receive(int socket, void *ret, size_t bytes, int *ret_fd)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
	struct iovec io = { ret, bytes };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	ssize_t n = recvmsg(socket, &m, MSG_TRUNC | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	return n;
}

/* 0; -errno: nothing has come in time. */
static int wait_readable(int socket, unsigned int timeout_ms)
{
	struct pollfd p = { .fd = socket, .events = POLLIN };
	int r;

	do {
		r = poll(&p, 1, (int)timeout_ms);
	} while (r < 0 && errno == EINTR);
	return r > 0 ? 0 : r < 0 ? -errno : -ETIMEDOUT;
}

int wall_receive_arena(int socket, int *ret, unsigned int timeout_ms)
{
	char mark = 0;
	int r;

	*ret = -1;
	r = wait_readable(socket, timeout_ms);
	if (r)
		return r;
	if (receive(socket, &mark, sizeof(mark), ret) == sizeof(mark) && mark == WALL_ARENA_MARK && *ret >= 0)
		return 0;
	raw_fd_close(*ret);
	*ret = -1;
	return -EPROTO;
}

int wall_receive_hello(int socket, uint32_t fingerprint, struct wall_hello *ret, unsigned int timeout_ms)
{
	ssize_t n;
	int r = wait_readable(socket, timeout_ms);

	memset(ret, 0, sizeof(*ret));
	if (r)
		return r;
	n = recv(socket, ret, sizeof(*ret), MSG_TRUNC | MSG_DONTWAIT);
	if (n <= 0)
		return n < 0 ? -errno : -ECONNRESET;
	/* What a client brings (`brings`) ends before the name's last byte. */
	ret->command[sizeof(ret->command) - 1] = ret->name[sizeof(ret->name) - 1] = 0;
	r = judge_hello(ret, n);
	if (r)
		return r;
	if (ret->fingerprint != fingerprint)
		return WALL_WRONG_VERSION;
	/* Before the client is welcome, and sends it at once: the kernel would refuse to take it. */
	if (ret->flags & WALL_BRINGS)
		send_fds_admit(socket, true);
	return 0;
}

bool wall_base_good(uint64_t base)
{
	return base >= BASE_LEAST && base - BASE_LEAST < BASE_SPAN && !(base % BASE_STEP);
}

int wall_bring(struct wall *wall, int take_arena, uint64_t base)
{
	struct stat st;
	int seals = fcntl(take_arena, F_GET_SEALS);
	void *wanted = (void *)(uintptr_t)base, *at = MAP_FAILED;

	if (!wall_base_good(base) || seals < 0 ||
	    (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW) ||
	    syscall(SYS_fstat, take_arena, &st) || (uint64_t)st.st_size != wall->arena_bytes) {
		close(take_arena);
		return -EPROTO;
	}
	munmap(wall->arena, wall->arena_bytes);
	wall->arena = NULL;
	at = mmap(wanted, wall->arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
		  take_arena, 0);
	if (at != MAP_FAILED && at != wanted)
		munmap(at, wall->arena_bytes);
	if (at != wanted) {
		close(take_arena);
		return -EEXIST;
	}
	wall->arena = at;
	wall->welcome.base = base;
	close(take_arena);
	return 0;
}

static void *reserve(void *wanted, uint64_t bytes, int flags)
{
	void *at = mmap(wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	if (at == MAP_FAILED || !wanted || at == wanted)
		return at;
	munmap(at, bytes);
	return MAP_FAILED;
}

/* The whole arena, to a place that is reserved. */
static int put_arena(struct wall *wall, void *at)
{
	if (mremap(wall->arena, wall->arena_bytes, wall->arena_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at)
		return -errno;
	wall->arena = at;
	return 0;
}

int wall_rebase(struct wall *wall, uint64_t base)
{
	void *wanted = (void *)(uintptr_t)base, *away, *at;
	int r;

	if (!wall_base_good(base))
		return -EPROTO;
	if (wanted == wall->arena)
		return 0;
	/* Out of its own way first: the two places may overlap. */
	away = reserve(NULL, wall->arena_bytes, 0);
	r = away == MAP_FAILED ? -errno : put_arena(wall, away);
	if (r)
		return r;
	at = reserve(wanted, wall->arena_bytes, MAP_FIXED_NOREPLACE);
	r = at == MAP_FAILED ? -EEXIST : put_arena(wall, at);
	if (!r)
		wall->welcome.base = base;
	return r;
}

static int send_welcome(int socket, const struct wall_welcome *w, const int *fds, unsigned int n)
{
	return send_fds(socket, w, sizeof(*w), fds, n, MSG_DONTWAIT) == (ssize_t)sizeof(*w) ? 0 : -errno;
}

/* The client's process, or -1: its end is then seen by the socket alone. */
static int peer_pidfd(int socket)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(int);
	int fd = -1;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0)
		return fd;
	size = sizeof(peer);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0)
		return -1;
	return (int)syscall(SYS_pidfd_open, peer.pid, 0);
}

int wall_welcome(struct wall *wall, int socket, const struct wall_welcome *more)
{
	struct wall_welcome *w = &wall->welcome;
	int fds[2] = { wall->control_fd, wall->arena_fd }, r;

	w->status = WALL_OK;
	w->fingerprint = more->fingerprint;
	w->flags |= more->flags;
	if (more->base)
		w->base = more->base;
	memcpy(w->grant, more->grant, sizeof(w->grant));
	memcpy(w->server, more->server, sizeof(w->server));
	memcpy(w->text, more->text, sizeof(w->text));
	((struct wall_area *)(void *)wall->control)->fingerprint = w->fingerprint;
	((struct wall_area *)(void *)wall->control)->flags = w->flags;
	wall->bell.pidfd = peer_pidfd(socket);
	if (!raw_fd_identify(socket, &wall->bell.device, &wall->bell.inode))
		return -errno;
	r = send_welcome(socket, w, fds, 2);
	if (r < 0)
		return r;
	wall->bell.socket = socket;
	raw_fd_close(wall->control_fd);
	raw_fd_close(wall->arena_fd);
	wall->control_fd = wall->arena_fd = -1;
	return 0;
}

void wall_refuse(int socket, enum wall_status status, const char *fmt, ...)
{
	struct wall_welcome w = { .magic = WALL_MAGIC, .version = WALL_VERSION, .status = status };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w.text, sizeof(w.text), fmt, ap);
	va_end(ap);
	send_welcome(socket, &w, NULL, 0);
}

void wall_refuse_of(int socket, const char *server, enum wall_status status, const char *text)
{
	struct wall_welcome w = { .magic = WALL_MAGIC, .version = WALL_VERSION, .status = status };

	snprintf(w.server, sizeof(w.server), "%.63s", server);
	snprintf(w.text, sizeof(w.text), "%.255s", text);
	send_welcome(socket, &w, NULL, 0);
}
