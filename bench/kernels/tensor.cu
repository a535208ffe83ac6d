/*
 * tensor.cu: matrix products by tensor instructions, in the way in which Triton and CUTLASS write them, for
 * bench/engine: tiles are copied to shared memory asynchronously, two stages deep, and taken from there by ldmatrix or
 * by descriptors. A is m x k, row by row; B is k x n, row by row (mma_f16) or column by column (the others); the sizes
 * are multiples of the tiles. The PTX beside it is made with
 *   nvcc -ptx -arch=compute_90a -o tensor.ptx tensor.cu
 */
#include <cstdint>

enum { SIDE = 64, STAGES = 2 };

__device__ static uint32_t shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ static void copy_16(uint32_t to, const void *from)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

__device__ static void commit()
{
	asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int left> __device__ static void wait()
{
	asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

__device__ static void take_four(uint32_t (&r)[4], uint32_t from)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
		     : "r"(from)
		     : "memory");
}

__device__ static void take_four_turned(uint32_t (&r)[4], uint32_t from)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
		     : "r"(from)
		     : "memory");
}

struct f16 {
	typedef float sum;
	enum { bytes = 2 };
	__device__ static void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
	{
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
			     "{%8, %9}, {%0, %1, %2, %3};"
			     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
			     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
	}
};

struct bf16 {
	typedef float sum;
	enum { bytes = 2 };
	__device__ static void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
	{
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, "
			     "%7}, {%8, %9}, {%0, %1, %2, %3};"
			     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
			     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
	}
};

struct tf32 {
	typedef float sum;
	enum { bytes = 4 };
	__device__ static void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
	{
		asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
			     "{%8, %9}, {%0, %1, %2, %3};"
			     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
			     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
	}
};

struct e4m3 {
	typedef float sum;
	enum { bytes = 1 };
	__device__ static void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
	{
		asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, "
			     "%7}, {%8, %9}, {%0, %1, %2, %3};"
			     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
			     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
	}
};

struct s8 {
	typedef int sum;
	enum { bytes = 1 };
	__device__ static void multiply(int (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
	{
		asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
			     "{%8, %9}, {%0, %1, %2, %3};"
			     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
			     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
	}
};

/* A tile of 64 rows of 64 bytes; chunks of 16 bytes are mixed, so that eight rows of a column do not share banks. */
__device__ static uint32_t tile_place(uint32_t row, uint32_t chunk)
{
	return row * 64 + (chunk ^ row / 2 % 4) * 16;
}

/* Four warps, each 32 x 32 of 64 x 64; a step is 64 bytes of a row of A and of a column of B. */
template <typename T> __device__ static void product(const uint8_t *a, const uint8_t *b, typename T::sum *c, int n, int k)
{
	__shared__ __align__(128) uint8_t tile[STAGES][2][SIDE * 64];
	const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = warp / 2 * 32, column = warp % 2 * 32;
	const int pitch = k * T::bytes, steps = pitch / 64;
	typename T::sum sum[2][4][4] = {};

	a += (size_t)blockIdx.y * SIDE * pitch;
	b += (size_t)blockIdx.x * SIDE * pitch;
	auto fetch = [&](int step) {
		for (uint32_t i = threadIdx.x; i < SIDE * 4; i += 128) {
			const size_t from = (size_t)(i / 4) * pitch + step * 64 + i % 4 * 16;

			copy_16(shared_address(tile[step % STAGES][0]) + tile_place(i / 4, i % 4), a + from);
			copy_16(shared_address(tile[step % STAGES][1]) + tile_place(i / 4, i % 4), b + from);
		}
		commit();
	};
	fetch(0);
	for (int step = 0; step < steps; step++) {
		if (step + 1 < steps) {
			fetch(step + 1);
			wait<1>();
		} else {
			wait<0>();
		}
		__syncthreads();
		const uint32_t ta = shared_address(tile[step % STAGES][0]), tb = shared_address(tile[step % STAGES][1]);
#pragma unroll
		for (uint32_t part = 0; part < 2; part++) { /* 32 bytes along the sum */
			uint32_t x[2][4], y[2][4];

			for (uint32_t i = 0; i < 2; i++) {
				take_four(x[i], ta + tile_place(row + i * 16 + lane % 16, part * 2 + lane / 16));
				take_four(y[i], tb + tile_place(column + i * 16 + lane / 16 * 8 + lane % 8,
								part * 2 + lane / 8 % 2));
			}
			for (uint32_t i = 0; i < 2; i++)
				for (uint32_t j = 0; j < 4; j++)
					T::multiply(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
		}
		__syncthreads();
	}
	c += ((size_t)blockIdx.y * SIDE + row + lane / 4) * n + blockIdx.x * SIDE + column + lane % 4 * 2;
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t j = 0; j < 4; j++)
			for (uint32_t x = 0; x < 4; x++)
				c[(i * 16 + x / 2 * 8) * n + j * 8 + x % 2] = sum[i][j][x];
}

extern "C" __global__ void mma_bf16(const uint8_t *a, const uint8_t *b, float *c, int n, int k)
{
	product<bf16>(a, b, c, n, k);
}

extern "C" __global__ void mma_tf32(const uint8_t *a, const uint8_t *b, float *c, int n, int k)
{
	product<tf32>(a, b, c, n, k);
}

extern "C" __global__ void mma_e4m3(const uint8_t *a, const uint8_t *b, float *c, int n, int k)
{
	product<e4m3>(a, b, c, n, k);
}

extern "C" __global__ void mma_s8(const uint8_t *a, const uint8_t *b, int *c, int n, int k)
{
	product<s8>(a, b, c, n, k);
}

/* B row by row, so that its tiles are turned when they are taken: 32 rows of 128 bytes. */
extern "C" __global__ void mma_f16(const uint8_t *a, const uint8_t *b, float *c, int n, int k)
{
	__shared__ __align__(128) uint8_t tile[STAGES][2][SIDE * 64];
	const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = warp / 2 * 32, column = warp % 2 * 32;
	const int steps = k / 32;
	float sum[2][4][4] = {};

	a += (size_t)blockIdx.y * SIDE * k * 2;
	b += (size_t)blockIdx.x * SIDE * 2;
	auto fetch = [&](int step) {
		for (uint32_t i = threadIdx.x; i < SIDE * 4; i += 128) {
			copy_16(shared_address(tile[step % STAGES][0]) + tile_place(i / 4, i % 4),
				a + (size_t)(i / 4) * k * 2 + step * 64 + i % 4 * 16);
			copy_16(shared_address(tile[step % STAGES][1]) + i / 8 * 128 + (i % 8 ^ i / 8 % 8) * 16,
				b + (size_t)(step * 32 + i / 8) * n * 2 + i % 8 * 16);
		}
		commit();
	};
	fetch(0);
	for (int step = 0; step < steps; step++) {
		if (step + 1 < steps) {
			fetch(step + 1);
			wait<1>();
		} else {
			wait<0>();
		}
		__syncthreads();
		const uint32_t ta = shared_address(tile[step % STAGES][0]), tb = shared_address(tile[step % STAGES][1]);
#pragma unroll
		for (uint32_t part = 0; part < 2; part++) {
			uint32_t x[2][4], y[2][4];

			for (uint32_t i = 0; i < 2; i++) {
				const uint32_t deep = part * 16 + lane % 16, chunk = column / 8 + i * 2 + lane / 16;

				take_four(x[i], ta + tile_place(row + i * 16 + lane % 16, part * 2 + lane / 16));
				take_four_turned(y[i], tb + deep * 128 + (chunk ^ deep % 8) * 16);
			}
			for (uint32_t i = 0; i < 2; i++)
				for (uint32_t j = 0; j < 4; j++)
					f16::multiply(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
		}
		__syncthreads();
	}
	c += ((size_t)blockIdx.y * SIDE + row + lane / 4) * n + blockIdx.x * SIDE + column + lane % 4 * 2;
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t j = 0; j < 4; j++)
			for (uint32_t x = 0; x < 4; x++)
				c[(i * 16 + x / 2 * 8) * n + j * 8 + x % 2] = sum[i][j][x];
}

/* A matrix of rows of 128 bytes whose chunks are mixed by 8 (PTX ISA, "Matrix Descriptor Format"). */
__device__ static uint64_t described(uint32_t at)
{
	return (uint64_t)(at >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

/* A warp group computes 64 x 64; a step is 128 bytes of a row of A and of a column of B. */
extern "C" __global__ void wgmma_f16(const uint8_t *a, const uint8_t *b, float *c, int n, int k)
{
	__shared__ __align__(1024) uint8_t tile[STAGES][2][SIDE * 128];
	const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const int pitch = k * 2, steps = pitch / 128;
	float d[32] = {};

	a += (size_t)blockIdx.y * SIDE * pitch;
	b += (size_t)blockIdx.x * SIDE * pitch;
	auto fetch = [&](int step) {
		for (uint32_t i = threadIdx.x; i < SIDE * 8; i += 128) {
			const size_t from = (size_t)(i / 8) * pitch + step * 128 + i % 8 * 16;
			const uint32_t to = i / 8 * 128 + (i % 8 ^ i / 8 % 8) * 16;

			copy_16(shared_address(tile[step % STAGES][0]) + to, a + from);
			copy_16(shared_address(tile[step % STAGES][1]) + to, b + from);
		}
		commit();
	};
	fetch(0);
	for (int step = 0; step < steps; step++) {
		if (step + 1 < steps) {
			fetch(step + 1);
			wait<1>();
		} else {
			wait<0>();
		}
		asm volatile("fence.proxy.async;" ::: "memory");
		__syncthreads();
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
		for (uint32_t part = 0; part < 4; part++)
			asm volatile(
				"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, "
				"%8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, "
				"%25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
				: "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
				  "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]),
				  "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]),
				  "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
				  "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]),
				  "+f"(d[31])
				: "l"(described(shared_address(tile[step % STAGES][0]) + part * 32)),
				  "l"(described(shared_address(tile[step % STAGES][1]) + part * 32))
				: "memory");
		asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
		asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
		__syncthreads();
	}
	c += ((size_t)blockIdx.y * SIDE + warp * 16 + lane / 4) * n + blockIdx.x * SIDE + lane % 4 * 2;
	for (uint32_t j = 0; j < 8; j++)
		for (uint32_t x = 0; x < 4; x++)
			c[x / 2 * 8 * n + j * 8 + x % 2] = d[j * 4 + x];
}
