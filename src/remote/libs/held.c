/* held.c: see held.h. */
#include "remote/libs/held.h"

#include <stdlib.h>

struct forward_held *held_new(void *handle, int (*end)(void *handle))
{
	struct forward_held *held = calloc(1, sizeof(*held));

	if (!held)
		return NULL;
	atomic_init(&held->count, 1);
	held->handle = handle;
	held->end = end;
	return held;
}

bool held_refers(struct forward_held *held, struct forward_held *other)
{
	struct forward_held **more;

	for (size_t i = 0; i < held->behind_count; i++)
		if (held->behind[i] == other)
			return true;
	more = realloc(held->behind, (held->behind_count + 1) * sizeof(*more));
	if (!more)
		return false;
	atomic_fetch_add(&other->count, 1);
	held->behind = more;
	held->behind[held->behind_count++] = other;
	return true;
}

bool held_ends(struct forward_held *held)
{
	if (atomic_load(&held->count) == 1)
		return false;
	atomic_store(&held->ended, true);
	return true;
}

/* A list in place of calls within calls: a client may have one refer to the next without an end. */
static struct forward_held *drop(struct forward_held *held, struct forward_held *list)
{
	if (atomic_fetch_sub(&held->count, 1) != 1)
		return list;
	held->next = list;
	return held;
}

void held_drop(struct forward_held *held)
{
	struct forward_held *list = held ? drop(held, NULL) : NULL;

	while (list) {
		held = list;
		list = held->next;
		if (atomic_load(&held->ended) && held->end)
			held->end(held->handle);
		for (size_t i = 0; i < held->behind_count; i++)
			list = drop(held->behind[i], list);
		free(held->behind);
		free(held);
	}
}
