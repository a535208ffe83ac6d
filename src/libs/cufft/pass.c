/* pass.c: lines of a transform on the device's threads. The parameters are checked: anybody can launch the kernel. */
#include "libs/cufft/fft.h"
#include "libs/cufft/line.h"
#include "libs/common/scratch.h"

#include <math.h>
#include <string.h>

#define LANES_MOST (2 * LINE_BYTES / (int)sizeof(float))
#define SIZE_MOST (INT64_C(1) << 40)

/* Lines of a group: two real ones lie in the two parts of a complex one. */
static bool is_paired(const struct fft_pass *p)
{
	return p->in.first == 0 && p->out.first == 0 && (p->in.kind == FFT_REAL || p->out.kind == FFT_REAL);
}

static int64_t lines_of(const struct fft_pass *p)
{
	return p->count[0] * p->count[1] * p->count[2];
}

static int group_lines(const struct fft_pass *p)
{
	return line_lanes(p->wide) * (is_paired(p) ? 2 : 1);
}

int64_t fft_groups(const struct fft_pass *p)
{
	return (lines_of(p) + group_lines(p) - 1) / group_lines(p);
}

struct group {
	const struct fft_pass *p;
	int lines, lanes;
	int64_t first[LANES_MOST]; /* of each line */
	const char *in[LANES_MOST];
	char *out[LANES_MOST];
};

static uint32_t number_bytes(const struct fft_pass *p, const struct fft_side *s)
{
	return (p->wide ? 8u : 4u) * (s->kind == FFT_REAL ? 1u : 2u);
}

static void group_begin(struct group *g, const struct fft_pass *p, int64_t from)
{
	int64_t left = lines_of(p) - from;

	g->p = p;
	g->lanes = line_lanes(p->wide);
	g->lines = (int)(left < group_lines(p) ? left : group_lines(p));
	for (int i = 0; i < g->lines; i++) {
		int64_t line = from + i, in = 0, out = 0;

		g->first[i] = line % p->count[0];
		for (int k = 0; k < 3; line /= p->count[k], k++) {
			in += line % p->count[k] * p->in.apart[k];
			out += line % p->count[k] * p->out.apart[k];
		}
		g->in[i] = (const char *)(uintptr_t)p->in.at + in * number_bytes(p, &p->in);
		g->out[i] = (char *)(uintptr_t)p->out.at + out * number_bytes(p, &p->out);
	}
}

#define T float
#define NAMED(name) name##_f
#include "libs/cufft/pass_group.h"
#define T double
#define NAMED(name) name##_d
#include "libs/cufft/pass_group.h"

/* ---- checks ---- */

static bool side_sound(const struct fft_pass *p, const struct fft_side *s)
{
	bool good = s->kind < FFT_KINDS && s->stride > 0 && s->stride < SIZE_MOST && s->step > 0 &&
		    s->step <= p->whole && s->first >= 0 && s->first <= p->whole;

	for (int i = 0; i < 3; i++)
		good = good && s->apart[i] >= 0 && s->apart[i] < SIZE_MOST;
	/* the last number of a line is one of the whole */
	return good && (p->n - 1) * s->step + (p->count[0] - 1) * s->first < p->whole;
}

static bool pass_sound(const struct fft_pass *p)
{
	int64_t lines = 1;

	if (p->n < 1 || p->n > LINE_MOST || p->whole < p->n || p->whole > LINE_MOST * 16)
		return false;
	for (int i = 0; i < 3; i++)
		if (p->count[i] < 1 || __builtin_mul_overflow(lines, p->count[i], &lines) || lines > SIZE_MOST)
			return false;
	/* Lines that are turned have a lane each. */
	return p->count[0] <= SIZE_MOST / p->whole + 1 && side_sound(p, &p->in) && side_sound(p, &p->out) &&
	       !(p->turn && is_paired(p));
}

/* All that the pass touches, from the first number to the last one. */
static bool side_reach(struct soft_native *n, const struct fft_pass *p, const struct fft_side *s, bool write)
{
	int64_t last = s->kind == FFT_HALF ? p->whole / 2 : (p->n - 1) * s->step + (p->count[0] - 1) * s->first;
	int64_t end;

	if (__builtin_mul_overflow(last, s->stride, &end)) {
		n->refuse(n);
		return false;
	}
	for (int i = 0; i < 3; i++) {
		int64_t more;

		if (__builtin_mul_overflow(p->count[i] - 1, s->apart[i], &more) ||
		    __builtin_add_overflow(end, more, &end)) {
			n->refuse(n);
			return false;
		}
	}
	return library_reach(n, s->at, end + 1, number_bytes(p, s), write);
}

/* What a group of lines takes in warp instructions: some ten for each number and halving. */
static uint64_t group_work(const struct fft_pass *p, int lines)
{
	return (uint64_t)p->n * (uint64_t)(64 - __builtin_clzll((unsigned long long)p->n)) * (uint64_t)lines * 5 / 32 +
	       1;
}

void fft_run(struct soft_native *n)
{
	const struct fft_pass *p = n->params;
	const struct line_plan *plan;
	int64_t from, to;
	void *memory;

	if (n->bytes != DEVICE_PARAM_BYTES || !n->blocks || !pass_sound(p)) {
		n->refuse(n);
		return;
	}
	if (!side_reach(n, p, &p->in, false) || !side_reach(n, p, &p->out, true))
		return;
	plan = line_plan_get(p->n, p->wide);
	memory = plan ? scratch_get(line_bytes(plan)) : NULL;
	if (!memory) {
		n->refuse(n);
		return;
	}
	library_part(n, fft_groups(p), &from, &to);
	for (int64_t i = from; i < to; i++) {
		struct group g;

		group_begin(&g, p, i * group_lines(p));
		if (p->wide)
			group_run_d(&g, plan, memory);
		else
			group_run_f(&g, plan, memory);
		if (!n->go_on(n, group_work(p, g.lines)))
			return;
	}
}
