/*
 * rooms.h: where the bytes of a copy lie that are in a message themselves, one room for each thread that executes.
 *
 * A driver is given the address of a room and never that of a message: should it come back there after the request's
 * end (a graph that has captured the copy after all), it meets bytes that nobody believes, instead of a request that is
 * being checked. All rooms lie in one place, which stays what it is until the session ends. Only rooms that have been
 * used take memory.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct rooms {
	pthread_mutex_t lock; /* guards the next three */
	uint32_t made, unused_count;
	uint32_t *unused; /* of those made: numbers that nobody has */
	uint32_t most;
	size_t room_bytes;
	uint8_t *begin; /* of most * room_bytes */
};

/* 0 or -errno. */
int rooms_init(struct rooms *rooms, size_t room_bytes, uint32_t most);
/* All rooms have been given back. */
void rooms_deinit(struct rooms *rooms);
/* A room of room_bytes, aligned to the page; NULL: no memory. */
void *rooms_take(struct rooms *rooms);
void rooms_give(struct rooms *rooms, void *room);
