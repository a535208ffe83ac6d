/*
 * generator.c: random kernels that do not race and whose results are defined.
 *
 * Registers come in pools by width and hold anything: a result of an integer instruction is a source of a float one. A
 * float result that is not a number is made canonical at once, for its payload is not defined. Every thread has memory
 * of its own in each space; what threads share is separated by barriers or changed by atomics whose order does not
 * matter. Two flags follow the control flow: whether all threads of the block are together (barriers), and whether the
 * warp is (instructions without a member mask).
 */
#include "generator.h"

#include <stdarg.h>

enum { PREDS = 4, HALVES = 5, WORDS = 8, DOUBLES = 5 };

struct writer {
	struct generated *g;
	const struct catalogue *c;
	uint64_t random;
	int depth;     /* of nested control */
	bool together; /* the whole block */
	bool function; /* within a device function: no block memory, no barriers */
	int names, traces;
	int device_functions;
};

static uint32_t below(struct writer *w, uint32_t n)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (uint32_t)((w->random * 0x2545f4914f6cdd1dull >> 32) % n);
}

static bool chance(struct writer *w, uint32_t percent)
{
	return below(w, 100) < percent;
}

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *format, ...)
{
	struct generated *g = w->g;
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (g->lines == g->room) {
		g->room = g->room * 2 + 256;
		g->line = realloc(g->line, g->room * sizeof(*g->line));
		if (!g->line)
			abort();
	}
	g->line[g->lines++] = strdup(text);
}

/* A register of a pool, as a name. Several names may be in use at once. */
static const char *any(struct writer *w, char letter)
{
	static char names[16][12];
	static unsigned n;
	char *name = names[n++ % 16];
	const uint32_t count = letter == 'p' ? PREDS : letter == 'h' ? HALVES : letter == 'w' ? WORDS : DOUBLES;

	snprintf(name, 12, "%%%c%u", letter, below(w, count));
	return name;
}

static const char *immediate(struct writer *w, char letter)
{
	static const uint64_t edges[] = { 0,	  1,	  2,	  7,	  31,	      32,	  33,	     255,
					  0x7fff, 0x8000, 0xffff, 0x3c00, 0x7fffffff, 0x80000000, 0xffffffff };
	static char names[16][32];
	static unsigned n;
	char *name = names[n++ % 16];
	uint64_t v = chance(w, 60) ? edges[below(w, sizeof(edges) / sizeof(edges[0]))] : below(w, 0xffffffff);

	if (letter == 'h')
		v &= 0xffff;
	if (letter == 'd' && chance(w, 30))
		v = v << 32 | below(w, 0xffffffff);
	snprintf(name, 32, letter == 'd' && v >> 63 ? "0x%llx" : "%llu", (unsigned long long)v);
	return name;
}

/* A source; sometimes a number. */
static const char *from(struct writer *w, char letter)
{
	return letter != 'p' && chance(w, 12) ? immediate(w, letter) : any(w, letter);
}

static const char *guard(struct writer *w)
{
	static char text[16];

	text[0] = 0;
	if (chance(w, 20))
		snprintf(text, sizeof(text), "@%s%s ", chance(w, 40) ? "!" : "", any(w, 'p'));
	return text;
}

static void canonical(struct writer *w, const char *name, int bits)
{
	put(w, "\tsetp.nan.f%d %%nan, %s, %s;", bits, name, name);
	put(w, bits == 32 ? "\t@%%nan mov.b32 %s, 0x7fffffff;" : "\t@%%nan mov.b64 %s, 0x7fffffffffffffff;", name);
}

/* setp.lt.s32 becomes setp.lt.and.s32 */
static void with_boolean(struct writer *w, const struct spelling *s)
{
	static const char *const ops[] = { "and", "or", "xor" };
	const char *type = strchr(strchr(s->text, '.') + 1, '.');
	const char *p = any(w, 'p'), *q = any(w, 'p'), *c = any(w, 'p');
	const char *b = ref_is_float(&s->op.type[0]) ? any(w, s->regs[2]) : from(w, s->regs[2]);

	if (!strcmp(q, p) || !strcmp(q, c)) {
		put(w, "\t%s%.*s.%s%s %s, %s, %s, %s%s;", guard(w), (int)(type - s->text), s->text, ops[below(w, 3)],
		    type, p, any(w, s->regs[1]), b, chance(w, 30) ? "!" : "", c);
		return;
	}
	put(w, "\t%s%.*s.%s%s %s|%s, %s, %s, %s%s;", guard(w), (int)(type - s->text), s->text, ops[below(w, 3)], type,
	    p, q, any(w, s->regs[1]), b, chance(w, 30) ? "!" : "", c);
}

static void plain(struct writer *w)
{
	const struct spelling *s = &w->c->at[below(w, (uint32_t)w->c->count)], *other;
	const struct ref_type *t = &s->op.type[0];
	char text[300];
	const char *d;
	int n;

	/* the mnemonics have very different numbers of spellings: another choice for the large ones */
	for (int i = 0; i < 3 && (!strncmp(s->text, "set", 3) || !strncmp(s->text, "cvt", 3)); i++) {
		other = &w->c->at[below(w, (uint32_t)w->c->count)];
		s = other;
	}
	t = &s->op.type[0];
	if (s->row->form == FORM_SETP && chance(w, 40)) {
		with_boolean(w, s);
		return;
	}
	put(w, "//{");
	d = any(w, s->regs[0]);
	n = snprintf(text, sizeof(text), "\t%s%s %s", guard(w), s->text, d);
	for (int i = 1; s->regs[i]; i++) {
		const bool fixed = !strncmp(s->text, "fns", 3) && i == 2;

		n += snprintf(text + n, sizeof(text) - (size_t)n, ", %s",
			      fixed						     ? "9"
			      : ref_is_float(&s->op.type[s->op.types - 1]) || i == 1 ? any(w, s->regs[i])
										     : from(w, s->regs[i]));
	}
	put(w, "%s;", text);
	if (s->zero.is_float && t->bits > 32 && t->kind == 'f' && s->regs[0] != 'p')
		canonical(w, d, t->bits);
	put(w, "//}");
}

/* 64 bits of sums and products from 32-bit pieces, or 128 from 64. */
static void carry_chain(struct writer *w)
{
	const char x = chance(w, 60) ? 'w' : 'd';
	const int bits = x == 'w' ? 32 : 64;
	const char sign = chance(w, 50) ? 'u' : 's';

	put(w, "//{");
	switch (below(w, 3)) {
	case 0:
		put(w, "\tadd.cc.%c%d %s, %s, %s;", sign, bits, any(w, x), any(w, x), from(w, x));
		put(w, "\taddc.cc.%c%d %s, %s, %s;", sign, bits, any(w, x), any(w, x), from(w, x));
		put(w, "\taddc.%c%d %s, %s, %s;", sign, bits, any(w, x), any(w, x), any(w, x));
		break;
	case 1:
		put(w, "\tsub.cc.%c%d %s, %s, %s;", sign, bits, any(w, x), any(w, x), from(w, x));
		put(w, "\t%ssubc.cc.%c%d %s, %s, %s;", guard(w), sign, bits, any(w, x), any(w, x), from(w, x));
		put(w, "\tsubc.%c%d %s, %s, %s;", sign, bits, any(w, x), any(w, x), any(w, x));
		break;
	default:
		put(w, "\tmad.lo.cc.%c%d %s, %s, %s, %s;", sign, bits, any(w, x), any(w, x), any(w, x), any(w, x));
		put(w, "\tmadc.hi.cc.%c%d %s, %s, %s, %s;", sign, bits, any(w, x), any(w, x), any(w, x), any(w, x));
		put(w, "\tmadc.lo.%c%d %s, %s, %s, %s;", sign, bits, any(w, x), any(w, x), any(w, x), any(w, x));
	}
	put(w, "//}");
}

static void moves(struct writer *w)
{
	switch (below(w, 7)) {
	case 0:
		put(w, "\tmov.b64 %s, {%s, %s};", any(w, 'd'), any(w, 'w'), any(w, 'w'));
		break;
	case 1:
		put(w, "\tmov.b32 %s, {%s, %s};", any(w, 'w'), any(w, 'h'), any(w, 'h'));
		break;
	case 2:
		put(w, "\tmov.b64 {%%w%u, %%w%u}, %s;", below(w, 4), 4 + below(w, 4), any(w, 'd'));
		break;
	case 3:
		put(w, "\tmov.b32 {%%h%u, %%h%u}, %s;", below(w, 2), 2 + below(w, 3), any(w, 'w'));
		break;
	case 4:
		put(w, "\tmov.b64 {%%h0, _, %%h2, %%h3}, %s;", any(w, 'd'));
		break;
	case 5:
		put(w, "\tmov.b64 %s, {%s, %s, %s, %s};", any(w, 'd'), any(w, 'h'), any(w, 'h'), any(w, 'h'),
		    any(w, 'h'));
		break;
	default: {
		static const char *const special[] = { "%tid.x",       "%ntid.x",      "%ctaid.x",     "%nctaid.x",
						       "%laneid",      "%lanemask_lt", "%lanemask_ge", "%lanemask_eq",
						       "%lanemask_le", "%lanemask_gt", "%tid.y" };

		put(w, "\t%smov.u32 %s, %s;", guard(w), any(w, 'w'), special[below(w, 11)]);
	}
	}
}

/* Memory that is this thread's alone: 64 bytes of local, shared and global memory, specific or generic. */
static void own_memory(struct writer *w)
{
	static const struct {
		const char *address, *space;
	} places[] = { { "%atg", ".global" },
		       { "%atg", "" },
		       { "%atl", ".local" },
		       { "%atlg", "" },
		       { "%ats", ".shared" },
		       { "%atsg", "" },
		       { "%atg", ".volatile.global" },
		       { "%ats", ".volatile.shared" },
		       { "%atg", ".relaxed.gpu.global" },
		       { "%atsg", ".weak" } };
	static const struct {
		const char *store, *load;
		char letter;
		uint32_t bytes;
	} widths[] = { { "b8", "u8", 'h', 1 },	 { "u8", "s8", 'w', 1 },   { "b16", "s16", 'w', 2 },
		       { "u16", "u16", 'h', 2 }, { "b32", "u32", 'w', 4 }, { "f32", "s32", 'w', 4 },
		       { "b64", "u64", 'd', 8 }, { "f64", "s64", 'd', 8 }, { "s32", "b32", 'w', 4 },
		       { "u16", "b16", 'h', 2 }, { "u8", "u8", 'w', 1 },   { "s16", "u16", 'w', 2 } };
	const uint32_t n = sizeof(places) / sizeof(places[0]), k = w->function ? 1 + below(w, 3) : below(w, n),
		       a = below(w, 12), b = below(w, 12);
	const char *suffix = places[k].space;

	put(w, "//{");
	if (chance(w, 35) && widths[a].bytes >= 4) { /* vectors */
		const uint32_t v = widths[a].bytes == 8 || chance(w, 50) ? 2 : 4, total = v * widths[a].bytes;
		const uint32_t at = below(w, 64 / total) * total;
		const char x = widths[a].letter;

		if (v == 2)
			put(w, "\t%sst%s.v2.%s [%s+%u], {%s, %s};", guard(w), suffix, widths[a].store,
			    places[k].address, at, any(w, x), any(w, x));
		else
			put(w, "\t%sst%s.v4.%s [%s+%u], {%s, %s, %s, %s};", guard(w), suffix, widths[a].store,
			    places[k].address, at, any(w, x), any(w, x), any(w, x), any(w, x));
		if (v == 2)
			put(w, "\t%sld%s.v2.%s {%%%c0, %%%c3}, [%s+%u];", guard(w), suffix, widths[a].load, x, x,
			    places[k].address, below(w, 64 / total) * total);
		else
			put(w, "\tld%s.v4.%s {%%w5, _, %%w1, %%w2}, [%s+%u];", suffix, widths[a].load,
			    places[k].address, below(w, 64 / total) * total);
	} else {
		put(w, "\t%sst%s.%s [%s+%u], %s;", guard(w), suffix, widths[a].store, places[k].address,
		    below(w, 64 / widths[a].bytes) * widths[a].bytes,
		    widths[a].store[0] == 'f' ? any(w, widths[a].letter) : from(w, widths[a].letter));
		put(w, "\t%sld%s.%s %s, [%s+%u];", guard(w), suffix, widths[b].load, any(w, widths[b].letter),
		    places[k].address, below(w, 64 / widths[b].bytes) * widths[b].bytes);
	}
	put(w, "//}");
}

/* Tables of the module with an index from a register, kernel parameters. */
static void table(struct writer *w)
{
	put(w, "//{");
	switch (below(w, w->function ? 2 : 5)) {
	case 0:
		put(w,
		    "\tand.b32 %%i0, %s, 15; mul.wide.u32 %%a0, %%i0, 4; mov.u64 %%a1, ctable; add.s64 %%a0, %%a0, "
		    "%%a1;",
		    any(w, 'w'));
		put(w, "\tld.const.u32 %s, [%%a0];", any(w, 'w'));
		break;
	case 1:
		put(w,
		    "\tand.b32 %%i0, %s, 7; mul.wide.u32 %%a0, %%i0, 8; mov.u64 %%a1, gtable; add.s64 %%a0, %%a1, "
		    "%%a0;",
		    any(w, 'w'));
		put(w, "\t%s.u64 %s, [%%a0];",
		    (const char *[]){ "ld.global", "ld.global.nc", "ldu.global" }[below(w, 3)], any(w, 'd'));
		break;
	case 2:
		put(w, "\tld.param.u32 %s, [k0];", any(w, 'w'));
		put(w, "\tld.param.s8 %s, [k1+%u];", any(w, 'w'), below(w, 8));
		break;
	case 3:
		put(w, "\tld.param.v2.u32 {%%w3, %%w6}, [st+%u];", below(w, 3) * 8);
		break;
	default:
		put(w, "\tld.const.v2.u32 {%%w1, %%w4}, [ctable+%u];", below(w, 8) * 8);
		put(w, "\tld.global.v2.u64 {%%d0, %%d1}, [gtable+%u];", below(w, 4) * 16);
	}
	put(w, "//}");
}

/* What changes nothing that a kernel can see. */
static void hint(struct writer *w)
{
	static const char *const hints[] = { "membar.cta",
					     "membar.gl",
					     "fence.acq_rel.gpu",
					     "fence.sc.cta",
					     "prefetch.global.L2 [%atg]",
					     "prefetch.L1 [%atg]",
					     "prefetchu.L1 [%atg]",
					     "nanosleep.u32 1",
					     "pmevent 3",
					     "brkpt",
					     "griddepcontrol.wait",
					     "griddepcontrol.launch_dependents",
					     "setmaxnreg.inc.sync.aligned.u32 64",
					     "applypriority.global.L2::evict_normal [%atg], 128",
					     "discard.global.L2 [%atg+64], 128" };

	if (w->function)
		return;
	put(w, "\t%s;", hints[below(w, sizeof(hints) / sizeof(hints[0]))]);
}

static void spaces(struct writer *w)
{
	static const char *const addresses[] = { "%atg", "%atsg", "%atlg" };

	if (!w->function)
		put(w, "\tisspacep.%s %s, %s;", (const char *[]){ "global", "shared", "local" }[below(w, 3)],
		    any(w, 'p'), addresses[below(w, 3)]);
}

/* Atomics of a cell that no other thread uses: their results may be kept. */
static void own_atomic(struct writer *w)
{
	static const struct {
		const char *op;
		char letter;
	} ops[] = { { "add.u32", 'w' },	 { "add.s32", 'w' },  { "add.u64", 'd' },	  { "min.u32", 'w' },
		    { "min.s32", 'w' },	 { "max.u32", 'w' },  { "max.s32", 'w' },	  { "min.u64", 'd' },
		    { "max.s64", 'd' },	 { "inc.u32", 'w' },  { "dec.u32", 'w' },	  { "and.b32", 'w' },
		    { "or.b32", 'w' },	 { "xor.b32", 'w' },  { "and.b64", 'd' },	  { "xor.b64", 'd' },
		    { "exch.b32", 'w' }, { "exch.b64", 'd' }, { "add.noftz.f16x2", 'w' }, { "or.b64", 'd' },
		    { "min.s64", 'd' },	 { "max.u64", 'd' },  { "add.noftz.f16", 'h' },	  { "add.noftz.bf16x2", 'w' } };
	static const struct {
		const char *address, *space;
	} places[] = { { "%atg", ".global" },
		       { "%atg", "" },
		       { "%ats", ".shared" },
		       { "%atsg", "" },
		       { "%atg", ".relaxed.gpu.global" },
		       { "%ats", ".acq_rel.cta.shared" } };
	const uint32_t k = below(w, 6), o = below(w, 27);

	if (o >= 24) {
		const char x = chance(w, 50) ? 'w' : 'd';

		put(w, "\t%satom%s.cas.b%d %s, [%s+%u], %s, %s;", guard(w), places[k].space, x == 'w' ? 32 : 64,
		    any(w, x), places[k].address, 8 * below(w, 8), from(w, x), from(w, x));
		return;
	}
	put(w, "\t%satom%s.%s %s, [%s+%u], %s;", guard(w), places[k].space, ops[o].op, any(w, ops[o].letter),
	    places[k].address, 8 * below(w, 8), any(w, ops[o].letter));
}

/* Atomics of cells that all threads use, without their results: one operation per cell, so that order does not matter.
 */
static void common_atomic(struct writer *w)
{
	static const struct {
		const char *op;
		char letter;
	} ops[] = {
		{ "add.u32", 'w' }, { "min.u32", 'w' }, { "max.s32", 'w' }, { "and.b32", 'w' }, { "or.b32", 'w' },
		{ "xor.b32", 'w' }, { "add.u64", 'd' }, { "max.u64", 'd' }, { "min.s64", 'd' }, { "xor.b64", 'd' }
	};
	const uint32_t o = below(w, 10);
	const bool shared = chance(w, 50) && !w->function;

	put(w, "//{");
	/* the cell is the operation's, and one of four by the data */
	put(w, "\tand.b32 %%i0, %s, 3; shl.b32 %%i0, %%i0, 3; add.u32 %%i0, %%i0, %u;", any(w, 'w'), o * 32);
	if (shared) {
		put(w, "\tmov.u32 %%i1, scells; add.u32 %%i0, %%i0, %%i1;");
		put(w, "\t%sred.shared.%s [%%i0], %s;", guard(w), ops[o].op, any(w, ops[o].letter));
	} else {
		put(w, "\tcvt.u64.u32 %%a0, %%i0; add.s64 %%a0, %%a0, %%atc;");
		put(w, "\t%sred.global.%s [%%a0], %s;", guard(w), ops[o].op, any(w, ops[o].letter));
	}
	put(w, "//}");
}

/* Every thread writes its word and reads another's. */
static void exchange(struct writer *w)
{
	put(w, "//{");
	put(w, "\tst.shared.u32 [%%atx], %s;", any(w, 'w'));
	put(w, chance(w, 50) ? "\tbar.sync 0;" : "\tbarrier.sync.aligned 1;");
	put(w, "\tmov.u32 %%i0, %%tid.x; add.u32 %%i0, %%i0, %u; mov.u32 %%i1, %%ntid.x; rem.u32 %%i0, %%i0, %%i1;",
	    below(w, 100));
	put(w, "\tshl.b32 %%i0, %%i0, 2; mov.u32 %%i1, swords; add.u32 %%i0, %%i0, %%i1;");
	put(w, "\tld.shared.u32 %s, [%%i0];", any(w, 'w'));
	put(w, "\tbar.sync 0;");
	put(w, "//}");
}

static void barrier(struct writer *w)
{
	const bool whole = w->g->block % 32 == 0;

	switch (below(w, whole ? 5 : 3)) {
	case 0:
		put(w, "\tbar.red.popc.u32 %s, %u, %s%s;", any(w, 'w'), below(w, 4), chance(w, 30) ? "!" : "",
		    any(w, 'p'));
		break;
	case 1:
		put(w, "\tbar.red.and.pred %s, %u, %s;", any(w, 'p'), below(w, 4), any(w, 'p'));
		break;
	case 2:
		put(w, "\tbarrier.red.or.pred %s, %u, %s%s;", any(w, 'p'), below(w, 4), chance(w, 30) ? "!" : "",
		    any(w, 'p'));
		break;
	case 3:
		put(w, "\tbar.red.popc.u32 %s, 2, %u, %s;", any(w, 'w'), w->g->block, any(w, 'p'));
		break;
	default: /* the first warp arrives, the others wait for it */
		put(w, "//{");
		put(w, "\tmov.u32 %%i0, %%tid.x; setp.lt.u32 %%nan, %%i0, 32;");
		put(w, "\t@%%nan bar.arrive 5, %u;", w->g->block);
		put(w, "\t@!%%nan bar.sync 5, %u;", w->g->block);
		put(w, "\tbar.sync 0;"); /* or the first warp would arrive again before the others came */
		put(w, "//}");
	}
}

/* Across the lanes of `mask`, which all of them reach. */
static void across(struct writer *w, const char *mask)
{
	static const char *const redux[] = { "add.u32", "min.u32", "max.u32", "add.s32", "min.s32",
					     "max.s32", "and.b32", "or.b32",  "xor.b32" };
	static const char *const modes[] = { "up", "down", "bfly", "idx" };
	const uint32_t clamps[] = { 0x1f, 0, 0x101f, 0x181f, 0x1c1f, 0x1e03, 0x1f };

	switch (below(w, 9)) {
	case 0:
	case 1:
		put(w, "\tshfl.sync.%s.b32 %s, %s, %s, %u, %s;", modes[below(w, 4)], any(w, 'w'), any(w, 'w'),
		    from(w, 'w'), clamps[below(w, 7)], mask);
		break;
	case 2:
		put(w, "\tshfl.sync.%s.b32 %s|%s, %s, %u, %u, %s;", modes[below(w, 4)], any(w, 'w'), any(w, 'p'),
		    any(w, 'w'), below(w, 32), clamps[below(w, 7)], mask);
		break;
	case 3:
		put(w, "\tvote.sync.%s.pred %s, %s%s, %s;", (const char *[]){ "all", "any", "uni" }[below(w, 3)],
		    any(w, 'p'), chance(w, 30) ? "!" : "", any(w, 'p'), mask);
		break;
	case 4:
		put(w, "\tvote.sync.ballot.b32 %s, %s, %s;", any(w, 'w'), any(w, 'p'), mask);
		break;
	case 5:
		put(w, "\tand.b32 %%i0, %s, 3;", any(w, 'w'));
		put(w, "\tmatch.any.sync.b32 %s, %%i0, %s;", any(w, 'w'), mask);
		break;
	case 6:
		put(w, "\tand.b64 %%a0, %s, 1;", any(w, 'd'));
		put(w, "\tmatch.all.sync.b64 %s|%s, %%a0, %s;", any(w, 'w'), any(w, 'p'), mask);
		put(w, "\tmatch.all.sync.b32 %s, %s, %s;", any(w, 'w'), any(w, 'w'), mask);
		break;
	case 7:
		put(w, "\tredux.sync.%s %s, %s, %s;", redux[below(w, 9)], any(w, 'w'), any(w, 'w'), mask);
		break;
	default:
		put(w, "\telect.sync %s|%s, %s;", any(w, 'w'), any(w, 'p'), mask);
		put(w, "\tbar.warp.sync %s;", mask);
	}
}

/* The whole warp, its halves each for itself, or the lanes where a predicate holds. */
static void warp_wide(struct writer *w)
{
	put(w, "//{");
	switch (below(w, 5)) {
	case 0:
		put(w,
		    "\tmov.u32 %%i1, %%laneid; setp.lt.u32 %%nan, %%i1, %u; selp.b32 %%m, 0xffff, 0xffff0000, %%nan;",
		    16u);
		across(w, "%m");
		break;
	case 1: {
		const int n = w->names++;

		put(w, "\tmov.pred %%q%d, %s;", n, any(w, 'p'));
		put(w, "\tvote.sync.ballot.b32 %%m, %%q%d, 0xffffffff;", n);
		put(w, "\t@!%%q%d bra W%d;", n, n);
		across(w, "%m");
		across(w, "%m");
		put(w, "W%d:", n);
		break;
	}
	case 2:
		if (chance(w, 50))
			put(w, "\tactivemask.b32 %s;", any(w, 'w'));
		else
			put(w, "\tvote.ballot.b32 %s, %s;", any(w, 'w'), any(w, 'p'));
		break;
	default:
		across(w, "0xffffffff");
	}
	put(w, "//}");
}

static void trace(struct writer *w)
{
	if (w->function || w->traces >= (int)GENERATED_TRACES)
		return;
	put(w, "\t%sst.global.b64 [%%ato+%u], %s;", guard(w), 8 * (GENERATED_REGISTERS + (uint32_t)w->traces++),
	    any(w, 'd'));
}

static void device_call(struct writer *w)
{
	const int n = w->names++;
	const bool pointer = chance(w, 40);

	put(w, "//{");
	put(w, "\t{ .param .align 8 .b8 arg0[16]; .param .b32 arg1; .param .align 8 .b8 ret0[16];");
	put(w,
	    "\tst.param.b64 [arg0], %s; st.param.b32 [arg0+8], %s; st.param.b16 [arg0+12], %s; st.param.b8 [arg0+15], "
	    "%s;",
	    any(w, 'd'), any(w, 'w'), any(w, 'h'), any(w, 'w'));
	put(w, "\tst.param.b8 [arg0+14], 77;");
	put(w, "\tst.param.b32 [arg1], %s;", any(w, 'w'));
	if (pointer) {
		put(w, "\tmov.u64 %%a0, f0; mov.u64 %%a1, f%d; selp.b64 %%a0, %%a0, %%a1, %s;", w->device_functions - 1,
		    any(w, 'p'));
		put(w,
		    "\tP%d: .callprototype (.param .align 8 .b8 _[16]) _ (.param .align 8 .b8 _[16], .param .b32 _);",
		    n);
		put(w, "\tcall (ret0), %%a0, (arg0, arg1), P%d;", n);
	} else {
		put(w, "\t%scall%s (ret0), %s, (arg0, arg1);", "", w->together && chance(w, 50) ? ".uni" : "",
		    chance(w, 25)   ? "again"
		    : chance(w, 50) ? "f0"
				    : "f1");
	}
	put(w, "\tld.param.b64 %s, [ret0]; ld.param.v2.b32 {%%w2, %%w7}, [ret0+8]; }", any(w, 'd'));
	put(w, "//}");
}

static void body(struct writer *w, int snippets);

static void nested(struct writer *w, int snippets)
{
	const bool together = w->together;

	w->together = false;
	w->depth++;
	body(w, snippets);
	w->depth--;
	w->together = together;
}

static void if_else(struct writer *w)
{
	const int n = w->names++;
	const bool other = chance(w, 60);

	put(w, "//{");
	put(w, "\t@%s%s bra E%d;", chance(w, 50) ? "!" : "", any(w, 'p'), n);
	nested(w, 1 + (int)below(w, 4));
	if (other) {
		put(w, "\tbra%s X%d;", "", n);
		put(w, "E%d:", n);
		nested(w, 1 + (int)below(w, 4));
		put(w, "X%d:", n);
	} else {
		put(w, "E%d:", n);
	}
	put(w, "//}");
}

static void loop(struct writer *w)
{
	const int n = w->names++;
	const bool uniform = chance(w, 40);

	put(w, "//{");
	if (uniform)
		put(w, "\tmov.u32 %%c%d, %u;", n, 1 + below(w, 3));
	else
		put(w, "\tand.b32 %%c%d, %s, %u; add.u32 %%c%d, %%c%d, 1;", n, any(w, 'w'), chance(w, 50) ? 3 : 7, n,
		    n);
	put(w, "L%d:", n);
	if (uniform) {
		w->depth++;
		body(w, 1 + (int)below(w, 4));
		w->depth--;
	} else {
		nested(w, 1 + (int)below(w, 3));
		if (chance(w, 30)) /* out of the middle */
			put(w, "\t@%s bra Y%d;", any(w, 'p'), n);
	}
	put(w, "\tsub.u32 %%c%d, %%c%d, 1; setp.ne.u32 %%nan, %%c%d, 0; @%%nan bra L%d;", n, n, n, n);
	put(w, "Y%d:", n);
	put(w, "//}");
}

static void switch_case(struct writer *w)
{
	const int n = w->names++, cases = 2 + (int)below(w, 3);
	char list[100] = "";

	put(w, "//{");
	put(w, "\trem.u32 %%i0, %s, %d;", any(w, 'w'), cases);
	for (int i = 0; i < cases; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%sS%d_%d", i ? ", " : "", n, i);
	put(w, "T%d: .branchtargets %s;", n, list);
	put(w, "\tbrx.idx %%i0, T%d;", n);
	for (int i = 0; i < cases; i++) {
		put(w, "S%d_%d:", n, i);
		nested(w, 1 + (int)below(w, 2));
		if (chance(w, 70)) /* or on into the next one */
			put(w, "\tbra Z%d;", n);
	}
	put(w, "Z%d:", n);
	put(w, "//}");
}

static void snippet(struct writer *w)
{
	const uint32_t r = w->names > 180 ? 0 : below(w, 100);

	if (r < 52)
		plain(w);
	else if (r < 56)
		carry_chain(w);
	else if (r < 60)
		chance(w, 70) ? moves(w) : chance(w, 50) ? hint(w) : spaces(w);
	else if (r < 68)
		own_memory(w);
	else if (r < 71)
		table(w);
	else if (r < 74 && !w->function)
		own_atomic(w);
	else if (r < 76)
		common_atomic(w);
	else if (r < 79)
		trace(w);
	else if (r < 85 && w->together)
		chance(w, 30) ? exchange(w) : chance(w, 30) ? barrier(w) : warp_wide(w);
	else if (r < 90 && w->depth < 3)
		if_else(w);
	else if (r < 94 && w->depth < 2)
		loop(w);
	else if (r < 96 && w->depth < 2)
		switch_case(w);
	else if (r < 98 && !w->function && w->depth < 2)
		device_call(w);
	else
		plain(w);
}

static void body(struct writer *w, int snippets)
{
	for (int i = 0; i < snippets; i++)
		snippet(w);
}

/* Control registers: those of loops and conditions are numbered, the others serve within one snippet. */
static void declare(struct writer *w)
{
	put(w, "\t.reg .pred %%p<%d>, %%q<200>, %%nan; .reg .b16 %%h<%d>; .reg .b32 %%w<%d>, %%c<200>, %%i<4>, %%m;",
	    PREDS, HALVES, WORDS);
	put(w, "\t.reg .b64 %%d<%d>, %%a<4>;", DOUBLES);
}

/* f(16 bytes, word) -> 16 bytes: registers start from the arguments. */
static void device_function(struct writer *w, int n)
{
	put(w, ".func (.param .align 8 .b8 ret0[16]) f%d(.param .align 8 .b8 arg0[16], .param .b32 arg1)\n{", n);
	declare(w);
	put(w, "\t.local .align 16 .b8 own[64]; .reg .b64 %%atl, %%atlg, %%atg, %%atc;");
	put(w, "\tmov.u64 %%atl, own; cvta.local.u64 %%atlg, %%atl; mov.u64 %%atg, %%atlg; mov.u64 %%atc, gcells;");
	for (int i = 0; i < 8; i++)
		put(w, "\tst.local.u64 [own+%d], %d;", 8 * i, 1234567 * i + 89);
	put(w, "\tld.param.u64 %%d0, [arg0]; ld.param.u32 %%w0, [arg0+8]; ld.param.u32 %%w1, [arg1]; ld.param.s16 "
	       "%%h0, [arg0+12];");
	put(w, "\tld.param.b16 %%h1, [arg0+14];");
	for (int i = 2; i < HALVES; i++)
		put(w, "\txor.b16 %%h%d, %%h%d, %d;", i, i - 1, 12345 + i);
	for (int i = 2; i < WORDS; i++)
		put(w, "\tmad.lo.u32 %%w%d, %%w%d, 1664525, %%w%d;", i, i - 1, i - 2);
	for (int i = 1; i < DOUBLES; i++)
		put(w, "\tmad.wide.u32 %%d%d, %%w%d, %%w%d, %%d%d;", i, i, i + 1, i - 1);
	for (int i = 0; i < PREDS; i++)
		put(w, "\tsetp.lt.s32 %%p%d, %%w%d, %%w%d;", i, i, i + 1);
	w->function = true;
	w->together = false;
	body(w, 5);
	if (chance(w, 40)) { /* another way out */
		put(w, "//{");
		put(w, "\t@!%s bra R%d; st.param.b64 [ret0], %s; st.param.v2.b32 [ret0+8], {%s, %s}; ret;", any(w, 'p'),
		    n, any(w, 'd'), any(w, 'w'), any(w, 'w'));
		put(w, "R%d:", n);
		put(w, "//}");
	}
	body(w, 3);
	w->function = false;
	put(w, "\tst.param.b64 [ret0], %s; st.param.v2.b32 [ret0+8], {%s, %s};", any(w, 'd'), any(w, 'w'), any(w, 'w'));
	put(w, "\tret;\n}");
}

/* Calls itself and another function until its number is used up. */
static void recursive_function(struct writer *w)
{
	put(w, ".func (.param .align 8 .b8 ret0[16]) again(.param .align 8 .b8 arg0[16], .param .b32 arg1);");
	put(w, ".func (.param .align 8 .b8 ret0[16]) again(.param .align 8 .b8 arg0[16], .param .b32 arg1)\n{");
	put(w, "\t.reg .b64 %%x<4>; .reg .b32 %%n<4>; .reg .pred %%end; .local .align 8 .b8 keep[8];");
	put(w, "\tld.param.u64 %%x0, [arg0]; ld.param.u64 %%x1, [arg0+8]; ld.param.u32 %%n0, [arg1]; and.b32 %%n0, "
	       "%%n0, 7;");
	put(w, "\tst.local.u64 [keep], %%x1; setp.eq.u32 %%end, %%n0, 0; @%%end bra DONE;");
	put(w, "\tsub.u32 %%n1, %%n0, 1; mad.lo.u64 %%x2, %%x0, 6364136223846793005, 1442695040888963407;");
	put(w, "\t{ .param .align 8 .b8 p0[16]; .param .b32 p1; .param .align 8 .b8 r0[16];");
	put(w, "\tst.param.b64 [p0], %%x2; st.param.b64 [p0+8], %%x0; st.param.b32 [p1], %%n1;");
	put(w, "\tcall (r0), %s, (p0, p1); ld.param.b64 %%x2, [r0]; ld.param.b64 %%x3, [r0+8]; }", "again");
	put(w, "\tld.local.u64 %%x1, [keep]; add.s64 %%x0, %%x0, %%x2; xor.b64 %%x1, %%x1, %%x3;");
	put(w, "DONE:\n\tst.param.b64 [ret0], %%x0; st.param.b64 [ret0+8], %%x1; ret;\n}");
}

static void head(struct writer *w)
{
	put(w, ".version 8.6\n.target sm_90\n.address_size 64");
	put(w, ".const .align 8 .u32 ctable[16] = { 1, 2, 0x80000000, 4, 0x3f800000, 6, 7, 0xffffffff, 0x7fc00000, 10, "
	       "11, 0x7f800000, 13, 31, 15, 0xff };");
	put(w, ".global .align 16 .u64 gtable[8] = { 1, 0x8000000000000000, 0x3ff0000000000000, 4, 0xffffffff, "
	       "0x7ff0000000000000, 7, 0x12345678 };");
	put(w, ".global .align 8 .u64 gcells[64];");
	device_function(w, 0);
	device_function(w, 1);
	w->device_functions = 2;
	recursive_function(w);
	put(w, ".visible .entry generated(.param .u64 out, .param .u64 in, .param .u64 own, .param .u64 cells, .param "
	       ".b32 k0, .param .b64 k1, .param .align 8 .b8 st[24])\n{");
	declare(w);
	put(w, "\t.reg .b64 %%ato, %%atg, %%atl, %%atlg, %%atsg, %%atc; .reg .b32 %%ats, %%atx, %%gid;");
	put(w,
	    "\t.shared .align 16 .b8 sown[%u]; .shared .align 4 .b8 swords[%u]; .shared .align 8 .b8 scells[512]; "
	    ".local .align 16 .b8 lown[64];",
	    64 * w->g->block, 4 * w->g->block);
}

static void addresses(struct writer *w)
{
	put(w, "\tmov.u32 %%i0, %%tid.x; mov.u32 %%i1, %%ctaid.x; mov.u32 %%i2, %%ntid.x; mad.lo.u32 %%gid, %%i1, "
	       "%%i2, %%i0;");
	put(w, "\tld.param.u64 %%ato, [out]; mul.wide.u32 %%a0, %%gid, %u; add.s64 %%ato, %%ato, %%a0;",
	    8 * (GENERATED_REGISTERS + GENERATED_TRACES));
	put(w, "\tld.param.u64 %%atg, [own]; mul.wide.u32 %%a0, %%gid, %u; add.s64 %%atg, %%atg, %%a0;",
	    GENERATED_OWN_BYTES);
	put(w, "\tld.param.u64 %%atc, [cells]; mov.u64 %%atl, lown; cvta.local.u64 %%atlg, %%atl;");
	put(w, "\tmov.u32 %%ats, sown; mad.lo.u32 %%ats, %%i0, 64, %%ats; cvt.u64.u32 %%atsg, %%ats; cvta.shared.u64 "
	       "%%atsg, %%atsg;");
	put(w, "\tmov.u32 %%atx, swords; mad.lo.u32 %%atx, %%i0, 4, %%atx;");
	put(w, "\tand.b32 %%i3, %%i0, 31; shl.b32 %%i3, %%i3, 3; mov.u32 %%i1, scells; add.u32 %%i1, %%i1, %%i3; "
	       "mov.u64 %%a1, 0;");
	put(w, "\tst.shared.u64 [%%i1], %%a1; st.shared.u64 [%%i1+256], %%a1;");
	for (int i = 0; i < 4; i++) {
		put(w, "\tst.shared.v2.u64 [%%ats+%d], {%d, %d};", 16 * i, 7 * i, i);
		put(w, "\tst.local.v2.u64 [%%atl+%d], {%d, %d};", 16 * i, i, 5 * i);
	}
	put(w, "\tld.param.u64 %%a1, [in]; mul.wide.u32 %%a0, %%gid, %u; add.s64 %%a1, %%a1, %%a0;",
	    8 * GENERATED_REGISTERS);
}

/* All registers from `in`, and at the end to `out`. */
static void registers(struct writer *w, bool load)
{
	static const struct {
		char letter;
		int count;
		const char *type;
	} pools[] = { { 'w', WORDS, "b32" }, { 'd', DOUBLES, "b64" }, { 'h', HALVES, "b16" } };
	uint32_t at = 0;

	for (int k = 0; k < 3; k++)
		for (int i = 0; i < pools[k].count; i++, at += 8)
			if (load)
				put(w, "\tld.global.%s %%%c%d, [%%a1+%u];", pools[k].type, pools[k].letter, i, at);
			else
				put(w, "\tst.global.%s [%%ato+%u], %%%c%d;", pools[k].type, at, pools[k].letter, i);
	for (int i = 0; i < PREDS; i++, at += 8) {
		if (load)
			put(w, "\tld.global.u32 %%i0, [%%a1+%u]; and.b32 %%i0, %%i0, 1; setp.ne.u32 %%p%d, %%i0, 0;",
			    at, i);
		else
			put(w, "\tselp.b32 %%i0, 1, 0, %%p%d; st.global.u32 [%%ato+%u], %%i0;", i, at);
	}
}

struct generated generate(const struct catalogue *c, uint64_t seed)
{
	static const uint32_t blocks[] = { 32, 64, 96, 40, 33, 70 };
	struct generated g = { 0 };
	struct writer w = { .g = &g, .c = c, .random = seed * 0x9e3779b97f4a7c15ull + 0x1234567 };

	for (int i = 0; i < 8; i++)
		below(&w, 2);
	g.block = blocks[below(&w, 6)];
	g.grid = 1 + below(&w, 2);
	head(&w);
	addresses(&w);
	registers(&w, true);
	put(&w, "\tadd.cc.u32 %%i0, %%i0, 0;"); /* a carry flag to begin with */
	put(&w, "\tbar.sync 0;");
	w.together = true;
	body(&w, 25 + (int)below(&w, 40));
	put(&w, "\tbar.sync 0;"); /* the block's cells, added to the grid's */
	put(&w, "\tmov.u32 %%i0, %%tid.x; setp.ge.u32 %%nan, %%i0, 32; @%%nan bra END; shl.b32 %%i3, %%i0, 3; mov.u32 "
		"%%i1, scells; add.u32 %%i1, %%i1, %%i3;");
	put(&w, "\tld.shared.u64 %%a2, [%%i1]; cvt.u64.u32 %%a3, %%i3; add.s64 %%a3, %%a3, %%atc; red.global.add.u64 "
		"[%%a3+384], %%a2;");
	put(&w, "\tld.shared.u64 %%a2, [%%i1+256]; red.global.add.u64 [%%a3+640], %%a2;");
	put(&w, "END:");
	registers(&w, false);
	put(&w, "\t@%%p0 exit;\n\tret;\n}");
	return g;
}

void generated_free(struct generated *g)
{
	for (size_t i = 0; i < g->lines; i++)
		free(g->line[i]);
	free(g->line);
	*g = (struct generated){ 0 };
}

struct catalogue generator_catalogue(void)
{
	struct catalogue all = { 0 }, c = { 0 };

	for (size_t i = 0; engine_row(i); i++)
		if (engine_row(i)->pattern[0] != '%')
			catalogue_row(&all, engine_row(i));
	c.at = calloc(all.count + 1, sizeof(*c.at));
	for (size_t i = 0; i < all.count; i++) {
		const struct spelling *s = &all.at[i];
		const bool exact = (s->answer == REF_DONE || s->answer == REF_UNDEFINED) && !s->zero.approximate;

		/* pairs of f32 cannot be made canonical in one step */
		if (exact && !strchr(s->regs, 'q') && (s->op.type[0].lanes == 1 || s->op.type[0].bits < 32))
			c.at[c.count++] = *s;
	}
	free(all.at);
	return c;
}
