/*
 * product_epilogue.h: the epilogue for a column of a tile: for float and for double, included once for each by
 * product_run.c, which defines T, NAMED and TANH.
 *
 * GELU is its tanh approximation, as cuBLASLt documents it. The auxiliary matrix has one bit per element for RELU, and
 * the input values for GELU.
 */

static T NAMED(gelu)(T x)
{
	const T inner = (T)0.7978845608028654 * (x + (T)0.044715 * x * x * x);

	return (T)0.5 * x * (1 + TANH(inner));
}

static T NAMED(gelu_slope)(T x)
{
	const T inner = (T)0.7978845608028654 * (x + (T)0.044715 * x * x * x), t = TANH(inner);
	const T slope = (T)0.7978845608028654 * (1 + (T)0.134145 * x * x);

	return (T)0.5 * (1 + t) + (T)0.5 * x * (1 - t * t) * slope;
}

static bool NAMED(bias_add)(struct run *r, int64_t j, T *v)
{
	const struct product *p = r->p;
	const char *bias = bias_at(r, p->bias_across ? p->n : p->m, false);
	uint32_t each = type_bytes(p->bias_type);

	if (!bias)
		return false;
	for (int64_t i = 0; i < r->rows; i++)
		v[i] += (T)type_get(p->bias_type, bias + (p->bias_across ? r->j0 + j : r->i0 + i) * each);
	return true;
}

static bool NAMED(relu)(struct run *r, int64_t j, T *v)
{
	bool keep = r->p->epilogue & EPILOGUE_AUX;
	uint8_t *bits = keep ? (uint8_t *)aux_at(r, j, true, true) : NULL;
	int64_t shift = r->i0 % 8;

	if (keep && !bits)
		return false;
	for (int64_t i = 0; i < r->rows; i++) {
		bool on = !(v[i] <= 0);

		if (keep)
			bits[(shift + i) / 8] = (uint8_t)((bits[(shift + i) / 8] & ~(1u << (shift + i) % 8)) |
							  (unsigned int)on << (shift + i) % 8);
		v[i] = on ? v[i] : 0;
	}
	return true;
}

static bool NAMED(gelu_all)(struct run *r, int64_t j, T *v)
{
	const struct product *p = r->p;
	char *aux = NULL;

	if (p->epilogue & EPILOGUE_AUX) {
		aux = aux_at(r, j, false, true);
		if (!aux)
			return false;
	}
	for (int64_t i = 0; i < r->rows; i++) {
		if (aux) {
			r->aux_amax = fabsf((float)v[i]) > r->aux_amax ? fabsf((float)v[i]) : r->aux_amax;
			type_put(p->aux_type, (double)v[i] * r->scale_aux, aux + i * type_bytes(p->aux_type));
		}
		v[i] = NAMED(gelu)(v[i]);
	}
	return true;
}

static bool NAMED(slope_all)(struct run *r, int64_t j, T *v)
{
	const struct product *p = r->p;
	const char *aux = aux_at(r, j, p->epilogue & EPILOGUE_DRELU, false);

	if (!aux)
		return false;
	for (int64_t i = 0; i < r->rows; i++) {
		int64_t bit = r->i0 % 8 + i;

		if (p->epilogue & EPILOGUE_DRELU)
			v[i] = (uint8_t)aux[bit / 8] >> bit % 8 & 1 ? v[i] : 0;
		else
			v[i] *= NAMED(gelu_slope)((T)type_get(p->aux_type, aux + i * type_bytes(p->aux_type)));
	}
	return true;
}

/* The sum over columns; one block has all of them, from the first to the last. */
static bool NAMED(gradient_add)(struct run *r, int64_t j, const T *v)
{
	const struct product *p = r->p;
	char *bias;

	for (int64_t i = 0; i < r->rows; i++)
		r->gradient[i] = (r->j0 + j ? r->gradient[i] : 0) + (double)v[i];
	if (r->j0 + j + 1 < p->n)
		return true;
	bias = (char *)(uintptr_t)bias_at(r, p->m, true);
	if (!bias)
		return false;
	for (int64_t i = 0; i < r->rows; i++)
		type_put(p->bias_type, r->gradient[i], bias + (r->i0 + i) * type_bytes(p->bias_type));
	return true;
}

/* Column j of the tile. False: the launch has failed with a fault. */
static bool NAMED(epilogue)(struct run *r, int64_t j, T *v)
{
	uint32_t e = r->p->epilogue;

	if (e & EPILOGUE_BIAS && !NAMED(bias_add)(r, j, v))
		return false;
	if (e & EPILOGUE_RELU && !NAMED(relu)(r, j, v))
		return false;
	if (e & EPILOGUE_GELU && !NAMED(gelu_all)(r, j, v))
		return false;
	if (e & (EPILOGUE_DRELU | EPILOGUE_DGELU) && !NAMED(slope_all)(r, j, v))
		return false;
	return !(e & EPILOGUE_BGRAD) || NAMED(gradient_add)(r, j, v);
}

#undef T
#undef NAMED
#undef TANH
