/* mirrors.c: see mirrors.h. What finds no place in the list overlaps everything until all has come. */
#include "remote/client/mirrors.h"

#include <sched.h>

static void lock(struct mirrors *m)
{
	while (atomic_flag_test_and_set_explicit(&m->lock, memory_order_acquire))
		sched_yield();
}

static void unlock(struct mirrors *m)
{
	atomic_flag_clear_explicit(&m->lock, memory_order_release);
}

void mirrors_ask(struct mirrors *m, uint64_t offset, uint64_t bytes)
{
	unsigned int i;

	lock(m);
	for (i = 0; i < MIRRORS && m->list[i].bytes; i++)
		;
	if (i < MIRRORS) {
		m->list[i].offset = offset;
		m->list[i].bytes = bytes;
	} else {
		m->unlisted++;
	}
	atomic_fetch_add_explicit(&m->count, 1, memory_order_relaxed);
	unlock(m);
}

void mirrors_come(struct mirrors *m, uint64_t offset, uint64_t bytes)
{
	unsigned int i;

	lock(m);
	for (i = 0; i < MIRRORS && (m->list[i].bytes != bytes || m->list[i].offset != offset); i++)
		;
	if (i < MIRRORS)
		m->list[i].bytes = 0;
	else if (m->unlisted)
		m->unlisted--;
	if (atomic_load_explicit(&m->count, memory_order_relaxed))
		atomic_fetch_sub_explicit(&m->count, 1, memory_order_relaxed);
	unlock(m);
}

bool mirrors_overlap(struct mirrors *m, uint64_t offset, uint64_t bytes)
{
	bool found;

	if (!atomic_load_explicit(&m->count, memory_order_relaxed))
		return false;
	lock(m);
	found = m->unlisted;
	for (unsigned int i = 0; i < MIRRORS && !found; i++)
		found = m->list[i].bytes && offset < m->list[i].offset + m->list[i].bytes &&
			m->list[i].offset < offset + bytes;
	unlock(m);
	return found;
}
