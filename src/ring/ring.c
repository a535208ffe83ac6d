/* ring.c: see ring.h. */
#include "ring/ring_wait.h"

#include <errno.h>
#include <string.h>

#define HEAD_BYTES 8u

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

static inline uint64_t padded(uint64_t size)
{
	return (size + RING_ALIGN - 1) & ~(uint64_t)(RING_ALIGN - 1);
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
	ring_wait_init(end);
}

bool ring_closed(const struct ring_end *end)
{
	return __atomic_load_n(&end->shared->closed, __ATOMIC_ACQUIRE) != 0;
}

void ring_close(struct ring_end *end)
{
	__atomic_store_n(&end->shared->closed, 1, __ATOMIC_SEQ_CST);
	ring_wait_raise(&end->shared->reader_waits);
	ring_wait_raise(&end->shared->writer_waits);
	end->bell->wake(end->bell, &end->shared->reader_waits, true);
	end->bell->wake(end->bell, &end->shared->writer_waits, true);
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
	struct ring_wait w = { 0 };
	int r = 1;

	for (bool first = true;; first = false) {
		if (!look_taken(end))
			return -EPROTO;
		if (ring_closed(end))
			return -EPIPE;
		if (end->capacity - (end->at - end->other) >= need) {
			ring_wait_came(end);
			return 1;
		}
		if (r <= 0 && ns)
			ring_wait_given_up(end);
		if (r <= 0 || !ns)
			return r <= 0 ? r : 0;
		if (first)
			w = ring_wait_begin(&end->shared->taken, &end->shared->writer_waits, ns);
		r = ring_wait_once(end, &w, end->other);
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
	ring_wait_wake(end, &end->shared->reader_waits);
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
	struct ring_wait w = { 0 };
	int r = 1, found;
	bool closed;

	for (bool first = true;; first = false) {
		/* Looked at before the position: what was said before the ring was closed is read after it. */
		closed = ring_closed(end);
		found = look(end, ret_at, ret_size);
		if (found > 0)
			ring_wait_came(end);
		if (found)
			return found;
		if (closed)
			return -EPIPE;
		if (r <= 0 && ns)
			ring_wait_given_up(end);
		if (r <= 0 || !ns)
			return r <= 0 ? r : 0;
		if (first)
			w = ring_wait_begin(&end->shared->written, &end->shared->reader_waits, ns);
		r = ring_wait_once(end, &w, end->other);
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
	ring_wait_wake(end, &end->shared->writer_waits);
}

bool ring_spin(struct ring_end *end, uint64_t *ret_ns)
{
	bool came = ring_wait_spin(end, &end->shared->written, end->other, RING_FOREVER);

	*ret_ns = came ? 0 : ring_wait_nap_ns(end);
	return came;
}

uint32_t ring_raise(struct ring_end *end)
{
	return ring_wait_raise(&end->shared->reader_waits);
}

void ring_lower(struct ring_end *end)
{
	__atomic_fetch_and(&end->shared->reader_waits, ~RING_WAITS, __ATOMIC_RELAXED);
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
	ring_wait_wake(end, &end->shared->reader_waits);
}

void ring_expect(struct ring_end *end, bool wake)
{
	if (ring_wait_expect(end) && wake)
		ring_nudge(end);
}
