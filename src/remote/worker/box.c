/* box.c: see box.h. */
#include "remote/worker/box.h"

bool box_good(const struct box *box)
{
	uint64_t bytes;

	return box->width && box->height && box->depth && !__builtin_mul_overflow(box->width, box->height, &bytes) &&
	       !__builtin_mul_overflow(bytes, box->depth, &bytes);
}

bool box_sums(const struct box *box, const struct box_place *place)
{
	uint64_t end;

	return box_good(box) && !__builtin_add_overflow(place->x, box->width, &end) &&
	       !__builtin_add_overflow(place->y, box->height, &end) &&
	       !__builtin_add_overflow(place->z, box->depth, &end);
}

/* More than one row, or more than one slice: how far apart they are counts. */
static bool has_rows(const struct box *box, const struct box_place *place)
{
	return box->height > 1 || box->depth > 1 || place->y || place->z;
}

static bool has_slices(const struct box *box, const struct box_place *place)
{
	return box->depth > 1 || place->z;
}

struct box_place box_plain(const struct box *box, const struct box_place *place)
{
	struct box_place plain = *place;

	if (!has_rows(box, place))
		plain.pitch = place->x + box->width;
	if (!has_slices(box, place))
		plain.height = place->y + box->height;
	return plain;
}

/* From the place's beginning to behind the last byte of row `y` in slice `z`, up to `x`. */
static bool offset(const struct box_place *place, uint64_t x, uint64_t y, uint64_t z, uint64_t *ret)
{
	uint64_t rows;

	return !__builtin_mul_overflow(place->height, z, &rows) && !__builtin_add_overflow(rows, y, &rows) &&
	       !__builtin_mul_overflow(place->pitch, rows, ret) && !__builtin_add_overflow(*ret, x, ret);
}

bool box_span(const struct box *box, const struct box_place *place, struct box_span *ret)
{
	struct box_place p;
	uint64_t end;

	if (!box_sums(box, place))
		return false;
	p = box_plain(box, place);
	if (p.pitch < p.x + box->width || p.height < p.y + box->height)
		return false;
	if (!offset(&p, p.x, p.y, p.z, &ret->first) ||
	    !offset(&p, p.x + box->width, p.y + box->height - 1, p.z + box->depth - 1, &end))
		return false;
	ret->bytes = end - ret->first;
	return true;
}
