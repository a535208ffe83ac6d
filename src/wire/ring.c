/* ring.c: see ring.h. */
#include "wire/ring.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#define HEAD_BYTES 8u
#define WAITS 1u /* of ..._waits */
#define SPIN_LEAST_NS 2000u
#define SPIN_MOST_NS 20000u
#define TRIAL_WAITS 8u
#define INTERVAL_LEAST 32u
#define INTERVAL_MOST 4096u
#define SPIN_LOOKS 32u /* between two looks at the clock */

/* Before each message, and all that a filler is made of. */
union ring_head {
	struct {
		uint32_t bytes;	 /* of the message; of a filler: up to the end of the buffer */
		uint32_t filler; /* 0 or 1 */
	};
	uint64_t word;
};

_Static_assert(sizeof(union ring_head) == HEAD_BYTES, "messages stay aligned");
_Static_assert(sizeof(struct ring_shared) == 128, "one line each");

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

static inline uint64_t padded(uint64_t size)
{
	return (size + RING_ALIGN - 1) & ~(uint64_t)(RING_ALIGN - 1);
}

/* On one processor the other side runs only when this one does not. */
static bool alone_on_processor(void)
{
	cpu_set_t set;
	int n = 0, saved = errno;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set)) {
		errno = saved;
		return false;
	}
	for (unsigned int i = 0; i < CPU_SETSIZE; i++)
		n += !!CPU_ISSET(i, &set);
	return n == 1;
}

size_t ring_area_bytes(uint32_t capacity)
{
	return sizeof(struct ring_shared) + capacity;
}

size_t ring_longest(uint32_t capacity)
{
	return capacity / 4 - HEAD_BYTES;
}

void ring_attach(struct ring_end *end, struct ring_shared *shared, uint32_t capacity, struct ring_doorbell *bell)
{
	*end = (struct ring_end){ .shared = shared, .bell = bell, .capacity = capacity };
	end->spin.never = alone_on_processor();
	end->spin.interval = end->spin.count = INTERVAL_LEAST;
}

/* ----------------------------------------------------------------------------------------------------- waiting --- */

static void spin_change(struct ring_spin *s, bool on, uint64_t mean_ns)
{
	s->interval = s->on == on ? s->interval * 2 : INTERVAL_LEAST;
	if (s->interval > INTERVAL_MOST)
		s->interval = INTERVAL_MOST;
	if (s->on != on)
		s->mean_ns = mean_ns;
	s->on = on;
	s->trial = false;
	s->count = s->interval;
}

static void trial_wait(struct ring_spin *s, uint64_t took)
{
	uint64_t mean, spun, slept;

	s->trial_ns += took;
	/* No good: the rest of it is spared. */
	if (s->trial_ns > TRIAL_WAITS * s->mean_ns) {
		spin_change(s, s->on, 0);
		return;
	}
	if (--s->count)
		return;
	mean = s->trial_ns / TRIAL_WAITS;
	spun = s->on ? s->mean_ns : mean;
	slept = s->on ? mean : s->mean_ns;
	spin_change(s, spun < slept / 4 * 3, mean);
}

/* A wait is over. */
static void spin_learn(struct ring_end *end)
{
	struct ring_spin *s = &end->spin;
	uint64_t took = now_ns() - s->since;

	s->since = 0;
	if (took > RING_LONG_WAIT_NS)
		took = RING_LONG_WAIT_NS;
	if (s->trial) {
		trial_wait(s, took);
		return;
	}
	s->mean_ns = s->mean_ns ? s->mean_ns - s->mean_ns / 8 + took / 8 : took;
	if (s->on && s->mean_ns > RING_LONG_WAIT_NS / 2)
		spin_change(s, false, RING_LONG_WAIT_NS);
	else if (--s->count == 0) {
		s->trial = true;
		s->trial_ns = 0;
		s->count = TRIAL_WAITS;
	}
}

/* Until *position is not `seen` any more. Value: whether that happened. */
static bool spin(struct ring_end *end, const uint64_t *position, uint64_t seen, uint64_t ns)
{
	struct ring_spin *s = &end->spin;
	uint64_t now, until, most = SPIN_MOST_NS;

	if (s->never)
		return false;
	now = now_ns();
	if (!s->since)
		s->since = now;
	if (s->on == s->trial)
		return false;
	if (s->on && s->mean_ns < SPIN_MOST_NS / 8)
		most = s->mean_ns * 8 < SPIN_LEAST_NS ? SPIN_LEAST_NS : s->mean_ns * 8;
	until = now + (ns < most ? ns : most);
	do {
		for (unsigned int i = 0; i < SPIN_LOOKS; i++) {
			if (__atomic_load_n(position, __ATOMIC_RELAXED) != seen)
				return true;
			pause_briefly();
		}
	} while (now_ns() < until);
	return false;
}

/*
 * Sequentially consistent with what follows: the sleeper raises the word, then looks at the position; the other side
 * publishes the position, then looks at the word.
 */
static uint32_t raise_word(uint32_t *word)
{
	uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED), new;

	do {
		new = ((old & ~WAITS) + 2u) | WAITS;
	} while (!__atomic_compare_exchange_n(word, &old, new, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	return new;
}

/* After something was published: whoever sleeps on the word is woken, by one of those who see it. */
static inline void wake_word(struct ring_end *end, uint32_t *word)
{
	if (!(__atomic_load_n(word, __ATOMIC_SEQ_CST) & WAITS))
		return;
	if (__atomic_fetch_and(word, ~WAITS, __ATOMIC_SEQ_CST) & WAITS)
		end->bell->wake(end->bell, word, false);
}

bool ring_closed(const struct ring_end *end)
{
	return __atomic_load_n(&end->shared->closed, __ATOMIC_ACQUIRE) != 0;
}

void ring_close(struct ring_end *end)
{
	__atomic_store_n(&end->shared->closed, 1, __ATOMIC_SEQ_CST);
	raise_word(&end->shared->reader_waits);
	raise_word(&end->shared->writer_waits);
	end->bell->wake(end->bell, &end->shared->reader_waits, true);
	end->bell->wake(end->bell, &end->shared->writer_waits, true);
}

/* A wait: from when on, until when (0: for ever), and when it was last asked whether the other side lives. */
struct wait {
	uint64_t ns, until, asked;
};

static struct wait wait_begin(uint64_t ns)
{
	uint64_t now = now_ns();

	return (struct wait){ .ns = ns, .until = ns == RING_FOREVER ? 0 : now + ns, .asked = now };
}

/*
 * One sleep, when the position is still what who waits has `seen`.
 * Value: 1 go on looking; 0 the time is over; -EPIPE: nobody is there.
 */
static int sleep_once(struct ring_end *end, struct wait *w, uint32_t *word, const uint64_t *position, uint64_t seen)
{
	uint64_t now = now_ns(), most = RING_PATIENCE_NS;
	uint32_t value;

	if (w->until) {
		if (now >= w->until)
			return 0;
		if (w->until - now < most)
			most = w->until - now;
	}
	value = raise_word(word);
	if (__atomic_load_n(position, __ATOMIC_SEQ_CST) == seen && !ring_closed(end))
		end->bell->wait(end->bell, word, value, most);
	/* A bit that nobody cleared would cost the other side a call at its next message. */
	__atomic_compare_exchange_n(word, &value, value & ~WAITS, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	now = now_ns();
	if (now - w->asked < RING_PATIENCE_NS)
		return 1;
	w->asked = now;
	return end->bell->alive(end->bell) ? 1 : -EPIPE;
}

/* ------------------------------------------------------------------------------------------------------ writer --- */

/* Reads where the reader is. False: it cannot be there. */
static bool look_taken(struct ring_end *end)
{
	uint64_t taken = __atomic_load_n(&end->shared->taken, __ATOMIC_ACQUIRE);

	if (taken % RING_ALIGN || end->at - taken > end->at - end->other)
		end->bad = true;
	else
		end->other = taken;
	return !end->bad;
}

/* Value: 1 room; 0 not in this time; -EPIPE; -EPROTO. */
static int wait_room(struct ring_end *end, uint64_t need, uint64_t ns)
{
	const uint64_t *position = &end->shared->taken;
	struct wait w = { 0 };
	int r = 1;

	for (bool first = true;; first = false) {
		if (!look_taken(end))
			return -EPROTO;
		if (ring_closed(end))
			return -EPIPE;
		if (end->capacity - (end->at - end->other) >= need) {
			if (end->spin.since)
				spin_learn(end);
			return 1;
		}
		if (r <= 0 || !ns)
			return r <= 0 ? r : 0;
		if (first)
			w = wait_begin(ns);
		if (!spin(end, position, end->other, ns))
			r = sleep_once(end, &w, &end->shared->writer_waits, position, end->other);
	}
}

static void put_head(struct ring_end *end, uint64_t at, uint64_t bytes, bool filler)
{
	union ring_head head = { .bytes = (uint32_t)bytes, .filler = filler };

	memcpy(end->shared->bytes + (at & (end->capacity - 1)), &head, sizeof(head));
}

int ring_begin_within(struct ring_end *end, size_t size, uint64_t ns, void **ret_at)
{
	uint64_t need, to_end, filler;
	int r;

	if (end->bad)
		return -EPROTO;
	if (size > ring_longest(end->capacity))
		return -EMSGSIZE;
	if (ring_closed(end))
		return -EPIPE;
	need = HEAD_BYTES + padded(size);
	to_end = end->capacity - (end->at & (end->capacity - 1));
	filler = to_end < need ? to_end : 0;
	if (end->capacity - (end->at - end->other) < filler + need) {
		r = wait_room(end, filler + need, ns);
		if (r <= 0)
			return r;
	}
	if (filler)
		put_head(end, end->at, filler - HEAD_BYTES, true);
	end->filler = (uint32_t)filler;
	*ret_at = end->shared->bytes + ((end->at + filler) & (end->capacity - 1)) + HEAD_BYTES;
	return 1;
}

int ring_begin(struct ring_end *end, size_t size, void **ret_at)
{
	int r = ring_begin_within(end, size, RING_FOREVER, ret_at);

	return r > 0 ? 0 : r;
}

void ring_commit_quiet(struct ring_end *end, size_t size)
{
	if (!size)
		return;
	put_head(end, end->at + end->filler, size, false);
	end->at += end->filler + HEAD_BYTES + padded(size);
	__atomic_store_n(&end->shared->written, end->at, __ATOMIC_SEQ_CST);
}

void ring_wake(struct ring_end *end)
{
	wake_word(end, &end->shared->reader_waits);
}

void ring_commit(struct ring_end *end, size_t size)
{
	ring_commit_quiet(end, size);
	if (size)
		ring_wake(end);
}

/* ------------------------------------------------------------------------------------------------------ reader --- */

/* Reads where the writer is. False: it cannot be there. */
static bool look_written(struct ring_end *end)
{
	uint64_t written = __atomic_load_n(&end->shared->written, __ATOMIC_ACQUIRE);

	if (written % RING_ALIGN || written - end->at > end->capacity || written - end->at < end->other - end->at)
		end->bad = true;
	else
		end->other = written;
	return !end->bad;
}

/* What lies at the own position, which the writer has passed. Value: 1 a message; 0 a filler, skipped; -EPROTO. */
static int parse(struct ring_end *end, const void **ret_at, size_t *ret_size)
{
	uint64_t offset = end->at & (end->capacity - 1), room = end->capacity - offset, left = end->other - end->at;
	const uint8_t *at = end->shared->bytes + offset;
	union ring_head head;

	/* Read once: the other side may be changing it. */
	head.word = __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
	if (room > left)
		room = left;
	if (room < HEAD_BYTES || padded(head.bytes) > room - HEAD_BYTES || head.filler > 1 ||
	    (head.filler ? offset + HEAD_BYTES + head.bytes != end->capacity
			 : !head.bytes || head.bytes > ring_longest(end->capacity))) {
		end->bad = true;
		return -EPROTO;
	}
	if (head.filler) {
		end->at += HEAD_BYTES + head.bytes;
		return 0;
	}
	end->held = HEAD_BYTES + (uint32_t)padded(head.bytes);
	*ret_at = at + HEAD_BYTES;
	*ret_size = head.bytes;
	return 1;
}

/* Value: 1 a message; 0 none; -EPROTO. */
static int look(struct ring_end *end, const void **ret_at, size_t *ret_size)
{
	int r;

	if (end->bad)
		return -EPROTO;
	for (;;) {
		if (end->other == end->at) {
			if (!look_written(end))
				return -EPROTO;
			if (end->other == end->at)
				return 0;
		}
		r = parse(end, ret_at, ret_size);
		if (r)
			return r;
	}
}

int ring_next(struct ring_end *end, const void **ret_at, size_t *ret_size, uint64_t ns)
{
	const uint64_t *position = &end->shared->written;
	struct wait w = { 0 };
	int r = 1, found;
	bool closed;

	for (bool first = true;; first = false) {
		/* Looked at before the position: what was said before the ring was closed is read after it. */
		closed = ring_closed(end);
		found = look(end, ret_at, ret_size);
		if (found > 0 && end->spin.since)
			spin_learn(end);
		if (found)
			return found;
		if (closed)
			return -EPIPE;
		if (r <= 0 || !ns)
			return r <= 0 ? r : 0;
		if (first)
			w = wait_begin(ns);
		if (!spin(end, position, end->other, ns))
			r = sleep_once(end, &w, &end->shared->reader_waits, position, end->other);
	}
}

/* The writer is told when there is nothing more to read, or an eighth of the capacity at once. */
void ring_release(struct ring_end *end)
{
	end->at += end->held;
	end->held = 0;
	if (end->at != end->other && end->at - end->told < end->capacity / 8)
		return;
	end->told = end->at;
	__atomic_store_n(&end->shared->taken, end->at, __ATOMIC_SEQ_CST);
	wake_word(end, &end->shared->writer_waits);
}

bool ring_spin(struct ring_end *end)
{
	return spin(end, &end->shared->written, end->other, RING_FOREVER);
}

uint32_t ring_raise(struct ring_end *end)
{
	return raise_word(&end->shared->reader_waits);
}

void ring_lower(struct ring_end *end)
{
	__atomic_fetch_and(&end->shared->reader_waits, ~WAITS, __ATOMIC_RELAXED);
}

uint32_t ring_bell(const struct ring_end *end)
{
	return __atomic_load_n(&end->shared->reader_waits, __ATOMIC_SEQ_CST);
}

void ring_sleep(struct ring_end *end, uint32_t value, uint64_t ns)
{
	end->bell->wait(end->bell, &end->shared->reader_waits, value, ns);
}

void ring_nudge(struct ring_end *end)
{
	wake_word(end, &end->shared->reader_waits);
}
