/* figure.c: see figure.h. */
#include "core/figure.h"
#include "wire/page.h"

void figure_assume(struct figure *f, uint64_t bytes)
{
	if (!f->found)
		f->process_bytes = bytes;
}

static int64_t units_between(uint64_t before, uint64_t after)
{
	return (int64_t)wire_units(after) - (int64_t)wire_units(before);
}

int64_t figure_difference(const struct figure *before, const struct figure *after)
{
	if (after->found)
		return units_between(before->process_bytes, after->process_bytes);
	if (before->whole && after->whole)
		return units_between(before->device_bytes, after->device_bytes);
	return 0;
}
