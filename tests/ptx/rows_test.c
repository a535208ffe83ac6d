/*
 * rows_test.c: every row of the engine's instruction table, in all its spellings, against the reference (reference/):
 * edge values of the type in pairs and random bits, all lanes and some lanes, every build of the engine.
 *
 * The rows are walked, so a new one is tested as soon as the reference knows it. A row that the reference does not
 * know, because it is about memory, control or a whole warp, must be in the list `elsewhere` with the file that tests
 * it, and that file must contain its name. Anything else fails.
 */
#include "catalogue.h"
#include "harness.h"

#include <stdarg.h>

enum { N = 1536, PER_KERNEL = 64, ISAS = 3, CLASSES = 5, SOURCES = 4 };

/* Lanes that run in the launches where not all of them do. */
#define SOME_LANES 0x9d2c5681u
#define UNTOUCHED 0x5a5a5a5a5a5a5a5aull

/* Rows that are not values of single threads, by one of their words: who tests them. */
static const struct {
	const char *words, *file;
} elsewhere[] = {
	{ " mov ld ldu st atom red cvta isspacep shfl vote match redux elect activemask bar barrier bra brx call ret "
	  "exit "
	  "membar fence brkpt prefetch prefetchu nanosleep pmevent griddepcontrol setmaxnreg discard applypriority ",
	  "generator.c" },
	{ " ue8m0x2 ", "narrow_test.c" },
	{ " alloca stacksave stackrestore rs vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vset2 vset4 ", "rare_test.c" },
	{ " trap createpolicy ", "text_test.c" },
	{ " tex tld4 suld sust ", "../softdev/kernels/texture.ptx" },
	{ " txq suq sured istypep ", "../softdev/surface_test.c" },
	{ " mma wmma ldmatrix stmatrix movmatrix ", "matrix_test.c" },
	{ " cp mbarrier getctarank mapa clusterlaunchcontrol ", "async_test.c" },
	{ " wgmma ", "wgmma_test.c" },
	{ " tensormap ", "tensor_test.c" },
};

enum class { INTEGER, F16, BF16, F32, F64 };

struct item {
	struct spelling s;
	char text[120]; /* as written, operands without registers */
	enum class class;
	bool pair, carry; /* of f16x2 comparisons; reads or writes the carry flag */
};

static struct item *items;
static size_t item_count, item_room;
static uint64_t *source[CLASSES][SOURCES];
static const char *folder;

static const uint64_t f32_edges[] = {
	0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x3f800000,
	0xbf800000, 0x3f800001, 0x3f7fffff, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
	0x7f800001, 0xffc12345, 0x3f000000, 0x3fc00000, 0x40200000, 0xbf000000, 0x4b000001, 0x4effffff,
	0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0x5f800000, 0x477fe000, 0x477fefff, 0x477ff000,
	0x38800000, 0x33000000, 0x33000001, 0x3f808000, 0x3f801000, 0x42fe0000, 0x437f8000,
};
static const uint64_t f64_edges[] = {
	0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x800fffffffffffff, 0x0010000000000000,
	0x3ff0000000000000, 0xbff0000000000000, 0x3ff0000000000001, 0x3fefffffffffffff, 0x7fefffffffffffff,
	0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000001,
	0xfff8123412341234, 0x3fe0000000000000, 0x3ff8000000000000, 0x4004000000000000, 0xbfe0000000000000,
	0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000,
	0x41f0000000000000, 0x43dfffffffffffff, 0x43e0000000000000, 0x43f0000000000000, 0x47efffffe0000000,
	0x47effffff0000000, 0x47efffffefffffff, 0x3690000000000000, 0x3690000000000001, 0x380fffffffffffff,
	0x40effc0000000000, 0x3f50000000000000, 0x3ff0000010000000,
};
static const uint64_t f16_edges[] = {
	0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x7bff, 0xfbff,
	0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xfe12, 0x3800, 0x3e00, 0x4100, 0xb800, 0x6400, 0x57f8, 0x5c00, 0x0200,
	0x7fff,
};
static const uint64_t bf16_edges[] = {
	0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x807f, 0x0080, 0x3f80, 0xbf80, 0x3f81, 0x3f7f, 0x7f7f, 0xff7f,
	0x7f80, 0xff80, 0x7fc0, 0x7f81, 0xffc1, 0x3f00, 0x3fc0, 0x4020, 0xbf00, 0x4f00, 0x5f00, 0x0040, 0x7f00,
	0x7fff,
};
static const uint64_t integer_edges[] = {
	0,
	1,
	2,
	7,
	8,
	15,
	16,
	17,
	31,
	32,
	33,
	63,
	64,
	65,
	0x7f,
	0x80,
	0xff,
	0x100,
	0x7fff,
	0x8000,
	0xffff,
	0x10000,
	0x7fffff,
	0x800000,
	0xffffff,
	0x7fffffff,
	0x80000000,
	0x80000001,
	0xffffffff,
	0x100000000,
	0x7fffffffffffffff,
	0x8000000000000000,
	0xffffffffffffffff,
	0x8080808080808080,
	0x7f7f7f7f80ff0102,
	0xfffffffffffffff0,
	0xaaaaaaaaaaaaaaaa,
};

#define EDGES(list)                                                                                                    \
	{                                                                                                              \
		list, sizeof(list) / sizeof((list)[0])                                                                 \
	}
static const struct {
	const uint64_t *list;
	size_t count;
} edges[CLASSES] = { [INTEGER] = EDGES(integer_edges),
		     [F16] = EDGES(f16_edges),
		     [BF16] = EDGES(bf16_edges),
		     [F32] = EDGES(f32_edges),
		     [F64] = EDGES(f64_edges) };

/* 16-bit values come two at a time, the second one unrelated. */
static uint64_t edge(enum class c, size_t i)
{
	const uint64_t v = edges[c].list[i % edges[c].count];

	if (c == F16 || c == BF16)
		return v | edges[c].list[random_bits() % edges[c].count] << 16;
	return c == F32 ? v | edges[c].list[random_bits() % edges[c].count] << 32 : v;
}

/* Random bits, or numbers of ordinary size. */
static uint64_t ordinary(enum class c)
{
	const uint64_t r = random_bits();

	if (r >> 61 < 2)
		return random_bits();
	switch (c) {
	case F16:
		return (r & 0x8fff8fff) + 0x34003400;
	case BF16:
		return (r & 0x81ff81ff) + 0x3f003f00;
	case F32:
		return (r & 0x83ffffff) + 0x3e000000;
	case F64:
		return (r & 0x807fffffffffffff) + 0x3fc0000000000000;
	default:
		return r >> random_bits() % 64;
	}
}

static void fill(enum class c)
{
	const size_t n = edges[c].count;

	for (size_t i = 0; i < N; i++) {
		const bool pairs = i < n * n;

		source[c][0][i] = pairs ? edge(c, i) : ordinary(c);
		source[c][1][i] = pairs		      ? edge(c, i / n)
				  : random_bits() & 1 ? edge(INTEGER, random_bits())
						      : ordinary(c);
		for (int k = 2; k < SOURCES; k++)
			source[c][k][i] = random_bits() % 3 == 0 ? edge(c, random_bits())
					  : random_bits() & 1	 ? edge(INTEGER, random_bits() % 14)
								 : ordinary(c);
	}
}

static enum class class_of(const struct ref_type *t) {
	return t->kind == 'B'	? BF16
	       : t->kind != 'f' ? INTEGER
	       : t->bits == 16	? F16
	       : t->bits == 32	? F32
				: F64;
}

static void item_add(const struct spelling *s, const char *text)
{
	struct item *it;

	if (item_count == item_room) {
		item_room = item_room * 2 + 1024;
		items = realloc(items, item_room * sizeof(*items));
		if (!items)
			abort();
	}
	it = &items[item_count++];
	memset(it, 0, sizeof(*it));
	it->s = *s;
	snprintf(it->text, sizeof(it->text), "%s", text);
	ref_op_parse(text, &it->s.op);
	it->class = class_of(&it->s.op.type[it->s.op.types - 1]);
	it->carry = ref_has(&it->s.op, "cc") || !strcmp(it->s.op.word[0], "addc") ||
		    !strcmp(it->s.op.word[0], "subc") || !strcmp(it->s.op.word[0], "madc");
	it->pair = s->row->form == FORM_SETP_PAIR;
}

/* Comparisons can be combined with a third source. */
static void item_add_combined(const struct spelling *s)
{
	static const char *const ops[] = { "and", "or", "xor" };
	static int turn;
	const char *rest = strchr(strchr(s->text, '.') + 1, '.');
	struct spelling combined = *s;
	char text[120];

	combined.regs[3] = 'p';
	for (int i = 0; i < 3; i++) {
		if (s->row->form == FORM_SET && i != turn % 3)
			continue;
		snprintf(text, sizeof(text), "%.*s.%s%s", (int)(rest - s->text), s->text, ops[i], rest);
		item_add(&combined, text);
	}
	turn++;
}

static bool mentions(const char *file, const char *word)
{
	char path[600], *text;
	size_t bytes;
	bool found;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	text = read_file(path, &bytes);
	found = strstr(text, word) != NULL;
	free(text);
	return found;
}

/* Found once per word: a row has many spellings. */
static bool is_elsewhere(const struct ref_op *op)
{
	static char known[40][24];
	static int count;

	for (int w = 0; w < op->words; w++) {
		char word[32];

		for (int i = 0; i < count; i++)
			if (!strcmp(known[i], op->word[w]))
				return true;
		snprintf(word, sizeof(word), " %s ", op->word[w]);
		for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
			if (strstr(elsewhere[i].words, word) && mentions(elsewhere[i].file, op->word[w])) {
				if (count < 40)
					snprintf(known[count++], sizeof(known[0]), "%s", op->word[w]);
				return true;
			}
	}
	return false;
}

/* The spellings of a row that the reference knows; false: the row is tested nowhere. */
static bool row_items(const struct row *row)
{
	struct catalogue c = { 0 };
	size_t before = item_count, unknown = 0, nowhere = 0;

	if (row->form == FORM_INTERNAL || row->pattern[0] == '%')
		return true; /* what the decoder makes of spelled rows */
	catalogue_row(&c, row);
	for (size_t i = 0; i < c.count; i++) {
		struct spelling *s = &c.at[i];
		bool legal = true;

		if (row->form == FORM_SETP_PAIR) {
			strcpy(s->regs, "pww");
			ref_compare(&s->op, &s->op.type[0], 0, 0, &legal);
			s->answer = legal ? REF_DONE : REF_ILLEGAL;
		}
		if (s->answer == REF_UNKNOWN || strchr(s->regs, 'q')) {
			if (!is_elsewhere(&s->op) && !nowhere++)
				printf("# no test for %s of \"%s\"\n", s->text, row->pattern);
			unknown++;
			continue;
		}
		if (s->answer == REF_ILLEGAL)
			continue;
		item_add(s, s->text);
		if (row->form == FORM_SETP || row->form == FORM_SET)
			item_add_combined(s);
	}
	free(c.at);
	return !nowhere && (item_count > before || unknown);
}

static int by_class(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->class != y->class ? (int)x->class - (int)y->class : strcmp(x->text, y->text);
}

struct text {
	char *p;
	size_t n, room;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
	va_list args;

	if (t->room - t->n < 1024) {
		t->room = t->room * 2 + 65536;
		t->p = realloc(t->p, t->room);
		if (!t->p)
			abort();
	}
	va_start(args, format);
	t->n += (size_t)vsnprintf(t->p + t->n, t->room - t->n, format, args);
	va_end(args);
}

/* One instruction; its results go to two places: the value, and the second predicate or the carry. */
static void put_item(struct text *t, const struct item *it, size_t place)
{
	static const char *const to_64[] = { "selp.b64 %x, 1, 0, %rp;", "cvt.u64.u16 %x, %rh;", "cvt.u64.u32 %x, %rw;",
					     "mov.b64 %x, %rd;" };
	const char *letters = "phwd", *regs = it->s.regs;
	const bool two = it->s.row->form == FORM_SETP || it->pair;

	if (it->carry)
		put(t, "add.cc.u32 %%t, %%k, 0xffffffff;\n");
	put(t, "%s %%r%c%s", it->text, regs[0], two ? "|%rq" : "");
	for (int i = 1; regs[i]; i++)
		put(t, ", %%%c%c", "abce"[i - 1], regs[i]);
	put(t, ";\n%s st.global.u64 [%%out+%zu], %%x;\n", to_64[strchr(letters, regs[0]) - letters], place * 2 * N * 8);
	if (it->carry)
		put(t, "addc.u32 %%t, 0, 0; cvt.u64.u32 %%x, %%t; st.global.u64 [%%out+%zu], %%x;\n",
		    (place * 2 + 1) * N * 8);
	if (two)
		put(t, "selp.b64 %%x, 1, 0, %%rq; st.global.u64 [%%out+%zu], %%x;\n", (place * 2 + 1) * N * 8);
}

static void put_kernel(struct text *t, size_t first, size_t count)
{
	put(t,
	    ".visible .entry k%zu(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pe, "
	    ".param .u32 lanes)\n{\n",
	    first);
	put(t, ".reg .pred %%p, %%rp, %%rq, %%ap, %%bp, %%cp, %%ep; .reg .b16 %%rh, %%ah, %%bh, %%ch, %%eh; .reg .b32 "
	       "%%i<4>, %%k, %%t, %%rw, %%aw, %%bw, "
	       "%%cw, %%ew; .reg .b64 %%at, %%out, %%x, %%rd, %%ad, %%bd, %%cd, %%ed;\n");
	put(t,
	    "mov.u32 %%i0, %%laneid; ld.param.u32 %%i1, [lanes]; shr.u32 %%i1, %%i1, %%i0; and.b32 %%i1, %%i1, 1;\n");
	put(t, "setp.eq.u32 %%p, %%i1, 0; @%%p exit;\n");
	put(t, "mov.u32 %%i0, %%tid.x; mov.u32 %%i1, %%ctaid.x; mov.u32 %%i2, %%ntid.x; mad.lo.u32 %%i0, %%i1, %%i2, "
	       "%%i0; mul.wide.u32 %%at, %%i0, 8;\n");
	put(t, "ld.param.u64 %%out, [pd]; add.s64 %%out, %%out, %%at;\n");
	for (const char *x = "abce"; *x; x++) {
		put(t,
		    "ld.param.u64 %%x, [p%c]; add.s64 %%x, %%x, %%at; ld.global.u64 %%%cd, [%%x]; cvt.u32.u64 %%%cw, "
		    "%%%cd;\n",
		    *x, *x, *x, *x);
		put(t, "cvt.u16.u32 %%%ch, %%%cw; and.b32 %%i3, %%%cw, 1; setp.ne.u32 %%%cp, %%i3, 0;\n", *x, *x, *x,
		    *x);
	}
	put(t, "shr.u32 %%k, %%cw, 1; and.b32 %%k, %%k, 1; mov.b64 %%rd, 0; mov.b32 %%rw, 0; mov.b16 %%rh, 0;\n");
	put(t, "setp.ne.u32 %%rp, %%i0, %%i0; setp.ne.u32 %%rq, %%i0, %%i0;\n");
	for (size_t i = 0; i < count; i++)
		put_item(t, &items[first + i], i);
	put(t, "ret;\n}\n");
}

/* The reference's results for one set of sources. */
static enum ref_answer expected(const struct item *it, size_t i, struct ref_result *r, uint64_t *ret_second)
{
	const wide c = source[it->class][2][i];
	bool carry = c >> 1 & 1, legal = true;
	enum ref_answer answer;
	wide in[4];

	for (int k = 0; k < SOURCES; k++)
		in[k] = source[it->class][k][i];
	if (it->pair) {
		struct ref_type half = { it->s.op.type[0].kind, 16, 1 };

		*r = (struct ref_result){ .d = ref_compare(&it->s.op, &half, in[0], in[1], &legal) };
		*ret_second = ref_compare(&it->s.op, &half, in[0] >> 16, in[1] >> 16, &legal);
		return REF_DONE;
	}
	answer = ref_compute(&it->s.op, in, (int)strlen(it->s.regs) - 1, &carry, r);
	*ret_second = it->carry ? carry : (uint64_t)r->q;
	return answer;
}

/* The type of what is stored: cvt widens a narrow integer to the register. */
static struct ref_type result_type(const struct item *it)
{
	struct ref_type t = it->s.op.type[0];

	if (it->s.regs[0] == 'p')
		return (struct ref_type){ 'p', 1, 1 };
	if (ref_is_float(&t) && it->s.op.types && !strcmp(it->s.op.word[0], "mov"))
		return t;
	if (t.bits * t.lanes == (it->s.regs[0] == 'h' ? 16 : it->s.regs[0] == 'w' ? 32 : 64))
		return t;
	return (struct ref_type){ t.kind == 's' ? 's' : 'u',
				  it->s.regs[0] == 'h'	 ? 16
				  : it->s.regs[0] == 'w' ? 32
							 : 64,
				  1 };
}

static wide widened(const struct item *it, wide v)
{
	const struct ref_type *t = &it->s.op.type[0];

	if (!strcmp(it->s.op.word[0], "cvt") && t->kind == 's' && !ref_has(&it->s.op, "pack"))
		return (wide)ref_int(t, v);
	return v;
}

static int compare_item(const struct item *it, size_t place, uint64_t *const out[], int outs, const char *const names[])
{
	const bool two = it->carry || it->pair || it->s.row->form == FORM_SETP;
	const struct ref_type t = result_type(it);
	int wrong = 0;

	for (size_t i = 0; i < N && wrong < 3; i++) {
		struct ref_result r;
		uint64_t second = 0;
		const enum ref_answer answer = expected(it, i, &r, &second);

		r.d = widened(it, r.d);
		for (int k = 0; k < outs && wrong < 3; k++) {
			const bool ran = !(k & 1) || SOME_LANES >> i % 32 & 1;
			const uint64_t got = out[k][place * 2 * N + i], also = out[k][(place * 2 + 1) * N + i];

			if (ran ? answer == REF_UNDEFINED || (ref_same(&t, &r, got) && (!two || also == second))
				: got == UNTOUCHED)
				continue;
			wrong++;
			printf("# %s, %s: a %llx b %llx c %llx e %llx: %llx|%llx, reference %llx|%llx\n", it->text,
			       names[k], (unsigned long long)source[it->class][0][i],
			       (unsigned long long)source[it->class][1][i], (unsigned long long)source[it->class][2][i],
			       (unsigned long long)source[it->class][3][i], (unsigned long long)got,
			       (unsigned long long)also, ran ? (unsigned long long)r.d : (unsigned long long)UNTOUCHED,
			       (unsigned long long)second);
		}
	}
	return wrong;
}

static void run_kernel(struct ptx_module *const m[], uint64_t *const out[], size_t first, size_t count)
{
	static const char *const names[] = { "base",   "base, some lanes",  "avx2", "avx2, some lanes",
					     "avx512", "avx512, some lanes" };
	uint64_t *used[2 * ISAS];
	const char *used_names[2 * ISAS];
	const enum class c = items[first].class;
	char kernel[32];
	int outs = 0, bad = 0, wrong;

	snprintf(kernel, sizeof(kernel), "k%zu", first);
	for (int k = 0; k < 2 * ISAS; k++) {
		if (!m[k / 2])
			continue;
		for (size_t i = 0; i < count * 2 * N; i++)
			out[k][i] = UNTOUCHED;
		bad += launch(m[k / 2], kernel, DIM(N / 128), DIM(128),
			      ARGS(PTR(out[k]), PTR(source[c][0]), PTR(source[c][1]), PTR(source[c][2]),
				   PTR(source[c][3]), k & 1 ? SOME_LANES : 0xffffffffu)) != 0;
		used_names[outs] = names[k];
		used[outs++] = out[k];
	}
	for (size_t i = 0; i < count; i++) {
		wrong = compare_item(&items[first + i], i, used, outs, used_names);
		bad += wrong != 0;
	}
	tap_ok(!bad, "%s ... %s: %zu instructions", items[first].text, items[first + count - 1].text, count);
}

static size_t kernel_length(size_t first)
{
	size_t n = 0;

	while (n < PER_KERNEL && first + n < item_count && items[first + n].class == items[first].class)
		n++;
	return n;
}

static void run_items(void)
{
	static const char *const isas[ISAS] = { "base", "avx2", "avx512" };
	struct ptx_module *m[ISAS] = { NULL };
	uint64_t *out[2 * ISAS];
	struct text t = { 0 };

	put(&t, ".version 8.6\n.target sm_90\n.address_size 64\n");
	for (size_t i = 0; i < item_count; i += kernel_length(i))
		put_kernel(&t, i, kernel_length(i));
	for (int c = 0; c < CLASSES; c++) {
		for (int k = 0; k < SOURCES; k++)
			source[c][k] = device_alloc(N * 8);
		fill((enum class)c);
	}
	for (int k = 0; k < 2 * ISAS; k++)
		out[k] = device_alloc(PER_KERNEL * 2 * N * 8);
	for (int i = 0; i < ISAS; i++)
		if (isa_find(isas[i])) {
			m[i] = load_text(t.p, t.n, &(struct ptx_options){ .isa = isas[i] });
			if (!tap_ok(m[i] != NULL, "loaded for %s", isas[i]))
				goto out;
		}
	for (size_t i = 0; i < item_count; i += kernel_length(i))
		run_kernel(m, out, i, kernel_length(i));
out:
	for (int i = 0; i < ISAS; i++)
		ptx_module_free(m[i]);
	free(t.p);
}

int main(int argc, char **argv)
{
	size_t rows = 0;
	int without = 0;

	if (argc < 2)
		tap_skip_all("needs the folder of the tests");
	folder = argv[1];
	tap_begin();
	device_open(2);
	for (; engine_row(rows); rows++)
		without += !row_items(engine_row(rows));
	tap_ok(!without, "every one of %zu rows has a test, %zu instructions of them here", rows, item_count);
	qsort(items, item_count, sizeof(*items), by_class);
	run_items();
	free(items);
	device_close();
	return tap_end();
}
