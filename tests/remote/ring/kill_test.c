/*
 * kill_test.c: kill -9 of either side of a ring at every instruction of what it does there, one after the other.
 *
 * The child attaches to the ring in shared memory, stops, does one thing (says, hears, waits for room, closes) and is
 * stepped by ptrace; after N instructions it is killed. What the other side may find then: every message that was said
 * before, in order and whole; perhaps the one that was being said; and then the end, within a second. Nothing else, and
 * never a wait without end. With METE_TEST_LONG=1 every N, else every few.
 */
#include "base/clock.h"
#include "base/tap.h"
#include "ring/wall.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPACITY RING_LEAST_BYTES
#define WORD UINT64_C(0x1111111111111111)

enum act { SAY, SAY_LONG, HEAR, HEAR_EMPTY, WAIT_ROOM, CLOSE, ACTS };

static const char *const act_names[] = { "say", "say round the end", "hear", "hear nothing", "wait for room", "close" };
static struct ring_shared *shared;

static void say(struct ring_end *end, uint64_t word, size_t size)
{
	void *at;

	if (ring_begin(end, size, &at))
		return;
	for (size_t i = 0; i + 8 <= size; i += 8)
		memcpy((uint8_t *)at + i, &word, sizeof(word));
	ring_commit(end, size);
}

static bool hear(struct ring_end *end, uint64_t ns, uint64_t *ret_word, size_t *ret_size, int *ret_r)
{
	uint64_t word, other;
	const void *at;

	*ret_r = ring_next(end, &at, ret_size, ns);
	if (*ret_r <= 0)
		return true;
	memcpy(&word, at, sizeof(word));
	for (size_t i = 0; i + 8 <= *ret_size; i += 8) {
		memcpy(&other, (const uint8_t *)at + i, sizeof(other));
		if (other != word)
			return false;
	}
	*ret_word = word;
	ring_release(end);
	return true;
}

static bool is_writer(enum act act)
{
	return act == SAY || act == SAY_LONG || act == WAIT_ROOM || act == CLOSE;
}

/* What lies in the ring before the act: the words 1 ... n. Value: n. */
static unsigned int prepare(enum act act, struct ring_end *writer, struct ring_end *reader)
{
	uint64_t word = 0;
	size_t size;
	void *at;
	int r;

	switch (act) {
	case SAY_LONG: /* the next one does not fit before the end of the buffer */
		for (unsigned int i = 0; i < 5; i++) {
			say(writer, 99, 720);
			hear(reader, 0, &word, &size, &r);
		}
		return 0;
	case SAY:
	case HEAR:
		say(writer, 1 * WORD, 64);
		say(writer, 2 * WORD, 64);
		return 2;
	case WAIT_ROOM:
		for (unsigned int n = 1;; n++) {
			if (ring_begin_within(writer, 504, 0, &at) <= 0)
				return n - 1;
			ring_commit(writer, 0);
			say(writer, n * WORD, 504);
		}
	default:
		return 0;
	}
}

static void do_act(enum act act, struct ring_end *end)
{
	uint64_t word;
	size_t size;
	int r;

	switch (act) {
	case SAY:
		say(end, 3 * WORD, 64);
		break;
	case SAY_LONG:
		say(end, 1 * WORD, 720);
		break;
	case HEAR:
		hear(end, RING_FOREVER, &word, &size, &r);
		break;
	case HEAR_EMPTY:
		hear(end, 30000000, &word, &size, &r);
		break;
	case WAIT_ROOM:
		ring_begin_within(end, 504, 30000000, (void **)&(void *){ NULL });
		break;
	default:
		ring_close(end);
	}
}

static int child(enum act act, struct ring_end *end)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		return 3;
	raise(SIGSTOP);
	do_act(act, end);
	raise(SIGSTOP);
	return 0;
}

/* Steps the child. Value: 1 killed after `most` instructions; 0 the act had ended; -1 something else. */
static int step_and_kill(pid_t pid, unsigned long most)
{
	unsigned long steps = 0;
	int status, r = 1;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	while (steps++ < most) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status))
			return -1;
		if (WSTOPSIG(status) == SIGSTOP) {
			r = 0;
			break;
		}
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return r;
}

/* The survivor reads. Value: whether what it found is allowed. */
static bool survive_reading(struct ring_end *reader, unsigned int before, size_t said)
{
	uint64_t began = clock_now_ns(), word = 0;
	unsigned int n = 0;
	size_t size;
	int r;

	for (;;) {
		if (!hear(reader, RING_FOREVER, &word, &size, &r) || r == -EPROTO)
			return false;
		if (r < 0)
			break;
		n++;
		if (word != n * WORD || (n > before && size != said))
			return false;
	}
	return clock_now_ns() - began < 1000000000 && n >= before && n <= before + 1;
}

static bool survive_writing(struct ring_end *writer)
{
	uint64_t began = clock_now_ns();
	void *at;
	int r;

	while (!(r = ring_begin(writer, 504, &at)))
		ring_commit(writer, 504);
	return r == -EPIPE && clock_now_ns() - began < 1000000000;
}

/* Value: as step_and_kill(); *ret_good: whether the other side was well. */
static int once(enum act act, unsigned long most, bool *ret_good)
{
	struct ring_end writer, reader;
	struct wall_bell bell;
	unsigned int before;
	pid_t pid;
	int r;

	memset(shared, 0, ring_area_bytes(CAPACITY));
	wall_bell_init(&bell, 0);
	ring_attach(&writer, shared, CAPACITY, &bell.bell);
	ring_attach(&reader, shared, CAPACITY, &bell.bell);
	before = prepare(act, &writer, &reader);
	pid = fork();
	if (pid == 0)
		_exit(child(act, is_writer(act) ? &writer : &reader));
	bell.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	r = step_and_kill(pid, most);
	*ret_good = is_writer(act) ? survive_reading(&reader, before, act == SAY_LONG ? 720 : 64)
				   : survive_writing(&writer);
	close(bell.pidfd);
	return r;
}

/* The survivor sleeps 200 ms before it asks: the instructions are spread over processes that wait at the same time. */
#define AT_ONCE 24u

static bool batch(enum act act, unsigned long first, unsigned long stride, bool *ret_ended)
{
	pid_t pids[AT_ONCE];
	bool good = true;

	for (unsigned int i = 0; i < AT_ONCE; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			bool well;
			int r;

			shared = mmap(NULL, ring_area_bytes(CAPACITY), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
			r = once(act, first + i * stride, &well);
			_exit(r < 0 ? 3 : !well ? 2 : r == 0);
		}
	}
	for (unsigned int i = 0; i < AT_ONCE; i++) {
		int status = -1;

		waitpid(pids[i], &status, 0);
		if (status && !(WIFEXITED(status) && WEXITSTATUS(status) == 1)) {
			printf("# %s: killed after %lu instructions: status %#x\n", act_names[act], first + i * stride,
			       (unsigned int)status);
			good = false;
		}
		*ret_ended |= WIFEXITED(status) && WEXITSTATUS(status) == 1;
	}
	return good;
}

int main(void)
{
	unsigned long stride = getenv("METE_TEST_LONG") ? 1 : 7;

	tap_begin();
	for (enum act act = 0; act < ACTS; act++) {
		/* those that wait spin for thousands of instructions: sparsely */
		unsigned long step = act == HEAR_EMPTY || act == WAIT_ROOM ? stride * 131 : stride, n = 0;
		bool good = true, ended = false;

		for (; good && !ended && n < 100000; n += AT_ONCE * step)
			good = batch(act, n, step, &ended);
		tap_ok(good && ended, "%s: killed at any of some %lu instructions", act_names[act], n);
	}
	return tap_end();
}
