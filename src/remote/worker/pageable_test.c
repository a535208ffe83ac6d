/* pageable_test.c: a library's ioctl() comes to the program's own, which sets the flag and hands on all else. */
#include "remote/worker/pageable.h"

#include "base/tap.h"

#include <dlfcn.h>
#include <stdint.h>

int main(int argc, char **argv)
{
	struct {
		uint64_t flags;
		uint32_t status;
	} asked = { .flags = 2 };
	int (*call)(unsigned long request, void *argument) = NULL;
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

	tap_begin();
	if (ok(library))
		*(void **)&call = dlsym(library, "library_ioctl");
	if (ok(call)) {
		is(call(0x30000001, &asked), -1);
		is(asked.flags, 3);
		asked.flags = 2;
		is(call(0x30000002, &asked), -1);
		is(asked.flags, 2);
		is(call(0x30000001, NULL), -1);
	}
	return tap_end();
}
