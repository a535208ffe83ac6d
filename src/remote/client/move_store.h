/*
 * move_store.h: the place for the memory of a session while it moves: in this process, or, if meted says so, in a file
 * of memory.disk, encrypted with a key that is created for this move and exists only here.
 *
 * It is written once from beginning to end, and read in the same way any number of times. Each step is at most as long
 * as one window. A checksum of each window is kept, which detects a disk that returns other bytes than were written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;

enum store_outcome {
	STORE_READY,
	STORE_NO_MEMORY, /* in this process */
	STORE_NO_ROOM,	 /* meted has no room: neither in memory.pool nor on memory.disk */
};

/* Prepares a place for so many bytes. `near`: the session stays with this meted, which is asked. */
enum store_outcome store_begin(const struct session *session, uint64_t bytes, bool near);
/* Starts at the beginning; called before the first step of each pass. False: see store_done(). */
bool store_rewind(bool reads);
/* The address of the next bytes to read or write. *bytes: how many are needed; set to how many there is room for. */
uint8_t *store_at(uint64_t *bytes);
/*
 * Notes that so many bytes were copied. False: the disk reports an error, or returned other bytes; the log says more.
 */
bool store_done(uint64_t bytes);
/* Writes everything. False: as above. */
bool store_flush(void);
/* Tells meted, which may be another one now, that there is a file. */
void store_tell(void);
/* Releases the place. */
void store_end(void);
/* In the child of fork(): it has no use for the place. */
void store_forget(void);
