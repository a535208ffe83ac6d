/*
 * static_runtime.c: see static_runtime.h.
 *
 * Which table: a program built with nvcc 13.0 and a static runtime asks for two, and its calls answer
 * cudaErrorSymbolNotFound (500) after the second, runtime_table, was refused. NVRTC and nvJitLink ask for the first
 * one, tools_table, alone and work without it; cuFFT 12 asks for it alone, too, and its calls answer
 * CUFFT_INTERNAL_ERROR then. All was seen with a debugger; tests/softdev/refuse_test.c asks for the second.
 */
#include "base/static_runtime.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const uint8_t runtime_table[16] = { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
					   0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 };

static const uint8_t tools_table[16] = { 0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48,
					 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2 };

/* Libraries whose calls fail once tools_table was refused. */
static const char *const wants_tools[] = { "libcufft.so" };

/* Does it fail without the table? */
static bool fails_without(const void *id, const char *library)
{
	if (!memcmp(id, runtime_table, sizeof(runtime_table)))
		return true;
	for (size_t i = 0; i < sizeof(wants_tools) / sizeof(*wants_tools); i++)
		if (!strncmp(library, wants_tools[i], strlen(wants_tools[i])))
			return !memcmp(id, tools_table, sizeof(tools_table));
	return false;
}

bool static_runtime_in(const void *bytes, size_t size)
{
	const uint8_t *at = bytes, *end = at + size;

	while ((size_t)(end - at) >= sizeof(runtime_table) &&
	       (at = memchr(at, runtime_table[0], (size_t)(end - at) - sizeof(runtime_table) + 1))) {
		if (!memcmp(at, runtime_table, sizeof(runtime_table)))
			return true;
		at++;
	}
	return false;
}

bool static_runtime_line(const void *id, const char *way, char *line, size_t bytes)
{
	const char *name = "this program", *slash;
	Dl_info info;

	if (dladdr(id, &info) && info.dli_fname && *info.dli_fname) {
		slash = strrchr(info.dli_fname, '/');
		name = slash ? slash + 1 : info.dli_fname;
	}
	if (!fails_without(id, name))
		return false;
	snprintf(
		line, bytes,
		"%s has NVIDIA's CUDA runtime linked into it, which accepts NVIDIA's driver only, so its calls fail on "
		"%s: where its source is at hand, build it with `mete soft cc` (nvcc -cudart shared); else use a real "
		"driver",
		name, way);
	return true;
}
