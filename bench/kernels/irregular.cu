/*
 * irregular.cu: kernels whose threads do unequal amounts of work at scattered addresses, for bench/engine. They were
 * written after what compiles them, to judge it. The PTX beside it is made with
 *   nvcc -ptx -arch=compute_75 -o irregular.ptx irregular.cu
 */
#include <cstdint>

/* Lists of different lengths: the sum of what is on the way. */
extern "C" __global__ void chase(const int *head, const int *next, const float *value, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (i >= n)
		return;
	for (int at = head[i]; at >= 0; at = next[at])
		sum += value[at];
	out[i] = sum;
}

/* Rays through a volume of 64 x 64 x 64, until they are dark. */
extern "C" __global__ void march(const float *density, const float *slope, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float x, y, light = 1, sum = 0;

	if (i >= n)
		return;
	x = i % 64;
	y = i / 64 % 64;
	for (int z = 0; z < 64 && light > 0.05f; z++) {
		float d = density[(z * 64 + ((int)y & 63)) * 64 + ((int)x & 63)];

		if (d > 0.5f) {
			sum += light * d;
			light *= 1.0f - d * 0.25f;
		}
		x += slope[2 * i];
		y += slope[2 * i + 1];
	}
	out[i] = sum;
}

/* A sparse matrix in double precision of which few rows are long, times a vector. */
extern "C" __global__ void long_rows(const int *row, const int *col, const double *value, const double *x, double *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	double sum = 0;

	if (i >= n)
		return;
	for (int k = row[i]; k < row[i + 1]; k++)
		sum += value[k] * x[col[k]];
	y[i] = sum;
}

/* How much of a pattern each place of a text begins with, at most. */
extern "C" __global__ void match(const uint8_t *text, const uint8_t *pattern, int *out, int length, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;

	if (i >= n)
		return;
	while (k < length && text[i + k] == pattern[k])
		k++;
	out[i] = k;
}

/* Distance of two words of up to 16 letters, each thread with a row of its own. */
extern "C" __global__ void edits(const uint8_t *word, const int *size, int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int row[17], a, b;

	if (i >= n)
		return;
	a = size[2 * i];
	b = size[2 * i + 1];
	for (int k = 0; k <= b; k++)
		row[k] = k;
	for (int j = 1; j <= a; j++) {
		int before = row[0];

		row[0] = j;
		for (int k = 1; k <= b; k++) {
			int same = before + (word[32 * i + j - 1] != word[32 * i + 16 + k - 1]);
			int less = row[k] < row[k - 1] ? row[k] : row[k - 1];

			before = row[k];
			row[k] = same < less + 1 ? same : less + 1;
		}
	}
	out[i] = row[b];
}

/* Where in a sorted array each key belongs, and how many belong to each 4096th part. */
extern "C" __global__ void places(const uint32_t *sorted, const uint32_t *key, int *count, int bits, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, low = 0, high = 1 << bits;

	if (i >= n)
		return;
	while (low < high) {
		int middle = (low + high) / 2;

		if (sorted[middle] == key[i])
			break;
		if (sorted[middle] < key[i])
			low = middle + 1;
		else
			high = middle;
	}
	atomicAdd(&count[low >> (bits - 12)], 1);
}
