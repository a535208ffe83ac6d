/* isa.c: which build of exec.c suits this machine. */
#include "softdev/ptx/engine.h"

#include <string.h>

extern const struct isa isa_base;
#ifdef PTX_HAVE_X86
extern const struct isa isa_avx2, isa_avx512;
#endif

static bool runs_here(const struct isa *isa)
{
#ifdef PTX_HAVE_X86
	__builtin_cpu_init();
	if (isa == &isa_avx512)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
		       __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	if (isa == &isa_avx2)
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
	return isa == &isa_base;
}

const struct isa *isa_find(const char *name)
{
	static const struct isa *const all[] = {
#ifdef PTX_HAVE_X86
		&isa_avx512, &isa_avx2,
#endif
		&isa_base
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if ((!name || !strcmp(name, all[i]->name)) && runs_here(all[i]))
			return all[i];
	return NULL;
}
