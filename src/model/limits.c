/* limits.c: see limits.h. */
#include "model/limits.h"

#include <stdlib.h>
#include <string.h>

static bool gives(const struct limits_entry *e, enum limit what, bool group, uint32_t id)
{
	return e->known && e->group == group && e->id == id && e->given >> what & 1;
}

static bool is_in(const struct limits_entry *e, const uint32_t *groups, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (groups[i] == e->id)
			return true;
	return false;
}

uint64_t limits_most(const struct limits *l, enum limit what, uint32_t uid, const uint32_t *groups,
		     unsigned int group_count, const struct limits_entry **ret_entry)
{
	const struct limits_entry *best = NULL;

	for (unsigned int i = 0; i < l->count; i++) {
		const struct limits_entry *e = &l->entry[i];

		if (gives(e, what, false, uid)) {
			best = e;
			break;
		}
		if (gives(e, what, true, e->id) && is_in(e, groups, group_count) &&
		    (!best || e->most[what] > best->most[what]))
			best = e;
	}
	*ret_entry = best;
	return best ? best->most[what] : l->most[what];
}

/* As useradd(8) has them, and numbers. */
static bool is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@$";

	return *name && strlen(name) < LIMITS_NAME_BYTES && strspn(name, letters) == strlen(name);
}

struct limits_entry *limits_add(struct limits *l, bool group, const char *name)
{
	struct limits_entry *more;

	for (unsigned int i = 0; i < l->count; i++)
		if (l->entry[i].group == group && !strcmp(l->entry[i].name, name))
			return &l->entry[i];
	if (!is_name(name) || l->count == LIMITS_ENTRIES)
		return NULL;
	more = realloc(l->entry, (l->count + 1) * sizeof(*more));
	if (!more)
		return NULL;
	l->entry = more;
	more += l->count++;
	*more = (struct limits_entry){ .group = group };
	strcpy(more->name, name);
	return more;
}

static bool same_entry(const struct limits_entry *a, const struct limits_entry *b)
{
	return !strcmp(a->name, b->name) && a->group == b->group && a->known == b->known && a->id == b->id &&
	       a->given == b->given && !memcmp(a->most, b->most, sizeof(a->most));
}

bool limits_same_entries(const struct limits *a, const struct limits *b)
{
	bool same = a->count == b->count;

	for (unsigned int i = 0; same && i < a->count; i++)
		same = same_entry(&a->entry[i], &b->entry[i]);
	return same;
}

void limits_deinit(struct limits *l)
{
	free(l->entry);
	l->entry = NULL;
	l->count = 0;
}
