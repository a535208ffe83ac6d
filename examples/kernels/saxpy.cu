/* saxpy.cu: y = a * x + y, one element per thread, for any grid (grid-stride loop). */
extern "C" __global__ void saxpy(float *y, const float *x, float a, unsigned int n)
{
	unsigned int step = gridDim.x * blockDim.x;

	for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
		y[i] = a * x[i] + y[i];
}
