/* arena.c: memory that is taken in small pieces and given back at once. */
#include "softdev/ptx/text.h"

#include <stdlib.h>

#define ARENA_PIECE ((size_t)16384)

struct arena_piece {
	struct arena_piece *next;
	size_t used, room;
	_Alignas(16) uint8_t data[];
};

void *arena_take(struct arena *a, size_t bytes)
{
	size_t need = (bytes + 15) & ~(size_t)15, room;
	struct arena_piece *piece = a->piece;
	void *p;

	/* a small module keeps little */
	room = piece ? piece->room * 2 : ARENA_PIECE / 64;
	room = room > ARENA_PIECE ? ARENA_PIECE : room;
	room = need > room ? need : room;
	if (need < bytes)
		return NULL;
	if (!piece || piece->room - piece->used < need) {
		piece = calloc(1, sizeof(*piece) + room);
		if (!piece)
			return NULL;
		piece->room = room;
		piece->next = a->piece;
		a->piece = piece;
	}
	p = piece->data + piece->used;
	piece->used += need;
	return p;
}

size_t arena_bytes(const struct arena *a)
{
	size_t sum = 0;

	for (const struct arena_piece *p = a->piece; p; p = p->next)
		sum += sizeof(*p) + p->room;
	return sum;
}

void arena_deinit(struct arena *a)
{
	for (struct arena_piece *next; a->piece; a->piece = next) {
		next = a->piece->next;
		free(a->piece);
	}
}
