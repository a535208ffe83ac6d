/*
 * unseen.cu: irregular kernels on which nothing was tuned: they were written before loops ran lane by lane
 * (src/compile/loop.h), measured before and after, and looked at for nothing else. The PTX beside it is made with
 *   nvcc -ptx -arch=compute_75 -o unseen.ptx unseen.cu
 */
#include <cstdint>

/* One step of a random walk on a graph: what the neighbours of a node hand on, by their degrees. */
extern "C" __global__ void rank(const int *row, const int *col, const float *share, const int *degree, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (i >= n)
		return;
	for (int k = row[i]; k < row[i + 1]; k++) {
		int j = col[k];

		sum += share[j] / degree[j];
	}
	out[i] = 0.15f + 0.85f * sum;
}

/* Keys in a trie of 16 children, by 4 bits at a time: how deep each goes, and what stands there. */
extern "C" __global__ void trie(const int *child, const uint32_t *key, int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, at = 0, depth = 0;
	uint32_t rest;

	if (i >= n)
		return;
	rest = key[i];
	while (depth < 8) {
		int next = child[at * 16 + (rest & 15)];

		if (next < 0)
			break;
		at = next;
		rest >>= 4;
		depth++;
	}
	out[i] = at * 16 + depth;
}

/* How many of each of 4096 values lists of different lengths have. */
extern "C" __global__ void tally(const int *begin, const int *value, int *count, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	for (int k = begin[i]; k < begin[i + 1]; k++)
		atomicAdd(&count[value[k] & 4095], 1);
}

/* Sets as trees: the root of each element, and how large its set is. */
extern "C" __global__ void sets(const int *parent, int *size, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	while (parent[i] != i)
		i = parent[i];
	atomicAdd(&size[i], 1);
}

/* Pairs of strings that end with a zero: which is less. */
extern "C" __global__ void order(const uint8_t *text, const int *first, const int *second, int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, a, b;

	if (i >= n)
		return;
	a = first[i];
	b = second[i];
	while (text[a] == text[b] && text[a]) {
		a++;
		b++;
	}
	out[i] = (int)text[a] - (int)text[b];
}

/* Softmax of rows of different lengths. */
extern "C" __global__ void ragged(const int *begin, const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float most = -1e30f, sum = 0;

	if (i >= n)
		return;
	for (int k = begin[i]; k < begin[i + 1]; k++)
		most = fmaxf(most, in[k]);
	for (int k = begin[i]; k < begin[i + 1]; k++)
		sum += __expf(in[k] - most);
	for (int k = begin[i]; k < begin[i + 1]; k++)
		out[k] = __expf(in[k] - most) / sum;
}
