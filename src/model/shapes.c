/* shapes.c: see shapes.h. */
#include "model/shapes.h"

#include <string.h>

const struct shape_row shape_rows[] = {
#include "musa_shape_row.h"
#include "maca_shape_row.h"
#include "corex_shape_row.h"
};

const size_t shape_row_count = sizeof(shape_rows) / sizeof(*shape_rows);

_Static_assert(sizeof(shape_rows) / sizeof(*shape_rows) < SHAPES_MAX, "there is room for each, and for an end");

const struct shape_row *shape_named(const char *name)
{
	for (size_t i = 0; i < shape_row_count; i++)
		if (!strcmp(shape_rows[i].name, name))
			return &shape_rows[i];
	return NULL;
}

enum device_kind shape_kind(const struct shape_row *row)
{
	return device_kind_named(row->name);
}
