/* tensormap_test.c: cuTensorMap...: what is refused, and a kernel that copies by a map that the host has made. */
#include "softdev/soft.h"

#include <stdint.h>
#include <string.h>

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry tile(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 x, .param .u32 y) {\n"
	".shared .align 128 .b8 sm[1024]; .shared .align 8 .b64 mb; .reg .b64 %m, %o, %t; .reg .b32 %x, %y, %s, %i, "
	"%v;\n"
	".reg .pred %p, %q; mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %o, [out]; ld.param.u32 %x, [x];\n"
	"ld.param.u32 %y, [y]; mov.u32 %i, %tid.x; mov.u32 %s, sm; setp.ne.u32 %p, %i, 0; @%p bra there;\n"
	"mbarrier.init.shared::cta.b64 [mb], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [mb], 128;\n"
	"cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%m, {%x, %y}], [mb];\n"
	"wait: mbarrier.try_wait.parity.shared::cta.b64 %q, [mb], 0; @!%q bra wait;\n"
	"there: bar.sync 0; shl.b32 %i, %i, 2; add.u32 %s, %s, %i; ld.shared.u32 %v, [%s]; cvt.u64.u32 %t, %i;\n"
	"add.u64 %o, %o, %t; st.global.u32 [%o], %v; ret; }\n";

struct shape {
	cuuint64_t dim[2], stride[1];
	cuuint32_t box[2], step[2];
};

static CUresult encode(CUtensorMap *map, CUdeviceptr p, const struct shape *s)
{
	return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)p, s->dim, s->stride, s->box,
				      s->step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
				      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static void refusals(CUdeviceptr p)
{
	const struct shape good = { { 40, 10 }, { 160 }, { 8, 4 }, { 1, 1 } };
	struct shape bad[7];
	CUtensorMap map;

	for (int i = 0; i < 7; i++)
		bad[i] = good;
	bad[0].dim[1] = 0;
	bad[1].stride[0] = 168; /* no multiple of 16 */
	bad[2].box[0] = 9;	/* a line of 36 bytes */
	bad[3].box[1] = 257;
	bad[4].step[0] = 9;
	bad[5].stride[0] = (cuuint64_t)1 << 40;
	bad[6].box[1] = 0;
	for (int i = 0; i < 7; i++)
		FAILS(encode(&map, p, &bad[i]), CUDA_ERROR_INVALID_VALUE);
	FAILS(encode(&map, p + 4, &good), CUDA_ERROR_INVALID_VALUE);
	FAILS(encode(NULL, p, &good), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 6, (void *)p, good.dim, good.stride,
				     good.box, good.step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
				     CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
	      CUDA_ERROR_INVALID_VALUE);
	FAILS(cuTensorMapReplaceAddress(&map, (void *)(p + 8)), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuTensorMapReplaceAddress(NULL, (void *)p), CUDA_ERROR_INVALID_VALUE);
}

/* The box of 8 x 4 at (x, y) of 40 x 10; what lies outside is zero. */
static void tile(CUfunction f, CUtensorMap *map, CUdeviceptr out, int x, int y)
{
	void *arg[] = { map, &out, &x, &y };
	float got[32];
	int wrong = 0;

	CU(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, arg, NULL));
	CU(cuMemcpyDtoH(got, out, sizeof(got)));
	for (int i = 0; i < 32; i++) {
		const int cx = x + i % 8, cy = y + i / 8;
		const float want = cx < 0 || cx >= 40 || cy < 0 || cy >= 10 ? 0 : (float)(cy * 40 + cx);

		wrong += got[i] != want;
	}
	is(wrong, 0);
}

int main(void)
{
	const struct shape s = { { 40, 10 }, { 160 }, { 8, 4 }, { 1, 1 } };
	float values[400];
	CUdeviceptr array, other, out;
	_Alignas(64) char room[16 + sizeof(CUtensorMap)]; /* cuda-core's maps lie at multiples of 16 */
	CUtensorMap map;
	CUfunction f;
	CUmodule m;
	int there;

	soft_begin("1", "64M");
	soft_context();
	CU(cuDeviceGetAttribute(&there, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0));
	is(there, 1);
	CU(cuMemAlloc(&array, sizeof(values)));
	CU(cuMemAlloc(&other, sizeof(values)));
	CU(cuMemAlloc(&out, 128));
	for (int i = 0; i < 400; i++)
		values[i] = (float)i;
	CU(cuMemcpyHtoD(array, values, sizeof(values)));
	CU(cuMemcpyHtoD(other, values, sizeof(values)));
	CU(cuModuleLoadData(&m, ptx));
	CU(cuModuleGetFunction(&f, m, "tile"));
	refusals(array);
	CU(encode(&map, array, &s));
	tile(f, &map, out, 0, 0);
	CU(encode((CUtensorMap *)(void *)(room + 16), array, &s));
	memcpy(&map, room + 16, sizeof(map));
	tile(f, &map, out, 8, 4);
	tile(f, &map, out, 35, 8);
	tile(f, &map, out, -3, -2);
	CU(cuTensorMapReplaceAddress(&map, (void *)other));
	CU(cuMemFree(array));
	tile(f, &map, out, 16, 3);
	CU(cuModuleUnload(m));
	return soft_end();
}
