/*
 * chatter.h: limits the lines of a log per source, so that no source can fill the disk or hide among the lines of
 * others.
 *
 * Each source may write a number of lines in a window of time, which its first line begins. All sources together have a
 * limit as well. Suppressed lines are counted and reported in one line at the end of the window: for each source that
 * had lines, and once for all others.
 */
#pragma once

#include "model/unproven.h"

#define CHATTER_SOURCES 256u
#define CHATTER_NAME_BYTES 64u

struct chatter_rule {
	unsigned int lines, all; /* of one source, of all */
	uint64_t window_ns;
};

struct chatter_entry {
	struct unproven_source source;
	char name[CHATTER_NAME_BYTES];
	uint64_t since_ns; /* 0: free */
	unsigned int lines;
	uint64_t hidden;
};

/* All zeros is the initial state. */
struct chatter {
	struct chatter_entry entry[CHATTER_SOURCES];
	struct chatter_entry all; /* hidden: lines of sources without a place, or beyond the limit of all */
};

/* True if a line about this source may be written. `name` is the name that reports suppressed lines. */
bool chatter_may(struct chatter *c, const struct chatter_rule *rule, const struct unproven_source *source,
		 const char *name, uint64_t now_ns);
/*
 * Finds a source whose window has ended with suppressed lines: their number, and its name, "" for all others. False:
 * none.
 */
bool chatter_held(struct chatter *c, const struct chatter_rule *rule, uint64_t now_ns,
		  char ret_name[CHATTER_NAME_BYTES], uint64_t *ret_hidden);
