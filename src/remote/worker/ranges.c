/* ranges.c: see ranges.h. Split and merge by priorities; depth is logarithmic whatever the order of allocations. */
#include "remote/worker/ranges.h"

#include <errno.h>
#include <stdlib.h>

struct range_node {
	uint64_t begin, end, owner;
	struct range_node *left, *right;
	uint32_t priority;
};

void ranges_init(struct ranges *ranges)
{
	*ranges = (struct ranges){ .lock = PTHREAD_MUTEX_INITIALIZER, .random = 2463534242u };
}

static void free_tree(struct range_node *node)
{
	while (node) {
		struct range_node *left = node->left;

		free_tree(node->right);
		free(node);
		node = left;
	}
}

void ranges_deinit(struct ranges *ranges)
{
	free_tree(ranges->root);
	ranges_init(ranges);
}

/* Nodes that begin before `at`, and the others. */
static void split(struct range_node *node, uint64_t at, struct range_node **ret_below, struct range_node **ret_rest)
{
	if (!node) {
		*ret_below = *ret_rest = NULL;
	} else if (node->begin < at) {
		split(node->right, at, &node->right, ret_rest);
		*ret_below = node;
	} else {
		split(node->left, at, ret_below, &node->left);
		*ret_rest = node;
	}
}

/* All of `low` lie before all of `high`. */
static struct range_node *merge(struct range_node *low, struct range_node *high)
{
	if (!low || !high)
		return low ? low : high;
	if (low->priority > high->priority) {
		low->right = merge(low->right, high);
		return low;
	}
	high->left = merge(low, high->left);
	return high;
}

/* The last one that begins at or before `at`. */
static struct range_node *floor_of(struct range_node *node, uint64_t at)
{
	struct range_node *best = NULL;

	while (node) {
		if (node->begin <= at) {
			best = node;
			node = node->right;
		} else {
			node = node->left;
		}
	}
	return best;
}

static uint32_t next_random(struct ranges *ranges)
{
	ranges->random ^= ranges->random << 13;
	ranges->random ^= ranges->random >> 17;
	return ranges->random ^= ranges->random << 5;
}

static int add_locked(struct ranges *ranges, uint64_t begin, uint64_t end, uint64_t owner)
{
	struct range_node *below, *rest, *node = floor_of(ranges->root, end - 1);

	if (node && node->end > begin)
		return -EEXIST;
	if (ranges->count >= RANGES_MOST)
		return -ENOSPC;
	node = malloc(sizeof(*node));
	if (!node)
		return -ENOMEM;
	*node = (struct range_node){ .begin = begin, .end = end, .owner = owner, .priority = next_random(ranges) };
	split(ranges->root, begin, &below, &rest);
	ranges->root = merge(merge(below, node), rest);
	ranges->count++;
	return 0;
}

int ranges_add(struct ranges *ranges, uint64_t begin, uint64_t bytes, uint64_t owner)
{
	uint64_t end;
	int r;

	if (!begin || !bytes || __builtin_add_overflow(begin, bytes, &end))
		return -EINVAL;
	pthread_mutex_lock(&ranges->lock);
	r = add_locked(ranges, begin, end, owner);
	pthread_mutex_unlock(&ranges->lock);
	return r;
}

static uint64_t remove_locked(struct ranges *ranges, uint64_t begin)
{
	struct range_node *below, *node, *rest;
	uint64_t bytes;

	split(ranges->root, begin, &below, &rest);
	split(rest, begin + 1, &node, &rest);
	bytes = node ? node->end - node->begin : 0;
	ranges->count -= !!node;
	free(node); /* begins are distinct: it has no children in this split */
	ranges->root = merge(below, rest);
	return bytes;
}

int ranges_put(struct ranges *ranges, uint64_t begin, uint64_t bytes, uint64_t owner)
{
	struct range_node *node;
	uint64_t end;
	int r;

	if (!begin || !bytes || __builtin_add_overflow(begin, bytes, &end))
		return -EINVAL;
	pthread_mutex_lock(&ranges->lock);
	while ((node = floor_of(ranges->root, end - 1)) && node->end > begin)
		remove_locked(ranges, node->begin);
	r = add_locked(ranges, begin, end, owner);
	pthread_mutex_unlock(&ranges->lock);
	return r;
}

uint64_t ranges_remove(struct ranges *ranges, uint64_t begin)
{
	uint64_t bytes;

	if (!begin || begin == UINT64_MAX)
		return 0;
	pthread_mutex_lock(&ranges->lock);
	bytes = remove_locked(ranges, begin);
	pthread_mutex_unlock(&ranges->lock);
	return bytes;
}

static struct range_node *find_owned(struct range_node *node, uint64_t owner)
{
	struct range_node *found;

	while (node && node->owner != owner) {
		found = find_owned(node->left, owner);
		if (found)
			return found;
		node = node->right;
	}
	return node;
}

void ranges_remove_owner(struct ranges *ranges, uint64_t owner)
{
	struct range_node *node;

	pthread_mutex_lock(&ranges->lock);
	while ((node = find_owned(ranges->root, owner)))
		remove_locked(ranges, node->begin);
	pthread_mutex_unlock(&ranges->lock);
}

bool ranges_cover(struct ranges *ranges, uint64_t at, uint64_t bytes)
{
	struct range_node *node;
	uint64_t end;
	bool in;

	if (__builtin_add_overflow(at, bytes, &end))
		return false;
	pthread_mutex_lock(&ranges->lock);
	node = floor_of(ranges->root, at);
	in = node && (at < node->end || (!bytes && at == node->end));
	while (in && node->end < end) {
		uint64_t from = node->end;

		node = floor_of(ranges->root, from);
		in = node->end > from;
	}
	pthread_mutex_unlock(&ranges->lock);
	return in;
}

bool ranges_find(struct ranges *ranges, uint64_t at, uint64_t *ret_begin, uint64_t *ret_bytes, uint64_t *ret_owner)
{
	struct range_node *node;
	bool in;

	pthread_mutex_lock(&ranges->lock);
	node = floor_of(ranges->root, at);
	in = node && at < node->end;
	if (in) {
		*ret_begin = node->begin;
		*ret_bytes = node->end - node->begin;
		*ret_owner = node->owner;
	}
	pthread_mutex_unlock(&ranges->lock);
	return in;
}
