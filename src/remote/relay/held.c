/* held.c: see held.h. */
#include "remote/relay/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void held_init(struct held *h)
{
	*h = (struct held){ 0 };
	h->last = &h->first;
}

void held_deinit(struct held *h)
{
	while (h->first)
		free(held_take(h, UINT64_MAX));
}

bool held_has_room(const struct held *h, size_t bytes)
{
	return !h->first || h->bytes + bytes <= HELD_MOST_BYTES;
}

int held_add(struct held *h, uint64_t serial, const void *message, uint32_t bytes)
{
	struct held_message *m = malloc(sizeof(*m) + bytes);

	if (!m)
		return -ENOMEM;
	m->next = NULL;
	m->serial = serial;
	m->bytes = bytes;
	memcpy(m->message, message, bytes);
	*h->last = m;
	h->last = &m->next;
	h->bytes += bytes;
	return 0;
}

struct held_message *held_take(struct held *h, uint64_t serial)
{
	struct held_message **at = &h->first, *m;

	while (*at && (*at)->serial > serial)
		at = &(*at)->next;
	m = *at;
	if (!m)
		return NULL;
	*at = m->next;
	if (h->last == &m->next)
		h->last = at;
	h->bytes -= m->bytes;
	return m;
}
