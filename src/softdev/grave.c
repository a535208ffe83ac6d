/* grave.c: see grave.h. */
#include "softdev/grave.h"

#include "softdev/arena.h"

#include <stdlib.h>

#define GRAVES_MOST 16384u
#define GRAVE_BYTES_MOST (UINT64_C(2) << 30) /* of addresses; what is freed takes no memory */

static struct range *first, *last;
static uint32_t count;
static uint64_t total;

static void forget_first(void)
{
	struct range *r = first;

	first = r->next;
	if (!first)
		last = NULL;
	count--;
	total -= r->bytes;
	arena_free(r->device->arena, r->begin);
	free(r);
}

void grave_bury_locked(struct range *r)
{
	arena_clear(r->device->arena, r->begin);
	r->freed = true;
	r->context = NULL;
	r->name = NULL;
	r->previous = r->next = NULL;
	if (last)
		last->next = r;
	else
		first = r;
	last = r;
	count++;
	total += r->bytes;
	while (first != last && (count > GRAVES_MOST || total > GRAVE_BYTES_MOST))
		forget_first();
}

bool grave_empty_locked(void)
{
	bool any = first;

	while (first)
		forget_first();
	return any;
}
