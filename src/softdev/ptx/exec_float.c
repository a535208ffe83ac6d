/* exec_float.c: executes the rows of rows_float.h: f32 and f64. See exec.c. */
#include "softdev/ptx/vmath.h"

static void sin_f32(struct warp *w, const struct op *o)
{
	angle_lanes(w, o, 0, false);
}

static void sin_ftz(struct warp *w, const struct op *o)
{
	angle_lanes(w, o, 0, true);
}

static void cos_f32(struct warp *w, const struct op *o)
{
	angle_lanes(w, o, 1, false);
}

static void cos_ftz(struct warp *w, const struct op *o)
{
	angle_lanes(w, o, 1, true);
}

#define ROWS "softdev/ptx/rows_float.h"
#define ROWS_NAME rows_float
#include "softdev/ptx/rows.h"
