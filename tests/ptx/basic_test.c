/* basic_test.c: the kernels of kernels/basic.cu against the same computed in C, on every instruction set of this
 * machine. */
#include "harness.h"
#include "softdev/ptx/engine.h"

#include <pthread.h>

static void test_saxpy(struct ptx_module *m)
{
	enum { N = 100003 };
	float *x = device_alloc(N * 4), *y = device_alloc((N + 32) * 4), *want = malloc(N * 4);
	int wrong = 0;

	for (int i = 0; i < N; i++) {
		x[i] = (float)(i % 1000) * 0.25f;
		y[i] = (float)(i % 77);
		want[i] = fmaf(2.5f, x[i], y[i]);
	}
	is(launch(m, "saxpy", DIM((N + 255) / 256), DIM(256), ARGS(float_arg(2.5f), PTR(x), PTR(y), N)), 0);
	for (int i = 0; i < N; i++)
		wrong += y[i] != want[i];
	is(wrong, 0);
	is(y[N] == 0, 1);
	free(want);
}

static void test_matmul(struct ptx_module *m)
{
	enum { N = 64 };
	float *a = device_alloc(N * N * 4), *b = device_alloc(N * N * 4), *c = device_alloc(N * N * 4);
	int wrong = 0;

	for (int i = 0; i < N * N; i++) {
		a[i] = (float)(random_bits() % 16);
		b[i] = (float)(random_bits() % 16);
	}
	is(launch(m, "matmul", DIM(N / 16, N / 16), DIM(16, 16), ARGS(PTR(a), PTR(b), PTR(c), N)), 0);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			float sum = 0;

			for (int k = 0; k < N; k++)
				sum += a[i * N + k] * b[k * N + j];
			wrong += c[i * N + j] != sum;
		}
	is(wrong, 0);
}

static void test_reduce(struct ptx_module *m)
{
	enum { N = 123457 };
	int *in = device_alloc(N * 4);
	uint64_t *out = device_alloc(8), want = 0;

	for (int i = 0; i < N; i++) {
		in[i] = (int)(random_bits() % 1000);
		want += (uint64_t)in[i];
	}
	is(launch(m, "reduce", DIM(37), DIM(256), ARGS(PTR(in), PTR(out), N)), 0);
	is(*out, want);
	*out = 0;
	is(launch(m, "reduce", DIM(5), DIM(96), ARGS(PTR(in), PTR(out), N)), 0);
	is(*out, want);
}

static void test_histogram(struct ptx_module *m)
{
	enum { N = 200000 };
	uint8_t *in = device_alloc(N);
	uint32_t *bins = device_alloc(1024), want[256] = { 0 };
	int wrong = 0;

	for (int i = 0; i < N; i++)
		want[in[i] = (uint8_t)(random_bits() & random_bits())]++;
	is(launch(m, "histogram", DIM(16), DIM(192), ARGS(PTR(in), PTR(bins), N)), 0);
	for (int i = 0; i < 256; i++)
		wrong += bins[i] != want[i];
	is(wrong, 0);
}

static int mandelbrot(int x, int y, int width, int height, int most)
{
	float cx = fmaf(3.0f, (float)x / (float)width, 0), zx = 0, zy = 0, cy;
	int n = 0;

	cx = -2.0f + 3.0f * (float)x / (float)width;
	cy = -1.5f + 3.0f * (float)y / (float)height;
	while (n < most && zx * zx + zy * zy < 4.0f) {
		float t = zx * zx - zy * zy + cx;

		zy = 2 * zx * zy + cy;
		zx = t;
		n++;
	}
	return n;
}

/* The compiler of the kernel fuses products and sums where this one does not, so pixels at the border may differ. */
static void test_mandelbrot(struct ptx_module *m)
{
	enum { W = 200, H = 100 };
	int *out = device_alloc(W * H * 4), far = 0;

	is(launch(m, "mandelbrot", DIM((W + 15) / 16, (H + 7) / 8), DIM(16, 8), ARGS(PTR(out), W, H, 200)), 0);
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++)
			far += abs(out[y * W + x] - mandelbrot(x, y, W, H, 200)) > 2;
	ok(far < W * H / 100);
	ok(out[0] == 1 && out[H / 2 * W + W / 2] == 200);
}

static void test_locks(struct ptx_module *m)
{
	int *lock = device_alloc(4), *count = device_alloc(4);

	is(launch(m, "spinlock", DIM(8), DIM(64), ARGS(PTR(lock), PTR(count))), 0);
	is(*count, 512);
	*count = 0;
	is(launch(m, "spinlock_hard", DIM(8), DIM(64), ARGS(PTR(lock), PTR(count))), 0);
	is(*count, 512);
}

static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void test_calls(struct ptx_module *m)
{
	struct pair {
		int a;
		double b;
	} *p = device_alloc(64 * sizeof(*p));
	int *out = device_alloc(64 * 4), wrong = 0;
	float *f = device_alloc(64 * 4);

	is(launch(m, "recursion", DIM(1), DIM(64), ARGS(PTR(out))), 0);
	for (int i = 0; i < 64; i++)
		wrong += out[i] != fib(i % 16);
	is(wrong, 0);
	for (int i = 0; i < 64; i++)
		p[i] = (struct pair){ i, i * 10.0 };
	is(launch(m, "structs", DIM(1), DIM(64), ARGS(PTR(p))), 0);
	for (int i = 0; i < 64; i++)
		wrong += p[i].a != i * 11 || p[i].b != i * 2.0;
	is(wrong, 0);
	is(launch(m, "indirect", DIM(1), DIM(64), ARGS(PTR(f))), 0);
	for (int i = 0; i < 64; i++)
		wrong += f[i] != (i & 1 ? i * 3.0f : i + 3.0f);
	is(wrong, 0);
}

static void test_memory(struct ptx_module *m)
{
	static const int coefficients[4] = { 3, 5, 7, 11 };
	int *out = device_alloc(512 * 4), wrong = 0;
	const struct ptx_variable *counter = ptx_module_variable_find(m, "counter");
	struct ptx_launch l = { .shared_bytes = 256 * 4 };

	is(launch(m, "variables", DIM(1), DIM(64), ARGS(PTR(out))), 0);
	for (int i = 0; i < 64; i++)
		wrong += out[i] != coefficients[i & 3];
	is(wrong, 0);
	ok(counter != NULL);
	is(counter ? *(int *)(uintptr_t)counter->address : 0, 42);
	is(launch_with(&l, m, "dynamic_shared", DIM(1), DIM(256), ARGS(PTR(out))), 0);
	for (int i = 0; i < 256; i++)
		wrong += out[i] != (255 - i) * 3 + 100 + (i & 7);
	is(wrong, 0);
	l.shared_bytes = 100;
	is(launch_with(&l, m, "dynamic_shared", DIM(1), DIM(256), ARGS(PTR(out))), 1);
	is(l.fault.kind, PTX_FAULT_ILLEGAL_ADDRESS);
	is(launch(m, "local_array", DIM(1), DIM(64), ARGS(PTR(out), 40)), 0);
	for (int t = 0; t < 64; t++) {
		int a[32], sum = 0;

		for (int i = 0; i < 32; i++)
			a[(i * 7 + t) & 31] = i;
		for (int i = 0; i < 40; i++)
			sum += a[(t + i) & 31] * i;
		wrong += out[t] != sum;
	}
	is(wrong, 0);
}

static int switched(int i)
{
	switch (i % 9) {
	case 0:
		return i * 3;
	case 1:
		return i + 100;
	case 2:
		return i ^ 0x55;
	case 3:
		return -i;
	case 4:
		return i << 3;
	case 5:
		return i / 3;
	case 6:
		return i % 5;
	case 7:
		return i * i;
	default:
		return 7777;
	}
}

static void test_control(struct ptx_module *m)
{
	int *out = device_alloc(1024 * 4), wrong = 0, x[256];
	uint32_t *flag = device_alloc(6400 * 4), *count = device_alloc(4);

	is(launch(m, "switches", DIM(1), DIM(256), ARGS(PTR(out))), 0);
	for (int i = 0; i < 256; i++)
		wrong += out[i] != switched(i);
	is(wrong, 0);
	is(launch(m, "barriers", DIM(1), DIM(256), ARGS(PTR(out))), 0);
	for (int i = 0; i < 256; i++) {
		x[i] = i + (i ? x[i - 1] : 0);
		wrong += out[i] != x[i] + 1000000 * 128 + 300000000;
	}
	is(wrong, 0);
	is(launch(m, "producer", DIM(1), DIM(128), ARGS(PTR(out))), 0);
	for (int i = 0; i < 64; i++)
		wrong += out[i] != i * 5;
	is(wrong, 0);
	is(launch(m, "chain", DIM(3000), DIM(1), ARGS(PTR(flag))), 0);
	is(flag[2999], 3000);
	struct ptx_launch l = { .cooperative = true };
	is(launch_with(&l, m, "grid_barrier", DIM(100), DIM(64), ARGS(PTR(count), PTR(flag))), 0);
	for (int i = 0; i < 6400; i++)
		wrong += flag[i] != 100;
	is(wrong, 0);
}

static uint32_t cross_lane(uint32_t t)
{
	uint32_t r = 0xaaaaaaaau, first = t / 3 * 3;

	r ^= 1 << 3;
	r ^= 1 << 5;
	for (uint32_t i = first; i < first + 3 && i < 32; i++)
		r ^= 1u << i;
	r += ((t + 5) & 31) * 7;
	r += (t & 7) >= 3 ? t - 3 : t;
	r += 32;
	if (t < 16)
		r += (t ^ 1) + (0xccccu << 8);
	else
		r -= t ^ 2;
	return r;
}

static void test_cross_lane(struct ptx_module *m)
{
	uint32_t *out = device_alloc(32 * 4);
	int wrong = 0;

	is(launch(m, "cross_lane", DIM(1), DIM(32), ARGS(PTR(out))), 0);
	for (uint32_t i = 0; i < 32; i++)
		wrong += out[i] != cross_lane(i);
	is(wrong, 0);
}

static void *cancel_soon(void *arg)
{
	struct timespec t = { 0, 50000000 };

	nanosleep(&t, NULL);
	atomic_store((atomic_bool *)arg, true);
	return NULL;
}

/* Blocks that are too short to look at the clock themselves: their thread looks, and the launch can be ended. */
static void test_small_blocks(void)
{
	static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
		".visible .entry small(.param .u64 p) { .reg .u32 %r<3>; .reg .pred %p; mov.u32 %r1, 500;\n"
		"L: sub.u32 %r1, %r1, 1; setp.ne.u32 %p, %r1, 0; @%p bra L; ret; }\n";
	struct ptx_module *m = load_text(text, sizeof(text) - 1, NULL);
	_Atomic uint64_t beat = 0;
	atomic_bool cancel = true;
	struct ptx_launch l = { .beat_ns = &beat };

	ok(m != NULL);
	if (!m)
		return;
	is(launch_with(&l, m, "small", DIM(400), DIM(32), ARGS(0)), 0);
	ok(atomic_load(&beat) > 0);
	l.timeout_ns = 1000000;
	is(launch_with(&l, m, "small", DIM(1u << 30), DIM(32), ARGS(0)), 1);
	is(l.fault.kind, PTX_FAULT_TIMEOUT);
	l.timeout_ns = 0;
	l.cancel = &cancel;
	is(launch_with(&l, m, "small", DIM(1u << 30), DIM(32), ARGS(0)), 1);
	is(l.fault.kind, PTX_FAULT_CANCELLED);
	ptx_module_free(m);
}

static void test_faults(struct ptx_module *m)
{
	int *p = device_alloc(4096);
	struct ptx_launch l = { 0 };
	atomic_bool cancel = false;
	pthread_t thread;

	is(launch_with(&l, m, "oob", DIM(1), DIM(32), ARGS(PTR(p), 1ull << 40)), 1);
	is(l.fault.kind, PTX_FAULT_ILLEGAL_ADDRESS);
	is(l.fault.thread[0], 5);
	is(l.fault.address, PTR(p) + (4ull << 40));
	is_str(l.fault.function, "oob");
	ok(l.fault.line > 0);
	is(launch_with(&l, m, "oob", DIM(1), DIM(32), ARGS(0, 0)), 1);
	is(l.fault.address, 0);
	is(launch_with(&l, m, "oob", DIM(1), DIM(32), ARGS(PTR(device), DEVICE_BYTES / 4)), 1);
	is(launch_with(&l, m, "oob", DIM(1), DIM(32), ARGS(PTR(device), -1ull)), 1);
	is(launch_with(&l, m, "oob", DIM(1), DIM(32), ARGS(~0ull - 3, 0)), 1);
	is(launch_with(&l, m, "misaligned", DIM(1), DIM(32), ARGS(PTR(p))), 1);
	is(l.fault.kind, PTX_FAULT_MISALIGNED);
	is(launch_with(&l, m, "trapped", DIM(4), DIM(32), ARGS(PTR(p))), 1);
	is(l.fault.kind, PTX_FAULT_TRAP);
	is(l.fault.thread[0], 3);
	is(launch_with(&l, m, "lonely_barrier", DIM(1), DIM(32), ARGS(PTR(p))), 1);
	is(l.fault.kind, PTX_FAULT_DEADLOCK);
	is(launch_with(&l, m, "lonely_barrier", DIM(1), DIM(64), ARGS(PTR(p))), 1);
	p[0] = 0;
	l.timeout_ns = 50000000;
	is(launch_with(&l, m, "forever", DIM(2), DIM(64), ARGS(PTR(p))), 1);
	is(l.fault.kind, PTX_FAULT_TIMEOUT);
	l.timeout_ns = 0;
	l.cancel = &cancel;
	pthread_create(&thread, NULL, cancel_soon, &cancel);
	is(launch_with(&l, m, "forever", DIM(2), DIM(64), ARGS(PTR(p))), 1);
	is(l.fault.kind, PTX_FAULT_CANCELLED);
	pthread_join(thread, NULL);
	l = (struct ptx_launch){ 0 };
	is(launch_with(&l, m, "saxpy", DIM(0), DIM(32), ARGS(0, 0, 0, 0)), -EINVAL);
	is(launch_with(&l, m, "saxpy", DIM(1), DIM(1025), ARGS(0, 0, 0, 0)), -EINVAL);
	is(launch_with(&l, m, "saxpy", DIM(1), DIM(32), ARGS(0, 0, 0, 0)), 0);
}

/* Clocks go on between any two instructions, in straight-line code, too. */
static void test_clock(const struct ptx_options *options)
{
	static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				   ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %d<5>; .reg .b32 %r<4>;\n"
				   "ld.param.u64 %d0, [p];\n"
				   "mov.u64 %d1, %clock64;\nmov.u64 %d2, %clock64;\nmov.u32 %r0, %clock;\n"
				   "mad.lo.u32 %r2, %r0, %r0, 3;\nmad.lo.u32 %r2, %r2, %r2, 3;\nmov.u32 %r1, %clock;\n"
				   "mov.u64 %d3, %clock64;\n"
				   "st.u64 [%d0], %d1;\nst.u64 [%d0+8], %d2;\nst.u32 [%d0+16], %r0;\n"
				   "st.u32 [%d0+20], %r1;\nst.u64 [%d0+24], %d3;\nst.u32 [%d0+32], %r2;\nret;\n}\n";
	struct ptx_module *m = load_text(text, sizeof(text) - 1, options);
	uint64_t *t = device_alloc(64);

	if (!tap_ok(m != NULL, "a kernel that reads clocks is loaded"))
		return;
	is(launch(m, "k", DIM(1), DIM(1), ARGS(PTR(t))), 0);
	ok(t[0] < t[1] && t[1] < (uint32_t)t[2]);
	ok((uint32_t)t[2] < t[2] >> 32 && t[2] >> 32 < t[3]);
	ok((t[2] >> 32) - (uint32_t)t[2] == 3 * (t[1] - t[0]));
	ptx_module_free(m);
}

/* The first block takes its time, and all others wait for the one before: what a worker holds and has not started must
 * not stand behind the blocks that wait for it. */
static void test_late(void)
{
	static const char text[] = ".version 8.0\n.target sm_70\n.address_size 64\n"
				   ".visible .entry late(.param .u64 flag, .param .u32 turns) {\n"
				   ".reg .u64 %a; .reg .u32 %b, %v; .reg .pred %p;\n"
				   "ld.param.u64 %a, [flag]; ld.param.u32 %v, [turns]; mov.u32 %b, %ctaid.x;\n"
				   "mad.wide.u32 %a, %b, 4, %a; setp.ne.u32 %p, %b, 0; @%p bra WAIT;\n"
				   "TURN: sub.u32 %v, %v, 1; setp.ne.u32 %p, %v, 0; @%p bra TURN; bra DONE;\n"
				   "WAIT: ld.volatile.global.u32 %v, [%a+-4]; setp.eq.u32 %p, %v, 0; @%p bra WAIT;\n"
				   "DONE: add.u32 %v, %v, 1; membar.gl; st.volatile.global.u32 [%a], %v; ret; }\n";
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	const uint32_t blocks = 600, turns = 100000;
#else
	const uint32_t blocks = 3000, turns = 3000000;
#endif
	struct ptx_launch l = { .timeout_ns = 80000000000u };
	struct ptx_module *m;
	uint32_t *flag;

	device_reset();
	m = load_text(text, sizeof(text) - 1, NULL);
	if (!tap_ok(m != NULL, "a chain behind a late block: loaded"))
		return;
	flag = device_alloc(blocks * 4);
	is(launch_with(&l, m, "late", DIM(blocks), DIM(1), ARGS(PTR(flag), turns)), 0);
	is(flag[blocks - 1], blocks);
	ptx_module_free(m);
}

int main(int argc, char **argv)
{
	static const char *const isas[] = { "base", "avx2", "avx512" };
	static const uint32_t quanta[] = { 32, 1, 100000 };

	tap_begin();
	device_open(4);
	for (int i = 0; i < 3; i++) {
		struct ptx_options options = { .isa = isas[i], .quantum = quanta[i] };
		struct ptx_module *m;

		device_reset();
		if (!isa_find(isas[i])) {
			printf("# %s was not built or does not run here\n", isas[i]);
			continue;
		}
		m = load_file(argv[1], "basic.ptx", &options);
		if (!tap_ok(m != NULL, "loaded for %s", isas[i]))
			break;
		test_saxpy(m);
		test_matmul(m);
		test_reduce(m);
		test_histogram(m);
		test_mandelbrot(m);
		test_locks(m);
		test_calls(m);
		test_memory(m);
		test_control(m);
		test_cross_lane(m);
		test_faults(m);
		test_clock(&options);
		ptx_module_free(m);
	}
	test_late();
	test_small_blocks();
	device_close();
	return tap_end();
}
