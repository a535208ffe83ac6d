/*
 * held.cu: irregular kernels that write in their loops, on which nothing was tuned: they were written after the loops of
 * unseen.cu could run lane by lane with stores and atomics, and measured once, as they are. The PTX beside it is made
 * with
 *   nvcc -ptx -arch=compute_75 -o held.ptx held.cu
 */
#include <cstdint>

/* Numbers of 7 bits a byte, of which the last has no high bit: lists of different lengths, each to its own place. */
extern "C" __global__ void unpack(const uint8_t *bytes, const int *from, const int *to, uint32_t *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, at, end, put;
	uint32_t value = 0, shift = 0;

	if (i >= n)
		return;
	at = from[i];
	end = from[i + 1];
	put = to[i];
	while (at < end) {
		uint32_t b = bytes[at++];

		value |= (b & 127) << shift;
		shift += 7;
		if (b < 128) {
			out[put++] = value;
			value = 0;
			shift = 0;
		}
	}
}

/* Pairs of sorted lists become one. */
extern "C" __global__ void merge(const int *begin, const int *in, int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, a, b, middle, end, put;

	if (i >= n)
		return;
	a = put = begin[2 * i];
	b = middle = begin[2 * i + 1];
	end = begin[2 * i + 2];
	while (a < middle || b < end) {
		bool first = b >= end || (a < middle && in[a] <= in[b]);

		out[put++] = first ? in[a++] : in[b++];
	}
}

/* Edges of a graph: how many neighbours both ends have, and that sum for each node. */
extern "C" __global__ void triangles(const int *row, const int *col, const int *first, const int *second, int *count, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, a, b, ends[2];

	if (i >= n)
		return;
	a = row[first[i]];
	ends[0] = row[first[i] + 1];
	b = row[second[i]];
	ends[1] = row[second[i] + 1];
	while (a < ends[0] && b < ends[1]) {
		int x = col[a], y = col[b];

		if (x == y)
			atomicAdd(&count[x], 1);
		a += x <= y;
		b += y <= x;
	}
}
