/*
 * texture.cu: fetches, gathers and queries of every geometry, one place per thread, results as they are in registers.
 *
 * nvcc -ptx -arch=compute_75 -o texture.ptx texture.cu
 */
/* One macro serves kernels of one to three coordinates. */
#pragma nv_diag_suppress 177

typedef cudaTextureObject_t T;
typedef cudaSurfaceObject_t S;

struct place {
	float x, y, z;
	int layer;
	float lod, dx[3], dy[3];
};

#define FETCH(name, call)                                                                                              \
	extern "C" __global__ void name(T t, const place *p, float4 *out, int n)                                       \
	{                                                                                                              \
		int i = blockIdx.x * blockDim.x + threadIdx.x;                                                         \
		if (i < n) {                                                                                           \
			place a = p[i];                                                                                \
			out[i] = call;                                                                                 \
		}                                                                                                      \
	}

FETCH(fetch_1d, tex1D<float4>(t, a.x))
FETCH(fetch_2d, tex2D<float4>(t, a.x, a.y))
FETCH(fetch_3d, tex3D<float4>(t, a.x, a.y, a.z))
FETCH(fetch_1d_layered, tex1DLayered<float4>(t, a.x, a.layer))
FETCH(fetch_2d_layered, tex2DLayered<float4>(t, a.x, a.y, a.layer))
FETCH(fetch_cube, texCubemap<float4>(t, a.x, a.y, a.z))
FETCH(fetch_cube_layered, texCubemapLayered<float4>(t, a.x, a.y, a.z, a.layer))
FETCH(lod_1d, tex1DLod<float4>(t, a.x, a.lod))
FETCH(lod_2d, tex2DLod<float4>(t, a.x, a.y, a.lod))
FETCH(lod_3d, tex3DLod<float4>(t, a.x, a.y, a.z, a.lod))
FETCH(lod_1d_layered, tex1DLayeredLod<float4>(t, a.x, a.layer, a.lod))
FETCH(lod_2d_layered, tex2DLayeredLod<float4>(t, a.x, a.y, a.layer, a.lod))
FETCH(lod_cube, texCubemapLod<float4>(t, a.x, a.y, a.z, a.lod))
FETCH(lod_cube_layered, texCubemapLayeredLod<float4>(t, a.x, a.y, a.z, a.layer, a.lod))
FETCH(grad_1d, tex1DGrad<float4>(t, a.x, a.dx[0], a.dy[0]))
FETCH(grad_2d, tex2DGrad<float4>(t, a.x, a.y, make_float2(a.dx[0], a.dx[1]), make_float2(a.dy[0], a.dy[1])))
FETCH(grad_3d, tex3DGrad<float4>(t, a.x, a.y, a.z, make_float4(a.dx[0], a.dx[1], a.dx[2], 0),
				 make_float4(a.dy[0], a.dy[1], a.dy[2], 0)))
FETCH(fetch_linear, tex1Dfetch<float4>(t, (int)a.x))
FETCH(gather_0, tex2Dgather<float4>(t, a.x, a.y, 0))
FETCH(gather_1, tex2Dgather<float4>(t, a.x, a.y, 1))
FETCH(gather_3, tex2Dgather<float4>(t, a.x, a.y, 3))

/* Surfaces: each element is read with `by` and written back plus one. Coordinates go past every side. */
template <typename V> static __device__ V plus(V v);
template <> __device__ unsigned char plus(unsigned char v) { return v + 1; }
template <> __device__ unsigned short plus(unsigned short v) { return v + 1; }
template <> __device__ unsigned plus(unsigned v) { return v + 1; }
template <> __device__ uint2 plus(uint2 v) { return make_uint2(v.x + 1, v.y + 1); }
template <> __device__ uint4 plus(uint4 v) { return make_uint4(v.x + 1, v.y + 1, v.z + 1, v.w + 1); }
template <> __device__ uchar4 plus(uchar4 v) { return make_uchar4(v.x + 1, v.y + 1, v.z + 1, v.w + 1); }
template <> __device__ ushort2 plus(ushort2 v) { return make_ushort2(v.x + 1, v.y + 1); }
template <> __device__ ulonglong2 plus(ulonglong2 v) { return make_ulonglong2(v.x + 1, v.y + 1); }

#define SURFACE(name, V, mode, read, write)                                                                            \
	extern "C" __global__ void name(S s, V *out, int n, int bytes, int w, int h, int least)                        \
	{                                                                                                              \
		int i = blockIdx.x * blockDim.x + threadIdx.x;                                                         \
		if (i >= n)                                                                                            \
			return;                                                                                        \
		int x = (i % w + least) * bytes, y = i / w % h + least, z = i / w / h + least;                         \
		V v = read;                                                                                            \
		out[i] = v;                                                                                            \
		v = plus(v);                                                                                           \
		write;                                                                                                 \
	}
#define SURFACES(V, suffix, mode)                                                                                      \
	SURFACE(surf_1d_##suffix, V, mode, surf1Dread<V>(s, x, mode), surf1Dwrite(v, s, x, mode))                      \
	SURFACE(surf_2d_##suffix, V, mode, surf2Dread<V>(s, x, y, mode), surf2Dwrite(v, s, x, y, mode))                \
	SURFACE(surf_3d_##suffix, V, mode, surf3Dread<V>(s, x, y, z, mode), surf3Dwrite(v, s, x, y, z, mode))          \
	SURFACE(surf_1dl_##suffix, V, mode, surf1DLayeredread<V>(s, x, y, mode), surf1DLayeredwrite(v, s, x, y, mode)) \
	SURFACE(surf_2dl_##suffix, V, mode, surf2DLayeredread<V>(s, x, y, z, mode),                                    \
		surf2DLayeredwrite(v, s, x, y, z, mode))
SURFACES(unsigned, u1_zero, cudaBoundaryModeZero)
SURFACES(unsigned, u1_trap, cudaBoundaryModeTrap)
SURFACES(unsigned char, c1_zero, cudaBoundaryModeZero)
SURFACES(unsigned short, s1_zero, cudaBoundaryModeZero)
SURFACES(uint2, u2_zero, cudaBoundaryModeZero)
SURFACES(uint4, u4_zero, cudaBoundaryModeZero)
SURFACES(uchar4, c4_zero, cudaBoundaryModeZero)
SURFACES(ushort2, s2_zero, cudaBoundaryModeZero)
SURFACES(ulonglong2, l2_zero, cudaBoundaryModeZero)

/* Reading alone: with clamping several threads would write one place. */
extern "C" __global__ void surf_2d_clamp(S s, unsigned *out, int n, int bytes, int w, int h, int least)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = surf2Dread<unsigned>(s, (i % w + least) * bytes, i / w % h + least, cudaBoundaryModeClamp);
}

extern "C" __global__ void surf_cube(S s, unsigned *out, int n, int w)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		unsigned v = surfCubemapread<unsigned>(s, i % w * 4, i / w % w, i / w / w, cudaBoundaryModeTrap);
		out[i] = v;
		surfCubemapwrite(v + 1, s, i % w * 4, i / w % w, i / w / w, cudaBoundaryModeTrap);
	}
}

/* How fast: every thread adds up `rounds` fetches at places that move through the texture. */
extern "C" __global__ void many_linear(T t, float *out, int rounds, int mask)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;
	for (int k = 0; k < rounds; k++)
		sum += tex1Dfetch<float>(t, (i + k * 37) & mask);
	out[i] = sum;
}

extern "C" __global__ void many_2d(T t, float *out, int rounds, float step)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0, x = (i & 255) + 0.25f, y = (i >> 8) + 0.25f;
	for (int k = 0; k < rounds; k++) {
		sum += tex2D<float>(t, x, y);
		x += step;
		y += step;
	}
	out[i] = sum;
}
