/*
 * loops.c: see loops.h. The loops as a person writes them, one core, nothing unrolled or blocked by hand. Sums of
 * floats stay in order, as C asks for.
 */
#include "loops.h"

#include <math.h>
#include <string.h>

static void vector_add(const float *restrict a, const float *restrict b, float *restrict c, int n)
{
	for (int i = 0; i < n; i++)
		c[i] = a[i] + b[i];
}

static void saxpy(float a, const float *restrict x, float *restrict y, int n, int turns)
{
	for (int i = 0; i < n; i++) {
		float v = y[i];

		for (int k = 0; k < turns; k++)
			v = a * v + x[i];
		y[i] = v;
	}
}

static void matmul(const float *restrict a, const float *restrict b, float *restrict c, int n)
{
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < n; j++)
			c[i * n + j] = 0;
		for (int k = 0; k < n; k++)
			for (int j = 0; j < n; j++)
				c[i * n + j] += a[i * n + k] * b[k * n + j];
	}
}

static float reduction(const float *x, int n)
{
	float sum = 0;

	for (int i = 0; i < n; i++)
		sum += x[i];
	return sum;
}

static void mandelbrot(int *out, int width, int height, int most)
{
	for (int py = 0; py < height; py++)
		for (int px = 0; px < width; px++) {
			float cx = -2.0f + 3.0f * (float)px / (float)width,
			      cy = -1.5f + 3.0f * (float)py / (float)height;
			float x = 0, y = 0;
			int k = 0;

			while (k < most && x * x + y * y < 4.0f) {
				float t = x * x - y * y + cx;

				y = 2.0f * x * y + cy;
				x = t;
				k++;
			}
			out[py * width + px] = k;
		}
}

static void histogram(const uint32_t *restrict x, uint32_t *restrict bins, int n)
{
	for (int i = 0; i < n; i++)
		bins[x[i] & 255]++;
}

static void nbody(const struct float4 *restrict p, struct float4 *restrict force, int n)
{
	for (int i = 0; i < n; i++) {
		float fx = 0, fy = 0, fz = 0;

		for (int k = 0; k < n; k++) {
			float dx = p[k].x - p[i].x, dy = p[k].y - p[i].y, dz = p[k].z - p[i].z;
			float r2 = dx * dx + dy * dy + dz * dz + 0.01f, s = p[k].w / (r2 * sqrtf(r2));

			fx += s * dx;
			fy += s * dy;
			fz += s * dz;
		}
		force[i] = (struct float4){ fx, fy, fz, 0 };
	}
}

static void stencil(const float *restrict in, float *restrict out, int width, int height)
{
	for (int y = 1; y < height - 1; y++)
		for (int x = 1; x < width - 1; x++) {
			int i = y * width + x;

			out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
		}
}

static void scan(const int *restrict in, int *restrict out, int n, int block)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		sum = i % block ? sum + in[i] : in[i];
		out[i] = sum;
	}
}

/* The network of the kernel, 512 numbers at a time. */
static void sort(uint32_t *x, int n)
{
	for (uint32_t *s = x; s < x + n; s += 512)
		for (unsigned size = 2; size <= 512; size *= 2)
			for (unsigned stride = size / 2; stride > 0; stride /= 2)
				for (unsigned t = 0; t < 256; t++) {
					unsigned i = 2 * t - (t & (stride - 1));
					uint32_t a = s[i], b = s[i + stride];

					if ((a > b) == !(i & size)) {
						s[i] = b;
						s[i + stride] = a;
					}
				}
}

static void xorshift(const uint64_t *restrict seed, uint64_t *restrict out, int n, int turns)
{
	for (int i = 0; i < n; i++) {
		uint64_t a = seed[2 * i], b = seed[2 * i + 1], sum = 0;

		for (int k = 0; k < turns; k++) {
			uint64_t t = a, s = b;

			a = s;
			t ^= t << 23;
			t ^= t >> 18 ^ s ^ s >> 5;
			b = t;
			sum += t + s;
		}
		out[i] = sum;
	}
}

static uint32_t rotate(uint32_t v, int by)
{
	return v >> by | v << (32 - by);
}

static void sha_rounds(const uint32_t *restrict in, uint32_t *restrict out, const uint32_t *restrict constants, int n)
{
	for (int i = 0; i < n; i++) {
		uint32_t w[16], s[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

		for (int k = 0; k < 16; k++)
			w[k] = in[k * n + i];
		for (int k = 0; k < 64; k++) {
			uint32_t e = s[4], a = s[0], x = w[(k + 1) & 15], y = w[(k + 14) & 15];
			uint32_t t1 = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
				      ((e & s[5]) ^ (~e & s[6])) + constants[k] + w[k & 15];
			uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
				      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));

			w[k & 15] += (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + w[(k + 9) & 15] +
				     (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
			for (int j = 7; j > 0; j--)
				s[j] = s[j - 1];
			s[4] += t1;
			s[0] = t1 + t2;
		}
		for (int k = 0; k < 8; k++)
			out[k * n + i] = s[k];
	}
}

static double of_bits(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static double exponential(double x)
{
	double k = rint(x * 1.4426950408889634), r = x - k * 0.6931471805599453, p = 1.0 / 5040;

	p = p * r + 1.0 / 720;
	p = p * r + 1.0 / 120;
	p = p * r + 1.0 / 24;
	p = p * r + 1.0 / 6;
	p = p * r + 0.5;
	p = p * r + 1.0;
	p = p * r + 1.0;
	return p * of_bits((uint64_t)((int64_t)k + 1023) << 52);
}

static double logarithm(double x)
{
	uint64_t bits;
	double m, s, q;

	memcpy(&bits, &x, sizeof(bits));
	m = of_bits((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
	s = (m - 1) / (m + 1);
	q = s * s;
	return (double)((int64_t)(bits >> 52) - 1023) * 0.6931471805599453 +
	       2 * s * (1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9)))));
}

static double normal_share(double x)
{
	double a = x < 0 ? -x : x, k = 1 / (1 + 0.2316419 * a);
	double v = exponential(-0.5 * a * a) * 0.3989422804014327 * k *
		   (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));

	return x < 0 ? v : 1 - v;
}

static void options(const double *restrict price, const double *restrict strike, double *restrict call, int n)
{
	for (int i = 0; i < n; i++) {
		double root = sqrt(1.5) * 0.3, d1 = (logarithm(price[i] / strike[i]) + (0.02 + 0.045) * 1.5) / root;

		call[i] = price[i] * normal_share(d1) - strike[i] * exponential(-0.02 * 1.5) * normal_share(d1 - root);
	}
}

static void words(const uint8_t *restrict text, int *restrict count, int n)
{
	for (int i = 0; i * 64 < n; i++) {
		int from = i * 64, found = 0;
		uint8_t before = from ? text[from - 1] : ' ';

		for (int k = from; k < from + 64 && k < n; k++) {
			uint8_t c = text[k], low = c | 0x20, old = before | 0x20;

			found += low >= 'a' && low <= 'z' && !(old >= 'a' && old <= 'z');
			before = c;
		}
		count[i] = found;
	}
}

static void spmv(const int *restrict row, const int *restrict col, const float *restrict value, const float *restrict x,
		 float *restrict y, int n)
{
	for (int i = 0; i < n; i++) {
		float sum = 0;

		for (int k = row[i]; k < row[i + 1]; k++)
			sum += value[k] * x[col[k]];
		y[i] = sum;
	}
}

static void transpose(const float *restrict in, float *restrict out, int n)
{
	for (int y = 0; y < n; y++)
		for (int x = 0; x < n; x++)
			out[x * n + y] = in[y * n + x];
}

const struct loops LOOPS = { LOOPS_FLAGS, vector_add, saxpy,   matmul, reduction, mandelbrot,
			     histogram,	  nbody,      stencil, scan,   sort,	  xorshift,
			     sha_rounds,  options,    words,   spmv,   transpose };
