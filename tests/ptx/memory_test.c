/*
 * memory_test.c: loads and stores of every width and vector, in global and shared memory, with the lanes' addresses
 * lying to each other in all the ways that the engine treats apart, of full and of partial warps; compared with loops.
 * The memory ends where the device ends, so that nobody reads more than was asked for.
 */
#include "harness.h"
#include "softdev/ptx/engine.h"

#define BYTES 4096u
#define WARP 32u

struct width {
	const char *name, *reg;
	uint32_t bytes, lane;
	bool is_signed;
};

static const struct width widths[] = {
	{ "u8", "r", 1, 4, false },  { "s8", "r", 1, 4, true },	 { "u16", "r", 2, 4, false },
	{ "s16", "r", 2, 4, true },  { "b32", "r", 4, 4, false }, { "b64", "rd", 8, 8, false },
};

struct pattern {
	const char *name;
	uint32_t (*of)(uint32_t lane, uint32_t count);
};

static uint32_t uniform(uint32_t lane, uint32_t count)
{
	return 5;
}

static uint32_t last(uint32_t lane, uint32_t count)
{
	return count - 1;
}

static uint32_t row(uint32_t lane, uint32_t count)
{
	return lane;
}

static uint32_t row_at_end(uint32_t lane, uint32_t count)
{
	return count - WARP + lane;
}

static uint32_t uniform_halves(uint32_t lane, uint32_t count)
{
	return lane < 16 ? count - 1 : 3;
}

static uint32_t row_halves(uint32_t lane, uint32_t count)
{
	return lane < 16 ? count - 16 + lane : lane;
}

static uint32_t same_row_twice(uint32_t lane, uint32_t count)
{
	return 7 + lane % 16;
}

static uint32_t almost_row(uint32_t lane, uint32_t count)
{
	return lane == 19 ? 2 : lane;
}

static uint32_t almost_uniform(uint32_t lane, uint32_t count)
{
	return lane == 30 ? count - 1 : 9;
}

static uint32_t backwards(uint32_t lane, uint32_t count)
{
	return count - 1 - lane;
}

static uint32_t every_third(uint32_t lane, uint32_t count)
{
	return lane * 3 % count;
}

static uint32_t anywhere(uint32_t lane, uint32_t count)
{
	return (lane * 2654435761u >> 7) % count;
}

static const struct pattern patterns[] = {
	{ "uniform", uniform },
	{ "last", last },
	{ "row", row },
	{ "row at the end", row_at_end },
	{ "two uniform halves", uniform_halves },
	{ "two rows", row_halves },
	{ "one row twice", same_row_twice },
	{ "almost a row", almost_row },
	{ "almost uniform", almost_uniform },
	{ "backwards", backwards },
	{ "every third", every_third },
	{ "anywhere", anywhere },
};
#define PATTERNS (sizeof(patterns) / sizeof(patterns[0]))

static const uint32_t masks[] = { ~0u, 0xffff, 0xffff0000, 0x55555555, 0x00080000, 0x7ffffffe, 0x80000001, 0x9e3779b9 };

/*
 * load: out[lane] = memory[index[lane]]; store: memory[index[lane]] = out[lane]. For shared memory the warp brings all
 * of `memory` there first, and back again.
 */
static int write_kernel(char *to, const struct width *w, uint32_t vector, bool shared, bool store)
{
	static const char *const list[2][5] = { { "", "%r10", "{%r10,%r11}", "", "{%r10,%r11,%r12,%r13}" },
						{ "", "%rd20", "{%rd20,%rd21}", "", "" } };
	const char *v = vector == 1 ? "" : vector == 2 ? ".v2" : ".v4", *regs = list[w->lane == 8][vector];
	const char *lane = w->lane == 8 ? "b64" : "b32", *space = shared ? "shared" : "global";
	char *at = to;

	at += sprintf(at, ".visible .entry %s_%s_%s_%u(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{\n",
		      store ? "st" : "ld", space, w->name, vector);
	at += sprintf(at, ".reg .pred %%p<4>; .reg .b32 %%r<20>; .reg .b64 %%rd<30>; .shared .align 16 .b8 s[%u];\n", BYTES);
	at += sprintf(at, "ld.param.u64 %%rd1,[a]; ld.param.u64 %%rd2,[b]; ld.param.u64 %%rd3,[c]; ld.param.u64 %%rd4,[d];\n"
			  "mov.u32 %%r1,%%tid.x; mul.wide.u32 %%rd5,%%r1,4; add.s64 %%rd6,%%rd1,%%rd5; ld.global.u32 %%r2,[%%rd6];\n"
			  "add.s64 %%rd7,%%rd2,%%rd5; ld.global.u32 %%r3,[%%rd7]; setp.eq.u32 %%p1,%%r3,0;\n"
			  "mad.wide.u32 %%rd8,%%r1,%u,%%rd4; mad.wide.u32 %%rd9,%%r2,%u,%%rd3;\n",
		      w->lane * vector, w->bytes * vector);
	if (shared)
		at += sprintf(at, "mov.u32 %%r4,s; mad.lo.u32 %%r6,%%r2,%u,%%r4; mul.wide.u32 %%rd10,%%r1,8; add.s64 "
				  "%%rd11,%%rd3,%%rd10; shl.b32 %%r7,%%r1,3; add.s32 %%r7,%%r4,%%r7; mov.u32 %%r8,0;\n"
				  "BRING: ld.global.u64 %%rd12,[%%rd11]; st.shared.u64 [%%r7],%%rd12; add.s64 "
				  "%%rd11,%%rd11,256; add.s32 %%r7,%%r7,256; add.s32 %%r8,%%r8,256; setp.lt.u32 "
				  "%%p2,%%r8,%u; @%%p2 bra BRING;\nbar.sync 0;\n",
			      w->bytes * vector, BYTES);
	if (store)
		for (uint32_t k = 0; k < vector; k++)
			at += sprintf(at, "ld.global.%s %%%s%u,[%%rd8+%u];\n", lane, w->reg, (w->lane == 8 ? 20 : 10) + k,
				      k * w->lane);
	at += sprintf(at, "@%%p1 bra DONE;\n");
	if (store) {
		at += sprintf(at, "st.%s%s.%s [%s],%s;\n", space, v, w->is_signed ? w->bytes == 1 ? "u8" : "u16" : w->name,
			      shared ? "%r6" : "%rd9", regs);
	} else {
		at += sprintf(at, "ld.%s%s.%s %s,[%s];\n", space, v, w->name, regs, shared ? "%r6" : "%rd9");
		for (uint32_t k = 0; k < vector; k++)
			at += sprintf(at, "st.global.%s [%%rd8+%u],%%%s%u;\n", lane, k * w->lane, w->reg,
				      (w->lane == 8 ? 20 : 10) + k);
	}
	at += sprintf(at, "DONE:\n");
	if (shared && store)
		at += sprintf(at, "bar.sync 0; mul.wide.u32 %%rd10,%%r1,8; add.s64 %%rd11,%%rd3,%%rd10; shl.b32 %%r7,%%r1,3; "
				  "add.s32 %%r7,%%r4,%%r7; mov.u32 %%r8,0;\nBACK: ld.shared.u64 %%rd12,[%%r7]; st.global.u64 "
				  "[%%rd11],%%rd12; add.s64 %%rd11,%%rd11,256; add.s32 %%r7,%%r7,256; add.s32 "
				  "%%r8,%%r8,256; setp.lt.u32 %%p2,%%r8,%u; @%%p2 bra BACK;\n",
			      BYTES);
	at += sprintf(at, "ret;\n}\n");
	return (int)(at - to);
}

static char *write_text(size_t *ret_bytes)
{
	char *text = malloc(1 << 20), *at = text;

	at += sprintf(at, ".version 7.0\n.target sm_70\n.address_size 64\n");
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		for (uint32_t vector = 1; vector <= 4 && vector * widths[i].bytes <= 16; vector *= 2)
			for (int k = 0; k < 4; k++)
				at += write_kernel(at, &widths[i], vector, k & 1, k & 2);
	*ret_bytes = (size_t)(at - text);
	return text;
}

/* What the kernel does, in a loop. */
static void expected(const struct width *w, uint32_t vector, bool store, const uint32_t *index, uint32_t mask, uint8_t *memory,
		     uint8_t *out)
{
	for (uint32_t i = 0; i < WARP; i++)
		for (uint32_t k = 0; k < vector && mask & 1u << i; k++) {
			uint8_t *m = memory + (index[i] * vector + k) * w->bytes, *o = out + (i * vector + k) * w->lane;
			const bool minus = w->is_signed && m[w->bytes - 1] & 0x80;

			if (store) {
				memcpy(m, o, w->bytes);
			} else {
				memset(o, minus ? 0xff : 0, w->lane);
				memcpy(o, m, w->bytes);
			}
		}
}

static bool turn(struct ptx_module *m, const struct width *w, uint32_t vector, bool shared, bool store,
		 const struct pattern *p, uint32_t mask)
{
	uint8_t *memory = device + DEVICE_BYTES - BYTES, want[BYTES], out_want[WARP * 32];
	uint32_t *index, *act;
	uint8_t *out;
	char name[64];

	device_reset();
	index = device_alloc(WARP * 4);
	act = device_alloc(WARP * 4);
	out = device_alloc(sizeof(out_want));
	for (uint32_t i = 0; i < BYTES; i++)
		memory[i] = (uint8_t)random_bits();
	for (uint32_t i = 0; i < sizeof(out_want); i++)
		out[i] = (uint8_t)random_bits();
	memcpy(want, memory, BYTES);
	memcpy(out_want, out, sizeof(out_want));
	for (uint32_t i = 0; i < WARP; i++) {
		index[i] = p->of(i, BYTES / (w->bytes * vector));
		act[i] = mask >> i & 1;
	}
	expected(w, vector, store, index, mask, want, out_want);
	snprintf(name, sizeof(name), "%s_%s_%s_%u", store ? "st" : "ld", shared ? "shared" : "global", w->name, vector);
	return !launch(m, name, DIM(1), DIM(WARP), ARGS(PTR(index), PTR(act), PTR(memory), PTR(out))) &&
	       !memcmp(memory, want, BYTES) && !memcmp(out, out_want, sizeof(out_want));
}

static void each_mask(struct ptx_module *m, const char *isa, const struct width *w, uint32_t vector, int kind)
{
	for (size_t p = 0; p < PATTERNS; p++) {
		uint32_t bad = 0, first = 0;

		for (size_t k = 0; k < sizeof(masks) / sizeof(masks[0]); k++)
			if (!turn(m, w, vector, kind & 1, kind & 2, &patterns[p], masks[k])) {
				first = bad++ ? first : masks[k];
			}
		if (bad || !p)
			tap_ok(!bad, "%s: %s %s.v%u.%s, %s: %u wrong, first with mask %08x", isa, kind & 1 ? "shared" : "global",
			       kind & 2 ? "st" : "ld", vector, w->name, bad ? patterns[p].name : "all patterns", bad, first);
	}
}

#define SINK_ROOM 64u

/* Elements that are _ keep what was there. A store of v8.b32, of v4.b64, and of v4.b32 with a sink in the middle. */
static void test_sinks(const char *isa)
{
	static const char text[] =
		".version 8.8\n.target sm_90\n.address_size 64\n"
		".visible .entry sinks(.param .u64 a)\n{\n.reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
		"ld.param.u64 %rd1,[a]; mov.u32 %r1,%tid.x; mul.wide.u32 %rd2,%r1,64; add.s64 %rd1,%rd1,%rd2;\n"
		"mov.b32 %r2,11; mov.b32 %r3,12; mov.b64 %rd3,13; mov.b64 %rd4,14;\n"
		"st.global.v8.b32 [%rd1],{%r2,%r3,_,_,%r2,_,_,%r3};\n"
		"st.global.v4.b64 [%rd1+32],{_,%rd3,%rd4,_};\nst.global.v4.b32 [%rd1+32],{%r2,_,_,_};\nret;\n}\n";
	static const uint32_t want[SINK_ROOM / 4] = { 11, 12, 7, 7, 11, 7, 7, 12, 11, 7, 13, 0, 14, 0, 7, 7 };
	struct ptx_module *m = load_text(text, sizeof(text) - 1, &(struct ptx_options){ .isa = isa });
	uint32_t *memory, bad = 0;

	if (!tap_ok(m != NULL, "%s: stores with elements that are _ are loaded", isa))
		return;
	device_reset();
	memory = device_alloc(WARP * SINK_ROOM);
	for (uint32_t i = 0; i < WARP * SINK_ROOM / 4; i++)
		memory[i] = 7;
	bad = !!launch(m, "sinks", DIM(1), DIM(WARP), ARGS(PTR(memory)));
	for (uint32_t i = 0; i < WARP * SINK_ROOM / 4; i++)
		bad += memory[i] != want[i % (SINK_ROOM / 4)];
	tap_ok(!bad, "%s: what is _ keeps what was there, %u wrong", isa, bad);
	ptx_module_free(m);
}

/* Elements of arrays by a subscript that a register holds, as Dr.Jit writes its tables of functions; in each space. */
#define ELEMENTS 10

static void test_subscripts(const char *isa)
{
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n"
		".visible .global .align 8 .u64 table[4] = { 100, 101, 102, 103 };\n"
		".visible .const .align 4 .u32 fixed[4] = { 200, 201, 202, 203 };\n"
		".visible .global .align 16 .v4 .u32 wide[2] = { 1, 2, 3, 4, 5, 6, 7, 8 };\n"
		".visible .entry subscripts(.param .u64 a)\n{\n"
		".reg .b32 %r<9>; .reg .s32 %s; .reg .u64 %l; .reg .b64 %rd<9>; .shared .align 4 .u32 near[4]; .local .align 2 .u16 own[4];\n"
		".reg .b16 %h<3>; .reg .pred %p;\n"
		"mov.u32 %r1,%tid.x; and.b32 %r2,%r1,3; cvt.u64.u32 %l,%r2; mov.s32 %s,-1;\n"
		"ld.param.u64 %rd1,[a]; mul.wide.u32 %rd2,%r1,40; add.s64 %rd1,%rd1,%rd2;\n"
		"ld.global.u64 %rd3,table[%r2]; cvt.u32.u64 %r3,%rd3; st.global.u32 [%rd1],%r3;\n"
		"ld.const.u32 %r3,fixed[%l]; st.global.u32 [%rd1+4],%r3;\n"
		"setp.lt.u32 %p,%r1,4; add.u32 %r4,%r2,300; @%p st.shared.u32 near[%r2],%r4; bar.sync 0;\n"
		"xor.b32 %r5,%r2,3; ld.shared.u32 %r3,near[%r5]; st.global.u32 [%rd1+8],%r3;\n"
		"mov.u16 %h1,7; st.local.u16 own[0],%h1; mov.u16 %h1,8; st.local.u16 own[1],%h1; and.b32 %r6,%r2,1;\n"
		"ld.local.u16 %h2,own[%r6]; cvt.u32.u16 %r3,%h2; st.global.u32 [%rd1+12],%r3;\n"
		"ld.global.u64 %rd3,table[%s+3]; cvt.u32.u64 %r3,%rd3; st.global.u32 [%rd1+16],%r3;\n"
		"mov.u64 %rd4,table[%s+1]; ld.global.u64 %rd3,[%rd4]; cvt.u32.u64 %r3,%rd3; st.global.u32 [%rd1+20],%r3;\n"
		"ld.global.v4.u32 {%r3,%r4,%r5,%r7},wide[%r6]; st.global.u32 [%rd1+24],%r7;\n"
		"mov.u64 %rd4,wide[1]; ld.global.u32 %r3,[%rd4]; st.global.u32 [%rd1+28],%r3;\n"
		"ld.global.u64 %rd3,table[2]; cvt.u32.u64 %r3,%rd3; st.global.u32 [%rd1+32],%r3;\n"
		"mov.u32 %r7,near[%r2]; ld.shared.u32 %r3,[%r7]; st.global.u32 [%rd1+36],%r3;\nret;\n}\n";
	struct ptx_module *m = load_text(text, sizeof(text) - 1, &(struct ptx_options){ .isa = isa });
	uint32_t *memory, bad = 0;

	if (!tap_ok(m != NULL, "%s: subscripts in registers are loaded", isa))
		return;
	device_reset();
	memory = device_alloc(WARP * ELEMENTS * sizeof(*memory));
	bad = !!launch(m, "subscripts", DIM(1), DIM(WARP), ARGS(PTR(memory)));
	for (uint32_t i = 0; i < WARP; i++) {
		const uint32_t n = i % 4,
			       want[ELEMENTS] = { 100 + n, 200 + n, 303 - n, 7 + n % 2, 102, 100, 4 + 4 * (n % 2), 5, 102, 300 + n };

		bad += !!memcmp(memory + i * ELEMENTS, want, sizeof(want));
	}
	tap_ok(!bad, "%s: each is the array's element, %u threads wrong", isa, bad);
	ptx_module_free(m);
}

/* A subscript wider than the address, and one that is no register. */
static void test_subscripts_refused(void)
{
	static const char *const lines[] = { "mov.u32 %r1,near[%rd1];", "ld.shared.u32 %r1,near[%none];", "ld.shared.u32 %r1,near[%h];" };
	char text[512];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		int bytes = snprintf(text, sizeof(text),
				     ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %%r<9>; .reg .b16 %%h; "
				     ".reg .b64 %%rd<9>; .shared .align 4 .u32 near[4];\n%s\nret;\n}\n",
				     lines[i]);
		struct ptx_module *m = load_text(text, (size_t)bytes, &(struct ptx_options){ 0 });

		tap_ok(!m, "%s is refused", lines[i]);
		ptx_module_free(m);
	}
}

int main(void)
{
	static const char *const isas[] = { "base", "avx2", "avx512" };
	size_t bytes;
	char *text;

	tap_begin();
	device_open(1);
	text = write_text(&bytes);
	for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
		struct ptx_module *m;

		if (!isa_find(isas[i])) {
			printf("# %s was not built or does not run here\n", isas[i]);
			continue;
		}
		m = load_text(text, bytes, &(struct ptx_options){ .isa = isas[i] });
		if (!tap_ok(m != NULL, "loaded for %s", isas[i]))
			continue;
		for (size_t k = 0; k < sizeof(widths) / sizeof(widths[0]); k++)
			for (uint32_t vector = 1; vector <= 4 && vector * widths[k].bytes <= 16; vector *= 2)
				for (int kind = 0; kind < 4; kind++)
					each_mask(m, isas[i], &widths[k], vector, kind);
		ptx_module_free(m);
		test_sinks(isas[i]);
		test_subscripts(isas[i]);
	}
	test_subscripts_refused();
	free(text);
	device_close();
	return tap_end();
}
