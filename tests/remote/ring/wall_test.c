/* wall_test.c: the handshake between two processes, the memory they share, and how each learns of the other's end. */
#include "base/clock.h"
#include "base/tap.h"
#include "ring/wall.h"
#include "ring/wall_peek.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FINGERPRINT 0x1234u
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define HEAP (UINT64_C(1) << 30)

static char path[64];
static int listener;

static const struct wall_hello hello = {
	.magic = WALL_MAGIC, .version = WALL_VERSION, .fingerprint = FINGERPRINT, .command = "wall_test"
};

static void listen_here(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(path, sizeof(path), "/tmp/mete-wall-test-%d", (int)getpid());
	memcpy(address.sun_path, path, strlen(path) + 1);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 4))
		tap_skip_all("no unix sockets here");
}

/* The worker of one client: answers each message with the same bytes plus one, until the client is gone. */
static int echo(struct wall *wall)
{
	const void *at;
	void *reply;
	size_t size;
	uint64_t value;
	int r;

	while ((r = ring_next(&wall->requests, &at, &size, RING_FOREVER)) > 0) {
		memcpy(&value, at, sizeof(value));
		ring_release(&wall->requests);
		if (ring_begin(&wall->replies, sizeof(value), &reply))
			break;
		value++;
		memcpy(reply, &value, sizeof(value));
		ring_commit(&wall->replies, sizeof(value));
	}
	return r;
}

static int serve(uint32_t flags)
{
	struct wall_shape shape = { .heap_bytes = HEAP, .flags = flags };
	struct wall_welcome more = { .fingerprint = FINGERPRINT, .grant = "some", .server = "here" };
	struct wall_hello said;
	struct wall wall;
	int fd, r;

	if (wall_make(&wall, &shape))
		return 10;
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	r = wall_receive_hello(fd, FINGERPRINT, &said, 5000);
	if (r)
		return 11;
	if (strcmp(said.command, "wall_test") || wall_welcome(&wall, fd, &more))
		return 12;
	r = echo(&wall);
	/* what the client wrote into the arena is there */
	if (r == -EPIPE && memcmp(wall_arena(&wall, wall.welcome.heap_offset, 5), "hello", 5))
		return 13;
	wall_close(&wall);
	return r == -EPIPE ? 0 : 14;
}

static pid_t start(int (*what)(uint32_t), uint32_t flags)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(what(flags));
	return pid;
}

static int status_of(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static int64_t ask(struct wall *wall, uint64_t value)
{
	const void *at;
	size_t size;
	void *room;
	int r = ring_begin(&wall->requests, sizeof(value), &room);

	if (r)
		return r;
	memcpy(room, &value, sizeof(value));
	ring_commit(&wall->requests, sizeof(value));
	r = ring_next(&wall->replies, &at, &size, RING_FOREVER);
	if (r <= 0)
		return r;
	memcpy(&value, at, sizeof(value));
	ring_release(&wall->replies);
	return (int64_t)value;
}

static void session(uint32_t flags)
{
	pid_t pid = start(serve, flags);
	bool good = true;
	struct wall wall;

	errno = 77;
	is(wall_connect(&wall, path, &hello, 5000), 0);
	is(errno, 77);
	is_str(wall.welcome.grant, "some");
	is_str(wall.welcome.server, "here");
	is((uintptr_t)wall.arena, wall.welcome.base);
	is(wall.welcome.arena_bytes - wall.welcome.heap_offset, HEAP);
	ok(!wall_arena(&wall, wall.arena_bytes, 1));
	ok(!wall_arena(&wall, UINT64_MAX, 2));
	ok(wall_arena(&wall, wall.arena_bytes - 1, 1) != NULL);
	memcpy(wall_arena(&wall, wall.welcome.heap_offset, 5), "hello", 5);
	for (uint64_t i = 0; i < 2000; i++)
		good = good && ask(&wall, i) == (int64_t)i + 1;
	ok(good);
	wall_close(&wall);
	is(status_of(pid), 0);
}

/* The worker's address is taken here: the arena lies elsewhere, and everything works the same. */
static void other_address(void)
{
	int fds[2];
	struct wall wall, taken;
	struct wall_shape shape = { .heap_bytes = HEAP };
	struct wall_welcome more = { .fingerprint = FINGERPRINT };
	struct wall_hello said;

	is(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	close(fds[0]);
	close(fds[1]);
	is(wall_make(&taken, &shape), 0);
	pid_t pid = fork();

	if (pid == 0) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		int r = wall_receive_hello(fd, FINGERPRINT, &said, 5000);

		if (!r)
			r = wall_welcome(&taken, fd, &more);
		if (!r)
			echo(&taken);
		_exit(r ? 1 : memcmp(wall_arena(&taken, taken.welcome.heap_offset, 5), "there", 5) ? 2 : 0);
	}
	/* `taken` is mapped in this process as well */
	is(wall_connect(&wall, path, &hello, 5000), 0);
	ok((uintptr_t)wall.arena != wall.welcome.base);
	memcpy(wall_arena(&wall, wall.welcome.heap_offset, 5), "there", 5);
	is(ask(&wall, 41), 42);
	wall_close(&wall);
	wall_abandon(&taken);
	is(status_of(pid), 0);
}

static int refuse(uint32_t status)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct wall_hello said;

	if (wall_receive_hello(fd, FINGERPRINT, &said, 5000))
		return 1;
	wall_refuse(fd, status, "%s: no worker is free; try again later", said.command);
	close(fd);
	return 0;
}

static int expect_wrong(uint32_t wanted)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct wall_hello said;
	int r = wall_receive_hello(fd, FINGERPRINT, &said, 5000);

	if (r > 0)
		wall_refuse(fd, (enum wall_status)r, "no");
	close(fd);
	return r == (int)wanted ? 0 : 100 + r;
}

static void refused(void)
{
	struct wall_hello other = hello;
	struct wall wall;
	pid_t pid = start(refuse, WALL_FULL);

	is(wall_connect(&wall, path, &hello, 5000), WALL_FULL);
	is_str(wall.welcome.text, "wall_test: no worker is free; try again later");
	is(status_of(pid), 0);
	other.fingerprint++;
	pid = start(expect_wrong, WALL_WRONG_VERSION);
	is(wall_connect(&wall, path, &other, 5000), WALL_WRONG_VERSION);
	is(status_of(pid), 0);
	other = hello;
	other.version++;
	pid = start(expect_wrong, WALL_WRONG_VERSION);
	is(wall_connect(&wall, path, &other, 5000), WALL_WRONG_VERSION);
	is(status_of(pid), 0);
	other = hello;
	other.magic++;
	pid = start(expect_wrong, WALL_BAD);
	is(wall_connect(&wall, path, &other, 5000), WALL_BAD);
	is(status_of(pid), 0);
	is(wall_connect(&wall, "/tmp/mete-no-such-socket", &hello, 5000), -ENOENT);
	/* nobody answers */
	uint64_t before = clock_now_ns();

	is(wall_connect(&wall, path, &hello, 100), -ETIMEDOUT);
	ok(clock_now_ns() - before < 2000000000);
	close(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
}

/* A worker that lies: what of it a client believes would make it fault. */
enum lie { UNSEALED, SHORT, NO_DESCRIPTORS, HALF_PACKET, SILENT_END, ODD_RING, FAR_HEAP, OVERLAP, LIES };

static int lie(uint32_t which)
{
	struct wall_shape shape = { .heap_bytes = HEAP };
	struct wall_welcome w;
	struct wall wall;
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct iovec io = { &w, sizeof(w) };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), fds[2];

	struct wall_hello said;

	if (wall_receive_hello(fd, FINGERPRINT, &said, 5000) || wall_make(&wall, &shape))
		return 1;
	if (which == SILENT_END)
		return 0;
	w = wall.welcome;
	w.fingerprint = FINGERPRINT;
	fds[0] = wall.control_fd;
	fds[1] = wall.arena_fd;
	if (which == UNSEALED || which == SHORT) {
		fds[1] = memfd_create("lie", MFD_ALLOW_SEALING);
		if (ftruncate(fds[1], which == SHORT ? 4096 : (off_t)w.arena_bytes) ||
		    (which == SHORT && fcntl(fds[1], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)))
			return 1;
	}
	if (which == HALF_PACKET)
		io.iov_len = sizeof(w) / 2;
	if (which == ODD_RING)
		w.ring_bytes -= 4096;
	if (which == FAR_HEAP)
		w.heap_offset = w.arena_bytes + 4096;
	if (which == OVERLAP)
		w.out_offset = UINT64_MAX - 4095;
	m.msg_control = which == NO_DESCRIPTORS ? NULL : &control;
	m.msg_controllen = which == NO_DESCRIPTORS ? 0 : sizeof(control);
	if (m.msg_control) {
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fds));
		memcpy(CMSG_DATA(c), fds, sizeof(fds));
	}
	if (sendmsg(fd, &m, MSG_NOSIGNAL) < 0)
		return 1;
	return 0;
}

static void lied_to(void)
{
	struct wall wall;

	for (enum lie which = 0; which < LIES; which++) {
		pid_t pid = start(lie, which);
		int r = wall_connect(&wall, path, &hello, 5000);

		tap_ok(r == (which == SILENT_END ? -ECONNRESET : -EPROTO), "lie %d is found (%d)", which, r);
		is(status_of(pid), 0);
	}
}

/* Killed while the other side waits: it learns of it within a second, whoever it was. */
static void killed(void)
{
	pid_t pid = start(serve, 0);
	struct wall_shape shape = { .heap_bytes = HEAP };
	struct wall_welcome more = { .fingerprint = FINGERPRINT };
	struct wall_hello said;
	struct wall wall, worker;
	uint64_t before;
	const void *at;
	size_t size;
	int fd;

	is(wall_connect(&wall, path, &hello, 5000), 0);
	is(ask(&wall, 1), 2);
	kill(pid, SIGKILL);
	before = clock_now_ns();
	is(ring_next(&wall.replies, &at, &size, RING_FOREVER), -EPIPE);
	ok(clock_now_ns() - before < 1000000000);
	status_of(pid);
	wall_close(&wall);

	is(wall_make(&worker, &shape), 0);
	pid = fork();
	if (pid == 0) {
		if (wall_connect(&wall, path, &hello, 5000))
			_exit(1);
		/* a child holds the socket as well: the worker has to look at the process itself */
		if (fork() == 0) {
			usleep(1500000);
			_exit(0);
		}
		raise(SIGKILL);
	}
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	is(wall_receive_hello(fd, FINGERPRINT, &said, 5000), 0);
	is(wall_welcome(&worker, fd, &more), 0);
	before = clock_now_ns();
	is(ring_next(&worker.requests, &at, &size, RING_FOREVER), -EPIPE);
	ok(clock_now_ns() - before < 1000000000);
	ok(status_of(pid) > 1000);
	wall_close(&worker);
}

static int turn[2]; /* a pipe: the second worker's has come */

/* The second worker of a client: by the arena that it brings. */
static int serve_second(uint32_t flags)
{
	struct wall_shape shape = { .heap_bytes = HEAP, .flags = flags };
	struct wall_welcome more = { .fingerprint = FINGERPRINT };
	struct wall_hello said;
	struct wall wall;
	int fd, arena;
	char c;

	if (read(turn[0], &c, 1) != 1 || wall_make(&wall, &shape))
		return 20;
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (wall_receive_hello(fd, FINGERPRINT, &said, 5000) || !(said.flags & WALL_BRINGS))
		return 21;
	more.base = said.brings.base;
	if (wall_welcome(&wall, fd, &more) || wall_receive_arena(fd, &arena, 5000) ||
	    wall_bring(&wall, arena, said.brings.base))
		return 22;
	return echo(&wall) == -EPIPE ? 0 : 23;
}

/* A program closes the arena's descriptor while it has two workers: of the one it leaves nothing stays. */
static void parted(void)
{
	struct wall_hello again = hello;
	struct wall wall, other;
	pid_t pid, second;

	is(pipe(turn), 0);
	second = start(serve_second, 0); /* before this process has an arena, which it would inherit */
	pid = start(serve, 0);
	is(wall_connect(&wall, path, &hello, 5000), 0);
	memcpy(wall_arena(&wall, wall.welcome.heap_offset, 5), "hello", 5);
	is(write(turn[1], "", 1), 1);
	again.flags |= WALL_BRINGS;
	again.brings.base = wall.welcome.base;
	is(wall_join(&other, &wall, path, &again, 5000), 0);
	is(ask(&other, 5), 6);
	close(wall.arena_fd);
	is(wall_leave(&other), -EBADF);
	wall_part(&other);
	ok(!other.control && other.bell.socket < 0);
	is(status_of(second), 0);
	is(ask(&wall, 7), 8);
	wall.arena_fd = -1;
	wall_close(&wall);
	is(status_of(pid), 0);
	close(turn[0]);
	close(turn[1]);
}

/* A session that goes on elsewhere has its arena where it was: also where the one that was made is in the way. */
static void rebased(void)
{
	const struct wall_shape shape = { .heap_bytes = UINT64_C(4) << 30 };
	struct wall wall;
	uint64_t base, step = UINT64_C(1) << 30;
	void *taken;

	is(wall_make(&wall, &shape), 0);
	base = (uint64_t)(uintptr_t)wall.arena;
	if (!wall_base_good(base + 65 * step))
		step = -step;
	wall.arena[4096] = 77;
	is(wall_rebase(&wall, base + 4096), -EPROTO);
	is(wall_rebase(&wall, base), 0);
	for (int i = 0; i < 4; i++) {
		base += i % 2 ? -step : step;
		is(wall_rebase(&wall, base), 0);
		ok((uint64_t)(uintptr_t)wall.arena == base && wall.arena[4096] == 77 && wall.welcome.base == base);
	}
	base += 64 * step;
	taken = mmap((void *)(uintptr_t)base, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		     0);
	if (taken == (void *)(uintptr_t)base) {
		is(wall_rebase(&wall, base), -EEXIST);
		ok(wall.arena[4096] == 77);
		munmap(taken, 4096);
	}
	wall_close(&wall);
}

int main(void)
{
	tap_begin();
	listen_here();
	rebased();
	session(0);
	session(WALL_NO_FUTEX);
	other_address();
	refused();
	lied_to();
	killed();
	parted();
	close(listener);
	unlink(path);
	return tap_end();
}
