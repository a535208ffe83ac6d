/*
 * box.h: computes the bytes of linear memory that a copy accesses, from numbers that a client sent.
 *
 * A driver accepts inconsistent numbers and accesses whatever they result in: a slice without rows has the rows of the
 * box, a sum that wraps begins elsewhere. So every description passes through here before it reaches a driver, in the
 * form that this file returns.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The size of the copy, in bytes, rows and slices. */
struct box {
	uint64_t width, height, depth;
};

/* Its layout in memory: x and pitch in bytes, y and height in rows, z in slices. */
struct box_place {
	uint64_t x, y, z;
	uint64_t pitch, height;
};

/* The accessed bytes, relative to the address of the description. */
struct box_span {
	uint64_t first, bytes;
};

/* True if no dimension is 0, and the size of the box does not overflow. */
bool box_good(const struct box *box);
/*
 * Computes a span that contains every byte of the box. False: rows or slices overlap, or a sum overflows. The pitch and
 * the height are checked only where they are used, and there 0 is not a default.
 */
bool box_span(const struct box *box, const struct box_place *place, struct box_span *ret);
/* True if the sums for a box at this place in an array do not overflow. The driver knows the size of the array. */
bool box_sums(const struct box *box, const struct box_place *place);
/* Pitch and height as passed to a driver: where they are not used, those of a contiguous box. */
struct box_place box_plain(const struct box *box, const struct box_place *place);
