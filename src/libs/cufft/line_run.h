/* line_run.h: line_run() for numbers of type T; RUN is the function's name. */
typedef T vec __attribute__((vector_size(LINE_BYTES)));

struct number {
	vec re, im;
};

struct root {
	T re, im;
};

static inline struct number plus(struct number a, struct number b)
{
	return (struct number){ a.re + b.re, a.im + b.im };
}

static inline struct number minus(struct number a, struct number b)
{
	return (struct number){ a.re - b.re, a.im - b.im };
}

/* a * -i */
static inline struct number turned(struct number a)
{
	return (struct number){ a.im, -a.re };
}

static inline struct number times(struct number a, struct root w)
{
	return (struct number){ a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re };
}

static inline struct number scaled(struct number a, T by)
{
	return (struct number){ a.re * by, a.im * by };
}

/* The transforms of few numbers: `in` lies `apart` numbers apart. */

static inline void of_two(const struct number *in, int64_t apart, struct number *out)
{
	out[0] = plus(in[0], in[apart]);
	out[1] = minus(in[0], in[apart]);
}

static inline void of_three(const struct number *in, int64_t apart, struct number *out)
{
	struct number sum = plus(in[apart], in[2 * apart]);
	struct number half = minus(in[0], scaled(sum, (T)0.5));
	struct number side = scaled(turned(minus(in[apart], in[2 * apart])), (T)0.86602540378443864676);

	out[0] = plus(in[0], sum);
	out[1] = plus(half, side);
	out[2] = minus(half, side);
}

static inline void of_four(const struct number *in, int64_t apart, struct number *out)
{
	struct number a = plus(in[0], in[2 * apart]), b = minus(in[0], in[2 * apart]);
	struct number c = plus(in[apart], in[3 * apart]), d = turned(minus(in[apart], in[3 * apart]));

	out[0] = plus(a, c);
	out[1] = plus(b, d);
	out[2] = minus(a, c);
	out[3] = minus(b, d);
}

static inline void of_five(const struct number *in, int64_t apart, struct number *out)
{
	static const T c1 = (T)0.30901699437494742410, c2 = (T)-0.80901699437494742410;
	static const T s1 = (T)0.95105651629515357212, s2 = (T)0.58778525229247312917;
	struct number a = plus(in[apart], in[4 * apart]), b = plus(in[2 * apart], in[3 * apart]);
	struct number c = turned(minus(in[apart], in[4 * apart])), d = turned(minus(in[2 * apart], in[3 * apart]));
	struct number m1 = plus(in[0], plus(scaled(a, c1), scaled(b, c2)));
	struct number m2 = plus(in[0], plus(scaled(a, c2), scaled(b, c1)));
	struct number n1 = plus(scaled(c, s1), scaled(d, s2)), n2 = minus(scaled(c, s2), scaled(d, s1));

	out[0] = plus(in[0], plus(a, b));
	out[1] = plus(m1, n1);
	out[2] = plus(m2, n2);
	out[3] = minus(m2, n2);
	out[4] = minus(m1, n1);
}

static inline void of_prime(const struct number *in, int64_t apart, struct number *out, int r, const struct root *roots)
{
	for (int t = 0; t < r; t++) {
		out[t] = in[0];
		for (int k = 1; k < r; k++)
			out[t] = plus(out[t], times(in[k * apart], roots[k * t % r]));
	}
}

#define STAGE(name, r, few)                                                                                            \
	static void name(const struct line_plan *p, int stage, int64_t n, int64_t s, const struct number *x,           \
			 struct number *y)                                                                             \
	{                                                                                                              \
		const struct root *w = p->twiddles[stage], *roots = p->roots[stage];                                   \
		int64_t m = n / (r);                                                                                   \
		(void)roots;                                                                                           \
		for (int64_t place = 0; place < m; place++, w += (r)-1)                                                \
			for (int64_t q = 0; q < s; q++) {                                                              \
				struct number out[LINE_PRIME], *to = y + q + s * (r)*place;                            \
				few;                                                                                   \
				to[0] = out[0];                                                                        \
				for (int t = 1; t < (r); t++)                                                          \
					to[s * t] = times(out[t], w[t - 1]);                                           \
			}                                                                                              \
	}

STAGE(stage_two, 2, of_two(x + q + s * place, s *m, out))
STAGE(stage_three, 3, of_three(x + q + s * place, s *m, out))
STAGE(stage_four, 4, of_four(x + q + s * place, s *m, out))
STAGE(stage_five, 5, of_five(x + q + s * place, s *m, out))
STAGE(stage_prime, p->radix[stage], of_prime(x + q + s * place, s *m, out, p->radix[stage], roots))

static struct number *stages_run(const struct line_plan *p, struct number *x, struct number *y)
{
	int64_t n = p->n, s = 1;

	for (int i = 0; i < p->stages; i++) {
		int r = p->radix[i];
		struct number *t = x;

		(r == 4	  ? stage_four
		 : r == 2 ? stage_two
		 : r == 3 ? stage_three
		 : r == 5 ? stage_five
			  : stage_prime)(p, i, n, s, x, y);
		n /= r;
		s *= r;
		x = y;
		y = t;
	}
	return x;
}

static inline struct number swapped(struct number a)
{
	return (struct number){ a.im, a.re };
}

/* The numbers times a chirp, convolved with the chirp's conjugate; backwards is forwards with the parts exchanged. */
static struct number *convolve(const struct line_plan *p, struct number *x)
{
	const struct root *chirp = p->chirp, *filter = p->filter;
	int64_t longer = p->longer->n;
	struct number *y = x + longer, *z;

	for (int64_t i = 0; i < p->n; i++)
		x[i] = times(x[i], chirp[i]);
	memset(x + p->n, 0, (size_t)(longer - p->n) * sizeof(*x));
	z = stages_run(p->longer, x, y);
	for (int64_t i = 0; i < longer; i++)
		z[i] = swapped(times(z[i], filter[i]));
	z = stages_run(p->longer, z, z == x ? y : x);
	for (int64_t i = 0; i < p->n; i++)
		z[i] = times(swapped(z[i]), chirp[i]);
	return z;
}

void *RUN(const struct line_plan *plan, void *memory)
{
	struct number *x = memory;

	return plan->longer ? convolve(plan, x) : stages_run(plan, x, x + plan->n);
}
