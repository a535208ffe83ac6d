/*
 * text_test.c: what the reader of PTX takes and refuses, and what it says. A refusal names the line, the kernel and the thing.
 */
#include "harness.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define KERNEL(body) HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>; .reg .f32 %f<4>;\n" body "\nret;\n}\n"

static char message[512];

static int load(const char *text, struct ptx_module **ret)
{
	const struct ptx_text t = { text, strlen(text) };
	struct ptx_module *m = NULL;
	int r = ptx_module_load(&t, 1, NULL, &m, message, sizeof(message));

	if (ret)
		*ret = m;
	else
		ptx_module_free(m);
	return r;
}

static void refused(const char *text, int outcome, const char *says)
{
	int r = load(text, NULL);

	tap_ok(r == outcome && strstr(message, says), "refused with \"%s\" (%d: %s)", says, r, message);
}

static void taken(const char *text, const char *what)
{
	int r = load(text, NULL);

	tap_ok(r == 0, "%s (%d: %s)", what, r, message);
}

static void test_refusals(void)
{
	static const char *const no_target[] = { "sm_", "sm_abc", "sm_5", "sm_71", "sm_099", "sm_80a", "sm_90f", "sm_75f", "compute_71", "debug", "cuda", "sm_80, sideways" };
	static const char *const no_version[] = { "0.9", "1.6", "3.3", "6.6", "7.9", "8.9", "8", "8.", "8.7.1", "8.80", "8.7e0", "0d4020000000000000", "x" };
	char text[128];

	refused("", PTX_INVALID, "no .version");
	refused("hello", PTX_INVALID, "expected a directive, found hello");
	refused(".version 99.0\n.target sm_80", PTX_TOO_NEW_VERSION, "version 99.0");
	refused(".version 8.0\n.target sm_100\n", PTX_TOO_NEW_TARGET, "sm_100");
	refused(".version 8.6\n.target sm_100a\n", PTX_TOO_NEW_TARGET, "METE_SOFT_CC=10.0");
	refused(".version 8.8\n.target sm_103f\n", PTX_TOO_NEW_TARGET, "METE_SOFT_CC=10.3");
	for (size_t i = 0; i < sizeof(no_target) / sizeof(*no_target); i++) {
		snprintf(text, sizeof(text), ".version 8.8\n.target %s\n", no_target[i]);
		refused(text, PTX_INVALID, "line 2: there is no target");
	}
	for (size_t i = 0; i < sizeof(no_version) / sizeof(*no_version); i++) {
		snprintf(text, sizeof(text), ".version %s\n.target sm_75\n", no_version[i]);
		refused(text, PTX_INVALID, "line 1: ");
	}
	refused(".version 8.8\n", PTX_INVALID, "no .target");
	refused(".version 8.8\n.version 8.8\n.target sm_75\n", PTX_INVALID, "a second .version");
	taken(".version 9.0\n.target sm_20\n", "an old target in a new version");
	taken(".version 8.8\n.target compute_75, debug, texmode_independent\n", "a target by its other name, with options");
	taken(".version 8.8\n.target sm_100, sm_80\n", "of several targets the last one counts");
	refused(".version 8.8\n.target sm_130\n", PTX_TOO_NEW_TARGET, "a software device is of 5.0 to 12.9");
	refused(KERNEL("add.u32 %r1, %rd2, %r3;"), PTX_INVALID, "64 bits where add.u32 takes one of 32");
	refused(KERNEL("add.u32 %r1, %f1, 0f3F800000;"), PTX_INVALID, "a floating-point number where add.u32 takes an integer");
	refused(KERNEL("add.f32 %f1, %f1, 3;"), PTX_INVALID, "an integer where add.f32 takes a floating-point number");
	refused(KERNEL("bar.sync 16;"), PTX_INVALID, "barriers 0 to 15");
	refused(KERNEL("bar.sync 0, 33;"), PTX_INVALID, "a multiple of 32");
	taken(KERNEL("and.b32 %r1, %r1, 0f3F800000;"), "bits have no sort");
	refused(HEAD ".visible .entry k() .maxntid 0 { ret; }", PTX_INVALID, ".maxntid 0");
	refused(HEAD ".visible .entry k() .maxntid 32 .reqntid 32 { ret; }", PTX_INVALID, "exclude each other");
	refused(HEAD ".const .b8 c[65537];\n", PTX_INVALID, "65537 bytes of constant memory, at most 65536");
	taken(HEAD ".const .b8 c[65536];\n", "constant memory up to its limit");
	refused(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .b8 p[4353]) { ret; }", PTX_INVALID,
		"4353 bytes of parameters, at most 4352 are allowed before PTX 8.1");
	refused(".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k(.param .b8 p[32765]) { ret; }", PTX_INVALID,
		"32765 bytes of parameters, at most 32764");
	refused(HEAD ".func f(.param .b32 a) { ret; }\n.visible .entry k() { call f, (); ret; }", PTX_INVALID,
		"f has parameters: 1, results: 0; the call has 0 and 0");
	refused(".version 8.0\n.target sm_80\n.address_size 32\n", PTX_INVALID, "address_size");
	refused(KERNEL("add.u12 %r1, %r2, %r3;"), PTX_INVALID, "line 7, kernel k: unknown instruction add.u12");
	refused(KERNEL("vote.ballot.ballot.b32 %r1, %p1, -1;"), PTX_INVALID, "unknown instruction vote.ballot.ballot");
	refused(KERNEL("cvt.rn.u32.f32 %r1, %f1;"), PTX_INVALID, "unknown instruction cvt.rn.u32.f32");
	refused(KERNEL("f32.add.rn %f1, %f1, %f1;"), PTX_INVALID, "unknown instruction f32.add.rn");
	refused(KERNEL("frobnicate %r1;"), PTX_INVALID, "unknown instruction frobnicate");
	refused(KERNEL("add.u32 %r1, %r2;"), PTX_INVALID, "add.u32 with 2 operands");
	refused(KERNEL("add.u32 %r1, %r2, %r9;"), PTX_INVALID, "unknown register %r9");
	refused(KERNEL("add.u32 %r1, %r2, nothing;"), PTX_INVALID, "unknown name nothing");
	refused(KERNEL("add.u64 %rd1, %rd2, %r3;"), PTX_INVALID, "32 bits where 64");
	refused(KERNEL("add.u32 %p1, %r2, %r3;"), PTX_INVALID, "wrong width");
	refused(KERNEL("@%r1 bra L; L:"), PTX_INVALID, "%r1 is not a predicate");
	refused(KERNEL("bra nowhere;"), PTX_INVALID, "unknown label nowhere");
	refused(KERNEL("{ L: } bra L;"), PTX_INVALID, "unknown label L");
	refused(KERNEL("call nothing, ();"), PTX_INVALID, "unknown name nothing");
	refused(HEAD ".extern .func f(.param .b32 a);\n.visible .entry k()\n{ .param .b32 a; call f, (a); ret; }", PTX_UNRESOLVED, "no function f");
	refused(KERNEL("ld.param.u64 %rd1, [p+8];"), PTX_INVALID, "outside p");
	refused(KERNEL("ld.param.u64 %rd1, [p+-1];"), PTX_INVALID, "outside p");
	refused(KERNEL("st.param.u64 [p], %rd1;"), PTX_INVALID, "cannot be written");
	refused(KERNEL("mov.b64 {%r1, %r2, %r3}, %rd1;"), PTX_INVALID, "3 elements");
	refused(KERNEL("ld.global.v4.u32 {%r1, %r2}, [%rd1];"), PTX_INVALID, "takes 4 elements");
	refused(KERNEL("{"), PTX_INVALID, "expected }");
	refused(HEAD ".global .align 3 .u32 x;", PTX_INVALID, "alignment 3");
	refused(HEAD ".global .u32 x[4] = {1,2,3,4,5};", PTX_INVALID, "too many initial values");
	refused(HEAD ".global .u8 x[0x7fffffffffffffff][16];", PTX_INVALID, "too large");
	refused(HEAD ".visible .entry k()\n{ .reg .b32 %r<99999999>; ret; }", PTX_INVALID, "registers");
	refused(HEAD ".visible .entry k()\n{ .shared .b8 x[400000]; .reg .b32 %r; mov.u32 %r, x; ret; }", PTX_INVALID, "shared memory");
	refused(HEAD ".visible .entry k() { ret; }\n.visible .entry k() { ret; }", PTX_INVALID, "second time");
	refused(KERNEL("mov.u32 %r1, 0x;"), PTX_INVALID, "malformed number");
	refused(KERNEL("mov.u32 %r1, 0f1234;"), PTX_INVALID, "malformed number");
	refused(KERNEL("tex.2dms.v4.f32.s32 {%f1,%f2,%f3,%f1}, [%rd1, {%r1, %r2, %r3, %r3}];"), PTX_INVALID, "tex.2dms");
	refused(KERNEL("tex.2d.v4.f32.s32 {%f1,%f2,%f3}, [%rd1, {%r1, %r2}];"), PTX_INVALID, "4 results");
	refused(KERNEL("tex.2d.v4.f32.s32 {%f1,%f2,%f3,%f1}, [%rd1, {%r1}];"), PTX_INVALID, "2 coordinates");
	refused(KERNEL("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f1}, [%rd1, {%f1, %f2}], %f3;"), PTX_INVALID, "depth");
	refused(KERNEL("sust.b.1d.v4.b64.trap [%rd1, {%r1}], {%rd1,%rd1,%rd1,%rd1};"), PTX_INVALID, "16 bytes");
	refused(KERNEL("ld.global.u32 %r1, [%rd1, {%r1}];"), PTX_INVALID, "address");
	refused("/* no end", PTX_INVALID, "no .version");
	refused(".version 9.9\n.target sm_80\n.address_size 64\n.visible .entry k()\n{ future.b32; ret; }", PTX_INVALID,
		"unknown instruction future.b32: the text is of PTX 9.9, and this device knows the instructions up to 9.5");
}

static void test_spellings(void)
{
	taken(HEAD, "a text without anything");
	taken(KERNEL(""), "an empty kernel");
	taken("\n// remark\n/* another */ " HEAD "\n.file 1 \"x.cu\"\n.visible .entry k()\n{\n.loc 1 2 3\n\tret;\n}\n", "remarks");
	taken(HEAD ".section .debug_str\n{\n.b8 1,2,3\n.b8 0\n}\n", "debug sections");
	taken(KERNEL("{ .reg .b32 %r1; { .reg .b32 %r1; mov.b32 %r1, 1; } mov.b32 %r1, 2; }"), "registers in nested scopes");
	taken(KERNEL("{ L: bra L2; L2: } { L: bra.uni L; }"), "one label in two scopes");
	taken(KERNEL("mov.f32 %f1, 0f3F800000; mov.f32 %f1, 1.5e-3; mov.f32 %f1, -2.0; mov.b32 %r1, 0f3F800000;"), "float literals");
	taken(KERNEL("mov.u32 %r1, 0b101; mov.u32 %r1, 017; mov.u32 %r1, 0xFFu; mov.u32 %r1, -1; mov.u32 %r1, WARP_SZ;"), "integer literals");
	taken(KERNEL("ld.global.u8 %rd1, [%rd2]; st.global.u8 [%rd2], %rd1; cvt.u16.u32 %r1, %r2;"), "registers wider than the type");
	taken(KERNEL("vote.ballot.sync.b32 %r1, %p1, -1; vote.any.sync.pred %p1, %p2, -1; shfl.up.sync.b32 %r1|%p1, %r2, 1, 0, -1; redux.add.sync.s32 %r1, %r2, -1;"), "sync behind the operation");
	taken(KERNEL("ld.volatile.global.u32 %r1, [%rd1]; ld.relaxed.gpu.global.u32 %r1, [%rd1]; ld.global.nc.L2::128B.u32 %r1, [%rd1+-4];"), "kinds of loads");
	taken(KERNEL("red.release.gpu.global.add.u32 [%rd1], 1; atom.acq_rel.sys.global.cas.b32 %r1, [%rd1], 0, 1; membar.gl; fence.acq_rel.gpu;"), "kinds of atomics");
	taken(KERNEL("vote.ballot.sync.b32 %r1, %p1, -1; vote.any.sync.pred %p1, %p2, -1; redux.add.sync.s32 %r1, %r2, -1; "
		     "match.sync.any.b32 %r1, %r2, -1; shfl.up.sync.b32 %r1, %r2, 1, 0, -1; fma.ftz.rn.f32 %f1, %f1, %f1, %f1; "
		     "cvt.rzi.sat.ftz.u32.f32 %r1, %f1; atom.add.relaxed.global.gpu.u32 %r1, [%rd1], %r2;"),
	      "words in any order");
	taken(HEAD ".visible .entry k() .maxntid 256, 1, 1 .minnctapersm 2 { ret; }", "tuning directives");
	taken(HEAD ".visible .entry a_name_that_is_longer_than_ninety_six_characters_because_templates_make_such_names_all_of_the_time_yes_they_do() { ret; }", "a long name");
	taken(KERNEL("bra L; trap; L: exit;"), "code that nothing reaches");
	taken(HEAD ".visible .entry k() { .reg .b32 %r; .reg .b64 %t; mov.u32 %r, 1; ts: .branchtargets A, B; brx.idx %r, ts; A: trap; B: ret; }", "an indexed branch");
	taken(HEAD ".global .u32 x; .visible .entry k(); .global .align 8 .u64 t[3] = {k, generic(x)+4, x}; .visible .entry k() { ret; }",
	      "addresses as initial values");
}

/* What compilers of today write, beyond what nvcc does. */
static void test_newer_spellings(void)
{
	taken(".version 9.5\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }", "PTX 9.5");
	taken(".version 9.9\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }", "a version that is not known yet");
	taken(KERNEL("createpolicy.fractional.L2::evict_first.b64 %rd1, 1.0; createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, 0.5;"
		     "createpolicy.range.global.L2::evict_last.b64 %rd1, [%rd2], 64, 128; createpolicy.cvt.L2.b64 %rd1, 0x10000000; ld.global.L1::evict_first.L2::cache_hint.b32 %r1, [%rd2], %rd1;"),
	      "cache policies");
	taken(HEAD ".visible .entry k() { .reg .b16 %h<3>; cvt.bf16.f16 %h1, %h2; cvt.f16.bf16 %h1, %h2; cvt.rn.bf16.f16 %h1, %h2; ret; }", "exact words left away");
}

/*
 * Variables that a lone text declares as external, with a size, are its own; the addresses of locals and parameters in
 * 32 bits, loaded, stored, widened and handed to a function; an element of an array as an operand.
 */
static void test_short_addresses(void)
{
	static const char text[] = HEAD ".extern .shared .align 8 .b8 area[512];\n.extern .global .align 4 .u32 counted[4];\n"
		".func (.param .b32 r) sum(.param .b64 p) { .reg .b64 %d; .reg .b32 %r<4>; .local .align 4 .b32 own[2]; .reg .b32 %s;\n"
		"mov.b32 %s, own; ld.param.b64 %d, [p]; ld.b32 %r1, [%d]; st.local.b32 [%s+4], %r1; ld.b32 %r2, [%d+8]; ld.local.b32 %r3, [%s+4];\n"
		"add.u32 %r1, %r3, %r2; st.param.b32 [r], %r1; ret; }\n"
		".visible .entry k(.param .u64 out, .param .align 4 .b8 pair[8])\n"
		"{ .local .align 16 .b32 depot[4]; .reg .b32 %s<3>; .reg .b64 %d<8>; .reg .b32 %r<9>; .param .b64 p; .param .b32 r;\n"
		"ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 16; add.s64 %d1, %d1, %d2;\n"
		"mov.b32 %s1, depot; st.local.v2.b32 [%s1], {%r1, 7}; add.u32 %s2, %s1, 8; st.local.b32 [%s2], 100;\n"
		"cvt.u64.u32 %d3, %s1; cvta.local.u64 %d4, %d3; st.param.b64 [p], %d4; call (r), sum, (p); ld.param.b32 %r2, [r]; st.global.u32 [%d1], %r2;\n"
		"mov.u64 %d5, depot[1]; ld.b32 %r3, [%d5]; st.global.u32 [%d1+4], %r3;\n"
		"mov.b32 %s1, pair; cvt.u64.u32 %d3, %s1; cvta.param.u64 %d6, %d3; ld.b32 %r4, [%d6+4]; st.global.u32 [%d1+8], %r4;\n"
		"cvta.to.local.u64 %d5, %d4; cvt.u32.u64 %s2, %d5; ld.local.b32 %r5, [%s2+8]; st.global.u32 [%d1+12], %r5;\n"
		"mov.u32 %r6, area; st.shared.u32 [%r6+508], %r5; mov.u64 %d7, counted; atom.global.add.u32 %r7, [%d7+12], 1; ret; }\n";
	struct ptx_module *m = load_text(text, sizeof(text) - 1, NULL);
	uint32_t *out = device_alloc(64 * 16), wrong[4] = { 0 };

	ok(m != NULL);
	if (!m)
		return;
	is(ptx_module_kernel_find(m, "k")->shared_bytes, 512);
	is(ptx_module_variable_find(m, "counted")->bytes, 16);
	is(launch(m, "k", DIM(1), DIM(64), ARGS(PTR(out), 5ull << 32)), 0);
	for (uint32_t i = 0; i < 64; i++) {
		wrong[0] += out[4 * i] != i + 100;
		wrong[1] += out[4 * i + 1] != 7;
		wrong[2] += out[4 * i + 2] != 5;
		wrong[3] += out[4 * i + 3] != 100;
	}
	for (int k = 0; k < 4; k++)
		is(wrong[k], 0);
	ptx_module_free(m);
}

/* Of texts that come together, what nobody defines is missing. */
static void test_undefined(void)
{
	static const char one[] = HEAD ".extern .global .u32 g;\n.visible .entry k()\n{ .reg .b64 %a; mov.u64 %a, g; ret; }";
	static const char two[] = HEAD;
	const struct ptx_text text[] = { { one, sizeof(one) - 1 }, { two, sizeof(two) - 1 } };
	struct ptx_module *m = NULL;

	is(ptx_module_load(text, 2, NULL, &m, message, sizeof(message)), PTX_UNRESOLVED);
	ok(strstr(message, "no variable g") != NULL);
}

static void test_attributes(void)
{
	struct ptx_module *m = NULL;
	const struct ptx_kernel *k;

	is(load(HEAD ".global .u32 plain = 7; .visible .const .align 16 .b8 table[48]; .shared .align 8 .b8 s[24]; .extern .shared .b8 dyn[];\n"
		".visible .entry k(.param .u8 a, .param .align 8 .b8 b[12], .param .u64 c) .reqntid 64, 2\n"
		"{ .local .b8 depot[40]; .reg .b64 %d; .reg .b32 %r; mov.u32 %r, s; mov.u32 %r, dyn; mov.u64 %d, depot; ret; }\n"
		".visible .entry small() { ret; }\n", &m), 0);
	if (!m)
		return;
	is(ptx_module_kernel_count(m), 2);
	k = ptx_module_kernel_find(m, "k");
	ok(k != NULL);
	is(k->param_count, 3);
	is(k->param[0].offset, 0);
	is(k->param[1].offset, 8);
	is(k->param[1].bytes, 12);
	is(k->param[2].offset, 24);
	is(k->param_bytes, 32);
	is(k->shared_bytes, 24);
	is(k->local_bytes, 48);
	is(k->const_bytes, 48);
	is(k->max_threads, 128);
	is(k->required_threads[1], 2);
	is(k->target, 80);
	is(k->ptx_version, 80);
	is(ptx_module_kernel_find(m, "small")->shared_bytes, 0);
	ok(!ptx_module_kernel_find(m, "plain") && !ptx_module_kernel_find(m, "none"));
	is(ptx_module_variable_count(m), 2);
	is(ptx_module_variable_find(m, "table")->bytes, 48);
	is(ptx_module_variable_find(m, "table")->space, PTX_CONST);
	ok(ptx_module_variable_find(m, "plain") && !ptx_module_variable_find(m, "plain")->visible);
	is(ptx_module_bind(m, ARGS(0, 0)), -EINVAL);
	ptx_module_free(m);
}

/* Two texts that need each other, a weak function in both. */
static void test_linking(void)
{
	static const char one[] = HEAD ".extern .func (.param .b32 r) twice(.param .b32 a);\n.extern .global .u32 shared_counter;\n"
		".weak .func (.param .b32 r) three() { .reg .b32 %r; mov.u32 %r, 3; st.param.b32 [r], %r; ret; }\n"
		".visible .entry k(.param .u64 out) { .reg .b32 %r; .reg .b64 %d; .param .b32 a; .param .b32 b; .param .b32 t;\n"
		"ld.param.u64 %d, [out]; call (t), three; ld.param.b32 %r, [t]; st.param.b32 [a], %r; call.uni (b), twice, (a);\n"
		"ld.param.b32 %r, [b]; st.global.u32 [%d], %r; mov.u64 %d, shared_counter; atom.global.add.u32 %r, [%d], 5; ret; }\n";
	static const char two[] = HEAD ".visible .global .u32 shared_counter = 37;\n"
		".weak .func (.param .b32 r) three() { .reg .b32 %r; mov.u32 %r, 3; st.param.b32 [r], %r; ret; }\n"
		".visible .func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r; ld.param.b32 %r, [a]; add.s32 %r, %r, %r; st.param.b32 [r], %r; ret; }\n";
	const struct ptx_text text[] = { { one, sizeof(one) - 1 }, { two, sizeof(two) - 1 } };
	struct ptx_module *m = NULL;
	uint32_t *out = device_alloc(4), *counter = device_alloc(4);

	is(ptx_module_load(text, 2, NULL, &m, message, sizeof(message)), 0);
	is_str(message, "");
	if (!m)
		return;
	is(ptx_module_bind(m, ARGS(PTR(counter))), 0);
	is(*counter, 37);
	is(launch(m, "k", DIM(1), DIM(1), ARGS(PTR(out))), 0);
	is(*out, 6);
	is(*counter, 42);
	ptx_module_free(m);
}

/*
 * The texts disagree about a function: what the definition does not give is 0, what it does not take is dropped, and
 * nothing beside the values is read or written.
 */
static void test_calls_that_lie(void)
{
	static const char one[] = HEAD ".extern .func (.param .b64 r) nothing(.param .b64 a, .param .b64 b);\n"
		".extern .func (.param .b32 r) more();\n"
		".visible .entry k(.param .u64 out) { .reg .b64 %d<4>; .reg .b32 %r; .param .b64 a; .param .b64 b; .param .b64 r; .param .b32 s;\n"
		"ld.param.u64 %d1, [out]; st.param.b64 [a], %d1; st.param.b64 [b], %d1; mov.u64 %d2, 77; st.param.b64 [r], %d2;\n"
		"call (r), nothing, (a, b); ld.param.b64 %d2, [r]; st.global.u64 [%d1+8], %d2;\n"
		"call (s), more; ld.param.b32 %r, [s]; st.global.u32 [%d1+16], %r; ret; }\n";
	static const char two[] = HEAD ".visible .func nothing(.param .b64 a) { .reg .b64 %d; ld.param.b64 %d, [a]; st.global.u64 [%d], 5; ret; }\n"
		".visible .func (.param .b32 r) more(.param .b32 a, .param .align 8 .b8 b[64]) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b+60];\n"
		"add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, 9; st.param.b32 [r], %r1; ret; }\n";
	const struct ptx_text text[] = { { one, sizeof(one) - 1 }, { two, sizeof(two) - 1 } };
	struct ptx_module *m = NULL;
	uint64_t *out = device_alloc(24);

	is(ptx_module_load(text, 2, NULL, &m, message, sizeof(message)), 0);
	if (!m)
		return;
	is(ptx_module_bind(m, ARGS(0)), 0);
	is(launch(m, "k", DIM(1), DIM(64), ARGS(PTR(out))), 0);
	is(out[0], 5);
	is(out[1], 0);
	is(out[2], 9);
	ptx_module_free(m);
}

/* Compilers read what lies beside a value in shared memory; devices give it out in granules. A checked launch is exact. */
static void test_shared_granule(void)
{
	static const char text[] = HEAD ".extern .shared .align 16 .b8 s[];\n.visible .entry k() { .reg .b32 %r<6>; mov.u32 %r5, s;\n"
		"ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r5+16]; ret; }\n"
		".visible .entry far() { .reg .b32 %r<6>; mov.u32 %r5, s; ld.shared.u32 %r1, [%r5+128]; ret; }\n";
	struct ptx_module *m = load_text(text, sizeof(text) - 1, NULL);

	ok(m != NULL);
	if (!m)
		return;
	for (int exact = 0; exact < 2; exact++) {
		struct ptx_launch l = { .shared_bytes = 28, .exact = exact }, far = l;

		is(launch_with(&l, m, "k", DIM(1), DIM(32), ARGS(0)), exact);
		is(launch_with(&far, m, "far", DIM(1), DIM(32), ARGS(0)), 1);
	}
	ptx_module_free(m);
}

/* Functions of the old style take and give registers; a guarded call leaves the others alone. */
static void test_register_calls(void)
{
	static const char text[] = HEAD
		".func (.reg .u32 %o) f(.reg .u32 %a, .reg .u32 %b) { mad.lo.u32 %o, %a, 10, %b; ret; }\n"
		".visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %p;\n"
		"mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; ld.param.u64 %d1, [out]; add.s64 %d1, %d1, %d2;\n"
		"setp.lt.u32 %p, %r1, 20; mov.u32 %r2, 7; @%p call (%r2), f, (%r1, 3); st.global.u32 [%d1], %r2; ret; }\n";
	struct ptx_module *m = load_text(text, sizeof(text) - 1, NULL);
	uint32_t *out = device_alloc(64 * 4), wrong = 0;

	ok(m != NULL);
	if (!m)
		return;
	is(launch(m, "k", DIM(1), DIM(64), ARGS(PTR(out))), 0);
	for (uint32_t i = 0; i < 64; i++)
		wrong += out[i] != (i < 20 ? i * 10 + 3 : 7);
	is(wrong, 0);
	ptx_module_free(m);
}

/* No cut of a good text may do more than be refused. */
static void test_truncated(const char *folder)
{
	char path[512], *text;
	size_t bytes;
	int loaded = 0;

	snprintf(path, sizeof(path), "%s/basic.ptx", folder);
	text = read_file(path, &bytes);
	for (size_t n = 0; n < bytes; n += 97) {
		char *cut = malloc(n + 1);
		struct ptx_text t = { cut, n };
		struct ptx_module *m = NULL;

		memcpy(cut, text, n);
		if (!ptx_module_load(&t, 1, NULL, &m, NULL, 0))
			loaded++;
		ptx_module_free(m);
		free(cut);
	}
	ok(loaded >= 1 && loaded < (int)(bytes / 97)); /* cuts between kernels are good texts */
	free(text);
}

int main(int argc, char **argv)
{
	tap_begin();
	device_open(2);
	test_refusals();
	test_spellings();
	test_newer_spellings();
	test_short_addresses();
	test_undefined();
	test_attributes();
	test_linking();
	test_calls_that_lie();
	test_shared_granule();
	test_register_calls();
	test_truncated(argv[1]);
	device_close();
	return tap_end();
}
