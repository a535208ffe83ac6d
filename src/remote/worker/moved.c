/* moved.c: see moved.h. Of one process, as it has one session. The list is sorted; it only grows. */
#include "remote/worker/moved.h"

#include "remote/move.h"
#include "remote/worker/places.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MOVED_MOST (1u << 20)		  /* of one session, and so the next */
#define RESERVED_MOST (UINT64_C(1) << 40) /* bytes of addresses */

struct moved {
	uint64_t begin, bytes, now;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER; /* guards what follows */
static struct moved *list;
static size_t room;
static _Atomic size_t count; /* read without it: whether there are any */
static uint64_t reserved;    /* the executor's */

bool moved_any(void)
{
	return atomic_load_explicit(&count, memory_order_relaxed);
}

/* Where the first one that begins behind the address stands. */
static size_t behind_locked(uint64_t at)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (list[middle].begin <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t now_locked(uint64_t at)
{
	const size_t i = behind_locked(at);

	return i && at - list[i - 1].begin < list[i - 1].bytes ? list[i - 1].now + (at - list[i - 1].begin) : at;
}

uint64_t worker_at(uint64_t at)
{
	if (!moved_any())
		return at;
	pthread_rwlock_rdlock(&lock);
	at = now_locked(at);
	pthread_rwlock_unlock(&lock);
	return at;
}

uint64_t moved_words(void *data, uint64_t bytes, bool change)
{
	uint64_t found = 0;

	if (!moved_any())
		return 0;
	pthread_rwlock_rdlock(&lock);
	for (uint64_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
		uint64_t word, now;

		memcpy(&word, (uint8_t *)data + i, sizeof(word));
		if (word < list[0].begin)
			continue;
		now = now_locked(word);
		found += now != word;
		if (change && now != word)
			memcpy((uint8_t *)data + i, &now, sizeof(now));
	}
	pthread_rwlock_unlock(&lock);
	return found;
}

/* False: no memory, or too many. */
static bool grow_locked(void)
{
	const size_t more_room = room ? 2 * room : 64;
	struct moved *more;

	if (count < room)
		return true;
	more = more_room <= MOVED_MOST ? realloc(list, more_room * sizeof(*list)) : NULL;
	if (!more)
		return false;
	list = more;
	room = more_room;
	return true;
}

static int add_locked(const struct moved *m)
{
	const size_t at = behind_locked(m->begin);

	if (at && list[at - 1].begin == m->begin) {
		list[at - 1] = *m;
		return 0;
	}
	if (!grow_locked())
		return -ENOMEM;
	memmove(&list[at + 1], &list[at], (count - at) * sizeof(*list));
	list[at] = *m;
	count++;
	return 0;
}

int moved_add(uint64_t old, uint64_t bytes, uint64_t now)
{
	int r;

	pthread_rwlock_wrlock(&lock);
	r = add_locked(&(struct moved){ .begin = old, .bytes = bytes, .now = now });
	pthread_rwlock_unlock(&lock);
	return r;
}

/* What lies there already is memory that the client has placed. */
static CUresult reserve(struct work *work, uint64_t begin)
{
	CUdeviceptr at = 0;
	CUresult r;

	if (places_has(begin))
		return CUDA_SUCCESS;
	r = work->driver->cuMemAddressReserve(&at, MOVE_GRANULE, 0, begin, 0);
	if (r == CUDA_SUCCESS && at != begin) {
		work->driver->cuMemAddressFree(at, MOVE_GRANULE);
		r = CUDA_ERROR_INVALID_ADDRESS_SPACE;
	}
	return r;
}

int moved_reserve(struct work *work)
{
	struct move_place m;

	remote_get(&work->in, &m, sizeof(m));
	if (work->in.bad || work->in.used != work->in.size || m.begin % MOVE_GRANULE || m.bytes % MOVE_GRANULE ||
	    m.bytes > RESERVED_MOST - reserved || m.begin + m.bytes < m.begin)
		return -EPROTO;
	reserved += m.bytes;
	work->created = true;
	for (uint64_t i = 0; i < m.bytes && work->result == CUDA_SUCCESS; i += MOVE_GRANULE)
		work->result = (int32_t)reserve(work, m.begin + i);
	return 0;
}
