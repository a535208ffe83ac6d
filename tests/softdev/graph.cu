/* graph.cu: kernels of the graph tests. */

extern "C" __global__ void add(unsigned *p, unsigned n)
{
	atomicAdd(p, n);
}

/* *p = *p * 10 + digit: shows an order. */
extern "C" __global__ void digit(unsigned long long *p, unsigned digit)
{
	*p = *p * 10 + digit;
}

extern "C" __global__ void nothing()
{
}

/* Counts down, and goes on while something is left. */
extern "C" __global__ void count_down(unsigned *p, cudaGraphConditionalHandle h)
{
	if (threadIdx.x == 0)
		cudaGraphSetConditional(h, --*p != 0);
}

extern "C" __global__ void choose(cudaGraphConditionalHandle h, const unsigned *p)
{
	cudaGraphSetConditional(h, *p);
}

/* Takes a while on one core. */
extern "C" __global__ void spin(unsigned *p, unsigned turns)
{
	unsigned x = *p;

	for (unsigned i = 0; i < turns; i++)
		x = x * 1664525u + 1013904223u;
	*p = x;
}

extern "C" __global__ void wild(unsigned *p)
{
	*p = 1;
}
