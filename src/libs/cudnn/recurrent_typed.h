/*
 * recurrent_typed.h: steps of recurrent networks in one type T of computing; NAMED(name) names a function. Included by
 * recurrent.c for float and double.
 *
 * Gates lie as cuDNN counts them: of an LSTM input, forget, new, output; of a GRU reset, update, new.
 */

/* Rows of the block's images in matrices of the program's order. */
static T *NAMED(row_at)(uint64_t matrix, int64_t row, int64_t wide)
{
	return (T *)(uintptr_t)matrix + row * wide;
}

/* A row per image of the program's, or zeros. */
static void NAMED(state_get)(const struct block *b, T *to, uint64_t at)
{
	uint32_t each = dnn_type_bytes(b->r->type);

	for (int64_t i = 0; i < b->count; i++)
		if (at)
			NAMED(dnn_read)
			(to + i * b->hidden, b->r->type, (const char *)(uintptr_t)at + (b->from + i) * b->hidden * each,
			 1, b->hidden);
		else
			memset(to + i * b->hidden, 0, (size_t)b->hidden * sizeof(T));
}

static void NAMED(state_put)(const struct block *b, const T *from, uint64_t at)
{
	uint32_t each = dnn_type_bytes(b->r->type);

	for (int64_t i = 0; at && i < b->count; i++)
		NAMED(dnn_write)
		(from + i * b->hidden, b->r->type, (char *)(uintptr_t)at + (b->from + i) * b->hidden * each, 1,
		 b->hidden);
}

/* A row of what the program gets, or of its gradient. */
static void *NAMED(y_at)(const struct block *b, int64_t row)
{
	return (char *)(uintptr_t)b->r->y + row * b->r->y_stride * (int64_t)dnn_type_bytes(b->r->y_type);
}

static void NAMED(weights_get)(const struct block *b, T *recurrent, T *bias, T *bias_recurrent)
{
	int64_t all = b->gates * b->hidden;

	NAMED(dnn_read)(recurrent, b->r->type, (const void *)(uintptr_t)b->r->recurrent, 1, all * b->hidden);
	memset(bias, 0, (size_t)all * sizeof(T));
	memset(bias_recurrent, 0, (size_t)all * sizeof(T));
	if (b->r->bias)
		NAMED(dnn_read)(bias, b->r->type, (const void *)(uintptr_t)b->r->bias, 1, all);
	if (b->r->bias_recurrent)
		NAMED(dnn_read)(bias_recurrent, b->r->type, (const void *)(uintptr_t)b->r->bias_recurrent, 1, all);
}

/* One step of one image: `gates` has what the input adds, `part` what h adds; h and c are replaced. */
static void NAMED(step)(const struct block *b, T *gates, const T *part, T *h, T *c, T *hidden)
{
	int64_t n = b->hidden;

	for (int64_t k = 0; k < n; k++) {
		T x = gates[k] + part[k];

		switch (b->w->mode) {
		case CUDNN_RNN_RELU:
			gates[k] = h[k] = x > 0 ? x : 0;
			break;
		case CUDNN_RNN_TANH:
			gates[k] = h[k] = TANH(x);
			break;
		case CUDNN_LSTM:
			gates[k] = NAMED(sigmoid)(x);
			gates[n + k] = NAMED(sigmoid)(gates[n + k] + part[n + k]);
			gates[2 * n + k] = TANH(gates[2 * n + k] + part[2 * n + k]);
			gates[3 * n + k] = NAMED(sigmoid)(gates[3 * n + k] + part[3 * n + k]);
			c[k] = gates[n + k] * c[k] + gates[k] * gates[2 * n + k];
			h[k] = gates[3 * n + k] * TANH(c[k]);
			break;
		default:
			gates[k] = NAMED(sigmoid)(x);
			gates[n + k] = NAMED(sigmoid)(gates[n + k] + part[n + k]);
			gates[2 * n + k] = TANH(gates[2 * n + k] + gates[k] * part[2 * n + k]);
			if (hidden)
				hidden[k] = part[2 * n + k];
			h[k] = (1 - gates[n + k]) * gates[2 * n + k] + gates[n + k] * h[k];
		}
	}
}

/* Steps that an image does not have: zeros for those who read all rows. */
static void NAMED(rest_clear)(const struct block *b, int64_t image, uint64_t matrix, int64_t stride, int64_t wide)
{
	if (!matrix || b->r->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED)
		return;
	for (int64_t s = b->length[image]; s < b->steps; s++)
		memset(NAMED(row_at)(matrix, row_of(b, image, s), stride), 0, (size_t)wide * sizeof(T));
}

static bool NAMED(forward)(const struct block *b)
{
	const struct dnn_rnn_work *r = b->r;
	int64_t n = b->hidden, all = b->gates * n;
	T *recurrent = (T *)(void *)b->room, *bias = recurrent + all * n, *bias_recurrent = bias + all,
	  *part = bias_recurrent + all, *h = part + b->count * all, *c = h + b->count * n;
	T fill = (T)b->w->scalar[0];

	NAMED(weights_get)(b, recurrent, bias, bias_recurrent);
	NAMED(state_get)(b, h, r->first_h);
	NAMED(state_get)(b, c, r->first_c);
	for (int64_t s = 0; s < b->longest; s++) {
		NAMED(product)(false, true, b->count, all, n, 1, h, n, recurrent, n, 0, part, all);
		for (int64_t i = 0; i < b->count; i++) {
			int64_t image = b->from + i, row;
			T *gates, *own = part + i * all;

			if (s >= b->length[image])
				continue;
			row = row_of(b, image, step_of(b, image, s));
			gates = NAMED(row_at)(r->gates, row, all);
			for (int64_t k = 0; k < all; k++) {
				gates[k] += bias[k];
				own[k] += bias_recurrent[k];
			}
			if (r->before)
				memcpy(NAMED(row_at)(r->before, row, n), h + i * n, (size_t)n * sizeof(T));
			NAMED(step)
			(b, gates, own, h + i * n, c + i * n, r->hidden ? NAMED(row_at)(r->hidden, row, n) : NULL);
			if (r->cell)
				memcpy(NAMED(row_at)(r->cell, row, n), c + i * n, (size_t)n * sizeof(T));
			memcpy(NAMED(row_at)(r->out, row, r->stride), h + i * n, (size_t)n * sizeof(T));
			if (r->y)
				NAMED(dnn_write)(h + i * n, r->y_type, NAMED(y_at)(b, row), 1, n);
		}
		if (!b->n->go_on(b->n, (uint64_t)(b->count * all) * (uint64_t)(n + 8) / 32 + 1))
			return false;
	}
	NAMED(state_put)(b, h, r->last_h);
	NAMED(state_put)(b, c, r->last_c);
	for (int64_t i = 0; i < b->count; i++) {
		int64_t image = b->from + i;
		bool packed = r->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;

		NAMED(rest_clear)(b, image, r->out, r->stride, n);
		NAMED(rest_clear)(b, image, r->before, n, n);
		for (int64_t s = b->length[image]; r->y && !packed && s < b->steps; s++)
			for (int64_t k = 0; k < n; k++)
				NAMED(dnn_write)
				(&fill, r->y_type,
				 (char *)NAMED(y_at)(b, row_of(b, image, s)) + k * (int64_t)dnn_type_bytes(r->y_type),
				 1, 1);
		if (!b->n->go_on(b->n, (uint64_t)(b->steps - b->length[image]) * (uint64_t)n / 8 + 1))
			return false;
	}
	return true;
}

/*
 * The gradient of one step of one image: dh and dc are those behind the step, and then what goes on before it without
 * the weights. `slopes` gets the gates' gradients, `part` those that pass the recurrent weights.
 */
static void NAMED(step_back)(const struct block *b, const T *gates, const T *cell, const T *cell_before,
			     const T *hidden, const T *before, T *dh, T *dc, T *slopes, T *part)
{
	int64_t n = b->hidden;

	for (int64_t k = 0; k < n; k++) {
		T d = dh[k], in, forget, fresh, out, t;

		switch (b->w->mode) {
		case CUDNN_RNN_RELU:
			slopes[k] = part[k] = gates[k] > 0 ? d : 0;
			dh[k] = 0;
			break;
		case CUDNN_RNN_TANH:
			slopes[k] = part[k] = d * (1 - gates[k] * gates[k]);
			dh[k] = 0;
			break;
		case CUDNN_LSTM:
			in = gates[k];
			forget = gates[n + k];
			fresh = gates[2 * n + k];
			out = gates[3 * n + k];
			t = TANH(cell[k]);
			dc[k] += d * out * (1 - t * t);
			slopes[k] = part[k] = dc[k] * fresh * in * (1 - in);
			slopes[n + k] = part[n + k] =
				dc[k] * (cell_before ? cell_before[k] : 0) * forget * (1 - forget);
			slopes[2 * n + k] = part[2 * n + k] = dc[k] * in * (1 - fresh * fresh);
			slopes[3 * n + k] = part[3 * n + k] = d * t * out * (1 - out);
			dc[k] *= forget;
			dh[k] = 0;
			break;
		default:
			in = gates[k]; /* reset */
			forget = gates[n + k];
			fresh = gates[2 * n + k];
			t = d * (1 - forget) * (1 - fresh * fresh);
			slopes[k] = part[k] = t * hidden[k] * in * (1 - in);
			slopes[n + k] = part[n + k] = d * (before[k] - fresh) * forget * (1 - forget);
			slopes[2 * n + k] = t;
			part[2 * n + k] = t * in;
			dh[k] = d * forget;
		}
	}
}

static bool NAMED(backward)(const struct block *b)
{
	const struct dnn_rnn_work *r = b->r;
	int64_t n = b->hidden, all = b->gates * n;
	T *recurrent = (T *)(void *)b->room, *bias = recurrent + all * n, *part = bias + 2 * all,
	  *dh = part + b->count * all, *dc = dh + b->count * n, *given = dc + b->count * n, *dy = given + b->count * n,
	  *pass = dy + b->count * n;

	NAMED(weights_get)(b, recurrent, bias, bias + all);
	NAMED(state_get)(b, dh, r->last_h);
	NAMED(state_get)(b, dc, r->last_c);
	NAMED(state_get)(b, given, r->given_c);
	for (int64_t s = b->longest - 1; s >= 0; s--) {
		for (int64_t i = 0; i < b->count; i++) {
			int64_t image = b->from + i, row;
			const T *cell_before = given + i * n;
			T *slopes;

			memset(part + i * all, 0, (size_t)all * sizeof(T));
			if (s >= b->length[image])
				continue;
			row = row_of(b, image, step_of(b, image, s));
			if (s && r->cell)
				cell_before = NAMED(row_at)(r->cell, row_of(b, image, step_of(b, image, s - 1)), n);
			NAMED(dnn_read)(dy, r->y_type, NAMED(y_at)(b, row), 1, n);
			for (int64_t k = 0; k < n; k++)
				dh[i * n + k] += dy[k];
			slopes = NAMED(row_at)(r->slopes, row, all);
			NAMED(step_back)
			(b, NAMED(row_at)(r->gates, row, all), r->cell ? NAMED(row_at)(r->cell, row, n) : NULL,
			 cell_before, r->hidden ? NAMED(row_at)(r->hidden, row, n) : NULL,
			 r->before ? NAMED(row_at)(r->before, row, n) : NULL, dh + i * n, dc + i * n, slopes,
			 part + i * all);
			if (r->slopes_hidden)
				memcpy(NAMED(row_at)(r->slopes_hidden, row, n), part + i * all + (b->gates - 1) * n,
				       (size_t)n * sizeof(T));
		}
		NAMED(product)(false, false, b->count, n, all, 1, part, all, recurrent, n, 0, pass, n);
		for (int64_t i = 0; i < b->count; i++)
			for (int64_t k = 0; s < b->length[b->from + i] && k < n; k++)
				dh[i * n + k] += pass[i * n + k];
		if (!b->n->go_on(b->n, (uint64_t)(b->count * all) * (uint64_t)(n + 8) / 32 + 1))
			return false;
	}
	NAMED(state_put)(b, dh, r->first_h);
	NAMED(state_put)(b, dc, r->first_c);
	for (int64_t i = 0; i < b->count; i++) {
		NAMED(rest_clear)(b, b->from + i, r->slopes, all, all);
		NAMED(rest_clear)(b, b->from + i, r->slopes_hidden, n, n);
		if (!b->n->go_on(b->n, (uint64_t)(b->steps - b->length[b->from + i]) * (uint64_t)all / 8 + 1))
			return false;
	}
	return true;
}

/* The program's rows, which have the hidden size here, as numbers of computing; zeros for steps that there are not. */
static bool NAMED(take)(const struct block *b)
{
	const struct dnn_rnn_work *r = b->r;

	for (int64_t i = 0; i < b->count; i++) {
		int64_t image = b->from + i;

		for (int64_t s = 0; s < b->length[image]; s++) {
			int64_t row = row_of(b, image, s);

			NAMED(dnn_read)
			(NAMED(row_at)(r->out, row, r->stride), r->y_type, NAMED(y_at)(b, row), 1, b->hidden);
		}
		NAMED(rest_clear)(b, image, r->out, r->stride, b->hidden);
		if (!b->n->go_on(b->n, (uint64_t)b->steps * (uint64_t)b->hidden / 8 + 1))
			return false;
	}
	return true;
}

#undef T
#undef NAMED
