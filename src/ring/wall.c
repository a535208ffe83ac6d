/*
 * wall.c: what both sides of a session have: the doorbell, the mapped memory. See wall.h.
 *
 * Part of the injected client too: it needs libc alone, and leaves errno as it was.
 */
#include "ring/wall.h"
#include "base/raw_fd.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NAP_LEAST_NS 20000u
#define NAP_MOST_NS 1000000u

static struct timespec span(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
}

static void futex_wait(struct ring_doorbell *bell, uint32_t *word, uint32_t value, uint64_t ns)
{
	const struct wall_bell *b = (const struct wall_bell *)(const void *)bell;
	struct timespec t = span(ns < RING_PATIENCE_NS ? ns : RING_PATIENCE_NS);
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT, value, b->watched && ns >= RING_PATIENCE_NS ? NULL : &t, NULL, 0);
	errno = saved;
}

static void futex_wake(struct ring_doorbell *bell, uint32_t *word, bool all)
{
	int saved = errno;

	(void)bell;
	syscall(SYS_futex, word, FUTEX_WAKE, all ? INT_MAX : 1, NULL, NULL, 0);
	errno = saved;
}

/* No futex in common and no interrupt: looks again after naps that grow. */
static void nap_wait(struct ring_doorbell *bell, uint32_t *word, uint32_t value, uint64_t ns)
{
	uint64_t most = ns < RING_PATIENCE_NS ? ns : RING_PATIENCE_NS, nap = NAP_LEAST_NS, slept = 0;
	int saved = errno;

	(void)bell;
	while (slept < most && __atomic_load_n(word, __ATOMIC_ACQUIRE) == value) {
		struct timespec t = span(nap < most - slept ? nap : most - slept);

		syscall(SYS_nanosleep, &t, NULL);
		slept += nap;
		nap = nap * 2 < NAP_MOST_NS ? nap * 2 : NAP_MOST_NS;
	}
	errno = saved;
}

static void nap_wake(struct ring_doorbell *bell, uint32_t *word, bool all)
{
	(void)bell;
	(void)word;
	(void)all;
}

/* The socket's end, or the process's. A socket that the program has closed under us is lost, with its session. */
static bool peer_alive(struct ring_doorbell *bell)
{
	struct wall_bell *b = (struct wall_bell *)(void *)bell;
	struct pollfd p[2] = { { .fd = b->socket, .events = POLLRDHUP }, { .fd = b->pidfd, .events = POLLIN } };
	struct timespec none = { 0 };
	int saved = errno;
	bool alive = true;

	if (b->socket >= 0 && !raw_fd_is(b->socket, b->device, b->inode))
		alive = false;
	else if (syscall(SYS_ppoll, p, 2, &none, NULL, 0) > 0)
		alive = !(p[0].revents & (POLLHUP | POLLERR | POLLRDHUP | POLLNVAL)) && !p[1].revents;
	errno = saved;
	return alive;
}

void wall_bell_init(struct wall_bell *bell, uint32_t flags)
{
	bool naps = flags & WALL_NO_FUTEX;

	*bell = (struct wall_bell){ .socket = -1, .pidfd = -1 };
	bell->bell.wait = naps ? nap_wait : futex_wait;
	bell->bell.wake = naps ? nap_wake : futex_wake;
	bell->bell.alive = peer_alive;
}

void *wall_arena(const struct wall *wall, uint64_t offset, uint64_t bytes)
{
	uint64_t end;

	if (__builtin_add_overflow(offset, bytes, &end) || end > wall->arena_bytes)
		return NULL;
	return wall->arena + offset;
}

static void give_back(struct wall *wall)
{
	int saved = errno;

	if (wall->control)
		munmap(wall->control, wall->control_bytes);
	if (wall->arena)
		munmap(wall->arena, wall->arena_bytes);
	if (wall->bell.socket >= 0 && raw_fd_is(wall->bell.socket, wall->bell.device, wall->bell.inode))
		raw_fd_close(wall->bell.socket);
	raw_fd_close(wall->bell.pidfd);
	raw_fd_close(wall->control_fd);
	raw_fd_close(wall->arena_fd);
	wall->control = wall->arena = NULL;
	wall->bell.socket = wall->bell.pidfd = wall->control_fd = wall->arena_fd = -1;
	errno = saved;
}

void wall_hang_up(struct wall *wall)
{
	if (!wall->control)
		return;
	ring_close(&wall->requests);
	ring_close(&wall->replies);
}

void wall_close(struct wall *wall)
{
	wall_hang_up(wall);
	give_back(wall);
}

void wall_abandon(struct wall *wall)
{
	give_back(wall);
}
