/*
 * insn.c: expands the patterns of the instruction table into a hash of full opcodes.
 *
 * "add{,.rn}.f32" stands for add.f32 and add.rn.f32; "add.<rz,rm,rp>.f32" for three opcodes whose number, 0 to 2, the
 * decoder puts into op.imm. The table of one instruction set is made once per process and never freed.
 */
#include "softdev/ptx/insn.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define OPCODE_BYTES_MAX 96u
#define ISA_MAX 4u

struct spelling {
	char *name;
	uint32_t bytes, hash;
	struct insn_match match;
};

struct insn_table {
	const struct isa *isa;
	struct spelling *slot;
	uint32_t room; /* a power of two */
	uint32_t count;
	bool bad;
};

static pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;
static struct insn_table *tables[ISA_MAX]; /* under tables_lock */

static void slot_put(struct insn_table *t, const struct spelling *s)
{
	uint32_t i = s->hash & (t->room - 1);

	while (t->slot[i].name)
		i = (i + 1) & (t->room - 1);
	t->slot[i] = *s;
	t->count++;
}

static void table_grow(struct insn_table *t)
{
	struct insn_table grown = { .room = t->room ? t->room * 2 : 4096 };

	grown.slot = calloc(grown.room, sizeof(*grown.slot));
	if (!grown.slot) {
		t->bad = true;
		return;
	}
	for (uint32_t i = 0; i < t->room; i++)
		if (t->slot[i].name)
			slot_put(&grown, &t->slot[i]);
	free(t->slot);
	t->slot = grown.slot;
	t->room = grown.room;
}

static void spelling_add(struct insn_table *t, const char *text, uint32_t bytes, struct insn_match match)
{
	struct spelling s = { .bytes = bytes, .match = match };

	if (t->count * 2 >= t->room)
		table_grow(t);
	if (t->bad)
		return;
	s.name = malloc(bytes + 1);
	if (!s.name) {
		t->bad = true;
		return;
	}
	memcpy(s.name, text, bytes);
	s.name[bytes] = 0;
	s.hash = name_hash((struct name){ text, bytes });
	slot_put(t, &s);
}

/* Appends the rest of a pattern to text[0, n) in all its spellings. */
static void pattern_expand(struct insn_table *t, const char *pattern, char *text, uint32_t n, struct insn_match match)
{
	for (; *pattern && *pattern != '{' && *pattern != '<'; pattern++)
		if (n < OPCODE_BYTES_MAX)
			text[n++] = *pattern;
	if (!*pattern) {
		spelling_add(t, text, n, match);
		return;
	}
	const bool counted = *pattern == '<';
	const char *end = strchr(pattern, counted ? '>' : '}'), *from = pattern + 1;
	const uint32_t alternatives_before = match.variant;

	for (uint32_t k = 0; end && from <= end; k++) {
		uint32_t m = n;
		const char *to = from;

		while (to < end && *to != ',')
			to++;
		for (const char *c = from; c < to && m < OPCODE_BYTES_MAX; c++)
			text[m++] = *c;
		if (counted)
			match.variant = alternatives_before * 16 + k;
		pattern_expand(t, end + 1, text, m, match);
		from = to + 1;
	}
}

static struct insn_table *table_new(const struct isa *isa)
{
	struct insn_table *t = calloc(1, sizeof(*t));
	char text[OPCODE_BYTES_MAX + 1];

	if (!t)
		return NULL;
	t->isa = isa;
	for (size_t i = 0; i < isa->row_count && !t->bad; i++)
		pattern_expand(t, isa->row[i].pattern, text, 0, (struct insn_match){ &isa->row[i], 0 });
	for (size_t i = 0; i < once_row_count && !t->bad; i++)
		pattern_expand(t, once_row[i].pattern, text, 0, (struct insn_match){ &once_row[i], 0 });
	if (t->bad) {
		for (uint32_t i = 0; i < t->room; i++)
			free(t->slot[i].name);
		free(t->slot);
		free(t);
		return NULL;
	}
	return t;
}

const struct insn_table *insn_table_get(const struct isa *isa)
{
	struct insn_table *t = NULL;

	pthread_mutex_lock(&tables_lock);
	for (uint32_t i = 0; i < ISA_MAX; i++) {
		if (!tables[i])
			tables[i] = table_new(isa);
		if (!tables[i] || tables[i]->isa == isa) {
			t = tables[i];
			break;
		}
	}
	pthread_mutex_unlock(&tables_lock);
	return t;
}

bool insn_find(const struct insn_table *t, struct name opcode, struct insn_match *ret)
{
	uint32_t hash = name_hash(opcode);

	for (uint32_t i = hash & (t->room - 1); t->slot[i].name; i = (i + 1) & (t->room - 1)) {
		const struct spelling *s = &t->slot[i];

		if (s->hash == hash && s->bytes == opcode.bytes && !memcmp(s->name, opcode.p, s->bytes)) {
			*ret = s->match;
			return true;
		}
	}
	return false;
}
