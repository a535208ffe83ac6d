/*
 * pass_group.h: a group of lines in numbers of type T: taken from memory, transformed, written back.
 *
 * Number i of lane l lies at m[(2 * i) * lanes + l], its imaginary part lanes further. Backwards is forwards with the
 * parts exchanged on the way in and out.
 */

/* The numbers of a line that lies alone in a lane. */
static void NAMED(line_take)(const struct group *g, int line, int lane, T *m)
{
	const struct fft_pass *p = g->p;
	const struct fft_side *s = &p->in;
	int64_t lanes = g->lanes, at = s->first * g->first[line];
	T *re = m + lane + (p->backwards ? lanes : 0), *im = m + lane + (p->backwards ? 0 : lanes);
	const T *from = (const T *)g->in[line];

	for (int64_t i = 0; i < p->n; i++, at += s->step, re += 2 * lanes, im += 2 * lanes) {
		bool mirrored = s->kind == FFT_HALF && at > p->whole / 2;
		int64_t k = (mirrored ? p->whole - at : at) * s->stride;

		if (s->kind == FFT_REAL) {
			*re = from[k];
			*im = 0;
			continue;
		}
		*re = from[2 * k];
		*im = mirrored ? -from[2 * k + 1] : from[2 * k + 1];
		/* the parts that the transform of real numbers does not have */
		if (s->kind == FFT_HALF && (at == 0 || 2 * at == p->whole))
			*im = 0;
	}
}

/* Two lines of real numbers as the parts of one, or two halves that give such. */
static void NAMED(pair_take)(const struct group *g, int line, int lane, T *m)
{
	const struct fft_pass *p = g->p;
	const struct fft_side *s = &p->in;
	int64_t lanes = g->lanes;
	T *re = m + lane + (p->backwards ? lanes : 0), *im = m + lane + (p->backwards ? 0 : lanes);
	const T *a = (const T *)g->in[line], *b = line + 1 < g->lines ? (const T *)g->in[line + 1] : NULL;

	for (int64_t i = 0; i < p->n; i++, re += 2 * lanes, im += 2 * lanes) {
		bool mirrored = s->kind == FFT_HALF && i > p->n / 2;
		int64_t k = (mirrored ? p->n - i : i) * s->stride;
		T sign = mirrored ? -1 : i == 0 || 2 * i == p->n ? 0 : 1;

		if (s->kind == FFT_REAL) {
			*re = a[k];
			*im = b ? b[k] : 0;
			continue;
		}
		*re = a[2 * k] - (b ? sign * b[2 * k + 1] : 0);
		*im = sign * a[2 * k + 1] + (b ? b[2 * k] : 0);
	}
}

static void NAMED(line_put)(const struct group *g, int line, int lane, const T *m)
{
	const struct fft_pass *p = g->p;
	const struct fft_side *s = &p->out;
	int64_t lanes = g->lanes, at = s->first * g->first[line], most = s->kind == FFT_HALF ? p->whole / 2 : p->whole;
	const T *re = m + lane + (p->backwards ? lanes : 0), *im = m + lane + (p->backwards ? 0 : lanes);
	T *to = (T *)g->out[line];

	for (int64_t i = 0; i < p->n && at <= most; i++, at += s->step, re += 2 * lanes, im += 2 * lanes) {
		if (s->kind == FFT_REAL) {
			to[at * s->stride] = *re;
		} else {
			to[2 * at * s->stride] = *re;
			to[2 * at * s->stride + 1] = *im;
		}
	}
}

static void NAMED(pair_put)(const struct group *g, int line, int lane, const T *m)
{
	const struct fft_pass *p = g->p;
	const struct fft_side *s = &p->out;
	int64_t lanes = g->lanes;
	const T *re = m + lane + (p->backwards ? lanes : 0), *im = m + lane + (p->backwards ? 0 : lanes);
	T *a = (T *)g->out[line], *b = line + 1 < g->lines ? (T *)g->out[line + 1] : NULL;

	for (int64_t i = 0; i < (s->kind == FFT_HALF ? p->n / 2 + 1 : p->n); i++) {
		int64_t x = 2 * lanes * i, y = 2 * lanes * (i ? p->n - i : 0), k = i * s->stride;

		if (s->kind == FFT_REAL) {
			a[k] = re[x];
			if (b)
				b[k] = im[x];
			continue;
		}
		a[2 * k] = (re[x] + re[y]) / 2;
		a[2 * k + 1] = (im[x] - im[y]) / 2;
		if (b) {
			b[2 * k] = (im[x] + im[y]) / 2;
			b[2 * k + 1] = (re[y] - re[x]) / 2;
		}
	}
}

/* Lines that lie beside one another, as columns do: their numbers are taken a row at a time. */
static bool NAMED(is_beside)(const struct group *g, const struct fft_side *s, char *const *at)
{
	int64_t apart = s->first * s->stride;

	if (s->kind != FFT_COMPLEX || g->lines < g->lanes)
		return false;
	for (int i = 0; i < g->lines; i++)
		if (g->first[i] - g->first[0] != (s->first ? i : g->first[i] - g->first[0]) ||
		    at[i] - at[0] + (s->first ? apart * i * (int64_t)(2 * sizeof(T)) : 0) !=
			    i * (int64_t)(2 * sizeof(T)))
			return false;
	return true;
}

static void NAMED(rows_take)(const struct group *g, T *m)
{
	const struct fft_side *s = &g->p->in;
	int64_t lanes = g->lanes, re = g->p->backwards ? lanes : 0, im = lanes - re;
	const T *from = (const T *)g->in[0] + 2 * s->first * g->first[0] * s->stride;

	for (int64_t i = 0; i < g->p->n; i++, from += 2 * s->step * s->stride, m += 2 * lanes)
		for (int l = 0; l < LINE_BYTES / (int)sizeof(T); l++) {
			m[re + l] = from[2 * l];
			m[im + l] = from[2 * l + 1];
		}
}

static void NAMED(rows_put)(const struct group *g, const T *m)
{
	const struct fft_side *s = &g->p->out;
	int64_t lanes = g->lanes, re = g->p->backwards ? lanes : 0, im = lanes - re;
	T *to = (T *)g->out[0] + 2 * s->first * g->first[0] * s->stride;

	for (int64_t i = 0; i < g->p->n; i++, to += 2 * s->step * s->stride, m += 2 * lanes)
		for (int l = 0; l < LINE_BYTES / (int)sizeof(T); l++) {
			to[2 * l] = m[re + l];
			to[2 * l + 1] = m[im + l];
		}
}

/* Number k of each line times w^(k * first), w a root of unity of order `whole`; the same either way, as parts are
 * exchanged. */
static void NAMED(turn)(const struct group *g, T *m)
{
	const struct fft_pass *p = g->p;

	for (int line = 0; line < g->lines; line++) {
		double angle = -2 * M_PI * (double)g->first[line] / (double)p->whole;
		double step_re = cos(angle), step_im = sin(angle), re = 1, im = 0;

		for (int64_t k = 0; k < p->n; k++) {
			T *at = m + 2 * k * g->lanes + line, x = at[0], y = at[g->lanes];

			if (k % 32 == 0) { /* steps lose a little each */
				double exact = -2 * M_PI * (double)(k * g->first[line] % p->whole) / (double)p->whole;

				re = cos(exact);
				im = sin(exact);
			}
			at[0] = x * (T)re - y * (T)im;
			at[g->lanes] = x * (T)im + y * (T)re;
			angle = re;
			re = re * step_re - im * step_im;
			im = angle * step_im + im * step_re;
		}
	}
}

static void NAMED(group_run)(const struct group *g, const struct line_plan *plan, T *m)
{
	bool paired = is_paired(g->p);
	int each = paired ? 2 : 1;

	if (!paired && NAMED(is_beside)(g, &g->p->in, (char *const *)(uintptr_t)g->in)) {
		NAMED(rows_take)(g, m);
	} else {
		for (int line = 0; line < g->lines; line += each)
			(paired ? NAMED(pair_take) : NAMED(line_take))(g, line, line / each, m);
		for (int lane = (g->lines + each - 1) / each; lane < g->lanes; lane++)
			for (int64_t i = 0; i < 2 * g->p->n; i++)
				m[i * g->lanes + lane] = 0;
	}
	m = line_run(plan, m);
	if (g->p->turn)
		NAMED(turn)(g, m);
	if (!paired && NAMED(is_beside)(g, &g->p->out, g->out)) {
		NAMED(rows_put)(g, m);
		return;
	}
	for (int line = 0; line < g->lines; line += each)
		(paired ? NAMED(pair_put) : NAMED(line_put))(g, line, line / each, m);
}
#undef T
#undef NAMED
