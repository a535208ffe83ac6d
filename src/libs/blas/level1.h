/*
 * level1.h: routines on vectors, for one type: included once for each by bodies_*.c (typed.h describes the macros).
 *
 * Vectors of 16-bit numbers are converted to floats first, and results back: struct NAMED(vector) is either the memory
 * itself or such a copy. Sums are doubles, in eight parts, so that compilers vectorise the loops.
 */

struct NAMED(vector) {
	T *at;
	int64_t step;
	void *back; /* destination of a copy, or NULL */
	unsigned int type;
	int64_t count, back_step;
};

static bool NAMED(load)(struct soft_native *n, struct NAMED(vector) * ret, uint64_t at, unsigned int type,
			int64_t count, int64_t step, bool write, T *copy)
{
	void *first = body_vector(n, at, count, step, type_bytes(type), write);

	*ret = (struct NAMED(vector)){ .at = first, .step = step, .type = type, .count = count, .back_step = step };
	if (!first && count > 0)
		return false;
	if (type == TYPE)
		return true;
	ret->at = copy;
	ret->step = 1;
	ret->back = write ? first : NULL;
	for (int64_t i = 0; i < count; i++)
		copy[i] = (T)type_get(type, (const char *)first + i * step * (int64_t)type_bytes(type));
	return true;
}

static void NAMED(store)(const struct NAMED(vector) * v)
{
	for (int64_t i = 0; v->back && i < v->count; i++)
		type_put(v->type, (double)RE(v->at[i]),
			 (char *)v->back + i * v->back_step * (int64_t)type_bytes(v->type));
}

/* A scalar: the value from the call, or the current value in device memory. */
static bool NAMED(scalar)(struct soft_native *n, const struct blas_work *w, uint64_t address, const uint8_t value[16],
			  unsigned int type, T *ret)
{
	const void *from = value;

	if (w->in_device) {
		if (!device_reach(n, address, type_bytes(type), type_bytes(type), false))
			return false;
		from = (const void *)(uintptr_t)address;
	}
	if (type == TYPE)
		memcpy(ret, from, sizeof(*ret));
	else if (type == CUDA_C_32F)
		*ret = (T) * (const float _Complex *)from;
	else
		*ret = (T)type_get(type, from);
	return true;
}

static void NAMED(result)(struct soft_native *n, const struct blas_work *w, T value)
{
	unsigned int type = w->resultType;
	char *to = (char *)(uintptr_t)w->result;

	if (!device_reach(n, w->result, type_bytes(type), type_bytes(type), true))
		return;
	if (type == TYPE)
		memcpy(to, &value, sizeof(value));
	else
		type_put(type, (double)RE(value), to);
}

static T *NAMED(copies)(struct soft_native *n, const struct blas_work *w, int64_t count)
{
	T *copy;

	if (w->xType == TYPE && (w->yType == TYPE || !w->y))
		return (T *)(uintptr_t)1;
	copy = scratch_get((size_t)(2 * count + 1) * sizeof(T));
	if (!copy)
		n->refuse(n);
	return copy;
}

/* x, and y if there is one. `write`: 1 x, 2 y. */
static bool NAMED(both)(struct soft_native *n, const struct blas_work *w, int write, struct NAMED(vector) * x,
			struct NAMED(vector) * y)
{
	int64_t count = w->n < 0 ? 0 : w->n;
	T *copy;

	/* before memory is allocated */
	if (count && (!body_vector(n, w->x, count, w->incx, type_bytes(w->xType), write & 1) ||
		      (y && !body_vector(n, w->y, count, w->incy, type_bytes(w->yType), write & 2))))
		return false;
	copy = NAMED(copies)(n, w, count);
	return copy && NAMED(load)(n, x, w->x, w->xType, count, w->incx, write & 1, copy) &&
	       (!y || NAMED(load)(n, y, w->y, w->yType, count, w->incy, write & 2, copy + count));
}

#define EACH(v, i) ((v).at[(i) * (v).step])

static bool NAMED(spent)(struct soft_native *n, int64_t operations)
{
	return n->go_on(n, (uint64_t)(operations < 0 ? 0 : operations) / 32 + 1);
}

static void NAMED(iamax)(struct soft_native *n, const struct blas_work *w)
{
	struct NAMED(vector) x;
	int64_t found = 0, wide;
	R best = 0;
	int32_t narrow;

	if (!NAMED(both)(n, w, 0, &x, NULL))
		return;
	for (int64_t i = 0; i < w->n && w->incx > 0; i++) {
		R size = ABS1(EACH(x, i));

		if (!i || (w->flag ? size < best : size > best)) {
			best = size;
			found = i + 1;
		}
	}
	wide = found;
	narrow = (int32_t)found;
	if (NAMED(spent)(n, w->n) && n->reach(n, w->result, w->wide ? 8 : 4, true))
		memcpy((void *)(uintptr_t)w->result, w->wide ? (void *)&wide : (void *)&narrow, w->wide ? 8 : 4);
}

static void NAMED(asum)(struct soft_native *n, const struct blas_work *w)
{
	struct NAMED(vector) x;
	double sum[8] = { 0 }, all = 0;
	int64_t i = 0;

	if (!NAMED(both)(n, w, 0, &x, NULL))
		return;
	for (; w->incx > 0 && i + 8 <= w->n; i += 8)
		for (int l = 0; l < 8; l++)
			sum[l] += (double)ABS1(EACH(x, i + l));
	for (; w->incx > 0 && i < w->n; i++)
		all += (double)ABS1(EACH(x, i));
	for (int l = 0; l < 8; l++)
		all += sum[l];
	if (NAMED(spent)(n, w->n))
		NAMED(result)(n, w, (T)all);
}

/* The plain sum of squares, or a scaled one if that is too large or too small for a double. */
static void NAMED(nrm2)(struct soft_native *n, const struct blas_work *w)
{
	struct NAMED(vector) x;
	double all = 0, most = 0;

	if (!NAMED(both)(n, w, 0, &x, NULL))
		return;
	for (int64_t i = 0; w->incx > 0 && i < w->n; i++) {
		double re = (double)RE(EACH(x, i)), im = (double)IM(EACH(x, i));

		all += re * re + im * im;
		most = fabs(re) > most ? fabs(re) : most;
		most = fabs(im) > most ? fabs(im) : most;
	}
	if (most > 0 && isfinite(most) && (all < 1e-290 || !isfinite(all))) {
		double scaled = 0;

		for (int64_t i = 0; i < w->n; i++) {
			double re = (double)RE(EACH(x, i)) / most, im = (double)IM(EACH(x, i)) / most;

			scaled += re * re + im * im;
		}
		all = most * sqrt(scaled);
	} else {
		all = sqrt(all);
	}
	if (NAMED(spent)(n, 2 * w->n))
		NAMED(result)(n, w, (T)all);
}

static void NAMED(dot)(struct soft_native *n, const struct blas_work *w)
{
	struct NAMED(vector) x, y;
	W sum[8] = { 0 }, all = 0;
	int64_t i = 0;

	if (!NAMED(both)(n, w, 0, &x, &y))
		return;
	for (; i + 8 <= w->n; i += 8)
		for (int l = 0; l < 8; l++)
			sum[l] += (W)(w->conjugate ? CONJ(EACH(x, i + l)) : EACH(x, i + l)) * (W)EACH(y, i + l);
	for (; i < w->n; i++)
		all += (W)(w->conjugate ? CONJ(EACH(x, i)) : EACH(x, i)) * (W)EACH(y, i);
	for (int l = 0; l < 8; l++)
		all += sum[l];
	if (NAMED(spent)(n, w->n))
		NAMED(result)(n, w, (T)all);
}

static void NAMED(axpy)(struct soft_native *n, const struct blas_work *w)
{
	struct NAMED(vector) x, y;
	T alpha;

	if (!NAMED(scalar)(n, w, w->alpha, w->alpha_value, w->alphaType, &alpha) || !NAMED(both)(n, w, 2, &x, &y))
		return;
	if (x.step == 1 && y.step == 1)
		for (int64_t i = 0; i < w->n; i++)
			y.at[i] += alpha * x.at[i];
	else
		for (int64_t i = 0; i < w->n; i++)
			EACH(y, i) += alpha * EACH(x, i);
	NAMED(store)(&y);
	NAMED(spent)(n, w->n);
}

static void NAMED(scal)(struct soft_native *n, const struct blas_work *w)
{
	struct NAMED(vector) x;
	T alpha;

	if (!NAMED(scalar)(n, w, w->alpha, w->alpha_value, w->alphaType, &alpha) || !NAMED(both)(n, w, 1, &x, NULL))
		return;
	for (int64_t i = 0; i < w->n; i++)
		EACH(x, i) *= alpha;
	NAMED(store)(&x);
	NAMED(spent)(n, w->n);
}

static void NAMED(copy)(struct soft_native *n, const struct blas_work *w)
{
	struct NAMED(vector) x, y;

	if (!NAMED(both)(n, w, 2, &x, &y))
		return;
	for (int64_t i = 0; i < w->n; i++)
		EACH(y, i) = EACH(x, i);
	NAMED(store)(&y);
	NAMED(spent)(n, w->n);
}

static void NAMED(swap)(struct soft_native *n, const struct blas_work *w)
{
	struct NAMED(vector) x, y;

	if (!NAMED(both)(n, w, 3, &x, &y))
		return;
	for (int64_t i = 0; i < w->n; i++) {
		T kept = EACH(x, i);

		EACH(x, i) = EACH(y, i);
		EACH(y, i) = kept;
	}
	NAMED(store)(&x);
	NAMED(store)(&y);
	NAMED(spent)(n, w->n);
}

static void NAMED(rot)(struct soft_native *n, const struct blas_work *w)
{
	struct NAMED(vector) x, y;
	T c, s;

	if (!NAMED(scalar)(n, w, w->c, w->c_value, w->cType, &c) ||
	    !NAMED(scalar)(n, w, w->s, w->s_value, w->sType, &s) || !NAMED(both)(n, w, 3, &x, &y))
		return;
	for (int64_t i = 0; i < w->n; i++) {
		T a = EACH(x, i), b = EACH(y, i);

		EACH(x, i) = c * a + s * b;
		EACH(y, i) = c * b - CONJ(s) * a;
	}
	NAMED(store)(&x);
	NAMED(store)(&y);
	NAMED(spent)(n, w->n);
}

/* The four numbers of a modified rotation, by the flag that comes first. */
static void NAMED(rotm)(struct soft_native *n, const struct blas_work *w)
{
	struct NAMED(vector) x, y;
	R p[5], h11, h21, h12, h22;

	if (!w->in_device) {
		memcpy(p, w->alpha_value, 16);
		memcpy((char *)p + 16, w->beta_value, sizeof(p) - 16 < 16 ? sizeof(p) - 16 : 16);
		memcpy((char *)p + (sizeof(p) < 32 ? sizeof(p) : 32), w->c_value, sizeof(p) > 32 ? sizeof(p) - 32 : 0);
	} else {
		if (!n->reach(n, w->param, sizeof(p), false))
			return;
		memcpy(p, (const void *)(uintptr_t)w->param, sizeof(p));
	}
	if (p[0] == -2 || !NAMED(both)(n, w, 3, &x, &y))
		return;
	h11 = p[0] == 0 ? 1 : p[1];
	h21 = p[0] == 1 ? -1 : p[2];
	h12 = p[0] == 1 ? 1 : p[3];
	h22 = p[0] == 0 ? 1 : p[4];
	for (int64_t i = 0; i < w->n; i++) {
		T a = EACH(x, i), b = EACH(y, i);

		EACH(x, i) = h11 * a + h12 * b;
		EACH(y, i) = h21 * a + h22 * b;
	}
	NAMED(store)(&x);
	NAMED(store)(&y);
	NAMED(spent)(n, w->n);
}

/* Computes a rotation, as the reference BLAS defines it. */
static void NAMED(rotation)(T *a, T *b, R *c, T *s)
{
#if IS_COMPLEX
	R size_a = ABS(*a), size_b = ABS(*b), norm;
	T unit;

	if (size_a == 0) {
		*c = 0;
		*s = 1;
		*a = *b;
		return;
	}
	norm = (R)hypot((double)size_a, (double)size_b);
	unit = *a / size_a;
	*c = size_a / norm;
	*s = unit * CONJ(*b) / norm;
	*a = unit * norm;
#else
	R roe = FABS(*a) > FABS(*b) ? *a : *b, r, z = 1;

	if (*a == 0 && *b == 0) {
		*c = 1;
		*s = 0;
		*a = *b = 0;
		return;
	}
	r = (R)copysign(hypot((double)*a, (double)*b), (double)roe);
	*c = *a / r;
	*s = *b / r;
	if (FABS(*a) > FABS(*b))
		z = *s;
	else if (*c != 0)
		z = 1 / *c;
	*a = r;
	*b = z;
#endif
}

static void NAMED(rotg)(struct soft_native *n, const struct blas_work *w)
{
	const uint64_t at[] = { w->a, w->b, w->c, w->s };
	const uint32_t bytes[] = { sizeof(T), sizeof(T), sizeof(R), sizeof(T) };

	for (int i = 0; i < 4; i++)
		if (!device_reach(n, at[i], bytes[i], sizeof(R), true))
			return;
	NAMED(rotation)((T *)(uintptr_t)w->a, (T *)(uintptr_t)w->b, (R *)(uintptr_t)w->c, (T *)(uintptr_t)w->s);
}

/*
 * Makes a modified rotation of (sqrt(d1) x1, sqrt(d2) y1): Lawson, Hanson, Kincaid, Krogh, "Basic Linear Algebra
 * Subprograms for Fortran Usage", 1979: the flag and the elements that it leaves open, with scaling by 4096.
 */
static void NAMED(modified)(R *d1, R *d2, R *x1, R y1, R p[5])
{
	const R gamma = 4096, most = gamma * gamma, least = 1 / most;
	R h11 = 0, h12 = 0, h21 = 0, h22 = 0, flag, p1, p2, q1, q2, u;

	p2 = *d2 * y1;
	p1 = *d1 * *x1;
	q2 = p2 * y1;
	q1 = p1 * *x1;
	if (*d1 >= 0 && p2 == 0) {
		p[0] = -2;
		return;
	}
	if (*d1 < 0 || (FABS(q1) <= FABS(q2) && q2 < 0)) {
		flag = -1;
		*d1 = *d2 = *x1 = 0;
	} else if (FABS(q1) > FABS(q2)) {
		h21 = -y1 / *x1;
		h12 = p2 / p1;
		u = 1 - h12 * h21;
		h11 = h22 = 1;
		flag = 0;
		*d1 /= u;
		*d2 /= u;
		*x1 *= u;
	} else {
		h11 = p1 / p2;
		h22 = *x1 / y1;
		u = 1 + h11 * h22;
		h12 = 1;
		h21 = -1;
		flag = 1;
		q1 = *d2 / u;
		*d2 = *d1 / u;
		*d1 = q1;
		*x1 = y1 * u;
	}
	for (int i = 0; i < 64 && *d1 != 0 && (*d1 <= least || *d1 >= most); i++) {
		R by = *d1 <= least ? gamma : 1 / gamma;

		flag = -1;
		*d1 *= by * by;
		*x1 /= by;
		h11 /= by;
		h12 /= by;
	}
	for (int i = 0; i < 64 && *d2 != 0 && (FABS(*d2) <= least || FABS(*d2) >= most); i++) {
		R by = FABS(*d2) <= least ? gamma : 1 / gamma;

		flag = -1;
		*d2 *= by * by;
		h21 /= by;
		h22 /= by;
	}
	p[0] = flag;
	if (flag != 1) {
		p[2] = h21;
		p[3] = h12;
	}
	if (flag != 0) {
		p[1] = h11;
		p[4] = h22;
	}
}

static void NAMED(rotmg)(struct soft_native *n, const struct blas_work *w)
{
	const uint64_t at[] = { w->d1, w->d2, w->x1, w->y1 };

	for (int i = 0; i < 4; i++)
		if (!device_reach(n, at[i], sizeof(R), sizeof(R), i < 3))
			return;
	if (!device_reach(n, w->param, 5 * sizeof(R), sizeof(R), true))
		return;
	NAMED(modified)
	((R *)(uintptr_t)w->d1, (R *)(uintptr_t)w->d2, (R *)(uintptr_t)w->x1, *(const R *)(uintptr_t)w->y1,
	 (R *)(uintptr_t)w->param);
}
