/* map.c: see map.h. */
#include "core/map.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#define MAP_FIRST_PLACES 128u /* one 4 KiB page */

static size_t bytes_of(uint32_t places)
{
	return (size_t)places * sizeof(struct map_entry);
}

static struct map_entry *table_new(uint32_t places)
{
	int saved = errno;
	void *p = mmap(NULL, bytes_of(places), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

static uint32_t place_of(const struct map *m, uint64_t key)
{
	uint32_t i = (uint32_t)map_hash(key) & m->mask;

	while (m->table[i].key && m->table[i].key != key)
		i = (i + 1) & m->mask;
	return i;
}

static bool grow(struct map *m)
{
	uint32_t places = m->table ? (m->mask + 1) * 2 : MAP_FIRST_PLACES;
	struct map bigger = { .table = table_new(places), .mask = places - 1, .count = m->count };

	if (!bigger.table)
		return false;
	for (uint32_t i = 0; m->table && i <= m->mask; i++)
		if (m->table[i].key)
			bigger.table[place_of(&bigger, m->table[i].key)] = m->table[i];
	if (m->table)
		munmap(m->table, bytes_of(m->mask + 1));
	*m = bigger;
	return true;
}

struct map_entry *map_find(const struct map *m, uint64_t key)
{
	struct map_entry *e;

	if (!m->table || !key)
		return NULL;
	e = &m->table[place_of(m, key)];
	return e->key ? e : NULL;
}

bool map_add(struct map *m, const struct map_entry *e)
{
	uint32_t i;

	if (!e->key || ((!m->table || m->count >= (m->mask + 1) / 4 * 3) && !grow(m)))
		return false;
	i = place_of(m, e->key);
	m->count += !m->table[i].key;
	m->table[i] = *e;
	return true;
}

/* Frees a place and closes the gap: whoever was pushed past it by a collision moves back. */
static void free_place(struct map *m, uint32_t hole)
{
	uint32_t i = hole;

	for (;;) {
		uint32_t home;

		i = (i + 1) & m->mask;
		if (!m->table[i].key)
			break;
		home = (uint32_t)map_hash(m->table[i].key) & m->mask;
		if (((i - home) & m->mask) < ((i - hole) & m->mask))
			continue;
		m->table[hole] = m->table[i];
		hole = i;
	}
	m->table[hole].key = 0;
	m->count--;
}

bool map_remove(struct map *m, uint64_t key, struct map_entry *ret_entry)
{
	struct map_entry *e = map_find(m, key);

	if (!e)
		return false;
	if (ret_entry)
		*ret_entry = *e;
	free_place(m, (uint32_t)(e - m->table));
	return true;
}

void map_sweep(struct map *m, bool (*drop)(const struct map_entry *e, void *data), void *data)
{
	if (!m->table)
		return;
	for (uint32_t i = 0; i <= m->mask; i++)
		while (m->table[i].key && drop(&m->table[i], data))
			free_place(m, i);
}

void map_clear(struct map *m)
{
	if (m->table)
		munmap(m->table, bytes_of(m->mask + 1));
	*m = (struct map){ 0 };
}
