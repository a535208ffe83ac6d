/* Textures and surfaces: linear memory, arrays of one to three dimensions and layers, filters, address modes, queries. */
#include "program.h"

enum { W = 16, H = 8, D = 4 };

#ifdef __CUDACC__

KERNEL fetch(cudaTextureObject_t linear, cudaTextureObject_t plane, cudaTextureObject_t smooth, cudaTextureObject_t volume,
	     cudaTextureObject_t layers, float *z)
{
	int x = threadIdx.x, y = threadIdx.y, i = y * W + x, width, height;
	float a, b, c, d, e, f, g, h;

	asm volatile("tex.1d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5}];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(linear), "r"(i));
	z[i * 8 + 0] = a;
	asm volatile("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
		     : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(plane), "f"(x + 0.5f - 3), "f"(y + 0.5f));
	z[i * 8 + 1] = a;
	asm volatile("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
		     : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(smooth), "f"((x + 1.0f) / W), "f"((y + 0.5f) / H));
	z[i * 8 + 2] = a;
	asm volatile("tex.3d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];"
		     : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(volume), "f"(x + 0.5f), "f"(y + 0.5f), "f"(i % D + 0.5f));
	z[i * 8 + 3] = a;
	asm volatile("tex.a2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];"
		     : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(layers), "r"(i % D), "f"(x + 0.5f), "f"(y + 0.5f));
	z[i * 8 + 4] = a;
	asm volatile("tld4.r.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
		     : "=f"(e), "=f"(f), "=f"(g), "=f"(h) : "l"(plane), "f"(x % (W - 1) + 1.0f), "f"(y % (H - 1) + 1.0f));
	z[i * 8 + 5] = e + f + g + h;
	asm volatile("txq.width.b32 %0, [%1];" : "=r"(width) : "l"(plane));
	asm volatile("txq.height.b32 %0, [%1];" : "=r"(height) : "l"(plane));
	z[i * 8 + 6] = width * 100 + height;
}

KERNEL paint(cudaSurfaceObject_t from, cudaSurfaceObject_t to, unsigned *sizes)
{
	int x = threadIdx.x, y = threadIdx.y, v, w, h;

	asm volatile("suld.b.2d.b32.trap {%0}, [%1, {%2, %3}];" : "=r"(v) : "l"(from), "r"((W - 1 - x) * 4), "r"(y));
	asm volatile("sust.b.2d.b32.trap [%0, {%1, %2}], {%3};" ::"l"(to), "r"(x * 4), "r"(y), "r"(v + 1) : "memory");
	/* beyond the edge: nothing happens, zero is read */
	asm volatile("sust.b.2d.b32.zero [%0, {%1, %2}], {%3};" ::"l"(to), "r"(x * 4 + W * 4), "r"(y), "r"(-1) : "memory");
	asm volatile("suld.b.2d.b32.zero {%0}, [%1, {%2, %3}];" : "=r"(v) : "l"(from), "r"(x * 4), "r"(y + H));
	asm volatile("sured.p.add.2d.b32.trap [%0, {%1, %2}], %3;" ::"l"(to), "r"(x), "r"(0), "r"(1000) : "memory");
	asm volatile("suq.width.b32 %0, [%1];" : "=r"(w) : "l"(from));
	asm volatile("suq.height.b32 %0, [%1];" : "=r"(h) : "l"(from));
	sizes[y * W + x] = w * 100 + h + v;
}

#else
#include PROGRAM_STUBS
#endif

static struct cudaTextureDesc description(enum cudaTextureAddressMode mode, enum cudaTextureFilterMode filter, int normalized)
{
	struct cudaTextureDesc d;

	memset(&d, 0, sizeof(d));
	d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = mode;
	d.filterMode = filter;
	d.readMode = cudaReadModeElementType;
	d.normalizedCoords = normalized;
	return d;
}

static cudaTextureObject_t texture_of(cudaArray_t array, struct cudaTextureDesc d)
{
	struct cudaResourceDesc r;
	cudaTextureObject_t object = 0;

	memset(&r, 0, sizeof(r));
	r.resType = cudaResourceTypeArray;
	r.res.array.array = array;
	CALL(cudaCreateTextureObject(&object, &r, &d, NULL));
	return object;
}

static cudaArray_t array_of(float *values, struct cudaChannelFormatDesc format, struct cudaExtent size, unsigned flags)
{
	struct cudaMemcpy3DParms copy;
	cudaArray_t array;

	CALL(cudaMalloc3DArray(&array, &format, size, flags));
	memset(&copy, 0, sizeof(copy));
	copy.srcPtr.ptr = values;
	copy.srcPtr.pitch = W * 4;
	copy.srcPtr.xsize = W;
	copy.srcPtr.ysize = H;
	copy.dstArray = array;
	copy.extent = size;
	if (!copy.extent.depth)
		copy.extent.depth = 1;
	copy.kind = cudaMemcpyHostToDevice;
	CALL(cudaMemcpy3D(&copy));
	return array;
}

static void try_textures(void)
{
	static float v[D * W * H], z[W * H * 8];
	struct cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
	struct cudaExtent flat = { W, H, 0 }, deep = { W, H, D };
	struct cudaTextureDesc nearest = description(cudaAddressModeClamp, cudaFilterModePoint, 0);
	struct cudaResourceDesc r;
	cudaTextureObject_t linear = 0, plane, smooth, volume, layers;
	cudaArray_t a, b, c;
	float *dz = DEVICE_ALLOC(float, W * H * 8), *dv;
	int i, x, y;

	for (i = 0; i < D * W * H; i++)
		v[i] = (float)(random32() % 4096);
	dv = DEVICE_COPY(float, v);
	memset(&r, 0, sizeof(r));
	r.resType = cudaResourceTypeLinear;
	r.res.linear.devPtr = dv;
	r.res.linear.desc = format;
	r.res.linear.sizeInBytes = W * H * 4;
	CALL(cudaCreateTextureObject(&linear, &r, &nearest, NULL));
	a = array_of(v, format, flat, cudaArrayTextureGather);
	b = array_of(v, format, deep, 0);
	c = array_of(v, format, deep, cudaArrayLayered);
	plane = texture_of(a, nearest);
	smooth = texture_of(a, description(cudaAddressModeWrap, cudaFilterModeLinear, 1));
	volume = texture_of(b, nearest);
	layers = texture_of(c, nearest);
	LAUNCH(fetch, 1, dim(W, H, 1), linear, plane, smooth, volume, layers, dz);
	BRING(z, dz);
	for (y = 0; y < H; y++)
		for (x = 0; x < W; x++) {
			float *to, *near_row = v + y * W, *row = v + y % (H - 1) * W + x % (W - 1);

			i = y * W + x;
			to = z + i * 8;
			CHECK(to[0] == v[i]);
			CHECK(to[1] == near_row[x < 3 ? 0 : x - 3]);
			CHECK(to[2] == (near_row[x] + near_row[(x + 1) % W]) / 2);
			CHECK(to[3] == v[i % D * W * H + i]);
			CHECK(to[4] == v[i % D * W * H + i]);
			CHECK(to[5] == row[0] + row[1] + row[W] + row[W + 1]);
			CHECK(to[6] == W * 100 + H);
		}
	CALL(cudaDestroyTextureObject(linear));
	CALL(cudaDestroyTextureObject(plane));
	CALL(cudaDestroyTextureObject(smooth));
	CALL(cudaDestroyTextureObject(volume));
	CALL(cudaDestroyTextureObject(layers));
	CALL(cudaFreeArray(a));
	CALL(cudaFreeArray(b));
	CALL(cudaFreeArray(c));
}

static void try_surfaces(void)
{
	static int v[W * H], z[W * H];
	static unsigned sizes[W * H];
	struct cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
	struct cudaResourceDesc r;
	cudaSurfaceObject_t from = 0, to = 0;
	cudaArray_t a, b;
	unsigned *ds = DEVICE_ALLOC(unsigned, W * H);
	int i;

	for (i = 0; i < W * H; i++)
		v[i] = (int)(random32() >> 8);
	CALL(cudaMallocArray(&a, &format, W, H, cudaArraySurfaceLoadStore));
	CALL(cudaMallocArray(&b, &format, W, H, cudaArraySurfaceLoadStore));
	CALL(cudaMemcpy2DToArray(a, 0, 0, v, W * 4, W * 4, H, cudaMemcpyHostToDevice));
	memset(&r, 0, sizeof(r));
	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	CALL(cudaCreateSurfaceObject(&from, &r));
	r.res.array.array = b;
	CALL(cudaCreateSurfaceObject(&to, &r));
	LAUNCH(paint, 1, dim(W, H, 1), from, to, ds);
	CALL(cudaMemcpy2DFromArray(z, W * 4, b, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
	BRING(sizes, ds);
	for (i = 0; i < W * H; i++) {
		/* the first row is painted and added to in an order that is open */
		int wanted = v[i / W * W + W - 1 - i % W] + 1;

		CHECK(i < W ? 1 : z[i] == wanted);
		CHECK(sizes[i] == W * 100 + H);
	}
	CALL(cudaDestroySurfaceObject(from));
	CALL(cudaDestroySurfaceObject(to));
	CALL(cudaFreeArray(a));
	CALL(cudaFreeArray(b));
}

int main(void)
{
	try_textures();
	try_surfaces();
	return program_end();
}
