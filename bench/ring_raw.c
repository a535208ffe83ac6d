/*
 * ring_raw.c: a message from one process to another: over the ring, over bare futexes, over a unix socket, by turns.
 *
 *   ring_raw BATCHES
 *
 * Two processes. Round trips are of 64 bytes and wait for each answer: "futex" writes a word and wakes the other side,
 * which sleeps in the kernel at once, without spinning; "socket" is a SOCK_SEQPACKET pair; "ring" is what sessions use,
 * "ring, asleep" the same when neither side ever spins. One-way: messages of 64 bytes without an answer, the last one
 * answered. Prints one JSON object per row: nanoseconds per round trip or message, least, median and most of all
 * batches.
 */
#include "ring/wall.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CAPACITY (1u << 20)
#define MESSAGE 64u
#define BATCHES_MOST 1001
#define ROUND_TRIPS 400
#define MESSAGES 20000

enum way { FUTEX, SOCKET, RING, ASLEEP, ONE_WAY, WAYS, END };

static const char *const names[] = { "round trip, futex", "round trip, socket", "round trip, ring",
				     "round trip, ring, asleep", "one-way, ring" };

struct shared {
	_Alignas(64) uint32_t ball; /* even: the parent's turn */
	_Alignas(64) uint8_t message[MESSAGE];
};

static struct shared *shared;
static int sockets[2], self; /* 0 the parent, 1 the child */
static struct wall_bell bell;
static struct ring_end out, in;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "ring_raw: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

/* ---- one step of each way ---- */

static void futex_pass(const uint8_t *message)
{
	memcpy(shared->message, message, MESSAGE);
	__atomic_fetch_add(&shared->ball, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &shared->ball, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void futex_catch(uint8_t *message)
{
	uint32_t ball;

	while ((ball = __atomic_load_n(&shared->ball, __ATOMIC_SEQ_CST)) % 2 != (uint32_t)self)
		syscall(SYS_futex, &shared->ball, FUTEX_WAIT, ball, NULL, NULL, 0);
	memcpy(message, shared->message, MESSAGE);
}

static void ring_pass(const uint8_t *message)
{
	void *at;

	if (ring_begin(&out, MESSAGE, &at))
		die("ring");
	memcpy(at, message, MESSAGE);
	ring_commit(&out, MESSAGE);
}

static void ring_catch(uint8_t *message)
{
	const void *at;
	size_t size;

	if (ring_next(&in, &at, &size, RING_FOREVER) != 1 || size != MESSAGE)
		die("ring");
	memcpy(message, at, MESSAGE);
	ring_release(&in);
}

static void pass(enum way way, const uint8_t *message)
{
	if (way == FUTEX)
		futex_pass(message);
	else if (way != SOCKET)
		ring_pass(message);
	else if (write(sockets[self], message, MESSAGE) != MESSAGE)
		die("write");
}

static void catch (enum way way, uint8_t *message)
{
	if (way == FUTEX)
		futex_catch(message);
	else if (way != SOCKET)
		ring_catch(message);
	else if (read(sockets[self], message, MESSAGE) != MESSAGE)
		die("read");
}

static void set_spin(enum way way)
{
	in.spin.never = out.spin.never = way == ASLEEP;
}

/* ---- both sides ---- */

/* What is to be done next goes over the socket. */
static int child(void)
{
	uint8_t message[MESSAGE] = { 0 };
	enum way way;

	/* as in a worker, which a thread of its own ends with its client */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bell.watched = true;
	for (;;) {
		if (read(sockets[self], &way, sizeof(way)) != sizeof(way) || way == END)
			return 0;
		set_spin(way);
		if (way == ONE_WAY) {
			for (int i = 0; i < MESSAGES; i++)
				catch (way, message);
			pass(way, message);
			continue;
		}
		for (int i = 0; i < ROUND_TRIPS; i++) {
			catch (way, message);
			message[0]++;
			pass(way, message);
		}
	}
}

static double batch(enum way way)
{
	uint8_t message[MESSAGE] = { 0 };
	double begin;

	if (write(sockets[self], &way, sizeof(way)) != sizeof(way))
		die("write");
	set_spin(way);
	if (way == FUTEX)
		shared->ball = 0;
	begin = now();
	if (way == ONE_WAY) {
		for (int i = 0; i < MESSAGES; i++)
			pass(way, message);
		catch (way, message);
		return (now() - begin) / MESSAGES;
	}
	for (int i = 0; i < ROUND_TRIPS; i++) {
		pass(way, message);
		catch (way, message);
	}
	if (message[0] != (uint8_t)ROUND_TRIPS)
		die("the answers are wrong");
	return (now() - begin) / ROUND_TRIPS;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static double result[WAYS][BATCHES_MOST];
	struct ring_shared *there = map(ring_area_bytes(CAPACITY)), *back = map(ring_area_bytes(CAPACITY));
	int batches = argc == 2 ? atoi(argv[1]) : 0;
	enum way end = END;
	pid_t pid;

	if (batches < 1 || batches > BATCHES_MOST) {
		fprintf(stderr, "usage: ring_raw BATCHES\n");
		return 2;
	}
	shared = map(sizeof(*shared));
	wall_bell_init(&bell, 0);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
		die("socketpair");
	pid = fork();
	self = pid == 0;
	ring_attach(&out, self ? back : there, CAPACITY, &bell.bell);
	ring_attach(&in, self ? there : back, CAPACITY, &bell.bell);
	if (pid == 0)
		return child();
	close(sockets[1]);
	for (int i = 0; i < batches; i++)
		for (enum way way = 0; way < WAYS; way++)
			result[way][i] = batch(way);
	if (write(sockets[self], &end, sizeof(end)) != sizeof(end))
		die("write");
	waitpid(pid, NULL, 0);
	for (enum way way = 0; way < WAYS; way++) {
		qsort(result[way], (size_t)batches, sizeof(double), by_size);
		printf("{\"row\": \"%s\", \"min\": %.1f, \"median\": %.1f, \"max\": %.1f}\n", names[way],
		       result[way][0], result[way][batches / 2], result[way][batches - 1]);
	}
	return 0;
}
