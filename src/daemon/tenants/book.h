/*
 * book.h: meted's own record of each client's grant, beside the pages, which no other process can write.
 *
 * The page is authoritative, but it can be damaged, truncated or lost while meted is down. A restarted meted would
 * then lend memory that a process still holds. The values that only meted changes, a client's grant and its objects,
 * are therefore also in the file `accounts` of the runtime directory, one entry per client. Each value is a range, two
 * halves of one word. Before meted changes a page, the range covers the old and the new value; afterwards it covers
 * only the new one. After a kill at any instruction, an undamaged page therefore lies within the range. Without a book
 * (no disk space, or a meted of an earlier release) meted trusts the pages.
 */
#pragma once

#include "daemon/tenants/process.h"
#include "wire/page.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct book;
struct runtime;

enum book_figure {
	BOOK_GRANTED, /* the upper half of the account word */
	BOOK_OBJECTS, /* the size of the objects on the page */
	BOOK_FIGURES
};

struct book_entry {
	uint64_t grant_id;
	uint64_t start_time;
	_Atomic int32_t pid; /* 0: the entry is free; written last */
	uint32_t said_units; /* client.h */
	_Atomic uint64_t range[WIRE_MAX_DEVICES][BOOK_FIGURES]; /* upper bound << 32 | lower bound, in units */
};

/*
 * Maps the file, and creates it if it does not exist. anew: existing contents are not trusted. NULL: a line of the log
 * gives the reason.
 */
struct book *book_open(struct runtime *runtime, bool anew);
void book_close(struct book *book);

/* The entry of a client. find: NULL: there is none. add: all figures are 0; NULL: there is no room. */
struct book_entry *book_find(struct book *book, uint64_t grant_id, pid_t pid, uint64_t start_time);
struct book_entry *book_add(struct book *book, uint64_t grant_id, pid_t pid, uint64_t start_time);
void book_remove(struct book_entry *entry);

/* The used entry after `last` (NULL: the first one); NULL: no more. */
struct book_entry *book_next(struct book *book, struct book_entry *last);

/* These functions accept NULL for "no entry": nothing is written, and all figures are 0. */
static inline uint32_t book_most(const struct book_entry *e, unsigned int device, enum book_figure figure)
{
	return e ? (uint32_t)(atomic_load_explicit(&e->range[device][figure], memory_order_relaxed) >> 32) &
			       WIRE_MAX_UNITS
		 : 0;
}

static inline uint32_t book_least(const struct book_entry *e, unsigned int device, enum book_figure figure)
{
	return e ? (uint32_t)atomic_load_explicit(&e->range[device][figure], memory_order_relaxed) & WIRE_MAX_UNITS : 0;
}

/* Sets the figure to `units`. Release order: the change of the page comes before it. */
static inline void book_set(struct book_entry *e, unsigned int device, enum book_figure figure, uint32_t units)
{
	if (e)
		atomic_store_explicit(&e->range[device][figure], wire_word(units, units), memory_order_release);
}

/* Announces a change: the figure will lie between `least` and `most`. Must precede the change of the page. */
static inline void book_expect(struct book_entry *e, unsigned int device, enum book_figure figure, uint32_t least,
			       uint32_t most)
{
	if (e)
		atomic_store_explicit(&e->range[device][figure], wire_word(most, least), memory_order_seq_cst);
}
