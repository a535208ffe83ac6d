/* device_runtime_test.c: functions that libcudadevrt.a promises to kernels, declared by a text that does not have them.
 */
#include "harness.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

/* Each thread adds in round i, and looks in round i + 1 whether all have. */
static const char grid_text[] = HEAD
	".extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 s);\n"
	".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param .b32 f);\n"
	".extern .func (.param .b32 r) cudaCGGetSize(.param .b64 a, .param .b64 b, .param .b64 h);\n"
	".extern .func (.param .b32 r) cudaCGGetRank(.param .b64 a, .param .b64 b, .param .b64 h);\n"
	".visible .entry grid(.param .u64 count, .param .u64 out, .param .u64 rank) {\n"
	".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %c, %o, %h, %k; .param .b32 s; .param .b64 h; .param .b32 r;\n"
	".param .b64 a; .param .b64 b;\n"
	"ld.param.u64 %c, [count]; ld.param.u64 %o, [out]; ld.param.u64 %k, [rank];\n"
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;\n"
	"mul.wide.u32 %h, %r1, 4; add.u64 %o, %o, %h; mul.wide.u32 %h, %r1, 12; add.u64 %k, %k, %h;\n"
	"st.param.b32 [s], 1; call.uni (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 %h, [h];\n"
	"mov.u32 %r4, 1; mov.u32 %r6, 0;\n"
	"again: atom.global.add.u32 %r5, [%c], 1;\n"
	"st.param.b64 [h], %h; st.param.b32 [s], 0; call.uni (r), cudaCGSynchronize, (h, s); ld.param.b32 %r7, [r];\n"
	"st.global.u32 [%k+8], %r7;\n"
	"ld.volatile.global.u32 %r5, [%c]; mov.u32 %r8, %nctaid.x; mul.lo.u32 %r8, %r8, %r2; mul.lo.u32 %r8, %r8, "
	"%r4;\n"
	"setp.eq.u32 %p1, %r5, %r8; @%p1 add.u32 %r6, %r6, 1;\n"
	"call.uni (r), cudaCGSynchronize, (h, s);\n"
	"add.u32 %r4, %r4, 1; setp.le.u32 %p2, %r4, 20; @%p2 bra again;\n"
	"st.global.u32 [%o], %r6;\n"
	"st.param.b64 [a], %k; add.u64 %c, %k, 4; st.param.b64 [b], %c; call.uni (r), cudaCGGetRank, (a, b, h);\n"
	"ld.global.u32 %r9, [%k+4]; st.param.b64 [a], %c; st.param.b64 [b], 0;\n"
	"call.uni (r), cudaCGGetSize, (a, b, h);\n"
	"ret; }\n";

static void test_grid(void)
{
	struct ptx_module *m = load_text(grid_text, strlen(grid_text), NULL);
	struct ptx_launch l = { .cooperative = true }, plain = { 0 };
	uint32_t *count = device_alloc(4), *out = device_alloc(4 * 2048), *rank = device_alloc(12 * 2048), wrong = 0;

	ok(m != NULL);
	is(launch_with(&l, m, "grid", DIM(30), DIM(64), ARGS(PTR(count), PTR(out), PTR(rank))), 0);
	for (uint32_t i = 0; i < 30 * 64; i++)
		wrong += out[i] != 20 || rank[3 * i] != i || rank[3 * i + 1] != 30 * 64 || rank[3 * i + 2] != 0;
	is(wrong, 0);
	/* A launch that is not cooperative has no handle: an error, and no wait. */
	is(launch_with(&plain, m, "grid", DIM(4), DIM(64), ARGS(PTR(count), PTR(out), PTR(rank))), 0);
	is(rank[2], 1);
	ptx_module_free(m);
}

static uint64_t next_piece;

static uint64_t test_alloc(void *ctx, uint64_t bytes)
{
	return bytes > 4096 ? 0 : (next_piece += 4096);
}

static void test_free(void *ctx, uint64_t address)
{
	*(uint64_t *)ctx += address == next_piece;
}

static const char heap_text[] = HEAD
	".extern .func (.param .b32 r) cudaMalloc(.param .b64 p, .param .b64 n);\n"
	".extern .func (.param .b32 r) cudaFree(.param .b64 p);\n"
	".visible .entry heap(.param .u64 out, .param .u64 bytes) {\n"
	".reg .pred %p<4>; .reg .b32 %r; .reg .b64 %o, %a; .param .b64 p; .param .b64 n; .param .b32 r;\n"
	"ld.param.u64 %o, [out]; st.param.b64 [p], %o; ld.param.u64 %a, [bytes]; st.param.b64 [n], %a;\n"
	"call.uni (r), cudaMalloc, (p, n); ld.param.b32 %r, [r]; st.global.u32 [%o+8], %r;\n"
	"setp.ne.u32 %p1, %r, 0; @%p1 ret; ld.global.u64 %a, [%o]; st.global.u32 [%a], 42;\n"
	"st.param.b64 [p], %a; call.uni (r), cudaFree, (p); ld.param.b32 %r, [r]; st.global.u32 [%o+12], %r; ret; }\n";

static void test_heap(void)
{
	struct ptx_module *m = load_text(heap_text, strlen(heap_text), NULL);
	uint32_t *out = device_alloc(16), *piece = device_alloc(8192);
	uint64_t freed = 0;
	struct ptx_launch l = { .memory = { .heap_alloc = test_alloc, .heap_free = test_free, .ctx = &freed } };

	ok(m != NULL);
	next_piece = PTR(piece) - 4096;
	out[3] = 7;
	is(launch_with(&l, m, "heap", DIM(1), DIM(1), ARGS(PTR(out), 4)), 0);
	is(out[2], 0);
	is(out[3], 0);
	is(piece[0], 42);
	is(freed, 1);
	is(launch_with(&l, m, "heap", DIM(1), DIM(1), ARGS(PTR(out), 5000)), 0);
	is(out[2], 2);
	ptx_module_free(m);
}

/* A program's own definition wins; what the library does not have is refused with its name. */
static void test_names(void)
{
	static const char own[] =
		HEAD ".func (.param .b32 r) cudaFree(.param .b64 p) { st.param.b32 [r], 77; ret; }\n"
		     ".extern .func (.param .b32 r) cudaMalloc(.param .b64 p, .param .b64 n);\n"
		     ".visible .entry f(.param .u64 out) { .reg .b64 %o; .reg .b32 %r; .param .b64 p; .param .b32 r;\n"
		     "ld.param.u64 %o, [out]; st.param.b64 [p], %o; call (r), cudaFree, (p); ld.param.b32 %r, [r];\n"
		     "st.global.u32 [%o], %r; ret; }\n";
	static const struct ptx_text missing = { HEAD ".extern .func (.param .b32 r) cudaMemcpyAsync(.param .b64 p);\n"
						      ".visible .entry f(.param .u64 out) { .param .b64 p; .param .b32 "
						      "r; call (r), cudaMemcpyAsync, (p); ret; }\n",
						 2000 };
	struct ptx_module *m = load_text(own, strlen(own), NULL);
	uint32_t *out = device_alloc(4);
	char log[256];

	is(launch(m, "f", DIM(1), DIM(1), ARGS(PTR(out))), 0);
	is(out[0], 77);
	ptx_module_free(m);
	is(ptx_module_load(&(struct ptx_text){ missing.text, strlen(missing.text) }, 1, NULL, &m, log, sizeof(log)),
	   PTX_UNRESOLVED);
	ok(strstr(log, "cudaMemcpyAsync") != NULL);
}

int main(void)
{
	tap_begin();
	device_open(2);
	test_grid();
	test_heap();
	test_names();
	device_close();
	return tap_end();
}
