/* line.c: plans of lines; see line.h. */
#include "libs/cufft/line.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 256

struct kept {
	struct kept *next;
	struct line_plan plan;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct kept *kept[BUCKETS]; /* mutex guards it */

int line_lanes(bool wide)
{
	return LINE_BYTES / (wide ? (int)sizeof(double) : (int)sizeof(float));
}

/* n complex numbers of the plan's precision: exp(-2 pi i numerator(k) / denominator). */
static void put(const struct line_plan *p, void *to, int64_t at, double angle, double length)
{
	double re = cos(angle) * length, im = sin(angle) * length;

	if (p->wide) {
		((double *)to)[2 * at] = re;
		((double *)to)[2 * at + 1] = im;
	} else {
		((float *)to)[2 * at] = (float)re;
		((float *)to)[2 * at + 1] = (float)im;
	}
}

static void *numbers(const struct line_plan *p, int64_t count)
{
	return calloc((size_t)count, 2 * (p->wide ? sizeof(double) : sizeof(float)));
}

/* Value: what of n the radices do not divide. */
static int64_t radices_find(struct line_plan *p)
{
	int64_t rest = p->n;
	int r = 4;

	while (rest > 1 && r <= LINE_PRIME) {
		if (rest % r == 0) {
			p->radix[p->stages++] = r;
			rest /= r;
		} else {
			r = r == 4 ? 2 : r == 2 ? 3 : r + 2;
		}
	}
	return rest;
}

static bool stage_make(struct line_plan *p, int stage, int64_t n)
{
	int r = p->radix[stage];
	int64_t m = n / r;

	p->twiddles[stage] = numbers(p, m * (r - 1));
	if (!p->twiddles[stage])
		return false;
	for (int64_t place = 0; place < m; place++)
		for (int t = 1; t < r; t++)
			put(p, p->twiddles[stage], place * (r - 1) + t - 1, -2 * M_PI * (double)(place * t) / (double)n,
			    1);
	if (r <= 5)
		return true;
	p->roots[stage] = numbers(p, r);
	for (int k = 0; p->roots[stage] && k < r; k++)
		put(p, p->roots[stage], k, -2 * M_PI * k / r, 1);
	return p->roots[stage];
}

static bool plan_make(struct line_plan *p);

static bool chirp_make(struct line_plan *p)
{
	int64_t longer = 1;
	double scale;
	double *filter, *result;
	struct line_plan wide;
	bool good;

	while (longer < 2 * p->n - 1)
		longer *= 2;
	p->stages = 0;
	p->longer = calloc(1, sizeof(*p->longer));
	p->chirp = numbers(p, p->n);
	p->filter = numbers(p, longer);
	wide = (struct line_plan){ .n = longer, .wide = true };
	if (!p->longer || !p->chirp || !p->filter || !plan_make(&wide))
		return false;
	*p->longer = (struct line_plan){ .n = longer, .wide = p->wide };
	scale = 1.0 / (double)longer;
	/* the filter is transformed once, in the first lane, in doubles */
	filter = aligned_alloc(LINE_BYTES, line_bytes(&wide));
	good = filter && plan_make(p->longer);
	if (good) {
		int lanes = line_lanes(true);

		memset(filter, 0, line_bytes(&wide));
		for (int64_t i = 0; i < p->n; i++) {
			double angle = M_PI * (double)((__int128)i * i % (2 * p->n)) / (double)p->n;
			int64_t places[2] = { i, i ? longer - i : 0 };

			put(p, p->chirp, i, -angle, 1);
			for (int k = 0; k < 2; k++) {
				filter[2 * lanes * places[k]] = cos(angle) * scale;
				filter[2 * lanes * places[k] + lanes] = sin(angle) * scale;
			}
		}
		result = line_run_d(&wide, filter);
		for (int64_t i = 0; i < longer; i++) {
			double re = result[2 * lanes * i], im = result[2 * lanes * i + lanes];

			if (p->wide) {
				((double *)p->filter)[2 * i] = re;
				((double *)p->filter)[2 * i + 1] = im;
			} else {
				((float *)p->filter)[2 * i] = (float)re;
				((float *)p->filter)[2 * i + 1] = (float)im;
			}
		}
	}
	free(filter);
	for (int i = 0; i < wide.stages; i++)
		free(wide.twiddles[i]);
	return good;
}

static bool plan_make(struct line_plan *p)
{
	int64_t n = p->n;

	if (radices_find(p) > 1)
		return chirp_make(p);
	for (int i = 0; i < p->stages; n /= p->radix[i], i++)
		if (!stage_make(p, i, n))
			return false;
	return true;
}

static void plan_deinit(struct line_plan *p)
{
	for (int i = 0; i < LINE_STAGES; i++) {
		free(p->twiddles[i]);
		free(p->roots[i]);
	}
	if (p->longer)
		plan_deinit(p->longer);
	free(p->longer);
	free(p->chirp);
	free(p->filter);
}

const struct line_plan *line_plan_get(int64_t n, bool wide)
{
	struct kept **bucket = &kept[(uint64_t)n * 2654435761u % BUCKETS], *k;

	pthread_mutex_lock(&mutex);
	for (k = *bucket; k && !(k->plan.n == n && k->plan.wide == wide); k = k->next)
		;
	if (!k && n > 0 && n <= LINE_MOST && (k = calloc(1, sizeof(*k)))) {
		k->plan.n = n;
		k->plan.wide = wide;
		if (plan_make(&k->plan)) {
			k->next = *bucket;
			*bucket = k;
		} else {
			plan_deinit(&k->plan);
			free(k);
			k = NULL;
		}
	}
	pthread_mutex_unlock(&mutex);
	return k ? &k->plan : NULL;
}

uint64_t line_bytes(const struct line_plan *plan)
{
	return 4 * LINE_BYTES * (uint64_t)(plan->longer ? plan->longer->n : plan->n);
}

void *line_run(const struct line_plan *plan, void *memory)
{
#if defined(__x86_64__) && !defined(__clang__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return (plan->wide ? line_run_d_avx2 : line_run_f_avx2)(plan, memory);
#endif
	return (plan->wide ? line_run_d : line_run_f)(plan, memory);
}
