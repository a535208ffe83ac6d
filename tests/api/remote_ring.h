/*
 * remote_ring.h: a byte ring between two threads, and a link over two of them, for the tests of the remote path.
 *
 * One writer, one reader; a full or empty ring is waited for by yielding. Messages may be longer than the ring.
 */
#pragma once

#include "remote.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define RING_BYTES 1000u /* no power of two and no multiple of a message: wraps at every place in time */

struct ring {
	_Atomic uint64_t written; /* release by the writer, acquire by the reader */
	_Atomic uint64_t taken; /* release by the reader, acquire by the writer */
	_Atomic bool closed;
	uint8_t bytes[RING_BYTES];
};

static inline void ring_write(struct ring *ring, const void *data, size_t size)
{
	const uint8_t *from = data;
	uint64_t at = atomic_load_explicit(&ring->written, memory_order_relaxed);

	while (size) {
		if (at - atomic_load_explicit(&ring->taken, memory_order_acquire) == RING_BYTES) {
			if (atomic_load_explicit(&ring->closed, memory_order_relaxed))
				return;
			sched_yield();
			continue;
		}
		ring->bytes[at++ % RING_BYTES] = *from++;
		size--;
		atomic_store_explicit(&ring->written, at, memory_order_release);
	}
}

/* False: the ring was closed before `size` bytes came. */
static inline bool ring_read(struct ring *ring, void *data, size_t size)
{
	uint8_t *to = data;
	uint64_t at = atomic_load_explicit(&ring->taken, memory_order_relaxed);

	while (size) {
		if (at == atomic_load_explicit(&ring->written, memory_order_acquire)) {
			if (atomic_load_explicit(&ring->closed, memory_order_relaxed))
				return false;
			sched_yield();
			continue;
		}
		*to++ = ring->bytes[at++ % RING_BYTES];
		size--;
		atomic_store_explicit(&ring->taken, at, memory_order_release);
	}
	return true;
}

static inline void ring_close(struct ring *ring)
{
	atomic_store(&ring->closed, true);
}

/* Reads one message into `buffer`; value: its size, 0 when the ring was closed or the size is impossible. */
static inline size_t ring_read_message(struct ring *ring, void *buffer, size_t capacity)
{
	uint32_t size;

	if (!ring_read(ring, &size, sizeof(size)) || size < sizeof(struct remote_head) || size > capacity)
		return 0;
	memcpy(buffer, &size, sizeof(size));
	return ring_read(ring, (uint8_t *)buffer + sizeof(size), size - sizeof(size)) ? size : 0;
}

#define LINK_BYTES 8192u

struct ring_link {
	struct remote_link link;
	struct ring *to, *from;
	uint64_t request[LINK_BYTES / 8], reply[LINK_BYTES / 8];
	int begun; /* begin() without end() */
	int messages;
};

static inline void *ring_link_begin(struct remote_link *link, size_t *capacity)
{
	struct ring_link *l = (struct ring_link *)link;

	*capacity = sizeof(l->request);
	l->begun++;
	l->messages++;
	return l->request;
}

static inline int ring_link_send(struct remote_link *link, size_t size)
{
	struct ring_link *l = (struct ring_link *)link;

	ring_write(l->to, l->request, size);
	return atomic_load(&l->to->closed) ? -EPIPE : 0;
}

static inline int ring_link_receive(struct remote_link *link, const void **reply, size_t *size)
{
	struct ring_link *l = (struct ring_link *)link;

	*size = ring_read_message(l->from, l->reply, sizeof(l->reply));
	*reply = l->reply;
	return *size ? 0 : -EPIPE;
}

static inline void ring_link_end(struct remote_link *link)
{
	((struct ring_link *)link)->begun--;
}

static inline void ring_link_init(struct ring_link *l, struct ring *to, struct ring *from)
{
	memset(l, 0, sizeof(*l));
	l->link = (struct remote_link){ring_link_begin, ring_link_send, ring_link_receive, ring_link_end};
	l->to = to;
	l->from = from;
}
