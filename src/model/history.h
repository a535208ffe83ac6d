/*
 * history.h: what a few figures were in the last hours, at three resolutions: a ring of means of 1 s for 10 minutes, of
 * 10 s for 3 hours, of 1 minute for a day.
 *
 * Pure: time comes in as seconds of any clock that does not go back (history_shift() where one was set). A figure is
 * kept in 16 bits, with 11 significant ones: below 2048 exact, above to 0.05 %. A moment without a sample has none. 33
 * KB for five figures that change all the time, 3 KB for those that stay.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_LEVELS 3u
#define HISTORY_NONE UINT64_MAX /* as a value: there is none */
#define HISTORY_CHUNK 60u	/* steps that are kept together */
#define HISTORY_FIGURES 16u	/* at most */

struct history;

/* NULL: no memory. */
struct history *history_new(unsigned int figures);
void history_free(struct history *h);

/* The length of a level's steps in seconds, and how many there are. */
unsigned int history_step(unsigned int level);
unsigned int history_steps(unsigned int level);
/* The finest level that reaches so far back. */
unsigned int history_level(uint64_t span_s);

/* What the figures are at a time. Times before the last one given are left out. */
void history_add(struct history *h, int64_t at_s, const uint64_t *value);
/* The same from one time to another, both with it: who adds every second and comes late leaves no gap. */
void history_add_span(struct history *h, int64_t from_s, int64_t to_s, const uint64_t *value);

/*
 * The clock was set: what it called `from_s` it calls `to_s` now. All that is kept is as long ago as before, to a step.
 * What would lie before the clock's 0 is lost, and so is a chunk for which there is no memory.
 */
void history_shift(struct history *h, int64_t from_s, int64_t to_s);

/*
 * `count` steps of one figure, from step number `first` on (a time divided by the level's step). Steps that are not
 * over, or not kept any more, are HISTORY_NONE.
 */
void history_read(const struct history *h, unsigned int figure, unsigned int level, int64_t first, unsigned int count,
		  uint64_t *ret);

/* The step of a level that is going on; what is before it is over. Below 0: nothing was added yet. */
int64_t history_now(const struct history *h, unsigned int level);

/*
 * Chunks of steps, for keeping: chunk number C holds the steps from C * HISTORY_CHUNK on, of all figures. The size in
 * bytes is the same for all.
 */
size_t history_chunk_bytes(const struct history *h);
/* Of the finest level with the step that is going on. */
void history_save(const struct history *h, unsigned int level, int64_t chunk, uint8_t *ret);
/* Before anything is added, oldest chunk first. The last step in it that has something is the newest. */
void history_load(struct history *h, unsigned int level, int64_t chunk, const uint8_t *data);

/* How figures are kept; 0: none. */
uint16_t history_encode(uint64_t value);
uint64_t history_decode(uint16_t code);
