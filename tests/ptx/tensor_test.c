/*
 * tensor_test.c: boxes of arrays of one to five dimensions between global and shared memory through tensor maps, which
 * kernels make themselves with tensormap.replace, against a plain walk over the box. Places outside the array, steps,
 * swizzles and reductions come by chance, the same in each run.
 */
#include "numbers.h"
#include "softdev/ptx/tensor.h"

#include <stdlib.h>

enum { SHARED = 32768, RANK = 5 };
enum way { LOAD, STORE, REDUCE };

struct copy {
	unsigned rank, size, type, swizzle; /* size: bytes of an element */
	unsigned dim[RANK], box[RANK], step[RANK];
	unsigned long stride[RANK]; /* bytes; of dimension 0 the size */
	int at[RANK];
	bool not_a_number;
};

static unsigned any_of(unsigned count)
{
	return (unsigned)(random_bits() % count);
}

static void say_replace(const char *field, int which, unsigned long value, bool wide)
{
	say("tensormap.replace.tile.%s.shared::cta.b1024.b%d [%%m], ", field, wide ? 64 : 32);
	if (which >= 0)
		say("%d, ", which);
	say("%lu;\n", value);
}

static void write_kernel(const struct copy *c, enum way way, unsigned bytes)
{
	text_bytes = 0;
	say(".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 pm, .param .u64 pi, .param "
	    ".u64 po, "
	    ".param .u64 pa)\n{\n.shared .align 1024 .b8 sm[%u]; .shared .align 128 .b8 mp[128]; .shared .align 8 .b64 "
	    "mb;\n"
	    ".reg .b64 %%p<8>; .reg .b32 %%r<16>, %%c<5>, %%m, %%s; .reg .pred %%q<4>;\n"
	    "ld.param.u64 %%p0, [pm]; ld.param.u64 %%p1, [pi]; ld.param.u64 %%p2, [po]; ld.param.u64 %%p3, [pa];\n"
	    "mov.u32 %%r0, %%tid.x; mov.u32 %%m, mp; mov.u32 %%s, sm; shl.b32 %%r1, %%r0, 2;\n"
	    "add.u32 %%r4, %%m, %%r1; mov.u32 %%r5, 0; st.shared.u32 [%%r4], %%r5;\n"
	    "in: cvt.u64.u32 %%p4, %%r1; add.u64 %%p4, %%p4, %%p1; ld.global.u32 %%r2, [%%p4]; add.u32 %%r3, %%s, "
	    "%%r1;\n"
	    "st.shared.u32 [%%r3], %%r2; add.u32 %%r1, %%r1, 128; setp.lt.u32 %%q0, %%r1, %u; @%%q0 bra in;\n"
	    "bar.sync 0; setp.ne.u32 %%q1, %%r0, 0; @%%q1 bra made;\n",
	    SHARED, SHARED);
	say("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%%m], %%p3;\n");
	say_replace("rank", -1, c->rank - 1, false);
	for (unsigned i = 0; i < c->rank; i++) {
		say_replace("global_dim", (int)i, c->dim[i], false);
		say_replace("box_dim", (int)i, c->box[i], false);
		say_replace("element_stride", (int)i, c->step[i], false);
		if (i)
			say_replace("global_stride", (int)i - 1, c->stride[i], true);
	}
	say_replace("elemtype", -1, c->type, false);
	say_replace("interleave_layout", -1, 0, false);
	say_replace("swizzle_mode", -1, c->swizzle, false);
	say_replace("fill_mode", -1, c->not_a_number, false);
	say("mbarrier.init.shared::cta.b64 [mb], 1;\nmade:\nbar.warp.sync 0xffffffff;\n"
	    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%%p0], [%%m], "
	    "128;\n"
	    "fence.proxy.tensormap::generic.acquire.gpu [%%p0], 128;\nbar.sync 0;\n@%%q1 bra out;\n");
	for (unsigned i = 0; i < c->rank; i++)
		say("mov.s32 %%c%u, %d;\n", i, c->at[i]);
	if (way == LOAD)
		say("mbarrier.arrive.expect_tx.shared::cta.b64 _, [mb], "
		    "%u;\ncp.async.bulk.tensor.%ud.shared::cluster.global.tile."
		    "mbarrier::complete_tx::bytes [%%s], [%%p0, {",
		    bytes, c->rank);
	else if (way == STORE)
		say("cp.async.bulk.tensor.%ud.global.shared::cta.tile.bulk_group [%%p0, {", c->rank);
	else
		say("cp.reduce.async.bulk.tensor.%ud.global.shared::cta.add.tile.bulk_group [%%p0, {", c->rank);
	for (unsigned i = 0; i < c->rank; i++)
		say("%s%%c%u", i ? ", " : "", i);
	if (way == LOAD)
		say("}], [mb];\nwait: mbarrier.try_wait.parity.shared::cta.b64 %%q2, [mb], 0;\n@!%%q2 bra wait;\n");
	else
		say("}], [%%s];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n");
	say("out: bar.sync 0; shl.b32 %%r1, %%r0, 2;\n"
	    "dump: add.u32 %%r3, %%s, %%r1; ld.shared.u32 %%r2, [%%r3]; cvt.u64.u32 %%p4, %%r1; add.u64 %%p4, %%p4, "
	    "%%p2;\n"
	    "st.global.u32 [%%p4], %%r2; add.u32 %%r1, %%r1, 128; setp.lt.u32 %%q0, %%r1, %u; @%%q0 bra "
	    "dump;\nret;\n}\n",
	    SHARED);
}

/* Where byte `offset` of the box lies in shared memory: the manual's swizzles exchange pieces of 16 bytes. */
static unsigned mixed(unsigned offset, unsigned swizzle)
{
	static const unsigned pieces[4] = { 1, 2, 4, 8 };

	return offset / 128 * 128 + ((offset % 128 / 16) ^ (offset / 128 % pieces[swizzle])) * 16 + offset % 16;
}

/* What global and shared memory must be after the copy. */
static void walk(const struct copy *c, enum way way, uint8_t *array, uint8_t *shared)
{
	unsigned count[RANK], index[RANK] = { 0 }, offset = 0;

	for (unsigned i = 0; i < c->rank; i++)
		count[i] = (c->box[i] + c->step[i] - 1) / c->step[i];
	for (;;) {
		unsigned long at = 0;
		bool in = true;
		uint8_t *box = shared + mixed(offset, c->swizzle);
		unsigned i;

		for (i = 0; i < c->rank; i++) {
			const long x = c->at[i] + (long)index[i] * c->step[i];

			in = in && x >= 0 && x < (long)c->dim[i];
			at += (unsigned long)x * c->stride[i];
		}
		if (way == LOAD && in) {
			memcpy(box, array + at, c->size);
		} else if (way == LOAD) {
			const uint64_t fill = !c->not_a_number ? 0 : c->size == 2 ? 0x7fff : 0x7fffffff;

			memcpy(box, &fill, c->size);
		} else if (in && way == STORE) {
			memcpy(array + at, box, c->size);
		} else if (in) {
			uint32_t a, b;

			memcpy(&a, array + at, 4);
			memcpy(&b, box, 4);
			a += b;
			memcpy(array + at, &a, 4);
		}
		offset += c->size;
		for (i = 0; i < c->rank && ++index[i] == count[i]; i++)
			index[i] = 0;
		if (i == c->rank)
			return;
	}
}

static bool copy_case(const struct copy *c, enum way way)
{
	const struct ptx_options options = { .arch = 90 };
	const unsigned long room = c->stride[c->rank - 1] * c->dim[c->rank - 1];
	uint8_t *map, *image, *out, *array, *want_array = malloc(room), *want = malloc(SHARED);
	unsigned bytes = c->size;
	struct ptx_module *m;
	bool good;

	device_reset();
	map = device_alloc(128);
	image = device_alloc(SHARED);
	out = device_alloc(SHARED);
	array = device_alloc(room);
	for (unsigned i = 0; i < SHARED; i++)
		image[i] = (uint8_t)random_bits();
	for (unsigned long i = 0; i < room; i++)
		array[i] = (uint8_t)random_bits();
	memcpy(want_array, array, room);
	memcpy(want, image, SHARED);
	for (unsigned i = 0; i < c->rank; i++)
		bytes *= (c->box[i] + c->step[i] - 1) / c->step[i];
	write_kernel(c, way, bytes);
	m = load_text(text, text_bytes, &options);
	good = m && !launch(m, "k", DIM(1), DIM(32), ARGS(PTR(map), PTR(image), PTR(out), PTR(array)));
	ptx_module_free(m);
	walk(c, way, want_array, want);
	good = good && !memcmp(want_array, array, room) && !memcmp(want, out, SHARED);
	if (!good) {
		printf("# way %d rank %u size %u swizzle %u nan %d:", way, c->rank, c->size, c->swizzle,
		       c->not_a_number);
		for (unsigned i = 0; i < c->rank; i++)
			printf(" [%u of %u at %d by %u]", c->box[i], c->dim[i], c->at[i], c->step[i]);
		printf(" array %s, shared %s\n", memcmp(want_array, array, room) ? "differs" : "same",
		       memcmp(want, out, SHARED) ? "differs" : "same");
	}
	free(want_array);
	free(want);
	return good;
}

static struct copy any_copy(unsigned rank, enum way way)
{
	static const struct {
		unsigned size, type;
	} types[] = { { 1, 0 }, { 2, 1 }, { 4, 2 }, { 8, 4 }, { 2, 6 }, { 4, 7 }, { 2, 10 } };
	const unsigned k = way == REDUCE ? 2 : any_of(7);
	struct copy c = { .rank = rank, .size = types[k].size, .type = types[k].type, .swizzle = any_of(4) };
	unsigned line, left = 8192;

	c.not_a_number = way == LOAD && types[k].type > 5 && any_of(2);
	/* a line of 16 bytes or more, within the swizzle's width */
	line = c.swizzle ? 16u << any_of(c.swizzle + 1) : 16 * (1 + any_of(6));
	for (unsigned i = 0; i < rank; i++) {
		const unsigned many = i ? 1 + any_of(left / line < 9 ? left / line : 9) : line / c.size;

		c.step[i] = any_of(4) ? 1 : 1 + any_of(3);
		if (many * c.step[i] > 256)
			c.step[i] = 1;
		c.box[i] = many * c.step[i];
		left /= i ? many : 1;
		c.dim[i] = 1 + any_of(i > 1 ? 5 : i ? 12 : 200);
		c.stride[i] = !i       ? c.size
			      : i == 1 ? (c.stride[0] * c.dim[0] + 15) / 16 * 16 + 16 * any_of(2)
				       : c.stride[i - 1] * c.dim[i - 1];
		c.at[i] = (int)any_of(c.dim[i] + c.box[i]) - (int)c.box[i] / 2;
	}
	return c;
}

/* A copy of a wrong rank, to a wrong place, and from a map that is none end the launch. */
static void test_faults(void)
{
	const struct ptx_options options = { .arch = 90 };
	struct copy c = {
		.rank = 1, .size = 4, .type = 2, .dim = { 64 }, .box = { 32 }, .step = { 1 }, .stride = { 4 }
	};
	struct ptx_launch l = { 0 };
	struct ptx_module *m;
	uint8_t *map, *image, *out;

	device_reset();
	map = device_alloc(128);
	image = device_alloc(SHARED);
	out = device_alloc(SHARED);
	c.type = 13; /* packed values */
	write_kernel(&c, LOAD, 128);
	m = load_text(text, text_bytes, &options);
	is(launch_with(&l, m, "k", DIM(1), DIM(32), ARGS(PTR(map), PTR(image), PTR(out), PTR(image))), 1);
	is(l.fault.kind, PTX_FAULT_ILLEGAL_INSTRUCTION);
	ptx_module_free(m);
	c.type = 2;
	write_kernel(&c, LOAD, 128);
	m = load_text(text, text_bytes, &options);
	is(launch_with(&l, m, "k", DIM(1), DIM(32), ARGS(PTR(map), PTR(image), PTR(out), 64)), 1);
	is(l.fault.kind, PTX_FAULT_ILLEGAL_ADDRESS);
	ptx_module_free(m);
	/* a map of nobody's making, whose pixels have as many bytes as there is room for, but for 2^32 */
	*(struct tensor_map *)(void *)map = (struct tensor_map){ .address = (uintptr_t)out,
								  .stride = { 16, 16 },
								  .dim = { 2, 1, 1 },
								  .box = { 12288, 43691 },
								  .step = { 1, 1, 1 },
								  .rank_less = 2,
								  .type = TENSOR_u64,
								  .im2col = 1 };
	text_bytes = 0;
	say(".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 pm) { .reg .b64 %%p; .reg "
	    ".b32 %%r; .shared .align 128 .b8 sm[%u]; .shared .align 8 .b64 mb;\n"
	    "ld.param.u64 %%p, [pm]; mov.u32 %%r, 0; cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::"
	    "complete_tx::bytes [sm], [%%p, {%%r, %%r, %%r}], [mb], {0}; ret; }\n",
	    SHARED);
	m = load_text(text, text_bytes, &options);
	is(launch_with(&l, m, "k", DIM(1), DIM(1), ARGS(PTR(map))), 1);
	is(l.fault.kind, PTX_FAULT_ILLEGAL_INSTRUCTION);
	ptx_module_free(m);
	text_bytes = 0;
	say(".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() { .reg .b64 %%p; .reg .b32 %%r;\n"
	    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%%p, {%%r}], [%%r]; ret; }\n");
	m = NULL;
	is(ptx_module_load(&(struct ptx_text){ text, text_bytes }, 1, &options, &m, NULL, 0), PTX_INVALID);
}

int main(void)
{
	static const char *const names[] = { "loads", "stores", "reductions" };

	tap_begin();
	device_open(1);
	for (enum way way = LOAD; way <= REDUCE; way++) {
		bool good = true;

		for (unsigned i = 0; i < 60; i++) {
			const struct copy c = any_copy(1 + i % RANK, way);

			good = copy_case(&c, way) && good;
		}
		tap_ok(good, "%s through tensor maps", names[way]);
	}
	test_faults();
	device_close();
	return tap_end();
}
