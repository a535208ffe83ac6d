/* linker.c: see linker.h. */
#include "fronts/linker.h"

#include "softdev/ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned const_bytes(const struct ptx_module *m)
{
	unsigned sum = 0;

	for (size_t i = 0; i < ptx_module_variable_count(m); i++)
		if (ptx_module_variable_at(m, i)->space == PTX_CONST)
			sum += (unsigned)ptx_module_variable_at(m, i)->bytes;
	return sum;
}

static void report(const struct ptx_module *m, linker_kernel kernel, void *ctx)
{
	for (size_t i = 0; i < ptx_module_kernel_count(m); i++) {
		const struct ptx_kernel *k = ptx_module_kernel_at(m, i);

		kernel(ctx, k->name, k->registers, k->shared_bytes, k->local_bytes, k->param_bytes, const_bytes(m));
	}
}

__attribute__((visibility("default"))) int mete_ptx_check(const struct linker_text *text, size_t count, uint32_t arch,
							  char *log, size_t log_bytes, linker_kernel kernel, void *ctx)
{
	const struct ptx_options options = { .arch = arch, .chosen = true };
	struct ptx_text *list = calloc(count + 1, sizeof(*list));
	struct ptx_module *m;
	int r;

	if (!list) {
		snprintf(log, log_bytes, "no memory for %zu PTX texts", count);
		return LINKER_NO_MEMORY;
	}
	for (size_t i = 0; i < count; i++)
		list[i] = (struct ptx_text){ text[i].text, text[i].bytes };
	r = ptx_module_load(list, count, &options, &m, log, log_bytes);
	free(list);
	if (!r) {
		if (kernel)
			report(m, kernel, ctx);
		ptx_module_free(m);
	}
	return !r ? LINKER_OK : r < 0 ? LINKER_NO_MEMORY : r == PTX_UNRESOLVED ? LINKER_UNRESOLVED : LINKER_INVALID;
}

__attribute__((visibility("default"))) unsigned mete_ptx_version(void)
{
	return PTX_VERSION_KNOWN;
}
