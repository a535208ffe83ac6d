/* shape.c: see shape.h. */
#include "core/shape.h"

#include <stdio.h>
#include <string.h>

static bool lists(const char *const *list, const char *name)
{
	for (; list && *list; list++)
		if (!strcmp(*list, name))
			return true;
	return false;
}

bool shape_refuses(const char *name)
{
	return lists(shape.refused, name);
}

void *shape_find(void *(*find)(void *arg, const char *name), void *arg, const char *name)
{
	void *f = *name && !shape_refuses(name) ? find(arg, name) : NULL;

	for (const struct shape_alias *a = shape.aliases; !f && a && a->name; a++)
		if (!strcmp(a->name, name))
			f = find(arg, a->other);
	return f;
}

const char *shape_plain(const char *name, char text[SHAPE_NAME_BYTES])
{
	size_t length = strlen(shape.prefix);

	if (strncmp(name, shape.prefix, length) != 0)
		return name;
	snprintf(text, SHAPE_NAME_BYTES, "%s%s", shape.plain, name + length);
	return text;
}

void shape_pass(void *(*find)(void *arg, const char *name), void *arg)
{
	for (size_t i = 0; shape.passed && shape.passed[i]; i++) {
		void *f = find ? find(arg, shape.passed[i]) : NULL;

		__atomic_store_n(&shape.passed_slots[i], f ? f : shape.missing, __ATOMIC_RELEASE);
	}
}
