/*
 * ranges.h: the addresses of this session's device memory: an ordered map of intervals, as a treap.
 *
 * The driver accepts host addresses where it accepts device addresses, so every address from the client is looked up
 * here before it reaches the driver. Adjoining intervals count as one: a range that lies in two of them is covered.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGES_MOST (1u << 20)

struct range_node;

struct ranges {
	pthread_mutex_t lock; /* guards all fields */
	struct range_node *root;
	uint32_t count, random;
};

void ranges_init(struct ranges *ranges);
void ranges_deinit(struct ranges *ranges);
/* Value: 0; -EEXIST: overlaps another interval; -EINVAL; -ENOSPC; -ENOMEM. */
int ranges_add(struct ranges *ranges, uint64_t begin, uint64_t bytes, uint64_t owner);
/* The same for memory that the driver has just returned: other entries for these addresses are obsolete and removed. */
int ranges_put(struct ranges *ranges, uint64_t begin, uint64_t bytes, uint64_t owner);
/* Removes the interval that begins there. Value: its size, 0: there is none. */
uint64_t ranges_remove(struct ranges *ranges, uint64_t begin);
void ranges_remove_owner(struct ranges *ranges, uint64_t owner);
/* True if all of [at, at + bytes) is covered; for 0 bytes, if `at` is inside or directly behind an interval. */
bool ranges_cover(struct ranges *ranges, uint64_t at, uint64_t bytes);
/* Finds the interval that contains `at`. */
bool ranges_find(struct ranges *ranges, uint64_t at, uint64_t *ret_begin, uint64_t *ret_bytes, uint64_t *ret_owner);
