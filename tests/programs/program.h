/*
 * program.h: what the programs of this folder share. Each is one source that is built in two ways: by nvcc, which makes
 * kernels and host code of it, and by a C compiler, which sees the host part alone and takes the kernels from the
 * committed PTX beside it. stubs.py then writes what nvcc would have: for each KERNEL a function of the same name and
 * parameters that launches it, for each variable a shadow, and the constructor that registers the image.
 *
 * A program prints PASS, or what failed; its exit status says the same. What a device cannot do is skipped (77).
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PROGRAM_DRIVER /* written against the driver API; the kernels' text is program_ptx */
#include <cuda.h>
#define PROGRAM_ERROR CUresult
#define PROGRAM_GOOD CUDA_SUCCESS
#ifdef __CUDACC__
static const char program_ptx[] = ""; /* while nvcc makes the text; the host part is the C compiler's */
#endif
#else
#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include <cuda_runtime_api.h>
#endif
#define PROGRAM_ERROR cudaError_t
#define PROGRAM_GOOD cudaSuccess
#endif

static int program_failures;

static inline const char *program_error(PROGRAM_ERROR error)
{
#ifdef PROGRAM_DRIVER
	const char *name = "?";

	cuGetErrorName(error, &name);
	return name;
#else
	return cudaGetErrorName(error);
#endif
}

static inline void program_failed(int line, const char *what, const char *why)
{
	if (++program_failures <= 20)
		printf("FAIL line %d: %s%s%s\n", line, what, why[0] ? " gives " : "", why);
}

/* Something that must hold. */
#define CHECK(condition) ((condition) ? (void)0 : program_failed(__LINE__, #condition, ""))

/* A call that must succeed; without it the rest makes no sense. */
#define CALL(call)                                                                                                     \
	do {                                                                                                           \
		PROGRAM_ERROR program_e = (call);                                                                      \
		if (program_e != PROGRAM_GOOD) {                                                                       \
			program_failed(__LINE__, #call, program_error(program_e));                                     \
			fflush(stdout);                                                                                \
			_Exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

/* A call that must give this answer. */
#define GIVES(call, wanted)                                                                                            \
	do {                                                                                                           \
		PROGRAM_ERROR program_e = (call);                                                                      \
		if (program_e != (wanted))                                                                             \
			program_failed(__LINE__, #call " (not " #wanted ")", program_error(program_e));                \
	} while (0)

#define SKIP(why)                                                                                                      \
	do {                                                                                                           \
		printf("1..0 # SKIP %s\n", why);                                                                       \
		fflush(stdout);                                                                                        \
		_Exit(77);                                                                                             \
	} while (0)

static inline int program_end(void)
{
	puts(program_failures ? "FAIL" : "PASS");
	return program_failures != 0;
}

/* Numbers that look random and are the same in every run. */
static uint64_t program_seed = 0x9e3779b97f4a7c15u;

static inline uint32_t random32(void)
{
	program_seed = program_seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(program_seed >> 32) ^ (uint32_t)(program_seed >> 13);
}

static inline uint64_t random64(void)
{
	uint64_t high = random32();

	return high << 32 | random32();
}

static inline float as_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline double as_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint64_t double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

#ifndef PROGRAM_DRIVER

static inline struct dim3 dim(unsigned x, unsigned y, unsigned z)
{
	struct dim3 size;

	size.x = x;
	size.y = y;
	size.z = z;
	return size;
}

/* Zeroed memory of the current device; BRING copies it into a host array. */
static inline void *device_alloc(size_t bytes)
{
	void *p = NULL;

	CALL(cudaMalloc(&p, bytes));
	CALL(cudaMemset(p, 0, bytes));
	/* for streams that do not wait for the default one */
	CALL(cudaDeviceSynchronize());
	return p;
}

static inline void *device_copy(const void *from, size_t bytes)
{
	void *p = device_alloc(bytes);

	CALL(cudaMemcpy(p, from, bytes, cudaMemcpyHostToDevice));
	return p;
}

#define DEVICE_ALLOC(type, count) ((type *)device_alloc((count) * sizeof(type)))
#define DEVICE_COPY(type, array) ((type *)device_copy(array, sizeof(array)))
#define BRING(array, from) CALL(cudaMemcpy(array, from, sizeof(array), cudaMemcpyDeviceToHost))
#define SYNC() CALL(cudaDeviceSynchronize())

static inline int attribute(enum cudaDeviceAttr which)
{
	int value = 0, device = 0;

	CALL(cudaGetDevice(&device));
	CALL(cudaDeviceGetAttribute(&value, which, device));
	return value;
}

/* NVIDIA's driver answers some calls in its own way. */
static inline int on_gpu(void)
{
	FILE *f = fopen("/dev/nvidiactl", "r");

	if (f)
		fclose(f);
	return f != NULL;
}

static inline int capability(void)
{
	return attribute(cudaDevAttrComputeCapabilityMajor) * 10 + attribute(cudaDevAttrComputeCapabilityMinor);
}

#ifdef __CUDACC__

#define SYMBOL(name) name
/* kernel<<<grid, block, shared, stream>>>(...) in both languages; the value is the launch's error. */
#define LAUNCH_ON(kernel, grid, block, shared, stream, ...)                                                            \
	(kernel<<<grid, block, shared, stream>>>(__VA_ARGS__), cudaGetLastError())

#else

#define SYMBOL(name) (&(name))
#define LAUNCH_ON(kernel, grid, block, shared, stream, ...)                                                            \
	(program_configure(grid, block, shared, stream), kernel(__VA_ARGS__), cudaGetLastError())

static __thread struct {
	struct dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
} program_next;

static inline void program_configure_dim(struct dim3 grid, struct dim3 block, size_t shared, cudaStream_t stream)
{
	program_next.grid = grid;
	program_next.block = block;
	program_next.shared = shared;
	program_next.stream = stream;
}

static inline struct dim3 program_line(unsigned x)
{
	return dim(x, 1, 1);
}

static inline struct dim3 program_same(struct dim3 size)
{
	return size;
}

#define PROGRAM_DIM(size) _Generic((size), struct dim3: program_same, default: program_line)(size)
#define program_configure(grid, block, shared, stream)                                                                 \
	program_configure_dim(PROGRAM_DIM(grid), PROGRAM_DIM(block), shared, stream)

static inline void program_launch(const void *kernel, void **args)
{
	(void)cudaLaunchKernel(kernel, program_next.grid, program_next.block, args, program_next.shared,
			       program_next.stream);
}

#endif

#define LAUNCH(kernel, grid, block, ...) CALL(LAUNCH_ON(kernel, grid, block, 0, 0, __VA_ARGS__))

#endif

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#define VARIABLE __device__
#define CONSTANT __constant__
#define MANAGED __managed__
#define DEVICE static __device__ __forceinline__
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#endif
