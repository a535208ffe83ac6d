/*
 * varied.cu: kernels of the kinds that real programs have, for bench/engine: scattered reads, divergence, local memory,
 * approximations, bits, small blocks. The PTX beside it is made with
 *   nvcc -ptx -arch=compute_75 -o varied.ptx varied.cu
 */
#include <cstdint>

/* out[i] = in[index[i]] */
extern "C" __global__ void gather(const float *in, const int *index, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[index[i]];
}

__device__ static uint32_t mixed(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x85ebca6bu;
	x ^= x >> 13;
	x *= 0xc2b2ae35u;
	return x ^ x >> 16;
}

/* Looks keys up in a table with open addressing: pairs of key and value, key 0 is a free place. */
extern "C" __global__ void hash_probe(const uint2 *table, const uint32_t *key, uint32_t *value, int n, uint32_t mask)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t found = ~0u;

	if (i >= n)
		return;
	for (uint32_t at = mixed(key[i]) & mask;; at = (at + 1) & mask) {
		uint2 slot = table[at];

		if (slot.x == key[i])
			found = slot.y;
		if (slot.x == key[i] || !slot.x)
			break;
	}
	value[i] = found;
}

/* How many points of a tree lie within a range: each thread walks with a stack of its own. */
extern "C" __global__ void tree_walk(const float *split, int nodes, const float2 *range, int *count, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, stack[32], depth = 0, found = 0;

	if (i >= n)
		return;
	float2 r = range[i];
	stack[depth++] = 0;
	while (depth) {
		int at = stack[--depth];
		float v = split[at];

		found += v >= r.x && v <= r.y;
		if (v > r.x && 2 * at + 1 < nodes)
			stack[depth++] = 2 * at + 1;
		if (v < r.y && 2 * at + 2 < nodes)
			stack[depth++] = 2 * at + 2;
	}
	count[i] = found;
}

/* Lengths of Collatz sequences: a loop that each lane leaves at another time. */
extern "C" __global__ void collatz(int *length, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, steps = 0;
	uint64_t v = i + 1;

	if (i >= n)
		return;
	for (; v != 1; steps++)
		v = v & 1 ? 3 * v + 1 : v / 2;
	length[i] = steps;
}

__device__ static float block_sum(float v, float *s)
{
	for (int d = 16; d > 0; d >>= 1)
		v += __shfl_xor_sync(~0u, v, d);
	if ((threadIdx.x & 31) == 0)
		s[threadIdx.x >> 5] = v;
	__syncthreads();
	v = 0;
	for (int k = 0; k < blockDim.x / 32; k++)
		v += s[k];
	__syncthreads();
	return v;
}

__device__ static float block_max(float v, float *s)
{
	for (int d = 16; d > 0; d >>= 1)
		v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
	if ((threadIdx.x & 31) == 0)
		s[threadIdx.x >> 5] = v;
	__syncthreads();
	v = s[0];
	for (int k = 1; k < blockDim.x / 32; k++)
		v = fmaxf(v, s[k]);
	__syncthreads();
	return v;
}

/* One row, one block. */
extern "C" __global__ void softmax(const float *in, float *out, int columns)
{
	__shared__ float s[32];
	const float *x = in + blockIdx.x * columns;
	float *y = out + blockIdx.x * columns, most = -1e30f, sum = 0;

	for (int k = threadIdx.x; k < columns; k += blockDim.x)
		most = fmaxf(most, x[k]);
	most = block_max(most, s);
	for (int k = threadIdx.x; k < columns; k += blockDim.x)
		sum += y[k] = __expf(x[k] - most);
	sum = block_sum(sum, s);
	for (int k = threadIdx.x; k < columns; k += blockDim.x)
		y[k] /= sum;
}

extern "C" __global__ void layernorm(const float *in, const float *scale, float *out, int columns)
{
	__shared__ float s[32];
	const float *x = in + blockIdx.x * columns;
	float sum = 0, squares = 0;

	for (int k = threadIdx.x; k < columns; k += blockDim.x) {
		sum += x[k];
		squares += x[k] * x[k];
	}
	float mean = block_sum(sum, s) / columns, root = rsqrtf(block_sum(squares, s) / columns - mean * mean + 1e-5f);
	for (int k = threadIdx.x; k < columns; k += blockDim.x)
		out[blockIdx.x * columns + k] = (x[k] - mean) * root * scale[k];
}

/* Normal deviates by Box and Muller, summed. */
extern "C" __global__ void box_muller(const uint32_t *seed, float *out, int turns)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t state = seed[i];
	float sum = 0;

	for (int k = 0; k < turns; k++) {
		float u, v;

		state = state * 1664525u + 1013904223u;
		u = ((state >> 8) + 1) * (1.0f / 16777216.0f);
		state = state * 1664525u + 1013904223u;
		v = (state >> 8) * (6.2831853f / 16777216.0f);
		sum += __fsqrt_rn(-2.0f * __logf(u)) * (__cosf(v) + __sinf(v));
	}
	out[i] = sum;
}

/* The least distance of a bit vector of 256 bits to 128 others. */
extern "C" __global__ void hamming(const uint32_t *query, const uint32_t *other, int *least, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, best = 1000;
	uint32_t q[8];

	for (int k = 0; k < 8; k++)
		q[k] = query[k * n + i];
	for (int j = 0; j < 128; j++) {
		int d = 0;

		for (int k = 0; k < 8; k++)
			d += __popc(q[k] ^ other[j * 8 + k]);
		best = min(best, d);
	}
	least[i] = best;
}

/* Sums of products of bytes, four at a time, with a scale for 32 of them: one row, one warp. */
extern "C" __global__ void quantized(const int *weight, const float *scale, const int *x, float *y, int blocks)
{
	int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
	float sum = 0;

	for (int b = lane; b < blocks; b += 32) {
		int dot = 0;

		for (int k = 0; k < 4; k++) {
			int packed = weight[(row * blocks + b) * 4 + k];

			dot = __dp4a(packed & 0x0f0f0f0f, x[b * 8 + k], dot);
			dot = __dp4a(packed >> 4 & 0x0f0f0f0f, x[b * 8 + 4 + k], dot);
		}
		sum += dot * scale[row * blocks + b];
	}
	for (int d = 16; d > 0; d >>= 1)
		sum += __shfl_xor_sync(~0u, sum, d);
	if (lane == 0)
		y[row] = sum;
}

/* Each warp sorts 32 numbers of 16 bits by their bits, with votes. */
extern "C" __global__ void vote_sort(const uint32_t *in, uint32_t *out)
{
	__shared__ uint32_t s[256];
	int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
	uint32_t v = in[i] & 0xffff, *mine = s + (threadIdx.x & ~31);

	for (int bit = 0; bit < 16; bit++) {
		uint32_t ones = __ballot_sync(~0u, v >> bit & 1), below = (1u << lane) - 1;
		int to = v >> bit & 1 ? __popc(~ones) + __popc(ones & below) : __popc(~ones & below);

		mine[to] = v;
		__syncwarp();
		v = mine[lane];
		__syncwarp();
	}
	out[i] = v;
}

/* A step of heat in a chip, as in Rodinia: tiles with edges, the grid's edges by conditions. */
extern "C" __global__ void hotspot(const float *power, const float *in, float *out, int n)
{
	__shared__ float t[18][18];
	int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty, i = y * n + x;

	t[ty + 1][tx + 1] = in[i];
	if (tx == 0)
		t[ty + 1][0] = in[x > 0 ? i - 1 : i];
	if (tx == 15)
		t[ty + 1][17] = in[x < n - 1 ? i + 1 : i];
	if (ty == 0)
		t[0][tx + 1] = in[y > 0 ? i - n : i];
	if (ty == 15)
		t[17][tx + 1] = in[y < n - 1 ? i + n : i];
	__syncthreads();
	float c = t[ty + 1][tx + 1];
	out[i] = c + 0.1f * (power[i] + (t[ty][tx + 1] + t[ty + 2][tx + 1] - 2 * c) * 0.5f +
			     (t[ty + 1][tx] + t[ty + 1][tx + 2] - 2 * c) * 0.25f + (80.0f - c) * 0.01f);
}

/* The tiles of an alignment, each for itself: 16 threads, along the diagonals, as in Rodinia. */
extern "C" __global__ void alignment(const int *score, int *out, int penalty)
{
	__shared__ int t[17][17], s[16][16];
	int x = threadIdx.x;

	for (int y = 0; y < 16; y++)
		s[y][x] = score[blockIdx.x * 256 + y * 16 + x];
	t[0][x + 1] = -penalty * (x + 1);
	t[x + 1][0] = -penalty * (x + 1);
	if (x == 0)
		t[0][0] = 0;
	__syncthreads();
	for (int d = 0; d < 31; d++) {
		int y = d - x;

		if (y >= 0 && y < 16)
			t[y + 1][x + 1] = max(t[y][x] + s[y][x], max(t[y][x + 1], t[y + 1][x]) - penalty);
		__syncthreads();
	}
	for (int y = 0; y < 16; y++)
		out[blockIdx.x * 256 + y * 16 + x] = t[y + 1][x + 1];
}

/* One level of a breadth-first search: nodes of the level mark their neighbours. */
extern "C" __global__ void breadth(const int *row, const int *col, int *level, int *marked, int now, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n || level[i] != now)
		return;
	for (int k = row[i]; k < row[i + 1]; k++)
		if (atomicCAS(&level[col[k]], -1, now + 1) == -1)
			atomicAdd(marked, 1);
}

/* Which of 8 centres is nearest, 16 features. */
extern "C" __global__ void nearest(const float *feature, const float *centre, int *which, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, best = 0;
	float least = 1e30f;

	if (i >= n)
		return;
	for (int c = 0; c < 8; c++) {
		float d = 0;

		for (int k = 0; k < 16; k++) {
			float e = feature[i * 16 + k] - centre[c * 16 + k];

			d += e * e;
		}
		if (d < least) {
			least = d;
			best = c;
		}
	}
	which[i] = best;
}

/* Rounds of a cipher with a table of 256 words in shared memory. */
extern "C" __global__ void table_cipher(const uint32_t *table, const uint4 *in, uint4 *out, int rounds)
{
	__shared__ uint32_t t[256];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint4 v = in[i];

	t[threadIdx.x] = table[threadIdx.x];
	__syncthreads();
#define ROTATED(x, by) ((x) << (by) | (x) >> (32 - (by)))
	for (int k = 0; k < rounds; k++) {
		uint32_t a = v.x, b = v.y, c = v.z, d = v.w;

		v.x = t[a & 255] ^ ROTATED(t[b >> 8 & 255], 8) ^ ROTATED(t[c >> 16 & 255], 16) ^ ROTATED(t[d >> 24], 24);
		v.y = t[b & 255] ^ ROTATED(t[c >> 8 & 255], 8) ^ ROTATED(t[d >> 16 & 255], 16) ^ ROTATED(t[a >> 24], 24);
		v.z = t[c & 255] ^ ROTATED(t[d >> 8 & 255], 8) ^ ROTATED(t[a >> 16 & 255], 16) ^ ROTATED(t[b >> 24], 24);
		v.w = t[d & 255] ^ ROTATED(t[a >> 8 & 255], 8) ^ ROTATED(t[b >> 16 & 255], 16) ^ ROTATED(t[c >> 24], 24);
	}
	out[i] = v;
}
