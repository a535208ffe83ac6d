/* procs.c: see procs.h. */
#include "procs.h"

#include <string.h>

/* The first row whose name is not below `name`; `count` if there is none. */
static size_t first_row(const struct proc_variant *table, size_t count, const char *name)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(table[mid].name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int proc_find(const struct proc_variant *table, size_t count, const char *name, int version, uint64_t flags,
	      uint32_t *ret_call)
{
	const struct proc_variant *found = NULL;
	size_t first = first_row(table, count, name), end = first, i;
	uint32_t per_thread;

	while (end < count && !strcmp(table[end].name, name))
		end++;
	if (end == first)
		return PROC_NOT_FOUND;
	/* Per-thread rows are the last ones of their name. */
	per_thread = flags & PROC_PER_THREAD ? table[end - 1].per_thread : 0;
	for (i = first; i < end; i++)
		if (table[i].per_thread == per_thread && table[i].since <= version)
			found = &table[i];
	if (!found)
		return PROC_TOO_OLD;
	*ret_call = found->call;
	return PROC_FOUND;
}
