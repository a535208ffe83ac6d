/*
 * history.h: a few figures over the last hours, at three resolutions: means of 1 s for 10 minutes, of 10 s for 3 hours,
 * and of 1 minute for a day, each in a ring.
 *
 * Pure: time is given in seconds of any clock that does not go back (history_shift() after a clock was set). A figure
 * is stored in 16 bits with 11 significant ones: exact below 2048, to 0.05 % above. A step without a sample has no
 * value. Five figures that change all the time take 33 KB, constant ones 3 KB.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_LEVELS 3u
#define HISTORY_NONE UINT64_MAX /* the value of a step without a sample */
#define HISTORY_CHUNK 60u	/* steps stored together */
#define HISTORY_FIGURES 16u	/* at most */

struct history;

/* Returns NULL without memory. */
struct history *history_new(unsigned int figures);
void history_free(struct history *h);

/* Return the length of a level's steps in seconds, and their number. */
unsigned int history_step(unsigned int level);
unsigned int history_steps(unsigned int level);
/* Returns the finest level that reaches back so far. */
unsigned int history_level(uint64_t span_s);

/* Adds the figures at a time. Times before the last one are ignored. */
void history_add(struct history *h, int64_t at_s, const uint64_t *value);
/*
 * The same for all seconds from one time to another, both included: a caller that adds every second and is late leaves
 * no gap.
 */
void history_add_span(struct history *h, int64_t from_s, int64_t to_s, const uint64_t *value);

/*
 * The clock was set: time `from_s` is now called `to_s`. All steps keep their age, to one step. Steps that would lie
 * before 0 are lost, and so is a chunk for which there is no memory.
 */
void history_shift(struct history *h, int64_t from_s, int64_t to_s);

/*
 * Reads `count` steps of one figure from step number `first` on (a time divided by the level's step). Steps that are
 * not complete, or not stored any more, are HISTORY_NONE.
 */
void history_read(const struct history *h, unsigned int figure, unsigned int level, int64_t first, unsigned int count,
		  uint64_t *ret);

/* Returns the current step of a level; earlier ones are complete. Below 0: nothing was added yet. */
int64_t history_now(const struct history *h, unsigned int level);

/*
 * Chunks of steps, for storage: chunk number C contains the steps from C * HISTORY_CHUNK on, of all figures. All have
 * the same size in bytes.
 */
size_t history_chunk_bytes(const struct history *h);
/* Saves a chunk; that of the finest level includes the current step. */
void history_save(const struct history *h, unsigned int level, int64_t chunk, uint8_t *ret);
/* Loads a chunk; call before anything is added, oldest chunk first. The last step with a value is the newest. */
void history_load(struct history *h, unsigned int level, int64_t chunk, const uint8_t *data);

/* The storage format of figures; 0: none. */
uint16_t history_encode(uint64_t value);
uint64_t history_decode(uint16_t code);
