/*
 * merge.h: memory that two sides write at once, of which each has a copy: what one of them has changed goes to the
 * other byte by byte, so that what the other has changed beside it stays. Whoever writes at the same time may be a
 * thread of this process, another process or a device: each word of 8 bytes is changed by one atomic step.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are looked at together: of memory that others write meanwhile one picture is taken of them. */
#define MERGE_LINE 64u

/*
 * The bytes in which `from` differs from `known`, what it was before, go to `to` and to `known`. `from` and `to` are
 * not the same memory.
 */
void merge(uint8_t *known, const uint8_t *from, uint8_t *to, size_t bytes);
/* Of at most MERGE_LINE bytes, those whose bit in `mask` is set, beginning with the lowest. */
void merge_masked(uint8_t *to, const uint8_t *from, uint64_t mask, size_t bytes);
/* Where `from` differs from `known`, as a mask; `known` becomes it. `picture`: what it was, MERGE_LINE bytes. */
uint64_t merge_changes(uint8_t *known, const uint8_t *from, size_t bytes, uint8_t *picture);
/* Whether both are equal now. */
bool merge_same(const uint8_t *known, const uint8_t *from, size_t bytes);
/* All of it becomes what is there. */
void merge_take(uint8_t *known, const uint8_t *from, size_t bytes);
