/* extent.c: see extent.h. */
#include "base/extent.h"

#include <stdlib.h>

static uint32_t extent_priority(uint64_t begin)
{
	uint64_t x = begin * 0x9e3779b97f4a7c15ull; /* the address decides: no state, no clock */

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(x >> 32);
}

static void extent_update(struct extent *e)
{
	uint64_t most = e->owner ? 0 : e->bytes;

	if (e->left && e->left->most_free > most)
		most = e->left->most_free;
	if (e->right && e->right->most_free > most)
		most = e->right->most_free;
	e->most_free = most;
}

/* Splits into those that begin before `at` and the rest. */
static void extent_split(struct extent *e, uint64_t at, struct extent **ret_before, struct extent **ret_rest)
{
	if (!e) {
		*ret_before = *ret_rest = NULL;
		return;
	}
	if (e->begin < at) {
		extent_split(e->right, at, &e->right, ret_rest);
		*ret_before = e;
	} else {
		extent_split(e->left, at, ret_before, &e->left);
		*ret_rest = e;
	}
	extent_update(e);
}

static struct extent *extent_merge(struct extent *a, struct extent *b)
{
	if (!a || !b)
		return a ? a : b;
	if (a->priority > b->priority) {
		a->right = extent_merge(a->right, b);
		extent_update(a);
		return a;
	}
	b->left = extent_merge(a, b->left);
	extent_update(b);
	return b;
}

static void extent_insert(struct extent **root, struct extent *e)
{
	struct extent *before, *rest;

	extent_update(e);
	extent_split(*root, e->begin, &before, &rest);
	*root = extent_merge(extent_merge(before, e), rest);
}

static struct extent *extent_detach(struct extent **root, uint64_t begin)
{
	struct extent *before, *rest, *e;

	extent_split(*root, begin, &before, &rest);
	extent_split(rest, begin + 1, &e, &rest);
	*root = extent_merge(before, rest);
	return e;
}

/* Recomputes the path to the node after its size or owner changed. */
static void extent_refresh(struct extent *e, uint64_t begin)
{
	if (!e)
		return;
	if (begin < e->begin)
		extent_refresh(e->left, begin);
	else if (begin > e->begin)
		extent_refresh(e->right, begin);
	extent_update(e);
}

struct extent *extent_add(struct extent **root, uint64_t begin, uint64_t bytes, void *owner)
{
	struct extent *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->begin = begin;
	e->bytes = bytes;
	e->owner = owner;
	e->priority = extent_priority(begin);
	extent_insert(root, e);
	return e;
}

void extent_remove(struct extent **root, uint64_t begin)
{
	free(extent_detach(root, begin));
}

struct extent *extent_previous(struct extent *e, uint64_t address)
{
	struct extent *best = NULL;

	while (e) {
		if (e->begin < address) {
			best = e;
			e = e->right;
		} else {
			e = e->left;
		}
	}
	return best;
}

struct extent *extent_next(struct extent *e, uint64_t address)
{
	struct extent *best = NULL;

	while (e) {
		if (e->begin >= address) {
			best = e;
			e = e->left;
		} else {
			e = e->right;
		}
	}
	return best;
}

struct extent *extent_find(struct extent *root, uint64_t address)
{
	struct extent *e = extent_previous(root, address + 1);

	return e && address - e->begin < e->bytes ? e : NULL;
}

static struct extent *extent_fit(struct extent *e, uint64_t bytes)
{
	if (!e || e->most_free < bytes)
		return NULL;
	for (;;) {
		if (e->left && e->left->most_free >= bytes)
			e = e->left;
		else if (!e->owner && e->bytes >= bytes)
			return e;
		else
			e = e->right;
	}
}

struct extent *extent_take(struct extent **root, uint64_t bytes, void *owner)
{
	struct extent *e = extent_fit(*root, bytes);

	if (!e)
		return NULL;
	if (e->bytes > bytes) {
		uint64_t rest = e->bytes - bytes;

		e->bytes = bytes;
		if (!extent_add(root, e->begin + bytes, rest, NULL)) {
			e->bytes += rest;
			return NULL;
		}
	}
	e->owner = owner;
	extent_refresh(*root, e->begin);
	return e;
}

void extent_release(struct extent **root, uint64_t begin)
{
	struct extent *e = extent_find(*root, begin), *other;

	e->owner = NULL;
	other = extent_next(*root, begin + 1);
	if (other && !other->owner && other->begin == e->begin + e->bytes) {
		e->bytes += other->bytes;
		extent_remove(root, other->begin);
	}
	other = extent_previous(*root, begin);
	if (other && !other->owner && other->begin + other->bytes == e->begin) {
		other->bytes += e->bytes;
		extent_remove(root, e->begin);
		e = other;
	}
	extent_refresh(*root, e->begin);
}
