/*
 * move_store.h: where the memory of a session that moves lies meanwhile: in this process, or, if meted says so, in a
 * file of memory.disk, encrypted with a key that is made for this one time and is nowhere but here.
 *
 * It is written once from its beginning to its end, and read likewise, any number of times. Each step is about as much
 * as fits into one window. Of each window a sum is kept: a disk that gives back other bytes than it was given is found
 * out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;

enum store_outcome {
	STORE_READY,
	STORE_NO_MEMORY, /* in this process */
	STORE_NO_ROOM,	 /* meted has none: neither in memory.pool nor on memory.disk */
};

/* A place for so many bytes. `near`: it stays with this meted, which is asked. */
enum store_outcome store_begin(const struct session *session, uint64_t bytes, bool near);
/* From the beginning again; before the first step of each pass. False: see store_done(). */
bool store_rewind(bool reads);
/*
 * Where the next bytes are, or go to, and how many of them at most (*bytes, which is how many there are to be, and
 * becomes how many there are room for).
 */
uint8_t *store_at(uint64_t *bytes);
/* So many of them have been copied. False: the disk answers an error, or gives back other bytes; the log says more. */
bool store_done(uint64_t bytes);
/* All has been written. False: as above. */
bool store_flush(void);
/* meted may be another one: it hears that there is a file. */
void store_tell(void);
/* What is there is not needed any more. */
void store_end(void);
/* In the child of fork(): it has no use for it. */
void store_forget(void);
