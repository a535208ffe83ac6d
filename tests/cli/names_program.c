/* names_program.c: uses names_library. It is linked with it, or with OPENED opens it by the path in its second word. */
#include "names_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;

#ifdef OPENED
	void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
	void (*use)(size_t) = library ? (void (*)(size_t))dlsym(library, "names_use") : NULL;

	if (!use)
		return printf("%s\n", dlerror());
	use(bytes);
#else
	names_use(bytes);
#endif
	return 0;
}
