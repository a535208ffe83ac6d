/*
 * fresh.cu: parts of common programs for GPUs on which nothing was tuned: they were chosen and written before anything
 * about them was measured. Afterwards loops that write to arrays of the lanes' own were changed, which queens has. The
 * PTX beside it is made with
 *   nvcc -ptx -arch=compute_75 -o fresh.ptx fresh.cu
 */
#include <cstdint>

/* Connected components, one step: both ends of each edge take the least label. */
extern "C" __global__ void hook(const int *from, const int *to, const int *label, int *next, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, a, b;

	if (i >= n)
		return;
	a = label[from[i]];
	b = label[to[i]];
	if (a < b)
		atomicMin(&next[to[i]], a);
	else if (b < a)
		atomicMin(&next[from[i]], b);
}

/* Breadth-first search by a queue: neighbours of its nodes that have no level are appended to the next one. */
extern "C" __global__ void frontier(const int *row, const int *col, const int *queue, const int *level, int *next, int *out,
				    int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, node;

	if (i >= n)
		return;
	node = queue[i];
	for (int k = row[node]; k < row[node + 1]; k++) {
		int j = col[k];

		if (level[j] < 0) {
			int at = atomicAdd(&out[0], 1);

			next[at & (1 << 20) - 1] = j;
			out[1 + j] = 1;
		}
	}
}

/* Huffman: each thread decodes symbols of its own stream, by a table of 8 bits and, for longer ones, a tree. */
extern "C" __global__ void huffman(const uint32_t *bits, const int *begin, const uint32_t *table, const int *tree, uint8_t *out,
				   int symbols, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t at;

	if (i >= n)
		return;
	at = begin[i];
	for (int k = 0; k < symbols; k++) {
		uint32_t low = bits[at >> 5], high = bits[(at >> 5) + 1];
		uint32_t window = (uint32_t)(((uint64_t)high << 32 | low) >> (at & 31)), entry = table[window & 255];

		at += entry >> 16;
		if (entry & 0x8000) {
			int node = entry & 0x7fff;

			do {
				node = tree[2 * node + (bits[at >> 5] >> (at & 31) & 1)];
				at++;
			} while (node >= 0);
			entry = ~node;
		}
		out[i * symbols + k] = entry & 255;
	}
}

/* Queens on a board of `size` rows: each thread has its own first two, and counts. */
extern "C" __global__ void queens(int *count, int size, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, depth = 0, found = 0;
	uint32_t all = (1u << size) - 1, first, second, columns[16], left[16], right[16], open[16];

	if (i >= n)
		return;
	first = 1u << (i / size % size);
	second = 1u << (i % size);
	if (second & (first | first << 1 | first >> 1)) {
		count[i] = 0;
		return;
	}
	columns[0] = first | second;
	left[0] = (first << 1 | second) << 1;
	right[0] = (first >> 1 | second) >> 1;
	open[0] = all & ~(columns[0] | left[0] | right[0]);
	while (depth >= 0) {
		uint32_t bit = open[depth] & -open[depth];

		if (!bit) {
			depth--;
			continue;
		}
		open[depth] ^= bit;
		if (depth + 3 == size) {
			found++;
			continue;
		}
		columns[depth + 1] = columns[depth] | bit;
		left[depth + 1] = (left[depth] | bit) << 1;
		right[depth + 1] = (right[depth] | bit) >> 1;
		depth++;
		open[depth] = all & ~(columns[depth] | left[depth] | right[depth]);
	}
	count[i] = found;
}

/* Run lengths: each thread packs its row of 64 bytes into values and how often they follow each other. */
extern "C" __global__ void runs(const uint8_t *in, uint8_t *value, uint8_t *length, int *count, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, made = 0, at = 0;

	if (i >= n)
		return;
	while (at < 64) {
		uint8_t v = in[i * 64 + at];
		int k = 1;

		while (at + k < 64 && in[i * 64 + at + k] == v)
			k++;
		value[i * 64 + made] = v;
		length[i * 64 + made] = k;
		made++;
		at += k;
	}
	count[i] = made;
}

/* Sums of all elements before each one, in blocks of 512, up and down a tree in shared memory. */
extern "C" __global__ void prefix(const int *in, int *out)
{
	__shared__ int s[512];
	int t = threadIdx.x, base = blockIdx.x * 512, far = 1;

	s[2 * t] = in[base + 2 * t];
	s[2 * t + 1] = in[base + 2 * t + 1];
	for (int d = 256; d > 0; d >>= 1) {
		__syncthreads();
		if (t < d)
			s[far * (2 * t + 2) - 1] += s[far * (2 * t + 1) - 1];
		far *= 2;
	}
	if (t == 0)
		s[511] = 0;
	for (int d = 1; d < 512; d *= 2) {
		far >>= 1;
		__syncthreads();
		if (t < d) {
			int a = far * (2 * t + 1) - 1, b = far * (2 * t + 2) - 1, v = s[a];

			s[a] = s[b];
			s[b] += v;
		}
	}
	__syncthreads();
	out[base + 2 * t] = s[2 * t];
	out[base + 2 * t + 1] = s[2 * t + 1];
}

/* The eight least of each thread's numbers, kept sorted in its own memory. */
extern "C" __global__ void least(const float *in, float *out, int length, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float best[8];

	if (i >= n)
		return;
	for (int k = 0; k < 8; k++)
		best[k] = 1e30f;
	for (int k = 0; k < length; k++) {
		float v = in[k * n + i];
		int at = 7;

		if (v >= best[7])
			continue;
		while (at > 0 && best[at - 1] > v) {
			best[at] = best[at - 1];
			at--;
		}
		best[at] = v;
	}
	for (int k = 0; k < 8; k++)
		out[k * n + i] = best[k];
}

/* CRC-32 of strings of different lengths, by a table of 256 numbers. */
extern "C" __global__ void checksum(const uint8_t *bytes, const int *begin, const uint32_t *table, uint32_t *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t crc = 0xffffffffu;

	if (i >= n)
		return;
	for (int at = begin[i]; at < begin[i + 1]; at++)
		crc = table[(crc ^ bytes[at]) & 255] ^ crc >> 8;
	out[i] = ~crc;
}

/* How many keys of a block have each of 16 digits, in shared memory. */
extern "C" __global__ void digits(const uint32_t *key, int *count, int shift, int each)
{
	__shared__ int s[16];
	int t = threadIdx.x;

	if (t < 16)
		s[t] = 0;
	__syncthreads();
	for (int k = 0; k < each; k++)
		atomicAdd(&s[key[(blockIdx.x * each + k) * blockDim.x + t] >> shift & 15], 1);
	__syncthreads();
	if (t < 16)
		count[blockIdx.x * 16 + t] = s[t];
}

/* The game of life on bytes, with edges that are dead. */
extern "C" __global__ void life(const uint8_t *in, uint8_t *out, int width, int height)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, alive = 0;

	if (x >= width || y >= height)
		return;
	for (int v = y - 1; v <= y + 1; v++)
		for (int u = x - 1; u <= x + 1; u++)
			if (u >= 0 && v >= 0 && u < width && v < height && (u != x || v != y))
				alive += in[v * width + u];
	out[y * width + x] = alive == 3 || (alive == 2 && in[y * width + x]);
}
