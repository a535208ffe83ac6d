/*
 * conv_own.h: one image's convolution or gradient in one type T, by products with columns of windows; NAMED(name) names
 * a function. All memory is dense. Included by conv.c.
 */

/* The windows of results `from` to `from + count` as columns, for the channels of one group. */
static void NAMED(columns_get)(const struct piece *p, T *columns, const T *x, int64_t from, int64_t count)
{
	for (int64_t c = 0; c < p->in_each; c++)
		for (int64_t d = 0; d < p->window[0]; d++)
			for (int64_t h = 0; h < p->window[1]; h++)
				for (int64_t v = 0; v < p->window[2]; v++, columns += count)
					for (int64_t k = 0; k < count; k++) {
						int64_t place = window_place(p, from + k, d, h, v);

						columns[k] = place < 0 ? 0 : x[c * p->in_size + place];
					}
}

static void NAMED(columns_add)(const struct piece *p, const T *columns, T *x, int64_t from, int64_t count)
{
	for (int64_t c = 0; c < p->in_each; c++)
		for (int64_t d = 0; d < p->window[0]; d++)
			for (int64_t h = 0; h < p->window[1]; h++)
				for (int64_t v = 0; v < p->window[2]; v++, columns += count)
					for (int64_t k = 0; k < count; k++) {
						int64_t place = window_place(p, from + k, d, h, v);

						if (place >= 0)
							x[c * p->in_size + place] += columns[k];
					}
}

static bool NAMED(conv_own)(struct soft_native *n, const struct piece *p, enum dnn_kernel kernel, T *x, T *w, T *y,
			    T *columns)
{
	int64_t inner = p->in_each * p->window_size;

	if (kernel == DNN_CONV_DATA)
		memset(x, 0, (size_t)(p->groups * p->in_each * p->in_size) * sizeof(T));
	for (int64_t g = 0; g < p->groups; g++)
		for (int64_t from = 0; from < p->out_size; from += p->columns) {
			int64_t count = p->out_size - from < p->columns ? p->out_size - from : p->columns;
			T *image = x + g * p->in_each * p->in_size, *result = y + g * p->out_each * p->out_size + from;
			T *filter = w + g * p->out_each * inner;

			if (kernel != DNN_CONV_DATA)
				NAMED(columns_get)(p, columns, image, from, count);
			if (kernel == DNN_CONV_FORWARD)
				NAMED(product)
			(false, false, p->out_each, count, inner, 1, filter, inner, columns, count, 0, result,
			 p->out_size);
			else if (kernel == DNN_CONV_FILTER)
				NAMED(product)(false, true, p->out_each, inner, count, 1, result, p->out_size, columns,
					       count, 1, filter, inner);
			else NAMED(product)(true, false, inner, count, p->out_each, 1, filter, inner, result,
					    p->out_size, 0, columns, count);
			if (kernel == DNN_CONV_DATA)
				NAMED(columns_add)(p, columns, image, from, count);
			if (!n->go_on(n, (uint64_t)(p->out_each * count) * (uint64_t)inner / 32 + 1))
				return false;
		}
	return true;
}

#undef T
#undef NAMED
