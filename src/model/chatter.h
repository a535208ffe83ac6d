/*
 * chatter.h: how many lines of a log are about one source, so that nobody fills a disk, or hides among others' lines.
 *
 * Each source has some lines in a window of time that its first one begins, and all together have some. What is held
 * back is counted, and told in one line when the window has ended: for each source that had its lines, and once for all
 * others.
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

/* Zero is a good beginning. */
struct chatter {
	struct chatter_entry entry[CHATTER_SOURCES];
	struct chatter_entry all; /* hidden: of those that have no place, or no line left in all */
};

/* Whether a line about this source is written. `name`: what it is called when lines are held back. */
bool chatter_may(struct chatter *c, const struct chatter_rule *rule, const struct unproven_source *source,
		 const char *name, uint64_t now_ns);
/* Somebody whose window has ended with lines held back: how many, and the name, "" for all others. False: nobody. */
bool chatter_held(struct chatter *c, const struct chatter_rule *rule, uint64_t now_ns,
		  char ret_name[CHATTER_NAME_BYTES], uint64_t *ret_hidden);
