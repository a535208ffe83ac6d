/* stamp.cu: marks the first word of every page of a buffer with its number, and counts the pages that lost theirs. */
extern "C" __global__ void stamp(unsigned int *buffer, unsigned long long pages, unsigned int page_words,
				 unsigned int seed)
{
	unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < pages)
		buffer[i * page_words] = seed + (unsigned int)i;
}

extern "C" __global__ void verify(unsigned int *lost, const unsigned int *buffer, unsigned long long pages,
				  unsigned int page_words, unsigned int seed)
{
	unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < pages && buffer[i * page_words] != seed + (unsigned int)i)
		atomicAdd(lost, 1u);
}
