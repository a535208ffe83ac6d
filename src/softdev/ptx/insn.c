/*
 * insn.c: expands the patterns of the instruction table into a hash of full opcodes.
 *
 * "add{,.rn}.f32" stands for add.f32 and add.rn.f32; "add.<rz,rm,rp>.f32" for three opcodes whose number, 0 to 2, the
 * decoder puts into op.imm. The table of one instruction set is made once per process and never freed.
 *
 * Assemblers take the words behind the operation in any order (vote.ballot.sync, redux.add.sync), as long as types
 * and layouts keep theirs. An opcode that is not spelled as in the table is looked for by a hash that does not see
 * their order.
 */
#include "softdev/ptx/insn.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define OPCODE_BYTES_MAX 128u
#define ISA_MAX 4u

struct spelling {
	char *name;
	uint32_t bytes, hash;
	struct insn_match match;
};

struct insn_table {
	const struct isa *isa;
	struct spelling *slot;
	_Atomic(uint32_t *) by_words; /* numbers of slots plus 1, placed by words_hash; made when first wanted */
	uint32_t room;		      /* of both; a power of two */
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

static struct name word_after(struct name text, const char *from)
{
	struct name w = { from, 0 };

	while (w.p + w.bytes < text.p + text.bytes && w.p[w.bytes] != '.')
		w.bytes++;
	return w;
}

static bool name_same(struct name a, struct name b)
{
	return a.bytes == b.bytes && !memcmp(a.p, b.p, a.bytes);
}

/* Types, shapes and layouts, not kind::mxf8f6f4: the words whose order means something. */
static bool word_ordered(struct name w)
{
	if (memmem(w.p, w.bytes, "::", 2))
		return false;
	for (uint32_t i = 0; i < w.bytes; i++)
		if (w.p[i] >= '0' && w.p[i] <= '9')
			return true;
	return name_same(w, (struct name){ "row", 3 }) || name_same(w, (struct name){ "col", 3 });
}

static uint32_t words_hash(struct name text)
{
	uint32_t h = 0;
	struct name w;

	for (const char *p = text.p; p <= text.p + text.bytes; p = w.p + w.bytes + 1) {
		w = word_after(text, p);
		h += name_hash(w);
	}
	return h ^ h >> 15;
}

static uint32_t word_count(struct name text, struct name word)
{
	uint32_t n = 0;
	struct name w;

	for (const char *p = text.p; p <= text.p + text.bytes; p = w.p + w.bytes + 1) {
		w = word_after(text, p);
		n += name_same(w, word);
	}
	return n;
}

/* The next word at or behind p whose order matters; behind the text: no bytes. */
static struct name ordered_after(struct name text, const char *p)
{
	struct name w = { p, 0 };

	for (; p <= text.p + text.bytes; p = w.p + w.bytes + 1) {
		w = word_after(text, p);
		if (word_ordered(w))
			return w;
	}
	return (struct name){ text.p + text.bytes, 0 };
}

/* The same operation, the same words, and those whose order matters in the same order. */
static bool words_same(struct name a, struct name b)
{
	struct name v = word_after(a, a.p), w = word_after(b, b.p);

	if (a.bytes != b.bytes || !name_same(v, w))
		return false;
	for (const char *p = a.p; p <= a.p + a.bytes; p = v.p + v.bytes + 1) {
		v = word_after(a, p);
		if (word_count(a, v) != word_count(b, v))
			return false;
	}
	v = ordered_after(a, a.p);
	w = ordered_after(b, b.p);
	while (name_same(v, w) && v.bytes) {
		v = ordered_after(a, v.p + v.bytes + 1);
		w = ordered_after(b, w.p + w.bytes + 1);
	}
	return name_same(v, w);
}

/* NULL: out of memory. */
static const uint32_t *words_index(const struct insn_table *t)
{
	uint32_t *by_words = calloc(t->room, sizeof(*by_words)), *other = NULL;

	for (uint32_t i = 0; by_words && i < t->room; i++) {
		uint32_t k;

		if (!t->slot[i].name)
			continue;
		k = words_hash((struct name){ t->slot[i].name, t->slot[i].bytes }) & (t->room - 1);
		while (by_words[k])
			k = (k + 1) & (t->room - 1);
		by_words[k] = i + 1;
	}
	if (!by_words || atomic_compare_exchange_strong(&((struct insn_table *)t)->by_words, &other, by_words))
		return by_words;
	free(by_words);
	return other;
}

static struct insn_table *table_new(const struct isa *isa)
{
	struct insn_table *t = calloc(1, sizeof(*t));
	char text[OPCODE_BYTES_MAX + 1];
	const struct row *row;

	if (!t)
		return NULL;
	t->isa = isa;
	for (size_t i = 0; (row = isa_row(isa, i)) && !t->bad; i++)
		pattern_expand(t, row->pattern, text, 0, (struct insn_match){ .row = row });
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

static void match_set(const struct spelling *s, struct insn_match *ret)
{
	*ret = s->match;
	ret->name = (struct name){ s->name, s->bytes };
}

/* As insn_find, for an opcode whose words stand in another order than in the table. */
static bool reordered_find(const struct insn_table *t, struct name opcode, struct insn_match *ret)
{
	const uint32_t *by_words = t->by_words;

	if (!by_words)
		by_words = words_index(t);
	if (!by_words)
		return false;
	for (uint32_t i = words_hash(opcode) & (t->room - 1); by_words[i]; i = (i + 1) & (t->room - 1)) {
		const struct spelling *s = &t->slot[by_words[i] - 1];

		if (words_same(opcode, (struct name){ s->name, s->bytes })) {
			match_set(s, ret);
			return true;
		}
	}
	return false;
}

bool insn_find(const struct insn_table *t, struct name opcode, struct insn_match *ret)
{
	uint32_t hash = name_hash(opcode);

	for (uint32_t i = hash & (t->room - 1); t->slot[i].name; i = (i + 1) & (t->room - 1)) {
		const struct spelling *s = &t->slot[i];

		if (s->hash == hash && s->bytes == opcode.bytes && !memcmp(s->name, opcode.p, s->bytes)) {
			match_set(s, ret);
			return true;
		}
	}
	return reordered_find(t, opcode, ret);
}
