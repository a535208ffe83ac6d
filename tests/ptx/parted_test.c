/*
 * parted_test.c: random kernels whose lanes part, compiled and interpreted: the same memory, counters and faults.
 *
 * The kernels have conditions that differ from lane to lane, loops that lanes leave at different times, jumps out of
 * both and to the next round, lanes that end, jumps forward to anywhere, barriers where some lanes are missing, and in
 * all of that votes, shuffles, atomics whose results are kept, the mask of active lanes, and accesses in rows, at one
 * place, apart and scattered. What PTX leaves open (who is active, in which order lanes of a warp come) has one answer
 * here: the interpreter's. Warps share nothing, for their order is another one in compiled code.
 *
 * Without arguments: kernels of a fixed seed and of a fresh one, which is printed. --seed N --count N repeats. --few N:
 * so many, but all with METE_TEST_LONG. The text of a kernel that differs is written to parted_<seed>.ptx in the
 * current folder; --text FILE runs such a file, or what somebody has left of it.
 */
#include "harness.h"

#include "softdev/ptx/isa.h"

#include <stdarg.h>
#include <time.h>

enum { WORDS = 8, LONGS = 3, PREDS = 4, THREADS_MAX = 96, OWN_BYTES = 256, CELL_WORDS = 64 };
enum { INPUTS = 4 };	  /* a kernel is compiled once, which takes nearly all of the time, and runs with that many */
enum { STATEMENTS = 40 }; /* after so many no construct begins: what LLVM takes grows with them */

#define MEMORY_BYTES (THREADS_MAX * OWN_BYTES + 8192 + 4 * CELL_WORDS * 4)

struct writer {
	char text[1 << 16];
	size_t bytes;
	int labels, depth, loops, statements;
	bool one_warp; /* of which a fault may be expected, and barriers that not all come to */
	int out[8];    /* labels behind enclosing constructs */
	int round[8];  /* heads' latches of enclosing loops; 0: it is an if */
};

struct outcome {
	struct ptx_stats stats;
	struct ptx_fault fault;
	int r;
	bool compiled;
	uint8_t memory[MEMORY_BYTES];
};

static struct writer w;
static struct outcome outcomes[2][INPUTS];
static uint32_t block;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(random_bits() >> 33) % n;
}

static bool chance(uint32_t percent)
{
	return below(100) < percent;
}

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	w.bytes += (size_t)vsnprintf(w.text + w.bytes, sizeof(w.text) - w.bytes, format, args);
	va_end(args);
	if (w.bytes > sizeof(w.text) - 1000)
		abort();
}

static uint32_t word(void)
{
	return below(WORDS);
}

/* A condition in %q: of the lane, of the data, or the same for all. */
static void condition(void)
{
	static const char *const compare[] = { "lt.u32", "ge.s32", "eq.u32", "ne.s32", "hi.u32" };

	switch (below(6)) {
	case 0:
		put("\tsetp.lt.u32 %%q, %%lane, %u;\n", below(33));
		break;
	case 1:
		put("\tand.b32 %%t0, %%w%u, %u; setp.ne.u32 %%q, %%t0, 0;\n", word(), 1u << below(6));
		break;
	case 2:
		put("\tsetp.%s %%q, %%w%u, %%w%u;\n", compare[below(5)], word(), word());
		break;
	case 3:
		put("\tsetp.eq.u32 %%q, %%uni, %u;\n", below(3));
		break;
	case 4:
		put("\tmov.pred %%q, %%p%u;\n", below(PREDS));
		break;
	default:
		put("\tand.b32 %%t0, %%lane, %u; setp.eq.u32 %%q, %%t0, %u;\n", 1u + below(7), below(2));
	}
}

static const char *guard(void)
{
	static char text[2][12];
	static int turn;
	char *g = text[turn++ % 2];

	g[0] = 0;
	if (chance(15))
		snprintf(g, 12, "@%s%%p%u ", chance(40) ? "!" : "", below(PREDS));
	return g;
}

static void compute(void)
{
	static const char *const two[] = { "add.u32", "sub.u32", "mul.lo.u32", "xor.b32",   "and.b32",	  "or.b32",
					   "min.s32", "max.u32", "shl.b32",    "shr.u32",   "mul.hi.u32", "rem.u32",
					   "add.f32", "mul.f32", "min.f32",    "div.rn.f32" };
	static const char *const one[] = { "ex2.approx.f32", "lg2.approx.ftz.f32", "lg2.approx.f32", "tanh.approx.f32",
					   "ex2.approx.ftz.f32" };

	switch (below(10)) {
	case 0:
		put("\t%smad.lo.u32 %%w%u, %%w%u, %%w%u, %%w%u;\n", guard(), word(), word(), word(), word());
		break;
	case 1:
		put("\t%sfma.rn.f32 %%w%u, %%w%u, %%w%u, %%w%u;\n", guard(), word(), word(), word(), word());
		break;
	case 2:
		put("\t%smad.wide.u32 %%d%u, %%w%u, %u, %%d%u;\n", guard(), below(LONGS), word(), below(9),
		    below(LONGS));
		break;
	case 3:
		put("\tcvt.u32.u64 %%w%u, %%d%u;\n", word(), below(LONGS));
		break;
	case 4:
		put("\tsetp.lt.s32 %%p%u, %%w%u, %%w%u;\n", below(PREDS), word(), word());
		break;
	case 5: /* what is the same for all, or grows from lane to lane, in what lanes that part write */
		put("\t%smov.u32 %%w%u, %s;\n", guard(), word(),
		    (const char *[]){ "%laneid", "%tid.x", "%ntid.x", "7", "%uni", "%lanemask_lt" }[below(6)]);
		break;
	case 6:
		put("\t%sadd.u32 %%uni, %%uni, 1; add.u32 %%row, %%row, %u;\n", "", below(3));
		break;
	case 7:
		put("\t%s%s %%w%u, %%w%u;\n", guard(), one[below(5)], word(), word());
		break;
	default: {
		const char *op = two[below(16)];

		put("\t%s%s %%w%u, %%w%u, %%w%u;\n", strcmp(op, "rem.u32") ? guard() : "", op, word(), word(), word());
	}
	}
}

/* %a: an address in the thread's own memory, of the table, or in its warp's cells. */
static void access(void)
{
	static const struct {
		const char *type;
		uint32_t bytes;
		char letter;
	} types[] = { { "u32", 4, 'w' }, { "b64", 8, 'd' }, { "u8", 1, 'w' }, { "s16", 2, 'w' }, { "u16", 2, 'w' } };
	const uint32_t t = below(5), k = below(8);
	const char *type = types[t].type;
	const uint32_t reg = types[t].letter == 'd' ? below(LONGS) : word(), bytes = types[t].bytes;
	const uint32_t at = below(64 / bytes) * bytes;
	const bool store = chance(50);

	switch (k) {
	case 0: /* one thread's memory beside the other's: apart */
		put("\t%sst.global.%s [%%own+%u], %%%c%u;\n", guard(), type, at, types[t].letter, reg);
		break;
	case 1:
		put("\t%sld.global.%s %%%c%u, [%%own+%u];\n", guard(), type, types[t].letter, reg, at);
		break;
	case 2: /* a row of words of the warp */
		put("\t%sst.global.u32 [%%mine], %%w%u; %sld.global.u32 %%w%u, [%%mine];\n", guard(), word(), guard(),
		    word());
		break;
	case 3: /* anywhere in a table that nobody writes to */
		put("\tand.b32 %%t0, %%w%u, %u; mul.wide.u32 %%a, %%t0, %u; add.s64 %%a, %%a, %%table;\n", word(),
		    4096 / bytes - 1, bytes);
		put("\t%sld.global.%s %%%c%u, [%%a];\n", guard(), type, types[t].letter, reg);
		break;
	case 4:
		put("\tand.b32 %%t0, %%w%u, 63; shl.b32 %%t0, %%t0, 2; add.u32 %%t0, %%t0, %%sh;\n", word());
		if (store)
			put("\tst.shared.u32 [%%t0], %%w%u;\n", word());
		else
			put("\t%sld.shared.u32 %%w%u, [%%t0];\n", guard(), word());
		break;
	case 5:
		put("\t%sld.global.v2.u32 {%%w%u, %%w%u}, [%%own+%u]; %sst.global.v4.u32 [%%own+%u], {%%w0, %%w3, "
		    "%%w1, "
		    "%%w6};\n",
		    guard(), below(4), 4 + below(4), below(8) * 8, guard(), below(4) * 16);
		break;
	case 6: /* all at one place, also to write: the last lane stays */
		put("\tst.global.u32 [%%cells+%u], %%w%u; ld.global.u32 %%w%u, [%%cells+%u];\n", 4 * below(4), word(),
		    word(), 4 * below(4));
		break;
	default: /* two or more lanes at one place */
		put("\tand.b32 %%t0, %%w%u, 15; mul.wide.u32 %%a, %%t0, 4; add.s64 %%a, %%a, %%cells;\n", word());
		if (store)
			put("\tst.global.u32 [%%a], %%w%u;\n", word());
		else
			put("\tld.global.u32 %%w%u, [%%a];\n", word());
	}
}

static void across(void)
{
	static const char *const kinds[] = { "up", "down", "bfly", "idx" };
	static const char *const atomics[] = { "add.u32", "max.s32", "exch.b32", "xor.b32",
					       "inc.u32", "add.f32", "min.u32",	 "or.b32" };
	const char *members = chance(60) ? "%act" : chance(50) ? "0xffffffff" : "0x0000ffff";

	if (members[0] == '%')
		put("\tactivemask.b32 %%act;\n");
	switch (below(10)) {
	case 0:
		put("\tshfl.sync.%s.b32 %%w%u|%%p%u, %%w%u, %u, %u, %s;\n", kinds[below(4)], word(), below(PREDS),
		    word(), below(32), chance(70) ? 31 : 0x181f, members);
		break;
	case 1:
		put("\tshfl.sync.idx.b32 %%w%u, %%w%u, %%w%u, 31, %s;\n", word(), word(), word(), members);
		break;
	case 2:
		put("\tvote.sync.ballot.b32 %%w%u, %%p%u, %s;\n", word(), below(PREDS), members);
		break;
	case 3:
		put("\tvote.sync.%s.pred %%p%u, %%p%u, %s;\n", chance(50) ? "any" : "all", below(PREDS), below(PREDS),
		    members);
		break;
	case 4:
		put("\tmatch.any.sync.b32 %%w%u, %%w%u, %s;\n", word(), word(), members);
		break;
	case 5:
		put("\tredux.sync.add.u32 %%w%u, %%w%u, %s;\n", word(), word(), members);
		break;
	case 6:
		put("\tactivemask.b32 %%w%u;\n", word());
		break;
	case 7:
		put("\tand.b32 %%t0, %%w%u, 15; mul.wide.u32 %%a, %%t0, 4; add.s64 %%a, %%a, %%cells;\n", word());
		put("\t%satom.global.%s %%w%u, [%%a], %%w%u;\n", guard(), atomics[below(8)], word(), word());
		break;
	case 8:
		put("\tand.b32 %%t0, %%w%u, 15; mul.wide.u32 %%a, %%t0, 4; add.s64 %%a, %%a, %%cells;\n", word());
		put("\t%satom.global.cas.b32 %%w%u, [%%a], %%w%u, %%w%u;\n", guard(), word(), word(), word());
		break;
	default:
		put("\tand.b32 %%t0, %%w%u, 15; shl.b32 %%t0, %%t0, 2; add.u32 %%t0, %%t0, %%sh;\n", word());
		put("\tatom.shared.%s %%w%u, [%%t0], %%w%u;\n", atomics[below(8)], word(), word());
	}
}

/*
 * Addresses that come from memory, in a stretch that only computes and loads: small groups run it lane by lane.
 * Sometimes the last address is one lane's own fault.
 */
static void chase(bool strays)
{
	const uint32_t from = word(), step = 1 + below(4);

	put("\tand.b32 %%t0, %%w%u, 511; mul.wide.u32 %%a, %%t0, 4; add.s64 %%a, %%a, %%table;\n", from);
	for (uint32_t i = 0; i < step; i++) {
		put("\tld.global.u32 %%t0, [%%a+%u]; ld.global.%s %%w%u, [%%a+%u];\n", 4 * below(16),
		    chance(60)	 ? "u32"
		    : chance(50) ? "u8"
				 : "s16",
		    word(), 4 * below(16));
		if (chance(30))
			put("\t%sfma.rn.f32 %%w%u, %%t0, %%w%u, %%w%u;\n", guard(), word(), word(), word());
		if (chance(30))
			put("\t%sadd.u32 %%uni, %%uni, 1; add.u32 %%row, %%row, %u;\n", "", below(3));
		if (chance(30))
			put("\tand.b32 %%t1, %%t0, 63; shl.b32 %%t1, %%t1, 2; add.u32 %%t1, %%t1, %%sh; "
			    "%sld.shared.u32 "
			    "%%w%u, [%%t1];\n",
			    chance(20) ? guard() : "", word());
		if (chance(30))
			put("\t%sxor.b32 %%w%u, %%w%u, %%t0; setp.lt.s32 %%p%u, %%t0, %%w%u;\n", guard(), word(),
			    word(), below(PREDS), word());
		put("\tand.b32 %%t0, %%t0, 510; mul.wide.u32 %%a, %%t0, 4; add.s64 %%a, %%a, %%table;\n");
	}
	if (chance(50))
		put("\tld.global.v2.u32 {%%w%u, %%w%u}, [%%a+%u];\n", below(4), 4 + below(4), 8 * below(8));
	if (strays)
		put("\tsetp.eq.u32 %%q, %%lane, %u; selp.b64 %%b, %u, 0, %%q; add.s64 %%a, %%a, %%b; ld.global.u32 "
		    "%%w%u, "
		    "[%%a];\n",
		    below(32), chance(50) ? 2u : 0x40000000u, word());
}

static void body(int count);
static void jump_out(void);
static void own_words(void);

static void construct_if(void)
{
	const int label = ++w.labels, end = ++w.labels;

	condition();
	put("\t@%s%%q bra L%d;\n", chance(50) ? "!" : "", label);
	w.out[w.depth] = end;
	w.round[w.depth++] = 0;
	body(1 + (int)below(4));
	if (chance(50)) {
		put("\tbra L%d;\nL%d:\n", end, label);
		body(1 + (int)below(4));
	} else {
		put("L%d:\n", label);
	}
	w.depth--;
	put("L%d:\n", end);
}

/* At most so many rounds, of each lane its own number. */
static void construct_loop(void)
{
	const int head = ++w.labels, latch = ++w.labels, end = ++w.labels, n = w.loops++;

	if (chance(70))
		put("\tand.b32 %%n%d, %%w%u, %u; add.u32 %%n%d, %%n%d, 1;\n", n, word(), chance(80) ? 7u : 31u, n, n);
	else
		put("\tmov.u32 %%n%d, %u;\n", n, 1 + below(5));
	put("L%d:\n", head);
	w.out[w.depth] = end;
	w.round[w.depth++] = latch;
	body(1 + (int)below(4));
	w.depth--;
	put("L%d:\n\tadd.u32 %%n%d, %%n%d, -1; setp.ne.u32 %%q, %%n%d, 0; @%%q bra L%d;\nL%d:\n", latch, n, n, n, head,
	    end);
}

/* What neither writes to memory nor asks other lanes. */
static void quiet(void)
{
	static const char *const two[] = { "add.u32", "sub.u32", "xor.b32",    "min.s32",
					   "add.f32", "mul.f32", "div.rn.f32", "max.f32" };
	static const char *const types[] = { "u32", "s16", "u8", "u32" };

	switch (below(9)) {
	case 0:
		put("\t%s%s %%w%u, %%w%u, %%w%u;\n", guard(), two[below(8)], word(), word(), word());
		break;
	case 1:
		put("\t%sfma.rn.f32 %%w%u, %%w%u, %%w%u, %%w%u;\n", guard(), word(), word(), word(), word());
		break;
	case 2:
		put("\tselp.b32 %%w%u, %%w%u, %%w%u, %%p%u;\n", word(), word(), word(), below(PREDS));
		break;
	case 3:
		put("\tsetp.lt.s32 %%p%u, %%w%u, %%w%u; add.u32 %%row, %%row, %u;\n", below(PREDS), word(), word(),
		    below(3));
		break;
	case 4: /* all at one place, or in a row, as long as they are in the same round */
		put("\tand.b32 %%t0, %%uni, 255; add.u32 %%uni, %%uni, 1; mul.wide.u32 %%a, %%t0, 4; add.s64 %%a, %%a, "
		    "%%%s; ld.global.u32 %%w%u, [%%a];\n",
		    chance(50) ? "table" : "mine", word());
		break;
	case 5:
		put("\tand.b32 %%t0, %%w%u, 63; shl.b32 %%t0, %%t0, 2; add.u32 %%t0, %%t0, %%sh; ld.shared.u32 %%w%u, "
		    "[%%t0];\n",
		    word(), word());
		break;
	case 6:
		put("\tand.b32 %%t0, %%w%u, 255; mul.wide.u32 %%a, %%t0, 8; add.s64 %%a, %%a, %%table; "
		    "ld.global.v2.u32 "
		    "{%%w%u, %%w%u}, [%%a]; ld.global.b64 %%d%u, [%%a+64];\n",
		    word(), below(4), 4 + below(4), below(LONGS));
		break;
	case 7:
		put("\tld.global.u32 %%w%u, [%%cells+%u];\n", word(), 4 * below(16));
		break;
	default:
		put("\tand.b32 %%t0, %%w%u, 511; mul.wide.u32 %%a, %%t0, 4; add.s64 %%a, %%a, %%table; ld.global.%s "
		    "%%w%u, [%%a]; ld.global.%s %%w%u, [%%a+8];\n",
		    word(), types[below(4)], word(), types[below(4)], word());
	}
}

/* What writes to memory, and nobody reads a result of; or what nearly always fails to. */
static void effect(void)
{
	static const char *const atomics[] = { "add.u32", "max.s32", "exch.b32", "xor.b32", "inc.u32", "add.f32" };
	const char *op = atomics[below(6)];

	switch (below(7)) {
	case 0: /* each into its own memory, of one place or of several */
		put("\tand.b32 %%t0, %%%s, %u; mul.wide.u32 %%a, %%t0, 4; add.s64 %%a, %%a, %%own; st.global.u32 "
		    "[%%a], "
		    "%%w%u;\n",
		    chance(50) ? "uni" : "w1", chance(50) ? 15u : 3u, word());
		break;
	case 1:
		put("\tst.global.%s [%%own+%u], %%w%u; st.global.v2.u32 [%%own+%u], {%%w%u, %%w%u};\n",
		    chance(50) ? "u8" : "u16", 2 * below(16), word(), 32 + 8 * below(4), word(), word());
		break;
	case 2: /* lanes at one place: the last one stays */
		put("\tand.b32 %%t0, %%w%u, 15; mul.wide.u32 %%a, %%t0, 4; add.s64 %%a, %%a, %%cells; st.global.u32 "
		    "[%%a], %%w%u;\n",
		    word(), word());
		break;
	case 3:
		put("\tand.b32 %%t0, %%w%u, 15; mul.wide.u32 %%a, %%t0, 4; add.s64 %%a, %%a, %%cells; red.global.%s "
		    "[%%a], %%w%u;\n",
		    word(), strcmp(op, "exch.b32") ? op : "add.u32", word());
		break;
	case 4:
		put("\tand.b32 %%t0, %%w%u, 15; mul.wide.u32 %%a, %%t0, 4; add.s64 %%a, %%a, %%cells; atom.global.%s "
		    "%%t1, [%%a], %%w%u;\n",
		    word(), op, word());
		break;
	case 5:
		put("\tand.b32 %%t0, %%w%u, 15; mul.wide.u32 %%a, %%t0, 4; add.s64 %%a, %%a, %%cells; "
		    "atom.global.cas.b32 "
		    "%%w%u, [%%a], %%w%u, %%w%u;\n",
		    word(), word(), word(), word());
		break;
	default:
		put("\tand.b32 %%t0, %%w%u, 63; shl.b32 %%t0, %%t0, 2; add.u32 %%t0, %%t0, %%sh; ", word());
		if (chance(50))
			put("st.shared.u32 [%%t0], %%w%u;\n", word());
		else
			put("atom.shared.%s %%t1, [%%t0], %%w%u;\n", op, word());
	}
}

/*
 * A loop that computes, loads and sometimes writes, of more rounds than compiled code runs at once: its lanes run one
 * after the other. Sometimes one lane's own address is a fault, in a round of its own.
 */
static void construct_rounds(bool strays)
{
	const int head = ++w.labels, end = ++w.labels, n = w.loops++;
	const bool effects = chance(50);

	if (chance(80))
		put("\tand.b32 %%n%d, %%w%u, %u; add.u32 %%n%d, %%n%d, 1;\n", n, word(),
		    (const uint32_t[]){ 3, 7, 31, 127 }[below(4)], n, n);
	else
		put("\tmov.u32 %%n%d, %u;\n", n, 1 + below(60));
	put("L%d:\n", head);
	w.out[w.depth] = end;
	w.round[w.depth++] = 0;
	for (uint32_t i = 0, count = 1 + below(5); i < count; i++) {
		const int over = chance(25) ? ++w.labels : 0;

		if (over) {
			condition();
			put("\t@%%q bra L%d;\n", over);
		}
		quiet();
		if (effects && chance(40))
			effect();
		if (chance(20))
			own_words();
		if (over)
			put("L%d:\n", over);
		if (chance(20))
			jump_out();
	}
	if (strays)
		put("\tsetp.eq.u32 %%q, %%lane, %u; setp.eq.and.u32 %%q, %%n%d, %u, %%q; selp.b64 %%b, %u, 0, %%q; "
		    "add.s64 "
		    "%%a, %%table, %%b; ld.global.u32 %%w%u, [%%a];\n",
		    below(32), n, 1 + below(8), chance(50) ? 2u : 0x40000000u, word());
	w.depth--;
	put("\tadd.u32 %%n%d, %%n%d, -1; setp.ne.u32 %%q, %%n%d, 0; @%%q bra L%d;\nL%d:\n", n, n, n, head, end);
}

/* Words of the thread's own in local memory, at a place that all lanes share or not. */
static void own_words(void)
{
	put("\tand.b32 %%t0, %%%s, 15; mul.wide.u32 %%a, %%t0, 4; add.s64 %%a, %%loc, %%a;\n",
	    chance(50) ? "uni" : "w1");
	if (chance(60))
		put("\tld.local.u32 %%w%u, [%%a];\n", word());
	if (chance(60))
		put("\tst.local.u32 [%%a], %%w%u;\n", word());
	if (chance(20))
		put("\tst.local.v2.u32 [%%loc+%u], {%%w%u, %%w%u}; ld.local.u8 %%w%u, [%%a+1];\n", 8 * below(8), word(),
		    word(), word());
}

static void jump_out(void)
{
	const int depth = (int)below((uint32_t)w.depth);
	const int to = w.round[depth] && chance(40) ? w.round[depth] : w.out[depth];

	condition();
	put("\t@%%q bra L%d;\n", to);
}

/* Several such loops one behind the other, or inside another one: a lane runs all of them before the next begins. */
static void construct_stretch(void)
{
	const int over = ++w.labels, head = ++w.labels, n = w.loops++, count = 1 + (int)below(3);
	const bool nest = count < 2 || chance(30);

	condition();
	put("\t@%%q bra L%d;\n", over);
	if (nest)
		put("\tand.b32 %%n%d, %%w%u, %u; add.u32 %%n%d, %%n%d, 1;\nL%d:\n", n, word(), chance(80) ? 7u : 31u, n,
		    n, head);
	w.out[w.depth] = over;
	w.round[w.depth++] = 0;
	for (int i = 0; i < count; i++) {
		const int past = chance(40) ? ++w.labels : 0;

		if (chance(50))
			quiet();
		if (chance(40))
			own_words();
		if (past) {
			condition();
			put("\t@%%q bra L%d;\n", past);
		}
		construct_rounds(false);
		if (past)
			put("L%d:\n", past);
	}
	w.depth--;
	if (nest)
		put("\tadd.u32 %%n%d, %%n%d, -1; setp.ne.u32 %%q, %%n%d, 0; @%%q bra L%d;\n", n, n, n, head);
	put("L%d:\n", over);
}

static void statement(void)
{
	const uint32_t k = below(100);

	w.statements++;
	if (k < 14 && w.depth < 5 && w.statements < STATEMENTS)
		construct_if();
	else if (k < 24 && w.depth < 4 && w.loops < 12 && w.statements < STATEMENTS)
		construct_loop();
	else if (k < 32 && w.depth)
		jump_out();
	else if (k < 34 && w.depth)
		put("\tsetp.eq.u32 %%q, %%lane, %u; @%%q %s;\n", below(32), chance(50) ? "exit" : "bra END");
	else if (k < 35 && w.one_warp)
		put("\tbar.sync 0;\n");
	else if (k < 37)
		put("\tbar.warp.sync 0x%x;\n", chance(50) ? 0xffffffffu : 0xfu << below(28));
	else if (k < 41)
		chase(false);
	else if (k < 47 && w.depth < 5 && w.loops < 12 && w.statements < STATEMENTS)
		construct_rounds(false);
	else if (k < 50 && w.depth < 4 && w.loops < 12 && w.statements < STATEMENTS)
		construct_stretch();
	else if (k < 51)
		own_words();
	else if (k < 57)
		access();
	else if (k < 68)
		across();
	else
		compute();
}

static void body(int count)
{
	for (int i = 0; i < count; i++)
		statement();
}

/* One thread stores where nothing is; somewhere. */
static void stray(void)
{
	put("\tsetp.eq.u32 %%q, %%lane, %u; @!%%q bra STRAY; and.b32 %%t0, %%w%u, 1; setp.ne.u32 %%q, %%t0, 0;\n",
	    below(32), word());
	put("\t@%%q add.s64 %%own, %%own, %u;\nSTRAY:\n", chance(50) ? 2u : 0x40000000u);
	body(3);
	if (chance(50))
		chase(true);
	if (chance(50))
		construct_rounds(true);
	put("\tld.global.u32 %%w1, [%%own];\n");
}

static void generate(uint64_t seed)
{
	random_state = seed * 0x9e3779b97f4a7c15ull | 1;
	for (int i = 0; i < 8; i++)
		random_bits();
	memset(&w, 0, sizeof(w));
	block = (const uint32_t[]){ 32, 32, 64, 96, 20, 45, 70 }[below(7)];
	w.one_warp = block <= 32;
	put("// --seed %llu, block %u\n", (unsigned long long)seed, block);
	put(".version 8.0\n.target sm_80\n.address_size 64\n"
	    ".visible .entry parted(.param .u64 pm, .param .u64 pt)\n{\n"
	    "\t.reg .pred %%p<%d>, %%q; .reg .b32 %%w<%d>, %%n<20>, %%t<2>, %%lane, %%act, %%sh, %%uni, %%row; .reg "
	    ".b64 "
	    "%%d<%d>, %%own, %%mine, %%table, %%cells, %%loc, %%a, %%b;\n\t.shared .align 16 .b8 s[1024]; .local "
	    ".align 8 "
	    ".b8 l[64];\n",
	    PREDS, WORDS, LONGS);
	put("\tld.param.u64 %%own, [pm]; ld.param.u64 %%table, [pt]; mov.u32 %%row, %%tid.x; mov.u32 %%lane, "
	    "%%laneid;\n"
	    "\tmul.wide.u32 %%a, %%row, 4; add.s64 %%mine, %%own, %%a; add.s64 %%mine, %%mine, %d;\n"
	    "\tshr.u32 %%t0, %%row, 5; mul.wide.u32 %%a, %%t0, 2048; add.s64 %%mine, %%mine, %%a;\n"
	    "\tmul.wide.u32 %%a, %%t0, %d; add.s64 %%cells, %%own, %%a; add.s64 %%cells, "
	    "%%cells, "
	    "%d;\n\tmul.wide.u32 %%a, %%row, %d; add.s64 %%own, %%own, %%a; shl.b32 %%t0, %%t0, 8; mov.u32 %%sh, s; "
	    "add.u32 %%sh, %%sh, %%t0; mov.u32 %%uni, 0;\n",
	    THREADS_MAX * OWN_BYTES, CELL_WORDS * 4, THREADS_MAX * OWN_BYTES + 8192, OWN_BYTES);
	put("\tand.b32 %%t0, %%lane, 3; shl.b32 %%t0, %%t0, 2; add.u32 %%t0, %%t0, %%sh; mov.u32 %%act, 0;\n");
	put("\tmov.u64 %%loc, l;\n");
	for (int i = 0; i < 16; i++)
		put("\tst.local.u32 [%%loc+%d], %%row;\n", 4 * i);
	for (int i = 0; i < 16; i++)
		put("\tst.shared.u32 [%%t0+%d], %%act;\n", 16 * i);
	for (int i = 0; i < WORDS; i++)
		put("\tmad.lo.u32 %%t0, %%row, %u, %u; and.b32 %%t0, %%t0, 1023; mul.wide.u32 %%a, %%t0, 4; add.s64 "
		    "%%a, "
		    "%%a, %%table; ld.global.u32 %%w%d, [%%a];\n",
		    below(100), below(1024), i);
	for (int i = 0; i < LONGS; i++)
		put("\tcvt.u64.u32 %%d%d, %%w%d;\n", i, i);
	for (int i = 0; i < PREDS; i++)
		put("\tsetp.lt.u32 %%p%d, %%w%d, %%w%d;\n", i, i, i + 1);
	if (w.one_warp && chance(30)) {
		body(4);
		stray();
	}
	for (int i = 0, n = 2 + (int)below(3); i < n; i++) {
		body(3 + (int)below(6));
		if (chance(40))
			put("\tbar.sync 0;\n");
		if (chance(20)) { /* past whatever comes next */
			condition();
			put("\t@%%q bra J%d;\n", i);
			body(2);
			construct_loop();
			put("J%d:\n", i);
		}
	}
	put("END:\n");
	for (int i = 0; i < WORDS; i++)
		put("\tst.global.u32 [%%own+%d], %%w%d;\n", 128 + 4 * i, i);
	for (int i = 0; i < LONGS; i++)
		put("\tst.global.u64 [%%own+%d], %%d%d;\n", 160 + 8 * i, i);
	for (int i = 0; i < PREDS; i++)
		put("\tselp.b32 %%t0, 1, 0, %%p%d; st.global.u32 [%%own+%d], %%t0;\n", i, 192 + 4 * i);
	put("\tst.global.u32 [%%own+208], %%uni; st.global.u32 [%%own+212], %%row; st.shared.u32 [%%sh], %%uni;\n"
	    "\tret;\n}\n");
}

static void fill(uint64_t seed, uint32_t *table)
{
	random_state = seed | 1;
	for (uint32_t i = 0; i < 1024; i++) {
		const uint64_t r = random_bits();

		table[i] =
			r % 3 ? (uint32_t)(r >> 32) >> (r >> 8) % 32 : 0x3f000000u + ((uint32_t)(r >> 32) & 0x1ffffff);
	}
	table[3] = 0xffc01234u; /* a NaN whose bits are not the device's */
}

static void run_one(const struct ptx_module *m, uint64_t seed, struct outcome *ret)
{
	struct ptx_launch l = { .timeout_ns = 5000000000u };
	uint32_t *memory, *table;

	device_reset();
	memory = device_alloc(MEMORY_BYTES);
	table = device_alloc(4096 + 64);
	fill(seed, table);
	l.kernel = ptx_module_kernel_find(m, "parted");
	l.params = (const uint64_t[]){ PTR(memory), PTR(table) };
	l.grid[0] = l.grid[1] = l.grid[2] = l.block[1] = l.block[2] = 1;
	l.block[0] = block;
	l.memory.find = device_find;
	ret->r = ptx_launch_run(pool, &l);
	ret->fault = l.fault;
	ret->fault.function = NULL;
	ret->stats = l.stats;
	ret->compiled = ptx_kernel_is_compiled(l.kernel);
	memcpy(ret->memory, memory, MEMORY_BYTES);
}

/* The kernel with each input; it has no variables, whose memory would not outlive device_reset(). */
static bool run(enum ptx_compile how, const char *isa, uint64_t seed, struct outcome ret[INPUTS])
{
	const struct ptx_options options = { .compile = how, .isa = isa };
	struct ptx_module *m = load_text(w.text, w.bytes, &options);

	for (uint64_t i = 0; m && i < INPUTS; i++)
		run_one(m, seed + i * 0x9e3779b97f4a7c15ull, &ret[i]);
	ptx_module_free(m);
	return m;
}

static bool differ(const char *isa, uint32_t input)
{
	const struct outcome *a = &outcomes[0][input], *b = &outcomes[1][input];
	uint32_t i = 0;

	while (i < MEMORY_BYTES && a->memory[i] == b->memory[i])
		i++;
	if (!b->compiled)
		printf("# %s: not compiled\n", isa);
	else if (a->r != b->r || memcmp(&a->fault, &b->fault, sizeof(a->fault)))
		printf("# %s: fault %d in line %u, thread %u; compiled: %d in line %u, thread %u\n", isa, a->fault.kind,
		       a->fault.line, a->fault.thread[0], b->fault.kind, b->fault.line, b->fault.thread[0]);
	else if (!a->r && i < MEMORY_BYTES)
		printf("# %s: byte %u of memory: %02x, compiled: %02x\n", isa, i, a->memory[i], b->memory[i]);
	else if (!a->r && memcmp(&a->stats, &b->stats, sizeof(a->stats)))
		printf("# %s: counters: %llu instructions, %llu of lanes, %llu sectors; compiled: %llu, %llu, %llu\n",
		       isa, (unsigned long long)a->stats.warp_instructions,
		       (unsigned long long)a->stats.lane_instructions, (unsigned long long)a->stats.sectors,
		       (unsigned long long)b->stats.warp_instructions, (unsigned long long)b->stats.lane_instructions,
		       (unsigned long long)b->stats.sectors);
	else
		return false;
	return true;
}

/* A kernel that was written to a file, or what is left of it; its first line says the seed and the block. */
static bool read_kernel(const char *path, uint64_t *ret_seed)
{
	unsigned long long seed;
	size_t bytes;
	char *text = read_file(path, &bytes);
	const bool good = bytes < sizeof(w.text) && sscanf(text, "// --seed %llu, block %u", &seed, &block) == 2;

	if (good) {
		memcpy(w.text, text, bytes + 1);
		w.bytes = bytes;
		*ret_seed = seed;
	}
	free(text);
	return good;
}

static bool same(const char *isa, uint64_t seed)
{
	bool good = run(PTX_COMPILE_NEVER, isa, seed, outcomes[0]) && run(PTX_COMPILE_ALWAYS, isa, seed, outcomes[1]);

	for (uint32_t i = 0; i < INPUTS && good; i++)
		good = !differ(isa, i);
	return good;
}

static int faults_of(const struct outcome *o)
{
	int n = 0;

	for (uint32_t i = 0; i < INPUTS; i++)
		n += o[i].r != 0;
	return n;
}

static int run_seeds(uint64_t seed, int count)
{
	static const char *const isas[] = { "avx512", "avx2" };
	const bool one = !isa_find(isas[0]) || !isa_find(isas[1]); /* a build with this machine's best set has one */
	int wrong = 0, faults = 0;

	for (int i = 0; i < count && wrong < 5; i++) {
		const char *isa = isas[one ? !isa_find(isas[0]) : i % 8 == 7];
		char path[64];
		FILE *f;

		generate(seed + (uint64_t)i);
		if (same(isa, seed + (uint64_t)i)) {
			faults += faults_of(outcomes[0]);
			continue;
		}
		wrong++;
		snprintf(path, sizeof(path), "parted_%llu.ptx", (unsigned long long)(seed + (uint64_t)i));
		printf("# --seed %llu --count 1: %s\n", (unsigned long long)(seed + (uint64_t)i), path);
		f = fopen(path, "w");
		if (f) {
			fwrite(w.text, 1, w.bytes, f);
			fclose(f);
		}
	}
	printf("# %d of %d launches ended with a fault\n", faults, count * INPUTS);
	return wrong;
}

int main(int argc, char **argv)
{
	uint64_t seed = 0, fresh;
	const char *path = NULL;
	struct timespec now;
	int count = 5;

	if (!getenv("METE_SOFT_COMPILER") || (!isa_find("avx2") && !isa_find("avx512"))) {
		printf("1..0 # SKIP no compiler was built, or this processor has no vectors for it\n");
		return 0;
	}
	for (int i = 1; i + 1 < argc; i++) {
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		if (!strcmp(argv[i], "--count"))
			count = atoi(argv[i + 1]);
		if (!strcmp(argv[i], "--few") && !getenv("METE_TEST_LONG"))
			count = atoi(argv[i + 1]);
		if (!strcmp(argv[i], "--text"))
			path = argv[i + 1];
	}
	tap_begin();
	device_open(1);
	if (path) {
		ok(read_kernel(path, &seed) && (!isa_find("avx512") || same("avx512", seed)) &&
		   (!isa_find("avx2") || same("avx2", seed)));
		device_close();
		return tap_end();
	}
	clock_gettime(CLOCK_REALTIME, &now);
	fresh = ((uint64_t)now.tv_sec * 1000003u + (uint64_t)now.tv_nsec) % 1000000000u;
	tap_ok(!run_seeds(seed ? seed : 1, count), "%d kernels from seed %llu", count,
	       (unsigned long long)(seed ? seed : 1));
	if (!seed)
		tap_ok(!run_seeds(fresh, count), "%d kernels from seed %llu", count, (unsigned long long)fresh);
	device_close();
	return tap_end();
}
