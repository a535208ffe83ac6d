/* compute_80: matrix fragments: wmma of half precision, mma of half, bfloat16, tf32, bytes and double, ldmatrix. */
#include "program.h"

#ifdef __CUDACC__

/* One warp: D = A × B + C, 16 × 16 × 16, A in rows, B in columns. */
KERNEL wmma_half(const uint16_t *a, const uint16_t *b, const float *c, float *d)
{
	asm volatile("{\n\t.reg .b32 a<8>, b<8>;\n\t.reg .f32 c<8>, d<8>;\n\t"
		     "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {a0, a1, a2, a3, a4, a5, a6, a7}, [%0], 16;\n\t"
		     "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {b0, b1, b2, b3, b4, b5, b6, b7}, [%1], 16;\n\t"
		     "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {c0, c1, c2, c3, c4, c5, c6, c7}, [%2], 16;\n\t"
		     "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {d0, d1, d2, d3, d4, d5, d6, d7}, {a0, a1, a2, a3, a4, a5, a6, a7},"
		     " {b0, b1, b2, b3, b4, b5, b6, b7}, {c0, c1, c2, c3, c4, c5, c6, c7};\n\t"
		     "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%3], {d0, d1, d2, d3, d4, d5, d6, d7}, 16;\n\t}"
		     ::"l"(a), "l"(b), "l"(c), "l"(d) : "memory");
}

KERNEL wmma_bytes(const int8_t *a, const int8_t *b, int *d)
{
	asm volatile("{\n\t.reg .b32 a<2>, b<2>, c<8>, d<8>;\n\t"
		     "mov.b32 c0, 1;\n\tmov.b32 c1, 1;\n\tmov.b32 c2, 1;\n\tmov.b32 c3, 1;\n\tmov.b32 c4, 1;\n\tmov.b32 c5, 1;\n\tmov.b32 c6, 1;\n\tmov.b32 c7, 1;\n\t"
		     "wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {a0, a1}, [%0], 16;\n\t"
		     "wmma.load.b.sync.aligned.col.m16n16k16.global.s8 {b0, b1}, [%1], 16;\n\t"
		     "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {d0, d1, d2, d3, d4, d5, d6, d7}, {a0, a1}, {b0, b1},"
		     " {c0, c1, c2, c3, c4, c5, c6, c7};\n\t"
		     "wmma.store.d.sync.aligned.row.m16n16k16.global.s32 [%2], {d0, d1, d2, d3, d4, d5, d6, d7}, 16;\n\t}"
		     ::"l"(a), "l"(b), "l"(d) : "memory");
}

/* Fragments laid out as the manual has them: group = lane / 4, member = lane % 4. */
KERNEL mma_half(const uint16_t *a, const uint16_t *b, float *d, float *e)
{
	__shared__ uint16_t tile[16 * 16];
	uint32_t lane = threadIdx.x, group = lane / 4, member = lane % 4, f[4], g[2], address;
	float r[4];
	int k;

	for (k = lane; k < 256; k += 32)
		tile[k] = a[k];
	__syncwarp();
	address = (uint32_t)__cvta_generic_to_shared(tile + (lane % 16) * 16 + lane / 16 * 8);
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]) : "r"(address) : "memory");
	/* B is kept by columns: b[column * 16 + row] */
	for (k = 0; k < 2; k++)
		g[k] = *(const uint32_t *)(b + group * 16 + member * 2 + k * 8);
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
		     : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3])
		     : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g[0]), "r"(g[1]), "f"(0.5f));
	for (k = 0; k < 4; k++)
		d[(group + k / 2 * 8) * 8 + member * 2 + k % 2] = r[k];
	/* the same bits as bfloat16 */
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
		     : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3])
		     : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g[0]), "r"(g[1]), "f"(0.0f));
	for (k = 0; k < 4; k++)
		e[(group + k / 2 * 8) * 8 + member * 2 + k % 2] = r[k];
}

KERNEL mma_others(const float *a, const float *b, float *d, const int8_t *p, const int8_t *q, int *s, const double *u, const double *v, double *w)
{
	uint32_t lane = threadIdx.x, group = lane / 4, member = lane % 4;
	float r[4];
	int n[4], k;
	double m[2];

	asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
		     : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3])
		     : "r"(__float_as_uint(a[group * 4 + member])), "r"(__float_as_uint(a[(group + 8) * 4 + member])),
		       "r"(__float_as_uint(b[group * 4 + member])), "f"(1.0f));
	for (k = 0; k < 4; k++)
		d[(group + k / 2 * 8) * 8 + member * 2 + k % 2] = r[k];
	asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%4, %4};"
		     : "=r"(n[0]), "=r"(n[1]) : "r"(*(const int *)(p + group * 16 + member * 4)), "r"(*(const int *)(q + group * 16 + member * 4)), "r"(-3));
	s[group * 8 + member * 2] = n[0];
	s[group * 8 + member * 2 + 1] = n[1];
	asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %4};"
		     : "=d"(m[0]), "=d"(m[1]) : "d"(u[group * 4 + member]), "d"(v[group * 4 + member]), "d"(0.25));
	w[group * 8 + member * 2] = m[0];
	w[group * 8 + member * 2 + 1] = m[1];
}

#else
#include PROGRAM_STUBS
#endif

/* Small whole numbers as halves: exact, so that the order of a sum does not matter. */
static uint16_t half_of(int value)
{
	uint16_t sign = value < 0 ? 0x8000 : 0, exponent = 25;
	unsigned fraction = (unsigned)(value < 0 ? -value : value);

	if (!fraction)
		return 0;
	for (; fraction < 1024; exponent--)
		fraction *= 2;
	return (uint16_t)(sign | exponent << 10 | (fraction & 1023));
}

int main(void)
{
	static uint16_t a[256], b[256], c[256];
	static float add[256], d[256], e[128], f[128], x[64], y[32];
	static int8_t p[256], q[256];
	static int va[256], vb[256], s[256], n[64];
	static double u[32], v[32], w[64];
	float *dd = DEVICE_ALLOC(float, 256), *de = DEVICE_ALLOC(float, 128), *df = DEVICE_ALLOC(float, 128);
	int *ds = DEVICE_ALLOC(int, 256), *dn = DEVICE_ALLOC(int, 64), i, j, k;
	double *dw = DEVICE_ALLOC(double, 64);
	uint16_t *da, *db;
	int8_t *dp, *dq;

	if (capability() < 80)
		SKIP("needs compute capability 8.0");
	for (i = 0; i < 256; i++) {
		va[i] = (int)(random32() >> 8) % 33 - 16;
		vb[i] = (int)(random32() >> 8) % 33 - 16;
		a[i] = half_of(va[i]);
		b[i] = half_of(vb[i]);
		add[i] = (float)i;
		p[i] = (int8_t)random32();
		q[i] = (int8_t)random32();
	}
	for (i = 0; i < 64; i++)
		x[i] = (float)va[i];
	for (i = 0; i < 32; i++) {
		y[i] = (float)vb[i];
		u[i] = va[i] + 0.125;
		v[i] = vb[i] * 0.5;
	}
	da = DEVICE_COPY(uint16_t, a);
	db = DEVICE_COPY(uint16_t, b);
	dp = DEVICE_COPY(int8_t, p);
	dq = DEVICE_COPY(int8_t, q);
	LAUNCH(wmma_half, 1, 32, da, db, DEVICE_COPY(float, add), dd);
	LAUNCH(wmma_bytes, 1, 32, dp, dq, ds);
	BRING(d, dd);
	BRING(s, ds);
	for (i = 0; i < 16; i++)
		for (j = 0; j < 16; j++) {
			int sum = 0, bytes = 1;

			for (k = 0; k < 16; k++) {
				sum += va[i * 16 + k] * vb[j * 16 + k];
				bytes += p[i * 16 + k] * q[j * 16 + k];
			}
			CHECK(d[i * 16 + j] == (float)(sum + i * 16 + j));
			CHECK(s[i * 16 + j] == bytes);
		}
	LAUNCH(mma_half, 1, 32, da, db, de, df);
	BRING(e, de);
	for (i = 0; i < 16; i++)
		for (j = 0; j < 8; j++) {
			int sum = 0;

			for (k = 0; k < 16; k++)
				sum += va[i * 16 + k] * vb[j * 16 + k];
			CHECK(e[i * 8 + j] == (float)sum + 0.5f);
		}
	/* a whole number of 8 bits or fewer as bfloat16 is the upper half of its float */
	for (i = 0; i < 256; i++) {
		c[i] = (uint16_t)(float_bits((float)va[i]) >> 16);
		b[i] = (uint16_t)(float_bits((float)vb[i]) >> 16);
	}
	LAUNCH(mma_half, 1, 32, DEVICE_COPY(uint16_t, c), DEVICE_COPY(uint16_t, b), de, df);
	LAUNCH(mma_others, 1, 32, DEVICE_COPY(float, x), DEVICE_COPY(float, y), dd, dp, dq, dn, DEVICE_COPY(double, u), DEVICE_COPY(double, v), dw);
	BRING(f, df);
	BRING(d, dd);
	BRING(n, dn);
	BRING(w, dw);
	for (i = 0; i < 16; i++)
		for (j = 0; j < 8; j++) {
			int sum = 0, part = 1, bytes = -3;
			double wide = 0.25;

			for (k = 0; k < 16; k++)
				sum += va[i * 16 + k] * vb[j * 16 + k];
			for (k = 0; k < 4; k++)
				part += va[i * 4 + k] * vb[j * 4 + k];
			CHECK(f[i * 8 + j] == (float)sum);
			CHECK(d[i * 8 + j] == (float)part);
			if (i >= 8)
				continue;
			for (k = 0; k < 16; k++)
				bytes += p[i * 16 + k] * q[j * 16 + k];
			for (k = 0; k < 4; k++)
				wide += u[i * 4 + k] * v[j * 4 + k];
			CHECK(n[i * 8 + j] == bytes);
			CHECK(w[i * 8 + j] == wide);
		}
	return program_end();
}
