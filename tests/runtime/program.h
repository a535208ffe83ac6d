/*
 * program.h: what a program that nvcc built has in it, made by hand: an image with PTX, stubs of kernels, shadows of
 * variables, and the constructor that registers them. The tests are built three times, with the header and the library
 * of each version.
 */
#pragma once

#include "base/tap.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALL(call)                                                                                                     \
	({                                                                                                             \
		cudaError_t rt_e = (call);                                                                             \
		tap_ok(!rt_e, "%s:%d %s (%s)", __FILE__, __LINE__, #call, cudaGetErrorName(rt_e));                     \
		rt_e;                                                                                                  \
	})

#define FAILS(call, wanted)                                                                                            \
	({                                                                                                             \
		cudaError_t rt_e = (call);                                                                             \
		tap_ok(rt_e == (wanted), "%s:%d %s gives %s (%s)", __FILE__, __LINE__, #call, #wanted,                 \
		       cudaGetErrorName(rt_e));                                                                        \
	})

static const char program_ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .global .align 4 .u32 counter = 5;\n"
	".visible .const .align 4 .b8 table[64];\n"
	".visible .global .attribute(.managed) .align 4 .u32 shared_word = 7;\n"
	/* p[i] += x for i < n */
	".visible .entry add(.param .u64 p, .param .u32 n, .param .u32 x)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [n];\nld.param.u32 %r2, [x];\n"
	"mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %tid.x;\nmad.lo.s32 %r6, %r3, %r4, %r5;\n"
	"setp.ge.u32 %p, %r6, %r1;\n@%p bra DONE;\n"
	"cvta.to.global.u64 %d2, %d1;\nmul.wide.u32 %d3, %r6, 4;\nadd.s64 %d2, %d2, %d3;\n"
	"ld.global.u32 %r7, [%d2];\nadd.s32 %r7, %r7, %r2;\nst.global.u32 [%d2], %r7;\nDONE: ret;\n}\n"
	/* counter and shared_word go up by one per thread; *p = table[0] */
	".visible .entry count(.param .u64 p)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<3>;\n"
	"atom.global.add.u32 %r1, [counter], 1;\natom.global.add.u32 %r2, [shared_word], 1;\n"
	"ld.param.u64 %d1, [p];\nld.const.u32 %r3, [table];\nst.global.u32 [%d1], %r3;\nret;\n}\n"
	".visible .entry wild(.param .u64 p)\n{\n.reg .b64 %d;\nld.param.u64 %d, [p];\nst.global.u32 [%d], "
	"1;\nret;\n}\n"
	/* runs until *p is not 0 */
	".visible .entry await(.param .u64 p)\n{\n.reg .pred %p;\n.reg .b32 %r;\n.reg .b64 %d;\nld.param.u64 %d, [p];\n"
	"AGAIN:\nld.volatile.global.u32 %r, [%d];\nsetp.eq.u32 %p, %r, 0;\n@%p bra AGAIN;\nret;\n}\n"
	".visible .entry bounded() .maxntid 64, 1, 1\n{\n.shared .align 4 .b8 s[256];\nst.shared.u32 [s+4], "
	"1;\nret;\n}\n"
	/* *p = the texel at x, y */
	".visible .entry sample(.param .u64 t, .param .u64 p, .param .f32 x, .param .f32 y)\n{\n"
	".reg .f32 %f<6>;\n.reg .b64 %d<3>;\nld.param.u64 %d1, [t];\nld.param.u64 %d2, [p];\n"
	"ld.param.f32 %f1, [x];\nld.param.f32 %f2, [y];\n"
	"tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f0}, [%d1, {%f1, %f2}];\nst.global.f32 [%d2], %f3;\nret;\n}\n"
	/* *p = element i */
	".visible .entry fetch(.param .u64 t, .param .u64 p, .param .s32 i)\n{\n"
	".reg .b32 %r<6>;\n.reg .b64 %d<3>;\nld.param.u64 %d1, [t];\nld.param.u64 %d2, [p];\nld.param.u32 %r1, [i];\n"
	"tex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [%d1, {%r1}];\nst.global.u32 [%d2], %r2;\nret;\n}\n"
	/* the word at byte x of row y becomes v */
	".visible .entry store(.param .u64 s, .param .s32 x, .param .s32 y, .param .f32 v)\n{\n"
	".reg .b32 %r<4>;\n.reg .b64 %d;\nld.param.u64 %d, [s];\nld.param.u32 %r1, [x];\nld.param.u32 %r2, [y];\n"
	"ld.param.u32 %r3, [v];\nsust.b.2d.b32.trap [%d, {%r1, %r2}], {%r3};\nret;\n}\n";

/* A fat binary around it: wrapper, header, one entry of PTX. */
static struct {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes;
	struct {
		uint16_t kind, unknown;
		uint32_t header_bytes;
		uint64_t payload_bytes;
		uint32_t compressed_bytes, unknown2;
		uint16_t minor, major;
		uint32_t arch, name_offset, name_bytes;
		uint64_t flags, unknown3, uncompressed_bytes;
	} entry;
	char text[(sizeof(program_ptx) + 7) & ~7ul];
} program_image = { 0xBA55ED50, 1, 16, 0, { 1, 0x101, 64, 0, 0, 0, 0, 7, 70, 0, 0, 0x11, 0, 0 }, { 0 } };

static struct {
	uint32_t magic, version;
	const void *data, *aux;
} program_wrapper = { 0x466243b1, 1, &program_image, NULL };

/* The addresses by which programs name kernels and variables. */
static char add, count, wild, await, bounded, sample, fetch, store, counter, table, missing;
static unsigned *shared_word;
static void **program_handle;

static void program_register(void)
{
	memcpy(program_image.text, program_ptx, sizeof(program_ptx));
	program_image.entry.payload_bytes = sizeof(program_image.text);
	program_image.bytes = sizeof(program_image) - 16;
	program_handle = __cudaRegisterFatBinary(&program_wrapper);
#define KERNEL(name) __cudaRegisterFunction(program_handle, &name, &name, #name, -1, NULL, NULL, NULL, NULL, NULL)
	KERNEL(add);
	KERNEL(count);
	KERNEL(wild);
	KERNEL(await);
	KERNEL(bounded);
	KERNEL(sample);
	KERNEL(fetch);
	KERNEL(store);
	__cudaRegisterFunction(program_handle, &missing, &missing, "no_such_kernel", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterVar(program_handle, &counter, &counter, "counter", 0, 4, 0, 0);
	__cudaRegisterVar(program_handle, &table, &table, "table", 0, 64, 1, 0);
	__cudaRegisterManagedVar(program_handle, (void **)&shared_word, (char *)"shared_word", "shared_word", 0, 4, 0,
				 0);
	__cudaRegisterFatBinaryEnd(program_handle);
}

static inline cudaError_t launch_add(unsigned *p, unsigned n, unsigned x, cudaStream_t stream)
{
	void *args[] = { &p, &n, &x };
	struct dim3 grid = { (n + 127) / 128, 1, 1 }, block = { 128, 1, 1 };

	return cudaLaunchKernel(&add, grid, block, args, 0, stream);
}

static inline cudaError_t launch_one(const void *kernel, void *p, cudaStream_t stream)
{
	void *args[] = { &p };
	struct dim3 one = { 1, 1, 1 };

	return cudaLaunchKernel(kernel, one, one, args, 0, stream);
}

static char program_dir[64];

/* Devices of the test's own, and the program registered as its constructors would. */
static inline void program_begin(const char *devices)
{
	snprintf(program_dir, sizeof(program_dir), "%s/mete-test-%d", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm",
		 getpid());
	setenv("METE_SOFT_DIR", program_dir, 1);
	setenv("METE_SOFT_DEVICES", devices, 1);
	setenv("METE_SOFT_MEMORY", "256M", 1);
	setenv("METE_SOFT_SMS", "16", 1);
	unsetenv("CUDA_VISIBLE_DEVICES");
	tap_begin();
	program_register();
}

static inline int program_end(void)
{
	char command[128];

	__cudaUnregisterFatBinary(program_handle);
	snprintf(command, sizeof(command), "rm -rf %s", program_dir);
	ok(system(command) == 0);
	return tap_end();
}
