/*
 * extent.h: an ordered map of address ranges, free and used, as a treap.
 *
 * Each node knows the largest free extent in its subtree, so a first fit is found in logarithmic time. The caller
 * locks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct extent {
	uint64_t begin;
	uint64_t bytes;
	uint64_t most_free; /* of this node and those below it */
	void *owner;	    /* NULL: free */
	struct extent *left, *right;
	uint32_t priority;
};

/* Adds a range that overlaps no other. Returns the node, or NULL without memory. */
struct extent *extent_add(struct extent **root, uint64_t begin, uint64_t bytes, void *owner);
/* Removes the node that begins at `begin` and frees it. */
void extent_remove(struct extent **root, uint64_t begin);
/* The node that contains `address`, or NULL. */
struct extent *extent_find(struct extent *root, uint64_t address);
/* The first node that begins at or after `address`, or NULL. */
struct extent *extent_next(struct extent *root, uint64_t address);
/* The last node that begins before `address`, or NULL. */
struct extent *extent_previous(struct extent *root, uint64_t address);
/*
 * Allocates `bytes` from the lowest free extent that is large enough. Returns the node, now used by `owner`; NULL: none
 * is large enough, or no memory for a node.
 */
struct extent *extent_take(struct extent **root, uint64_t bytes, void *owner);
/* The used node that begins at `begin` becomes free and joins its free neighbours. */
void extent_release(struct extent **root, uint64_t begin);
