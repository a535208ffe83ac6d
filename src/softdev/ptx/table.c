/* table.c: see table.h. A chained hash whose chains are ordered by age, so that closing a scope pops their heads. */
#include "softdev/ptx/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t name_hash(struct name n)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < n.bytes; i++)
		h = (h ^ (uint8_t)n.p[i]) * 16777619u;
	return h ^ h >> 15;
}

int table_init(struct table *t)
{
	*t = (struct table){ .head_count = 1024 };
	t->head = calloc(t->head_count, sizeof(struct entry *));
	return t->head ? 0 : -ENOMEM;
}

void table_deinit(struct table *t)
{
	free(t->head);
	t->head = NULL;
}

/* Entries go to the new heads oldest first, which keeps every chain in order of age. */
static int table_grow(struct table *t)
{
	uint32_t count = t->head_count * 4;
	struct entry **head = calloc(count, sizeof(*head)), *e = t->newest, *older = NULL, *next;

	if (!head)
		return -ENOMEM;
	for (; e; e = next) { /* reverse the list ... */
		next = e->scope;
		e->scope = older;
		older = e;
	}
	t->newest = NULL;
	for (e = older; e; e = next) { /* ... and back */
		next = e->scope;
		e->scope = t->newest;
		t->newest = e;
		e->chain = head[e->hash & (count - 1)];
		head[e->hash & (count - 1)] = e;
	}
	free(t->head);
	t->head = head;
	t->head_count = count;
	return 0;
}

int table_add(struct table *t, struct entry *e)
{
	struct entry **head;

	if (t->count >= t->head_count * 2 && table_grow(t))
		return -ENOMEM;
	e->hash = name_hash(e->name) + (e->kind == ENT_REG_RANGE);
	e->level = t->level;
	head = &t->head[e->hash & (t->head_count - 1)];
	e->chain = *head;
	*head = e;
	e->scope = t->newest;
	t->newest = e;
	t->count++;
	return 0;
}

struct entry *table_find(const struct table *t, struct name name, bool range)
{
	uint32_t hash = name_hash(name) + range;

	for (struct entry *e = t->head[hash & (t->head_count - 1)]; e; e = e->chain)
		if (e->hash == hash && (e->kind == ENT_REG_RANGE) == range && e->name.bytes == name.bytes &&
		    !memcmp(e->name.p, name.p, name.bytes))
			return e;
	return NULL;
}

void table_close(struct table *t)
{
	while (t->newest && t->newest->level == t->level) {
		struct entry *e = t->newest;

		t->head[e->hash & (t->head_count - 1)] = e->chain;
		t->newest = e->scope;
		t->count--;
	}
	t->level--;
}
