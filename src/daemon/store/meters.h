/*
 * meters.h: the file `meters` of the runtime directory: all counters as they were last reported.
 *
 * Readers take a counter that falls for a new beginning, and count its whole value as use within the last minute. A
 * reported value must therefore survive a kill at any instruction. The file is mapped and has two tables: one is
 * written while the other one is valid, and a single store makes the written one valid. All values that are written
 * between two such stores belong together. The file lasts as long as the runtime directory; history.db (history.h) has
 * the same values, up to half a minute old, for longer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METERS_KEY_BYTES 48u
#define METERS_VALUES 24u

struct meters;
struct runtime;

struct meters_entry {
	uint8_t key[METERS_KEY_BYTES];
	uint64_t value[METERS_VALUES];
};

/* Values common to all entries of a table. */
struct meters_clock {
	uint64_t ticked_ns; /* CLOCK_MONOTONIC: when the histories were last written */
	int64_t offset_ns;  /* offset of the wall clock to CLOCK_MONOTONIC */
	int64_t drawn_s;    /* the last second in the histories */
	int64_t saved_s;    /* the last second in history.db */
	uint64_t saved_ns;  /* CLOCK_MONOTONIC: when history.db was written */
};

/*
 * Maps the file, and creates it if it does not exist. NULL: a line of the log gives the reason, and counters may fall
 * when meted is killed.
 */
struct meters *meters_open(struct runtime *runtime);
void meters_close(struct meters *meters);

/* Read the valid table. find: NULL: no such entry. clock: false: nothing was written yet. */
const struct meters_entry *meters_find(const struct meters *meters, const uint8_t key[METERS_KEY_BYTES]);
void meters_each(const struct meters *meters, void (*fn)(const struct meters_entry *e, void *owner), void *owner);
bool meters_clock(const struct meters *meters, struct meters_clock *ret);

/* Begin the other table; add an entry (NULL: no room); make that table the valid one. */
void meters_begin(struct meters *meters);
struct meters_entry *meters_add(struct meters *meters, const uint8_t key[METERS_KEY_BYTES]);
void meters_end(struct meters *meters, const struct meters_clock *clock);
