/*
 * refuse_test.c: what the software device refuses, one by one: images, instructions, launches. The documented error,
 * and one line that names the thing.
 */
#include "soft.h"

#include <stdint.h>
#include <stdlib.h>

static char log_path[128];
static char line[4096];

/* What the log got since the last time. */
static const char *logged(void)
{
	FILE *f = fopen(log_path, "re");
	size_t n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;

	line[n] = 0;
	if (f)
		fclose(f);
	unlink(log_path);
	return line;
}

static void logs(const char *part)
{
	const char *text = logged();
	size_t n = strlen(text);

	if (!tap_ok(strstr(text, part) && n && text[n - 1] == '\n' && strchr(text, '\n') == text + n - 1,
		    "one line says \"%s\"", part))
		printf("# %s\n", text);
}

/* ---- images ---- */

struct fat {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes;
	uint16_t kind, unknown;
	uint32_t entry_bytes;
	uint64_t payload_bytes;
	uint32_t compressed_bytes, unknown2;
	uint16_t minor, major;
	uint32_t arch;
	uint32_t name_offset, name_bytes;
	uint64_t flags;
	uint64_t unknown3, whole_bytes;
	char payload[64];
};

static const struct fat machine_code = {
	.magic = 0xba55ed50,
	.version = 1,
	.header_bytes = 16,
	.bytes = sizeof(struct fat) - 16,
	.kind = 2,
	.entry_bytes = 64,
	.payload_bytes = 64,
	.major = 8,
	.minor = 0,
	.arch = 80,
	.flags = 0x11,
	.payload = "\177ELF of another architecture",
};

static void images(void)
{
	struct {
		uint32_t magic, version;
		const void *data, *aux;
	} wrapper = { 0x466243b1, 1, &machine_code, NULL };
	struct fat too_new = machine_code;
	CUlibrary l;
	CUmodule m;

	_Static_assert(sizeof(struct fat) == 16 + 64 + 64, "header, entry, payload");
	FAILS(cuModuleLoadData(&m, &machine_code), CUDA_ERROR_NO_BINARY_FOR_GPU);
	logs("the image holds machine code only: build with PTX for this device (-gencode "
	     "arch=compute_120,code=compute_120)");
	FAILS(cuModuleLoadFatBinary(&m, &wrapper), CUDA_ERROR_NO_BINARY_FOR_GPU);
	logs("-gencode arch=compute_120,code=compute_120");
	FAILS(cuLibraryLoadData(&l, &wrapper, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_NO_BINARY_FOR_GPU);
	logs("-gencode arch=compute_120,code=compute_120");
	too_new.kind = 1;
	too_new.arch = 121;
	strcpy(too_new.payload, ".version 8.7\n.target sm_121\n.address_size 64\n");
	FAILS(cuModuleLoadData(&m, &too_new), CUDA_ERROR_NO_BINARY_FOR_GPU);
	logs("the image holds PTX for sm_121, the device is sm_120: build for an older target");
	FAILS(cuModuleLoadData(&m, ".version 8.7\n.target sm_121\n.address_size 64\n"), CUDA_ERROR_INVALID_PTX);
	logs("sm_121");
	FAILS(cuModuleLoadData(&m, ".version 99.1\n.target sm_90\n.address_size 64\n"),
	      CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
	logs("99.1");
}

/* ---- texts ---- */

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

static const struct {
	const char *text, *line;
} texts[] = {
	{ HEAD ".visible .entry first()\n{\n\t.reg .b32 %r<3>;\n\tadd.u12 %r1, %r1, %r2;\n\tret;\n}\n",
	  "line 7, kernel first: unknown instruction add.u12" },
	{ HEAD ".func inner()\n{\n\tfrobnicate;\n\tret;\n}\n",
	  "line 6, function inner: unknown instruction frobnicate" },
	{ HEAD ".visible .entry k()\n{\n\tmov.u32 %r1, 0;\n}\n", "line 6, kernel k: unknown register %r1" },
	{ HEAD ".visible .entry k()\n{\n\tbra nowhere;\n}\n", "line 6, kernel k: unknown label nowhere" },
	{ HEAD ".extern .func (.param .b32 r) cudaDeviceSynchronize();\n"
	       ".visible .entry parent()\n{\n\t{\n\t.param .b32 r;\n\tcall.uni (r), cudaDeviceSynchronize;\n\t}\n"
	       "\tret;\n}\n",
	  "line 9, kernel parent: no function cudaDeviceSynchronize in this module: this part of the runtime library "
	  "in "
	  "kernels is not supported" },
	{ HEAD ".extern .func absent();\n.visible .entry k()\n{\n\tcall.uni absent;\n\tret;\n}\n",
	  "line 7, kernel k: no function absent in this module" },
	{ HEAD ".visible .entry wide()\n{\n\t.shared .align 4 .b8 room[49156];\n\t.reg .b32 %r<2>;\n"
	       "\tmov.u32 %r1, room;\n\tst.shared.u32 [%r1], %r1;\n\tret;\n}\n",
	  "wide: 49156 bytes of static shared memory, at most 49152 are allowed" },
	{ HEAD ".visible .entry k(\n", "line " },
};

static void refused_texts(void)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char buffer[512] = "";
		CUjit_option option[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
		void *value[] = { buffer, (void *)(uintptr_t)sizeof(buffer) };
		CUmodule m;

		FAILS(cuModuleLoadDataEx(&m, texts[i].text, 2, option, value), CUDA_ERROR_INVALID_PTX);
		logs(texts[i].line);
		if (!tap_ok(strstr(buffer, texts[i].line) != NULL, "so does the buffer of the load"))
			printf("# %s\n", buffer);
		is((uintptr_t)value[1], strlen(buffer) + 1);
	}
}

/* ---- launches ---- */

static const char kernels[] = HEAD ".visible .entry plain(.param .u64 p, .param .u32 n)\n{\n\tret;\n}\n"
				   ".visible .entry bound() .maxntid 64, 1, 1\n{\n\tret;\n}\n"
				   ".visible .entry exactly() .reqntid 32, 2, 1\n{\n\tret;\n}\n";

static void launches(void)
{
	static const struct {
		unsigned grid[3], block[3], shared;
		CUresult error;
	} shapes[] = {
		{ { 0, 1, 1 }, { 1, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 0, 1 }, { 1, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 1, 0 }, { 1, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 1, 1 }, { 0, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 1, 1 }, { 1, 0, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 1, 1 }, { 1, 1, 0 }, 0, CUDA_ERROR_INVALID_VALUE },
		{ { 0x80000000u, 1, 1 }, { 1, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 65536, 1 }, { 1, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 1, 65536 }, { 1, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 1, 1 }, { 1025, 1, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 1, 1 }, { 1, 1025, 1 }, 0, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 1, 1 }, { 1, 1, 65 }, 0, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 1, 1 }, { 32, 32, 2 }, 0, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 1, 1 }, { 1, 1, 1 }, (48 << 10) + 1, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 1, 1 }, { 1, 1, 1 }, 0xffffffff, CUDA_ERROR_INVALID_VALUE },
		{ { 1, 65535, 1 }, { 32, 1, 1 }, 48 << 10, CUDA_SUCCESS },
	};
	uint64_t p = 0;
	uint32_t n = 0;
	void *params[] = { &p, &n };
	CUfunction plain, bound, exactly;
	CUmodule m;

	CU(cuModuleLoadData(&m, kernels));
	CU(cuModuleGetFunction(&plain, m, "plain"));
	CU(cuModuleGetFunction(&bound, m, "bound"));
	CU(cuModuleGetFunction(&exactly, m, "exactly"));
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		FAILS(cuLaunchKernel(plain, shapes[i].grid[0], shapes[i].grid[1], shapes[i].grid[2], shapes[i].block[0],
				     shapes[i].block[1], shapes[i].block[2], shapes[i].shared, NULL, params, NULL),
		      shapes[i].error);
	FAILS(cuLaunchKernel(bound, 1, 1, 1, 65, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(exactly, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(cuLaunchKernel(exactly, 1, 1, 1, 32, 2, 1, 0, NULL, NULL, NULL));
	CU(cuCtxSynchronize());
	CU(cuModuleUnload(m));
	FAILS(cuLaunchKernel(plain, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);
	CU(cuCtxSynchronize());
}

static void parameters(void)
{
	static const char packed[16];
	size_t bytes = 12;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
			  &bytes, CU_LAUNCH_PARAM_END };
	void *no_size[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)packed, CU_LAUNCH_PARAM_END };
	void *no_buffer[] = { CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END };
	void *odd[] = { (void *)(uintptr_t)77, &bytes, CU_LAUNCH_PARAM_END };
	uint64_t p = 0;
	void *missing[] = { &p, NULL };
	CUfunction f;
	CUmodule m;

	CU(cuModuleLoadData(&m, kernels));
	CU(cuModuleGetFunction(&f, m, "plain"));
	CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	bytes = 11;
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
	bytes = 0;
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
	bytes = 12;
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, missing, extra), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, no_size), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, no_buffer), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, odd), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, missing, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(cuCtxSynchronize());
	CU(cuModuleUnload(m));
}

static void handles(void)
{
	CUcontext primary, other;
	CUfunction f, g;
	CUmodule m, n;
	CUstream s;
	uint64_t p = 0;
	uint32_t count = 0;
	void *params[] = { &p, &count };

	CU(cuCtxGetCurrent(&primary));
	CU(cuModuleLoadData(&m, kernels));
	CU(cuModuleGetFunction(&f, m, "plain"));
	CU(cuStreamCreate(&s, 0));
	CU(cuStreamDestroy(s));
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL), CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, (CUstream)0x1234, params, NULL), CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuLaunchKernel((CUfunction)0x1234, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);
	CU(cuCtxCreate(&other, NULL, 0, 0));
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);
	CU(cuModuleLoadData(&n, kernels));
	CU(cuModuleGetFunction(&g, n, "plain"));
	CU(cuCtxDestroy(other));
	CU(cuCtxSetCurrent(primary));
	FAILS(cuLaunchKernel(g, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuModuleGetFunction(&g, n, "plain"), CUDA_ERROR_INVALID_HANDLE);
	CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	CU(cuCtxSynchronize());
	CU(cuModuleUnload(m));
}

/* The table that a static runtime cannot do without; and another: NVRTC asks for such a one, and works without it. */
static void vendor_runtime(void)
{
	static const CUuuid other = { "0123456789abcde" };
	static const unsigned char runtime[16] = { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
						   0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 };
	const void *table = &other;

	logged();
	FAILS(cuGetExportTable(&table, &other), CUDA_ERROR_NOT_FOUND);
	ok(!table);
	is_str(logged(), "");
	FAILS(cuGetExportTable(&table, (const CUuuid *)runtime), CUDA_ERROR_NOT_FOUND);
	logs("refuse_test has NVIDIA's CUDA runtime linked into it, which accepts NVIDIA's driver only");
	FAILS(cuGetExportTable(&table, (const CUuuid *)runtime), CUDA_ERROR_NOT_FOUND);
	is_str(logged(), "");
}

int main(void)
{
	soft_begin("2", "64M");
	mkdir(soft_dir, 0700);
	snprintf(log_path, sizeof(log_path), "%s/log", soft_dir);
	setenv("METE_LOG", log_path, 1);
	soft_context();
	images();
	refused_texts();
	launches();
	parameters();
	handles();
	vendor_runtime();
	unlink(log_path);
	return soft_end();
}
