/*
 * trusting_box.c: a worker's checks of copies as if they were wrong: whatever a client says of a box is believed, and
 * reaches the driver as it was said. Linked into a worker by --wrap, for the test of what stands behind those checks.
 */
#include "remote/worker/box.h"

bool __wrap_box_span(const struct box *box, const struct box_place *place, struct box_span *ret);
bool __wrap_box_sums(const struct box *box, const struct box_place *place);
struct box_place __wrap_box_plain(const struct box *box, const struct box_place *place);

bool __wrap_box_span(const struct box *box, const struct box_place *place, struct box_span *ret)
{
	(void)box;
	*ret = (struct box_span){ (place->z * place->height + place->y) * place->pitch + place->x, 1 };
	return true;
}

bool __wrap_box_sums(const struct box *box, const struct box_place *place)
{
	(void)box;
	(void)place;
	return true;
}

struct box_place __wrap_box_plain(const struct box *box, const struct box_place *place)
{
	(void)box;
	return *place;
}
