/*
 * tables_test.c: what the decoded form of a module takes, and that steps which are taken out of it change neither what
 * a kernel computes nor how its instructions are counted.
 */
#include "harness.h"

#define TABLE_BYTES_MOST 40 /* per instruction and operand of the text */

static void size_of(struct ptx_module *m, const char *name)
{
	struct ptx_table_size size;
	uint64_t each;

	if (!tap_ok(m != NULL, "%s is loaded", name))
		return;
	ptx_module_table_size(m, &size);
	each = size.bytes / (size.instructions + size.operands);
	ok(size.instructions > 20 && size.operands > size.instructions && size.operations > 20);
	ok(size.bytes > size.operations * 64);
	tap_ok(each <= TABLE_BYTES_MOST, "%s: %llu bytes per instruction and operand, at most %d", name,
	       (unsigned long long)each, TABLE_BYTES_MOST);
	ptx_module_free(m);
}

/* The text's kernels again and again under other names, until there are `most` bytes. */
static char *repeated(const char *text, size_t most, size_t *ret_bytes)
{
	const char *body = strstr(text, ".visible");
	char *all = malloc(most + 2 * strlen(text)), *to = all;

	memcpy(to, text, (size_t)(body - text));
	to += body - text;
	for (int copy = 0; (size_t)(to - all) < most; copy++)
		for (const char *p = body; *p;) {
			if (!strncmp(p, ".entry ", 7)) {
				to += sprintf(to, ".entry k%d_", copy);
				p += 7;
			} else {
				*to++ = *p++;
			}
		}
	*ret_bytes = (size_t)(to - all);
	return all;
}

/* What the compiler made: from a kernel of two dozen instructions to a text of 1 MiB. */
static void sizes(const char *folder)
{
	static const char *const name[] = { "../../../examples/kernels/saxpy.ptx", "../../../examples/kernels/matmul.ptx",
					    "basic.ptx", "../../softdev/kernels/texture.ptx",
					    "../../../bench/kernels/engine.ptx" };
	const size_t count = sizeof(name) / sizeof(name[0]);
	char path[512], *text, *large;
	size_t bytes;

	for (size_t i = 0; i < count; i++)
		size_of(load_file(folder, name[i], NULL), name[i]);
	snprintf(path, sizeof(path), "%s/%s", folder, name[count - 1]);
	text = read_file(path, &bytes);
	large = repeated(text, 1 << 20, &bytes);
	size_of(load_text(large, bytes, NULL), "a text of 1 MiB");
	free(large);
	free(text);
}

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"
#define ENTRY(name)                                                                                                    \
	".visible .entry " name "(.param .u64 p)\n{\n.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>;\n"

static uint32_t lane_of(uint32_t lane)
{
	return lane;
}

static uint32_t two_lanes(uint32_t lane)
{
	return lane * 3 + 1;
}

static uint32_t swapped(uint32_t lane)
{
	return 100 * (lane + 7) + lane;
}

static uint32_t carried(uint32_t lane)
{
	return lane + 4 + 1000 * (lane + 3);
}

static uint32_t guarded(uint32_t lane)
{
	return lane < 5 ? 77 : lane;
}

static const char text[] = HEAD
	/* copies of copies, a conversion of an address, a product and its sum */
	ENTRY("copies") "ld.param.u64 %rd1,[p]; cvta.to.global.u64 %rd2,%rd1; mov.u32 %r1,%tid.x; mov.u32 %r2,%r1;\n"
			"mov.b32 %r3,%r2; mul.wide.u32 %rd3,%r3,4; add.s64 %rd4,%rd2,%rd3; st.global.u32 [%rd4],%r3; "
			"ret;\n}\n"
	/* the source of a copy is written again before the copy is read, and what the product is made of */
	ENTRY("rewritten") "ld.param.u64 %rd1,[p]; mov.u32 %r1,%tid.x; mov.u32 %r2,%r1; mul.wide.u32 %rd3,%r1,4;\n"
			   "mad.lo.u32 %r1,%r1,2,1; add.s64 %rd4,%rd3,%rd1; add.u32 %r3,%r2,%r1; st.global.u32 "
			   "[%rd4],%r3; "
			   "ret;\n}\n" ENTRY("swap") "ld.param.u64 %rd1,[p]; mov.u32 %r1,%tid.x; add.u32 %r2,%r1,7; "
						     "mov.u32 %r3,%r1; mov.u32 %r1,%r2;\n"
						     "mov.u32 %r2,%r3; mad.lo.u32 %r4,%r1,100,%r2; mad.wide.u32 "
						     "%rd4,%r3,4,%rd1; st.global.u32 [%rd4],%r4; "
						     "ret;\n}\n"
	/* a value carried from one turn of a loop to the next */
	ENTRY("carry") "ld.param.u64 %rd1,[p]; mov.u32 %r9,%tid.x; mov.u32 %r1,%r9; mov.u32 %r5,0;\n"
		       "AGAIN: mov.u32 %r2,%r1; add.u32 %r1,%r1,1; add.u32 %r5,%r5,1; setp.lt.u32 %p1,%r5,4; @%p1 bra "
		       "AGAIN;\n"
		       "mad.lo.u32 %r4,%r2,1000,%r1; mad.wide.u32 %rd4,%r9,4,%rd1; st.global.u32 [%rd4],%r4; ret;\n}\n"
	/* a guarded copy is none; a guarded write ends one */
	ENTRY("guard") "ld.param.u64 %rd1,[p]; mov.u32 %r1,%tid.x; setp.lt.u32 %p1,%r1,5; mov.pred %p2,%p1; mov.u32 "
		       "%r2,%r1;\n"
		       "mov.u32 %r3,77; @%p2 mov.u32 %r2,%r3; mad.wide.u32 %rd4,%r1,4,%rd1; st.global.u32 [%rd4],%r2; "
		       "ret;\n}\n";

/* Every kernel writes a number per thread; `instructions` are those that one thread runs. */
static const struct {
	const char *name;
	uint32_t instructions;
	uint32_t (*want)(uint32_t lane);
} kernels[] = {
	{ "copies", 9, lane_of }, { "rewritten", 9, two_lanes }, { "swap", 10, swapped },
	{ "carry", 28, carried }, { "guard", 10, guarded },
};

static void counts(void)
{
	struct ptx_module *m = load_text(text, sizeof(text) - 1, NULL);

	if (!tap_ok(m != NULL, "the text is loaded"))
		return;
	for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
		struct ptx_launch l = { 0 };
		uint32_t *out, wrong = 0;

		device_reset();
		out = device_alloc(32 * 4);
		is(launch_with(&l, m, kernels[k].name, DIM(1), DIM(32), ARGS(PTR(out))), 0);
		for (uint32_t i = 0; i < 32; i++)
			wrong += out[i] != kernels[k].want(i);
		tap_ok(!wrong, "%s: %u threads with another result", kernels[k].name, wrong);
		is(l.stats.warp_instructions, kernels[k].instructions);
		is(l.stats.lane_instructions, kernels[k].instructions * 32);
	}
	ptx_module_free(m);
}

int main(int argc, char **argv)
{
	tap_begin();
	device_open(1);
	sizes(argv[1]);
	counts();
	device_close();
	return tap_end();
}
