/*
 * matmul.cu: c = a * b for square matrices of any side, in tiles of 16 x 16 held in shared memory.
 *
 * Two barriers per tile: one when the tile is complete, one before it is overwritten. Elements beyond the edge are 0.
 */
#define TILE 16

extern "C" __global__ void matmul(float *c, const float *a, const float *b, unsigned int n)
{
	__shared__ float ta[TILE][TILE], tb[TILE][TILE];
	unsigned int tx = threadIdx.x, ty = threadIdx.y;
	unsigned int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
	float sum = 0.0f;

	for (unsigned int k = 0; k < n; k += TILE) {
		ta[ty][tx] = row < n && k + tx < n ? a[row * n + k + tx] : 0.0f;
		tb[ty][tx] = col < n && k + ty < n ? b[(k + ty) * n + col] : 0.0f;
		__syncthreads();
		for (unsigned int i = 0; i < TILE; i++)
			sum += ta[ty][i] * tb[i][tx];
		__syncthreads();
	}
	if (row < n && col < n)
		c[row * n + col] = sum;
}
