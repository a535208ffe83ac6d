/*
 * rooms.h: memory for the bytes of copies that are inside messages: one room for each executing thread.
 *
 * A driver gets the address of a room and never that of a message. If the driver returns to the address after the
 * request's end (a graph that captured the copy after all), it finds bytes that nothing relies on, instead of a request
 * that is being checked. All rooms are in one area, which remains until the session ends. Only used rooms take memory.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct rooms {
	pthread_mutex_t lock; /* guards the next three fields */
	uint32_t made, unused_count;
	uint32_t *unused; /* numbers of created rooms that are free */
	uint32_t most;
	size_t room_bytes;
	uint8_t *begin; /* an area of most * room_bytes */
};

/* Value: 0 or -errno. */
int rooms_init(struct rooms *rooms, size_t room_bytes, uint32_t most);
/* All rooms must have been returned. */
void rooms_deinit(struct rooms *rooms);
/* Takes a room of room_bytes, aligned to the page; NULL: no memory. */
void *rooms_take(struct rooms *rooms);
void rooms_give(struct rooms *rooms, void *room);
