/*
 * loops_test.c: compiled loops whose lanes run one after the other, beside interpreted ones: the same memory, faults
 * and counters where a loop runs so long that whoever waits outside gets a turn.
 *
 * After 4096 jumps backwards while others wait, those who wait run. Jumps are counted anew wherever lanes meet, so it
 * depends on which way each lane took in each round when that is, or if. Who waits writes a cell that who loops reads.
 */
#include "harness.h"

#include "softdev/ptx/isa.h"

enum { TABLE_WORDS = 1024, OUT_WORDS = 128, ROUNDS = 9000, CONDITIONS = 6, TRIES = 24 };

/* Condition k: of a word w and a lane, (w & a) + (lane & b) == v. */
#define PARAMS(k) ", .param .u32 a" #k ", .param .u32 b" #k ", .param .u32 v" #k
#define TAKE(k)                                                                                                        \
	"\tld.param.u32 %a" #k ", [a" #k "]; ld.param.u32 %b" #k ", [b" #k "]; ld.param.u32 %v" #k ", [v" #k "];\n"
#define ALL(f) f(0) f(1) f(2) f(3) f(4) f(5)
#define ASK(k)                                                                                                         \
	"\tand.b32 %t, %w, %a" #k "; and.b32 %u, %lane, %b" #k "; add.u32 %t, %t, %u; setp.eq.u32 %q, %t, %v" #k       \
	"; @%q bra "
#define STEP                                                                                                           \
	"\tmad.lo.u32 %i, %i, 1664525, 1013904223; shr.u32 %t, %i, 22; mul.wide.u32 %a, %t, 4; add.s64 %a, %a, "       \
	"%table; ld.global.u32 %w, [%a]; xor.b32 %w, %w, %i;\n"
/* clang-format off */
#define BEGIN \
	"(.param .u64 po, .param .u64 pt, .param .u32 first, .param .u32 rounds" ALL(PARAMS) ")\n{\n" \
	"\t.reg .pred %p, %q; .reg .b32 %lane, %i, %w, %x, %y, %n, %m, %t, %u, %a<6>, %b<6>, %v<6>;\n" \
	"\t.reg .b64 %a, %own, %cell, %table; mov.u32 %lane, %laneid; ld.param.u64 %cell, [po]; ld.param.u64 %table, [pt];\n" \
	"\tmul.wide.u32 %own, %lane, 8; add.s64 %own, %own, %cell; mov.u32 %x, 0; mul.lo.u32 %i, %lane, 77777777;\n" \
	"\tmov.u32 %w, 0;\n" ALL(TAKE) \
	"\tld.param.u32 %t, [first]; setp.lt.u32 %p, %lane, %t; @%p bra END; ld.param.u32 %n, [rounds];\n"
#define END \
	"\tld.global.u32 %y, [%cell]; add.u32 %x, %x, %y; add.u32 %n, %n, -1; setp.ne.u32 %p, %n, 0; @%p bra L1;\n" \
	"END:\n\tadd.u32 %y, %lane, 1; st.global.u32 [%cell], %y; st.global.u32 [%own+8], %x;\n" \
	"\tst.global.u32 [%own+12], %w; ret;\n}\n"

static const char text[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	/* a loop with ways that part and meet, one jump to the place behind it, and one way out */
	".visible .entry plain" BEGIN
	"L1:\n\tsetp.eq.u32 %q, %lane, 31; @%q bra L0;\n"
	"L0:\n" STEP ASK(0) "L2;\n\tadd.u32 %x, %x, 3;\n" ASK(1) "L2;\n\txor.b32 %x, %x, %w;\n"
	"L2:\n" ASK(2) "END;\n" ASK(3) "L3;\n\tadd.u32 %x, %x, 7;\n" ASK(4) "L4;\n"
	"L3:\n\tadd.u32 %x, %x, 9;\n"
	"L4:\n" ASK(5) "L5;\n\tadd.u32 %x, %x, 1;\n"
	"L5:\n" END
	/* a loop in a loop: ways past it, within it, out of it and out of both */
	".visible .entry nest" BEGIN
	"L1:\n" STEP ASK(0) "L4;\n" ASK(1) "L2;\n\tadd.u32 %x, %x, 3;\n"
	"L2:\n\tand.b32 %m, %n, 3; add.u32 %m, %m, 1;\n"
	"L3:\n" STEP ASK(2) "L5;\n\txor.b32 %x, %x, %w;\n"
	"L5:\n" ASK(3) "L4;\n" ASK(4) "END;\n\tadd.u32 %m, %m, -1; setp.ne.u32 %p, %m, 0; @%p bra L3;\n\tadd.u32 %x, %x, 5;\n"
	"L4:\n" ASK(5) "L7;\n\tadd.u32 %x, %x, 1;\n"
	"L7:\n" END;
/* clang-format on */

struct outcome {
	struct ptx_stats stats;
	int r;
	bool compiled;
	uint32_t out[OUT_WORDS];
};

static struct outcome outcomes[2];

static void run(struct ptx_module *m, const char *name, const uint32_t *condition, uint32_t first, struct outcome *ret)
{
	struct ptx_launch l = { 0 };
	uint64_t arg[4 + 3 * CONDITIONS];
	uint32_t *out, *table;

	device_reset();
	out = device_alloc(OUT_WORDS * 4);
	table = device_alloc(TABLE_WORDS * 4);
	random_state = 77;
	for (uint32_t i = 0; i < TABLE_WORDS; i++)
		table[i] = (uint32_t)random_bits();
	arg[0] = PTR(out);
	arg[1] = PTR(table);
	arg[2] = first;
	arg[3] = ROUNDS;
	for (uint32_t i = 0; i < 3 * CONDITIONS; i++)
		arg[4 + i] = condition[i];
	ret->r = launch_with(&l, m, name, (struct dims){ 1, 1, 1 }, (struct dims){ 32, 1, 1 }, arg);
	ret->stats = l.stats;
	ret->compiled = ptx_kernel_is_compiled(l.kernel);
	memcpy(ret->out, out, sizeof(ret->out));
}

static bool are_same(void)
{
	const struct outcome *a = &outcomes[0], *b = &outcomes[1];

	if (a->stats.warp_instructions != b->stats.warp_instructions)
		printf("# %llu instructions of warps, compiled: %llu\n", (unsigned long long)a->stats.warp_instructions,
		       (unsigned long long)b->stats.warp_instructions);
	return !a->r && !b->r && !a->compiled && b->compiled && !memcmp(&a->stats, &b->stats, sizeof(a->stats)) &&
	       !memcmp(a->out, b->out, sizeof(a->out));
}

/* Never, always, every second lane, or seldom and as the data say. */
static void choose(uint32_t *condition, uint32_t what)
{
	static const uint32_t whats[4][3] = { { 0, 0, 1 }, { 0, 0, 0 }, { 0, 1, 0 }, { 0xffc000, 0, 0x124000 } };

	memcpy(condition, whats[what], sizeof(whats[what]));
}

/* The conditions as digits: see choose(). */
static void test_conditions(struct ptx_module *const m[2], const char *name, const char *how, uint32_t first)
{
	uint32_t condition[3 * CONDITIONS];

	for (uint32_t k = 0; k < CONDITIONS; k++)
		choose(&condition[3 * k], (uint32_t)(how[k] - '0'));
	for (uint32_t k = 0; k < 2; k++)
		run(m[k], name, condition, first, &outcomes[k]);
	tap_ok(are_same(), "%s, lanes from %u, conditions %s", name, first, how);
}

/* The condition to leave all loops is never true for all. */
static void test_random(struct ptx_module *const m[2], const char *name, uint32_t out)
{
	char how[CONDITIONS + 1] = "";
	uint64_t seed = 1;

	for (uint32_t i = 0; i < TRIES; i++) {
		random_state = seed;
		for (uint32_t k = 0; k < CONDITIONS; k++)
			how[k] = "00001233"[(uint32_t)(random_bits() >> 33) % 8];
		how[out] = how[out] == '0' ? '0' : '3';
		seed = random_state;
		test_conditions(m, name, how, 27 + i % 4);
	}
}

int main(void)
{
	/* where a jump too many or too few was counted */
	static const char *const plain[] = { "000003", "010030", "000123", "300301" };
	static const char *const nest[] = { "003000", "003101", "003130", "100000", "000230" };
	struct ptx_module *m[2];

	if (!getenv("METE_SOFT_COMPILER") || (!isa_find("avx2") && !isa_find("avx512"))) {
		printf("1..0 # SKIP no compiler was built, or this processor has no vectors for it\n");
		return 0;
	}
	tap_begin();
	device_open(1);
	for (int k = 0; k < 2; k++) {
		const struct ptx_options options = { .compile = k ? PTX_COMPILE_ALWAYS : PTX_COMPILE_NEVER };

		m[k] = load_text(text, strlen(text), &options);
	}
	if (m[0] && m[1]) {
		for (uint32_t k = 0; k < sizeof(plain) / sizeof(*plain); k++)
			test_conditions(m, "plain", plain[k], 30);
		for (uint32_t k = 0; k < sizeof(nest) / sizeof(*nest); k++)
			test_conditions(m, "nest", nest[k], 30);
		test_random(m, "plain", 2);
		test_random(m, "nest", 4);
	}
	ptx_module_free(m[0]);
	ptx_module_free(m[1]);
	device_close();
	return tap_end();
}
