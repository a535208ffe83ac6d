/* shared_event.c: see shared_event.h. */
#include "softdev/shared_event.h"

#include "base/clock.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RECORDS 512u
#define PAGE 4096u
#define PATIENCE_NS 20000000 /* after this a waiter asks whether who recorded still lives */

struct page {
	_Atomic uint64_t latest; /* version << 32 | word */
	_Atomic uint32_t wakes;	 /* counts what was reached; waiters sleep on it */
	uint32_t unused;
	_Atomic uint32_t reached[RECORDS]; /* by version modulo RECORDS: the newest version reached */
};

_Static_assert(sizeof(struct page) <= PAGE, "an event is a page");

struct shared_event {
	_Atomic uint32_t references;
	uint64_t object;
	struct page *page;
};

static CUresult event_map(int fd, uint64_t object, struct shared_event **ret)
{
	struct shared_event *e = calloc(1, sizeof(*e));

	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->references = 1;
	e->object = object;
	e->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (e->page == MAP_FAILED) {
		free(e);
		return CUDA_ERROR_MAP_FAILED;
	}
	madvise(e->page, PAGE, MADV_DONTFORK);
	*ret = e;
	return CUDA_SUCCESS;
}

CUresult shared_event_new(struct device *d, struct shared_event **ret)
{
	struct segment_wish wish = { .kind = SEGMENT_EVENT, .device = d->index, .bytes = PAGE };
	uint64_t object;
	int fd = segment_object_new(&driver.place, &wish, &object);
	CUresult e;

	if (fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e = event_map(fd, object, ret);
	close(fd);
	return e;
}

CUresult shared_event_open(uint64_t object, struct shared_event **ret)
{
	int fd = segment_object_open(&driver.place, object);
	CUresult e;

	if (fd < 0)
		return CUDA_ERROR_INVALID_HANDLE;
	e = event_map(fd, object, ret);
	close(fd);
	return e;
}

struct shared_event *shared_event_ref(struct shared_event *e)
{
	if (e)
		atomic_fetch_add(&e->references, 1);
	return e;
}

void shared_event_unref(struct shared_event *e)
{
	if (!e || atomic_fetch_sub(&e->references, 1) != 1)
		return;
	munmap(e->page, PAGE);
	free(e);
	segment_reap(&driver.place); /* the file goes with the last one */
}

uint64_t shared_event_object(const struct shared_event *e)
{
	return e->object;
}

struct shared_record shared_event_record(struct shared_event *e)
{
	uint64_t before = atomic_load(&e->page->latest), after;
	uint32_t version;

	do {
		version = (uint32_t)(before >> 32) + 1;
		version += !version;
		after = (uint64_t)version << 32 | driver.place.word;
	} while (!atomic_compare_exchange_weak(&e->page->latest, &before, after));
	return (struct shared_record){ version, driver.place.word };
}

void shared_event_reached(struct shared_event *e, uint32_t version)
{
	/* release: pairs with the acquire in shared_record_reached() */
	atomic_store_explicit(&e->page->reached[version % RECORDS], version, memory_order_release);
	atomic_fetch_add(&e->page->wakes, 1);
	syscall(SYS_futex, &e->page->wakes, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

struct shared_record shared_event_latest(const struct shared_event *e)
{
	uint64_t latest = atomic_load(&e->page->latest);

	return (struct shared_record){ (uint32_t)(latest >> 32), (uint32_t)latest };
}

bool shared_record_own(struct shared_record r)
{
	return r.word == driver.place.word;
}

/* A newer version in the same place says that this one is RECORDS records ago. */
static bool marked(const struct shared_event *e, uint32_t version)
{
	uint32_t there = atomic_load_explicit(&e->page->reached[version % RECORDS], memory_order_acquire);

	return !version || (there && (int32_t)(there - version) >= 0);
}

static bool recorder_dead(struct shared_record r)
{
	return !shared_record_own(r) && segment_word_dead(&driver.place, r.word);
}

bool shared_record_reached(const struct shared_event *e, struct shared_record r)
{
	return marked(e, r.version) || recorder_dead(r);
}

void shared_record_wait(struct shared_event *e, struct shared_record r, const _Atomic int *stop)
{
	const struct timespec patience = { .tv_nsec = PATIENCE_NS };
	uint64_t asked = clock_now_ns();

	while (!(stop && *stop)) {
		uint32_t wakes = atomic_load(&e->page->wakes);

		if (marked(e, r.version))
			return;
		syscall(SYS_futex, &e->page->wakes, FUTEX_WAIT, wakes, &patience, NULL, 0);
		if (clock_now_ns() - asked < PATIENCE_NS)
			continue;
		if (recorder_dead(r))
			return;
		asked = clock_now_ns();
	}
}
