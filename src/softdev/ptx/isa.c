/* isa.c: which build of exec.c suits this machine. */
#include "softdev/ptx/engine.h"

#include <string.h>

extern const struct isa isa_base, isa_avx2, isa_avx512;

static __attribute__((unused)) bool runs_avx2(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
	return false;
#endif
}

static __attribute__((unused)) bool runs_avx512(void)
{
#if defined(__x86_64__)
	return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
	return false;
#endif
}

static __attribute__((unused)) bool runs_base(void)
{
	return true;
}

/* Those that were built, the best one first. */
static const struct {
	const struct isa *isa;
	bool (*runs)(void);
} built[] = {
#ifdef PTX_HAVE_AVX512
	{ &isa_avx512, runs_avx512 },
#endif
#ifdef PTX_HAVE_AVX2
	{ &isa_avx2, runs_avx2 },
#endif
#ifdef PTX_HAVE_BASE
	{ &isa_base, runs_base },
#endif
};

const struct isa *isa_find(const char *name)
{
	for (size_t i = 0; i < sizeof(built) / sizeof(built[0]); i++)
		if ((!name || !strcmp(name, built[i].isa->name)) && built[i].runs())
			return built[i].isa;
	return NULL;
}

bool isa_has_dots(const struct isa *isa)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	return !strcmp(isa->name, "avx512") && __builtin_cpu_supports("avx512vnni");
#else
	(void)isa;
	return false;
#endif
}

const struct row *isa_row(const struct isa *isa, size_t i)
{
	for (size_t k = 0; k < ISA_ROWS; k++) {
		if (i < isa->rows[k]->count)
			return &isa->rows[k]->row[i];
		i -= isa->rows[k]->count;
	}
	return NULL;
}
