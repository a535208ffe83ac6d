/*
 * im2col_test.c: copies of pixels through tensor maps, im2col, and of four rows each, gather4 and scatter4.
 *
 * What must come is told by a list: all pixels between the corners, image after image, in the order of the manual
 * ("Im2col mode"); a copy takes so many of it from its first pixel on. Sizes, corners, steps, offsets and swizzles come
 * by chance, the same in each run.
 */
#include "softdev/soft.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 5, SHARED = 32768, ARRAY = 1 << 16, LIST = 8192 };
enum way { LOAD, STORE, REDUCE };

static uint64_t seed = 88172645463325252u;

static unsigned any_of(unsigned count)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 11) % count;
}

static int between(int least, int most)
{
	return least + (int)any_of((unsigned)(most - least + 1));
}

struct copy {
	unsigned rank, channels, pixels, swizzle, bytes;
	cuuint64_t dim[RANK], stride[RANK - 1];
	cuuint32_t step[RANK];
	int lower[RANK - 2], upper[RANK - 2], at[RANK], offset[RANK - 2];
	unsigned rows[4]; /* of gather4 and scatter4; channels are the columns then */
	bool four;
};

static uint32_t memory[ARRAY / 4], before[ARRAY / 4], want[ARRAY / 4];
static uint8_t shared[SHARED], image[SHARED];

/* Pieces of 16 bytes of each 128 are exchanged, as the manual's tables of swizzles show. */
static unsigned mixed(unsigned offset, unsigned swizzle)
{
	static const unsigned pieces[4] = { 1, 2, 4, 8 };

	return offset / 128 * 128 + ((offset % 128 / 16) ^ (offset / 128 % pieces[swizzle])) * 16 + offset % 16;
}

/* One element of a line: between array and shared memory. */
static void element(const struct copy *c, enum way way, unsigned line, unsigned i, const int *x)
{
	uint8_t *const there = shared + mixed((line * c->channels + i) * 4, c->swizzle);
	cuuint64_t at = (cuuint64_t)(c->at[0] + (int)i) * 4;
	bool in = c->at[0] + (int)i >= 0 && c->at[0] + (int)i < (int)c->dim[0];
	uint32_t v = 0;

	for (unsigned k = 1; k < c->rank; k++) {
		in = in && x[k] >= 0 && x[k] < (int)c->dim[k];
		at += (cuuint64_t)x[k] * c->stride[k - 1];
	}
	if (way == LOAD) {
		v = in ? want[at / 4] : 0;
		memcpy(there, &v, 4);
		return;
	}
	memcpy(&v, there, 4);
	if (in)
		want[at / 4] = way == REDUCE ? want[at / 4] + v : v;
}

static int pixel[LIST][RANK];

/* All pixels of the box of each image, one after the other; images go on behind the array. */
static unsigned list_pixels(const struct copy *c)
{
	const int depth_from = c->rank > 4 ? c->lower[2] : 0, depth_to = c->rank > 4 ? (int)c->dim[3] + c->upper[2] : 1;
	const int height_from = c->rank > 3 ? c->lower[1] : 0,
		  height_to = c->rank > 3 ? (int)c->dim[2] + c->upper[1] : 1;
	unsigned n = 0;

	for (int image_number = 0; n < LIST; image_number++)
		for (int d = depth_from; d<depth_to; d += c->rank> 4 ? (int)c->step[3] : 1)
			for (int h = height_from; h<height_to; h += c->rank> 3 ? (int)c->step[2] : 1)
				for (int w = c->lower[0]; w < (int)c->dim[1] + c->upper[0] && n < LIST;
				     w += (int)c->step[1], n++) {
					pixel[n][1] = w;
					pixel[n][2] = h;
					pixel[n][3] = d;
					pixel[n][c->rank - 1] = image_number;
				}
	return n;
}

static void expect(const struct copy *c, enum way way, unsigned first)
{
	int x[RANK];

	for (unsigned line = 0; line < c->pixels; line++) {
		for (unsigned k = 1; k < c->rank; k++)
			x[k] = c->four ? (int)c->rows[line]
				       : pixel[first + line][k] + (k < c->rank - 1 ? c->offset[k - 1] : 0);
		for (unsigned i = 0; i < c->channels; i++)
			element(c, way, line, i, x);
	}
}

/* Shared memory comes from `in` and goes to `out`; thread 0 copies. */
static void write_kernel(char *text, size_t room, const struct copy *c, enum way way)
{
	static const char *const head[] = {
		("mbarrier.init.shared::cta.b64 [mb], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [mb], %u;\n"
		 "cp.async.bulk.tensor.%ud.shared::cta.global.%s.mbarrier::complete_tx::bytes [%%s], "),
		"cp.async.bulk.tensor.%ud.global.shared::cta.%s.bulk_group ",
		"cp.reduce.async.bulk.tensor.%ud.global.shared::cta.add.%s.bulk_group "
	};
	const char *mode = way == LOAD ? c->four ? "tile::gather4" : "im2col"
			   : c->four   ? "tile::scatter4"
				       : "im2col_no_offs";
	size_t n = (size_t)snprintf(
		text, room,
		".version 8.7\n.target sm_100a\n.address_size 64\n"
		".visible .entry k(.param .align 64 .b8 map[128], .param .u64 in, .param .u64 out) {\n"
		".shared .align 1024 .b8 sm[%u]; .shared .align 8 .b64 mb; .reg .b64 %%m, %%i, %%o, %%t, %%u;\n"
		".reg .b32 %%s, %%x, %%y, %%v; .reg .pred %%p, %%q;\n"
		"mov.b64 %%m, map; cvta.param.u64 %%m, %%m; ld.param.u64 %%i, [in]; ld.param.u64 %%o, [out];\n"
		"mov.u32 %%s, sm; mov.u32 %%x, %%tid.x; shl.b32 %%x, %%x, 2;\n"
		"fill: cvt.u64.u32 %%t, %%x; add.u64 %%u, %%i, %%t; ld.global.u32 %%v, [%%u]; add.u32 %%y, %%s, %%x;\n"
		"st.shared.u32 [%%y], %%v; add.u32 %%x, %%x, 128; setp.lt.u32 %%p, %%x, %u; @%%p bra fill; bar.sync "
		"0;\n"
		"mov.u32 %%x, %%tid.x; setp.ne.u32 %%p, %%x, 0; @%%p bra there;\n",
		SHARED, SHARED);

	if (way == LOAD)
		n += (size_t)snprintf(text + n, room - n, head[way], c->bytes, c->rank, mode);
	else
		n += (size_t)snprintf(text + n, room - n, head[way], c->rank, mode);
	n += (size_t)snprintf(text + n, room - n, "[%%m, {%d", c->at[0]);
	for (unsigned i = 1; i < (c->four ? 5 : c->rank); i++)
		n += (size_t)snprintf(text + n, room - n, ", %d", c->four ? (int)c->rows[i - 1] : c->at[i]);
	n += (size_t)snprintf(text + n, room - n, "}], %s", way == LOAD ? "[mb]" : "[%s]");
	for (unsigned i = 0; way == LOAD && !c->four && i < c->rank - 2; i++)
		n += (size_t)snprintf(text + n, room - n, "%s%d%s", i ? ", " : ", {", c->offset[i],
				      i == c->rank - 3 ? "}" : "");
	snprintf(text + n, room - n,
		 ";\n%s\nthere: bar.sync 0; shl.b32 %%x, %%x, 2;\n"
		 "dump: cvt.u64.u32 %%t, %%x; add.u64 %%u, %%o, %%t; add.u32 %%y, %%s, %%x; ld.shared.u32 %%v, [%%y];\n"
		 "st.global.u32 [%%u], %%v; add.u32 %%x, %%x, 128; setp.lt.u32 %%p, %%x, %u; @%%p bra dump; ret; }\n",
		 way == LOAD ? "wait: mbarrier.try_wait.parity.shared::cta.b64 %q, [mb], 0; @!%q bra wait;"
			     : "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
		 SHARED);
}

static CUresult encode(CUtensorMap *map, CUdeviceptr p, const struct copy *c)
{
	const cuuint32_t box[2] = { c->channels, 1 };

	if (c->four)
		return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_UINT32, c->rank, (void *)p, c->dim,
					      c->stride, box, c->step, CU_TENSOR_MAP_INTERLEAVE_NONE,
					      (CUtensorMapSwizzle)c->swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
					      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
	return cuTensorMapEncodeIm2col(map, CU_TENSOR_MAP_DATA_TYPE_UINT32, c->rank, (void *)p, c->dim, c->stride,
				       c->lower, c->upper, c->channels, c->pixels, c->step,
				       CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)c->swizzle,
				       CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static bool run(const struct copy *c, enum way way, unsigned first, CUdeviceptr array, CUdeviceptr in, CUdeviceptr out)
{
	char text[8192];
	CUtensorMap map;
	CUmodule m;
	CUfunction f;
	void *arg[] = { &map, &in, &out };
	uint8_t got[SHARED];
	bool good;

	for (unsigned i = 0; i < ARRAY / 4; i++)
		before[i] = (uint32_t)any_of(1u << 30);
	for (unsigned i = 0; i < SHARED; i++)
		image[i] = (uint8_t)any_of(256);
	memcpy(want, before, ARRAY);
	memcpy(shared, image, SHARED);
	write_kernel(text, sizeof(text), c, way);
	if (cuMemcpyHtoD(array, before, ARRAY) || cuMemcpyHtoD(in, image, SHARED) || encode(&map, array, c)) {
		printf("# no map\n");
		return false;
	}
	if (cuModuleLoadData(&m, text)) {
		printf("# not loaded: %s\n", text);
		return false;
	}
	if (cuModuleGetFunction(&f, m, "k") || cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, arg, NULL) ||
	    cuMemcpyDtoH(got, out, SHARED) || cuMemcpyDtoH(memory, array, ARRAY) || cuModuleUnload(m)) {
		printf("# does not run: %s\n", text);
		return false;
	}
	expect(c, way, first);
	good = !memcmp(got, shared, SHARED) && !memcmp(memory, want, ARRAY);
	if (!good)
		printf("# way %d rank %u channels %u pixels %u swizzle %u%s: shared %s, array %s\n", way, c->rank,
		       c->channels, c->pixels, c->swizzle, c->four ? ", four rows" : "",
		       memcmp(got, shared, SHARED) ? "differs" : "same",
		       memcmp(memory, want, ARRAY) ? "differs" : "same");
	return good;
}

/* A line of four elements or more, within the swizzle's width. */
static void any_line(struct copy *c)
{
	c->swizzle = any_of(4);
	c->channels = c->swizzle ? 4u << any_of(c->swizzle + 1) : 4 * (1 + any_of(6));
	c->dim[0] = 1 + any_of(24);
	c->stride[0] = (c->dim[0] * 4 + 15) / 16 * 16;
	c->at[0] = between(-2, (int)c->dim[0]);
	c->step[0] = 1 + any_of(3); /* counts for nothing */
}

static struct copy any_pixels(unsigned rank, enum way way, unsigned *ret_first)
{
	struct copy c = { .rank = rank };
	unsigned count;

	any_line(&c);
	c.pixels = 1 + any_of(60);
	for (unsigned i = 1; i < rank; i++) {
		c.dim[i] = 2 + any_of(i == 1 ? 8 : 3);
		if (i < rank - 1)
			c.stride[i] = c.stride[i - 1] * c.dim[i];
		c.step[i] = i < rank - 1 ? 1 + any_of(3) : 1;
	}
	for (unsigned i = 0; i < rank - 2; i++) {
		c.lower[i] = between(-2, 1);
		c.upper[i] = between(c.lower[i] + 1 - (int)c.dim[i + 1], 2);
		c.offset[i] = way == LOAD ? (int)any_of(3) : 0;
	}
	count = list_pixels(&c);
	do /* not further than two images behind the array */
		*ret_first = any_of(count);
	while (pixel[*ret_first][rank - 1] > (int)c.dim[rank - 1] + 1 || *ret_first + c.pixels > count);
	for (unsigned i = 1; i < rank; i++)
		c.at[i] = pixel[*ret_first][i];
	c.bytes = c.pixels * c.channels * 4;
	return c;
}

static struct copy any_rows(void)
{
	struct copy c = { .rank = 2, .four = true, .pixels = 4 };

	any_line(&c);
	c.dim[1] = 3 + any_of(20);
	c.step[1] = 1;
	for (unsigned i = 0; i < 4; i++) /* each another one, so that the order of stores does not matter */
		c.rows[i] = (any_of(5) * 4 + i) % 25;
	c.bytes = 16 * c.channels;
	return c;
}

static void refusals(CUdeviceptr p)
{
	struct copy c = { .rank = 4,
			  .channels = 8,
			  .pixels = 16,
			  .dim = { 8, 4, 4, 2 },
			  .stride = { 32, 128, 512 },
			  .step = { 1, 1, 1, 1 },
			  .lower = { -1, -1 },
			  .upper = { 1, 1 } };
	struct copy bad[7];
	CUtensorMap map;

	CU(encode(&map, p, &c));
	for (int i = 0; i < 7; i++)
		bad[i] = c;
	bad[0].rank = 2;
	bad[1].lower[1] = -129; /* beyond what four dimensions allow */
	bad[2].upper[0] = 128;
	bad[3].pixels = 1025;
	bad[4].channels = 3; /* a line of 12 bytes */
	bad[5].pixels = 0;
	bad[6].step[1] = 9;
	for (int i = 0; i < 7; i++)
		FAILS(encode(&map, p, &bad[i]), CUDA_ERROR_INVALID_VALUE);
}

/* A map of tiles in an im2col, offsets that are missing, and a mode that there is not. */
static void faults(CUdeviceptr array, CUdeviceptr out)
{
	static const char *const bad[] = {
		"cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r], [%d, {%r, %r, "
		"%r}], [%r];",
		"cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r], [%d, {%r, %r, "
		"%r, %r}], "
		"[%r], {0};",
		"cp.async.bulk.tensor.2d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r], [%d, {%r, %r}], "
		"[%r], {0};",
		"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r], [%d, {%r, "
		"%r}], "
		"[%r];",
		"cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes [%r], [%d, {%r, %r, "
		"%r}], "
		"[%r], {0, 0};",
	};
	struct copy c = { .rank = 3,
			  .channels = 8,
			  .pixels = 4,
			  .bytes = 128,
			  .dim = { 8, 4, 4 },
			  .stride = { 32, 128 },
			  .step = { 1, 1, 1 } };
	const cuuint32_t box[3] = { 8, 4, 1 };
	char text[8192];
	CUtensorMap map;
	CUfunction f;
	CUmodule m;
	void *arg[] = { &map, &array, &out };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text),
			 ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k() { .reg .b32 %%r; .reg "
			 ".b64 %%d;\n%s "
			 "ret; }\n",
			 bad[i]);
		FAILS(cuModuleLoadData(&m, text), CUDA_ERROR_INVALID_PTX);
	}
	write_kernel(text, sizeof(text), &c, LOAD);
	CU(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 3, (void *)array, c.dim, c.stride, box, c.step,
				  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
				  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
	CU(cuModuleLoadData(&m, text));
	CU(cuModuleGetFunction(&f, m, "k"));
	CU(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, arg, NULL));
	FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_INSTRUCTION);
}

int main(void)
{
	static const char *const names[] = { "loads", "stores", "reductions" };
	CUdeviceptr array, in, out;

	setenv("METE_SOFT_CC", "10.0", 1); /* which has gather4 and scatter4 */
	soft_begin("1", "64M");
	soft_context();
	CU(cuMemAlloc(&array, ARRAY));
	CU(cuMemAlloc(&in, SHARED));
	CU(cuMemAlloc(&out, SHARED));
	refusals(array);
	for (enum way way = LOAD; way <= REDUCE; way++) {
		bool good = true;

		for (unsigned i = 0; i < 45; i++) {
			unsigned first;
			const struct copy c = any_pixels(3 + i % 3, way, &first);

			good = run(&c, way, first, array, in, out) && good;
		}
		tap_ok(good, "%s of pixels", names[way]);
	}
	for (enum way way = LOAD; way <= STORE; way++) {
		bool good = true;

		for (unsigned i = 0; i < 20; i++) {
			const struct copy c = any_rows();

			good = run(&c, way, 0, array, in, out) && good;
		}
		tap_ok(good, "%s of four rows", names[way]);
	}
	faults(array, out);
	return soft_end();
}
