/* far_values.c: see far_values.h. */
#include "remote/libs/far_values.h"

#include <stdlib.h>

bool far_value_note(struct far_values *v, const struct far_value *new)
{
	struct far_value *more;

	for (uint64_t i = 0; i < v->count; i++)
		if (v->value[i].id == new->id)
			return v->value[i].bytes == new->bytes;
	more = v->count < FAR_ELEMENTS_MOST ? realloc(v->value, (v->count + 1) * sizeof(*more)) : NULL;
	if (!more)
		return false;
	v->value = more;
	v->value[v->count++] = *new;
	return true;
}

bool far_values_note(struct far_values *v, const struct far_values *other)
{
	for (uint64_t i = 0; i < other->count; i++)
		if (!far_value_note(v, &other->value[i]))
			return false;
	return true;
}

const struct far_value *far_value_find(const struct far_values *v, int64_t id)
{
	for (uint64_t i = 0; i < v->count; i++)
		if (v->value[i].id == id)
			return &v->value[i];
	return NULL;
}
