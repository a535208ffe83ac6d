/*
 * ranges.h: which addresses are device memory of this session: an ordered map of intervals, as a treap.
 *
 * The driver takes host addresses where it takes device addresses, so whatever address comes from the client is looked
 * up here before it reaches the driver. Neighbours count as one: what lies in two adjoining intervals is covered.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGES_MOST (1u << 20)

struct range_node;

struct ranges {
	pthread_mutex_t lock; /* guards all */
	struct range_node *root;
	uint32_t count, random;
};

void ranges_init(struct ranges *ranges);
void ranges_deinit(struct ranges *ranges);
/* 0; -EEXIST: overlaps one that is there; -EINVAL; -ENOSPC; -ENOMEM. */
int ranges_add(struct ranges *ranges, uint64_t begin, uint64_t bytes, uint64_t owner);
/* The same for what the driver has just given out: what else is known of these addresses is untrue now, and goes. */
int ranges_put(struct ranges *ranges, uint64_t begin, uint64_t bytes, uint64_t owner);
/* The one that begins there. Value: its size, 0: there is none. */
uint64_t ranges_remove(struct ranges *ranges, uint64_t begin);
void ranges_remove_owner(struct ranges *ranges, uint64_t owner);
/* Whether all of [at, at + bytes) is covered; of no bytes, whether `at` is in or just behind one. */
bool ranges_cover(struct ranges *ranges, uint64_t at, uint64_t bytes);
/* The one that contains `at`. */
bool ranges_find(struct ranges *ranges, uint64_t at, uint64_t *ret_begin, uint64_t *ret_bytes, uint64_t *ret_owner);
