/* shape_hip.c: HIP's own names (core/shape.h). */
#include "core/shape.h"

static const char *const versions[] = { ".7", ".6", ".5", "", NULL };
static const char *const folders[] = { "/opt/rocm/lib", "/opt/dtk/lib", NULL };
static const struct behind behind = { .stem = "libamdhip64.so",
				      .versions = versions,
				      .first = folders,
				      .symbol = "hipInit",
				      .setting = "METE_HIP_DRIVER",
				      .remedy = "install ROCm's HIP runtime" };

const struct shape shape = {
	.library = "libmete-hip.so",
	.plain = "hip",
	.prefix = "hip",
	.visible = "HIP_VISIBLE_DEVICES",
	.behind = &behind,
};
