/*
 * box.h: which bytes of linear memory a copy touches, from numbers that a client sent.
 *
 * A driver takes numbers that do not fit together and touches what they come to: a slice without rows has the rows of
 * the box, a sum that wraps begins somewhere else. So nothing of a description reaches a driver before it has been
 * through here, and then as this says it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What is copied, in bytes, rows and slices. */
struct box {
	uint64_t width, height, depth;
};

/* How it lies in memory: x and pitch in bytes, y and height in rows, z in slices. */
struct box_place {
	uint64_t x, y, z;
	uint64_t pitch, height;
};

/* What is touched, counted from the address of the description. */
struct box_span {
	uint64_t first, bytes;
};

/* All of the box is there, and its bytes fit a number. */
bool box_good(const struct box *box);
/*
 * Every byte of the box lies in ret's span. False: rows or slices overlap, or a sum is no number. The pitch and the
 * height are looked at only where they matter, and 0 is no default for them there.
 */
bool box_span(const struct box *box, const struct box_place *place, struct box_span *ret);
/* Whether a box can lie there in an array: the sums are numbers. How large the array is the driver knows. */
bool box_sums(const struct box *box, const struct box_place *place);
/* Pitch and height as a driver is told them: where they do not matter, those of a box that lies by itself. */
struct box_place box_plain(const struct box *box, const struct box_place *place);
