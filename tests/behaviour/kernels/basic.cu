/* basic.cu: small kernels that the behaviour tests launch. */
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void fill(unsigned int *p, unsigned int n, unsigned int value)
{
	if (INDEX < n)
		p[INDEX] = value;
}

extern "C" __global__ void add(unsigned int *p, unsigned int n, unsigned int value)
{
	if (INDEX < n)
		p[INDEX] += value;
}

/* Many dependent steps, so that a stream stays busy; the result depends on all of them. */
extern "C" __global__ void churn(unsigned int *p, unsigned int n, unsigned int steps)
{
	unsigned int v = INDEX;

	for (unsigned int i = 0; i < steps; i++)
		v = v * 1664525u + 1013904223u;
	if (INDEX < n)
		p[INDEX] = v;
}

/* Parameters of mixed sizes and alignments, one of them a structure. */
struct mixed {
	char tag;
	double ratio;
	short pair[3];
	unsigned long long big;
};

extern "C" __global__ void parameters(double *out, char c, struct mixed m, short s, float f, unsigned long long u)
{
	if (INDEX == 0) {
		out[0] = c;
		out[1] = m.tag;
		out[2] = m.ratio;
		out[3] = m.pair[0] * 100 + m.pair[1] * 10 + m.pair[2];
		out[4] = (double)m.big;
		out[5] = s;
		out[6] = f;
		out[7] = (double)u;
	}
}

/* Every thread of a 3D grid of 3D blocks writes its coordinates at its own place. */
extern "C" __global__ void coordinates(unsigned int *out)
{
	unsigned int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	unsigned int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	unsigned int place = block * blockDim.x * blockDim.y * blockDim.z + thread;

	out[place] = blockIdx.z << 20 | blockIdx.y << 16 | blockIdx.x << 12 | threadIdx.z << 8 | threadIdx.y << 4 |
		     threadIdx.x;
}

/* Turns a block's part of the buffer around through dynamic shared memory. */
extern "C" __global__ void reverse(unsigned int *p)
{
	extern __shared__ unsigned int window[];

	window[threadIdx.x] = p[INDEX];
	__syncthreads();
	p[INDEX] = window[blockDim.x - 1 - threadIdx.x];
}

/* A store to wherever the host says, also where there is no memory. */
extern "C" __global__ void poke(unsigned int *p)
{
	if (INDEX == 0)
		*p = 1;
}

extern "C" __global__ void stop(void)
{
	asm volatile("trap;");
}
