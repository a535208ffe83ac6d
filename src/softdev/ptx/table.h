/*
 * table.h: names in nested scopes. The newest entry of a name hides older ones; closing a scope removes its entries.
 */
#pragma once

#include "softdev/ptx/text.h"

enum entry_kind {
	ENT_SYMBOL,
	ENT_REG,
	ENT_REG_RANGE, /* %r<10>: the name without the number */
};

struct entry {
	struct entry *chain; /* same hash, older */
	struct entry *scope; /* same scope, older */
	struct name name;
	uint32_t hash;
	uint32_t level;
	uint8_t kind;
	uint32_t reg, reg_count;
	struct symbol *symbol;
};

struct table {
	struct entry **head;
	uint32_t head_count; /* a power of two */
	uint32_t count;
	uint32_t level;
	struct entry *newest; /* all entries, newest first, through `scope` */
};

int table_init(struct table *t);
void table_deinit(struct table *t);
/* Adds an entry that the caller has created (in the arena) to the current scope. Value: 0 or -ENOMEM. */
int table_add(struct table *t, struct entry *e);
struct entry *table_find(const struct table *t, struct name name, bool range);
static inline void table_open(struct table *t)
{
	t->level++;
}
void table_close(struct table *t);
