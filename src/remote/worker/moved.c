/* moved.c: see moved.h. Of one process, as it has one session. The list is sorted; it only grows. */
#include "remote/worker/moved.h"

#include "remote/move.h"
#include "remote/worker/places.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define RESERVED_MOST (UINT64_C(1) << 40)

struct moved {
	uint64_t begin, bytes, now;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER; /* guards what follows */
static struct moved *list;
static size_t room;
static _Atomic size_t count; /* read without it: whether there are any */

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

int moved_add(uint64_t old, uint64_t bytes, uint64_t now)
{
	struct moved *more;
	size_t at;
	int r = 0;

	pthread_rwlock_wrlock(&lock);
	if (count == room) {
		more = realloc(list, (room ? 2 * room : 64) * sizeof(*list));
		if (more) {
			list = more;
			room = room ? 2 * room : 64;
		}
	}
	if (count < room) {
		at = behind_locked(old);
		memmove(&list[at + 1], &list[at], (count - at) * sizeof(*list));
		list[at] = (struct moved){ .begin = old, .bytes = bytes, .now = now };
		count++;
	} else {
		r = -ENOMEM;
	}
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
	    m.bytes > RESERVED_MOST || m.begin + m.bytes < m.begin)
		return -EPROTO;
	work->created = true;
	for (uint64_t i = 0; i < m.bytes && work->result == CUDA_SUCCESS; i += MOVE_GRANULE)
		work->result = (int32_t)reserve(work, m.begin + i);
	return 0;
}
