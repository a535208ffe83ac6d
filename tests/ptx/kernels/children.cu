/*
 * children.cu: kernels that launch kernels. The PTX is made by
 *   nvcc -rdc=true -ptx -arch=compute_90 -o children.ptx children.cu
 */

/* Sorts by splitting around a pivot, each side in a stream of its own. */
extern "C" __global__ void quicksort(int *data, int left, int right, int depth)
{
	if (right - left < 8 || depth == 20) {
		for (int i = left; i < right; i++)
			for (int k = i; k > left && data[k] < data[k - 1]; k--) {
				const int v = data[k];

				data[k] = data[k - 1];
				data[k - 1] = v;
			}
		return;
	}
	const int pivot = data[(left + right) / 2];
	int i = left, j = right - 1;

	while (i <= j) {
		while (data[i] < pivot)
			i++;
		while (data[j] > pivot)
			j--;
		if (i <= j) {
			const int v = data[i];

			data[i++] = data[j];
			data[j--] = v;
		}
	}
	for (int side = 0; side < 2; side++) {
		cudaStream_t s;

		cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
		quicksort<<<1, 1, 0, s>>>(data, side ? i : left, side ? right : j + 1, depth + 1);
		cudaStreamDestroy(s);
	}
}

/* Writes down its number. */
extern "C" __global__ void note(int *list, int number)
{
	const int at = atomicAdd(&list[0], 1);

	list[at + 1] = number;
}

extern "C" __global__ void branch(int *list, int number)
{
	note<<<1, 1>>>(list, number);
	note<<<1, 1, 0, cudaStreamTailLaunch>>>(list, number + 3);
	note<<<1, 1>>>(list, number + 1);
	note<<<1, 1, 0, cudaStreamFireAndForget>>>(list, number + 2);
}

/* The order of all that is launched is fixed by one stream and tail launches. */
extern "C" __global__ void order(int *list)
{
	note<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 100);
	branch<<<1, 1>>>(list, 10);
	branch<<<1, 1>>>(list, 20);
	note<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 101);
	note<<<1, 1>>>(list, 30);
}

extern "C" __global__ void add(int *sum, int value, double more)
{
	extern __shared__ int shared[];

	shared[threadIdx.x] = value;
	__syncthreads();
	atomicAdd(sum, shared[threadIdx.x ^ 1] + (int)more);
}

/* All threads of many blocks launch. */
extern "C" __global__ void wide(int *sum)
{
	add<<<dim3(2, 3), 32, 128>>>(sum, threadIdx.x, 1.5);
}

/* Each level launches the next; the last one tells how the launch beyond it failed. */
extern "C" __global__ void deep(int *reached, int level)
{
	reached[0] = level;
	deep<<<1, 1>>>(reached, level + 1);
	if (int error = cudaGetLastError())
		reached[1] = error;
	reached[2] = cudaPeekAtLastError();
}

extern "C" __global__ void tails(int *left)
{
	if (--left[0])
		tails<<<1, 1, 0, cudaStreamTailLaunch>>>(left);
}

extern "C" __global__ void wrong(int *errors)
{
	note<<<1, 2000>>>(errors, 1);
	errors[0] = cudaPeekAtLastError();
	note<<<0, 1>>>(errors, 1);
	errors[1] = cudaGetLastError();
	errors[2] = cudaGetLastError();
	note<<<1, 1, 1 << 20>>>(errors, 1);
	errors[3] = cudaGetLastError();
}

extern "C" __global__ void bad_store(int *p)
{
	*p = 1;
}

extern "C" __global__ void bad_child(int *good, int *bad)
{
	bad_store<<<1, 1>>>(bad);
	bad_store<<<1, 1>>>(good);
}

extern "C" __global__ void endless(int *p)
{
	endless<<<1, 1, 0, cudaStreamTailLaunch>>>(p);
}
