/*
 * static_runtime.c: see static_runtime.h.
 *
 * Which table: a program built with nvcc 13.0 and a static runtime asks for two, and its calls answer
 * cudaErrorSymbolNotFound (500) after the second, this one, was refused. NVRTC and nvJitLink ask for another table and
 * work without it. Both were seen with a debugger; tests/softdev/refuse_test.c asks for the second.
 */
#include "base/static_runtime.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const uint8_t runtime_table[16] = { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
					   0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 };

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

	if (memcmp(id, runtime_table, sizeof(runtime_table)))
		return false;
	if (dladdr(id, &info) && info.dli_fname && *info.dli_fname) {
		slash = strrchr(info.dli_fname, '/');
		name = slash ? slash + 1 : info.dli_fname;
	}
	snprintf(
		line, bytes,
		"%s has NVIDIA's CUDA runtime linked into it, which accepts NVIDIA's driver only, so its calls fail on "
		"%s: where its source is at hand, build it with `mete soft cc` (nvcc -cudart shared); else use a real "
		"driver",
		name, way);
	return true;
}
