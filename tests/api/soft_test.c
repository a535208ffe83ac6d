/*
 * soft_test.c: generated exports of a software device, over the tiny API (golden/tiny.toml).
 *
 * The program exports the same names and is searched first, as a preloaded shim would be; the library must not notice.
 */
#include "base/tap.h"
#include "tiny_table.h"

#include <dlfcn.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT tyresult tyInit(unsigned int flags);
EXPORT const char *tyName(tyresult result);

/* Come between, if the library lets us. */
tyresult tyInit(unsigned int flags)
{
	return TY_LOST;
}

const char *tyName(tyresult result)
{
	return "interposed";
}

int main(int argc, char **argv)
{
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	enum tiny_call (*last)(void) = NULL;
	const struct tiny_table *(*reach)(void) = NULL;
	struct tiny_table export;
	void *table = NULL;
	int missing = 0;

	if (lib) {
		*(void **)&last = dlsym(lib, "soft_last_unsupported");
		*(void **)&reach = dlsym(lib, "soft_reach");
	}
	if (!last || !reach) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	tap_begin();
	for (int i = 0; i < TINY_CALL_COUNT; i++) {
		((void **)&export)[i] = dlsym(lib, tiny_call_name[i]);
		missing += !((void **)&export)[i];
	}
	is(missing, 0);
	ok(export.tyInit != tyInit);
	is(export.tyInit(0), TY_OK);
	is(export.tyInit(1), TY_INVALID);
	is_str(export.tyName(TY_OK), "ok");
	is(reach()->tyInit(0), TY_OK);
	ok(reach()->tyInit != export.tyInit);
	is(last(), TINY_CALL_COUNT);
	is(export.tyFree(7), TY_NOT_SUPPORTED);
	is(last(), TINY_CALL_tyFree);
	is(export.tyForeign(&table), TY_NOT_SUPPORTED);
	is(last(), TINY_CALL_tyForeign);
	is(reach()->tyFill_ptsz(0, 0, 0, NULL), TY_NOT_SUPPORTED);
	is(last(), TINY_CALL_tyFill_ptsz);
	/* Made from tyWrite, while the null stream is the thread's own. */
	is(export.tyWrite(1, "", 1), TY_OK);
	is(export.tyWrite_ptds(1, "", 1), TY_INVALID);
	is(export.tyWrite(1, "", 1), TY_OK);
	dlclose(lib);
	return tap_end();
}
