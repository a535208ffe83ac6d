/* holder.c: see holder.h. */
#include "base/holder.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

bool holder_of(const void *address, struct holder *ret)
{
	Dl_info info, program;
	const char *slash;

	if (!dladdr(address, &info) || !info.dli_fname)
		return false;
	slash = strrchr(info.dli_fname, '/');
	snprintf(ret->name, sizeof(ret->name), "%s", slash ? slash + 1 : info.dli_fname);
	ret->base = info.dli_fbase;
	ret->is_program = dladdr((const void *)getauxval(AT_ENTRY), &program) && program.dli_fbase == info.dli_fbase;
	return true;
}

bool holder_first(const struct holder *h)
{
	static _Atomic(const void *) told[32];

	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		const void *none = NULL;

		if (atomic_compare_exchange_strong(&told[i], &none, h->base))
			return true;
		if (none == h->base)
			return false;
	}
	return true;
}
