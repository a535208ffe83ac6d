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
	(to + i * b->hidden, b->r->type, (const char *)(uintptr_t)at + (b->from + i) * b->hidden * each, 1, b->hidden);
	else memset(to + i * b->hidden, 0, (size_t)b->hidden * sizeof(T));
}

static void NAMED(state_put)(const struct block *b, const T *from, uint64_t at)
{
	uint32_t each = dnn_type_bytes(b->r->type);

	for (int64_t i = 0; at && i < b->count; i++)
		NAMED(dnn_write)
	(from + i * b->hidden, b->r->type, (char *)(uintptr_t)at + (b->from + i) * b->hidden * each, 1, b->hidden);
}

/* A row of what the program gets, or of its gradient. */
static void *NAMED(y_at)(const struct block *b, int64_t row)
{
	return (char *)(uintptr_t)b->r->y + row * b->r->y_stride * (int64_t)dnn_type_bytes(b->r->y_type);
}

/* What a block has in its room beside lengths; backward h and c are their gradients. */
struct NAMED(room) {
	const T *recurrent; /* in the room, or where the program has them */
	T *taken, *bias, *bias_recurrent, *part, *h, *c, *given, *dy, *pass;
};

static struct NAMED(room) NAMED(room_of)(const struct block *b)
{
	int64_t n = b->hidden, all = b->gates * n;
	struct NAMED(room) m = { .taken = (T *)(void *)b->room };

	m.recurrent = has_plain_weights(b) ? (const T *)(uintptr_t)b->r->recurrent : m.taken;
	m.bias = m.taken + (has_plain_weights(b) ? 0 : all * n);
	m.bias_recurrent = m.bias + all;
	m.part = m.bias_recurrent + all;
	m.h = m.part + b->count * all;
	m.c = m.h + b->count * n;
	m.given = m.c + b->count * n;
	m.dy = m.given + b->count * n;
	m.pass = m.dy + b->count * n;
	return m;
}

static void NAMED(weights_get)(const struct block *b, const struct NAMED(room) * m)
{
	int64_t all = b->gates * b->hidden, taken = has_plain_weights(b) ? 0 : all * b->hidden;

	NAMED(dnn_read)(m->taken, b->r->type, (const void *)(uintptr_t)b->r->recurrent, 1, taken);
	memset(m->bias, 0, (size_t)all * sizeof(T));
	memset(m->bias_recurrent, 0, (size_t)all * sizeof(T));
	if (b->r->bias)
		NAMED(dnn_read)(m->bias, b->r->type, (const void *)(uintptr_t)b->r->bias, 1, all);
	if (b->r->bias_recurrent)
		NAMED(dnn_read)(m->bias_recurrent, b->r->type, (const void *)(uintptr_t)b->r->bias_recurrent, 1, all);
	for (int64_t k = 0; b->w->mode != CUDNN_GRU && k < all; k++)
		m->bias[k] += m->bias_recurrent[k];
}

/* One step of one image: `gates` has what the input adds, `part` what h adds; h and c are replaced. */
static void NAMED(step)(const struct block *b, const struct NAMED(room) * m, T *gates, T *part, T *h, T *c, T *hidden)
{
	int64_t n = b->hidden;

	switch (b->w->mode) {
	case CUDNN_RNN_RELU:
		for (int64_t k = 0; k < n; k++) {
			T x = gates[k] + part[k] + m->bias[k];

			gates[k] = h[k] = x > 0 ? x : 0;
		}
		break;
	case CUDNN_RNN_TANH:
		NAMED(cell_tanh)(n, gates, part, m->bias, h);
		break;
	case CUDNN_LSTM:
		NAMED(cell_lstm)(n, gates, part, m->bias, h, c);
		break;
	default:
		for (int64_t k = 0; k < 3 * n; k++) {
			gates[k] += m->bias[k];
			part[k] += m->bias_recurrent[k];
		}
		if (hidden)
			memcpy(hidden, part + 2 * n, (size_t)n * sizeof(T));
		NAMED(cell_gru)(n, gates, part, h);
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

/* A step of some of the block's images. */
static void NAMED(forward_some)(const struct block *b, const struct NAMED(room) * m, int64_t s, int64_t first,
				int64_t end)
{
	const struct dnn_rnn_work *r = b->r;
	int64_t n = b->hidden, all = b->gates * n;

	NAMED(product_kept)
	(b->number, b->longest, true, end - first, all, n, m->h + first * n, n, m->recurrent, n, m->part + first * all,
	 all);
	for (int64_t i = first; i < end; i++) {
		int64_t image = b->from + i, row;
		T *gates, *own = m->part + i * all, *h = m->h + i * n, *c = m->c + i * n;

		if (s >= b->length[image])
			continue;
		row = row_of(b, image, step_of(b, image, s));
		gates = NAMED(row_at)(r->gates, row, all);
		if (r->before)
			memcpy(NAMED(row_at)(r->before, row, n), h, (size_t)n * sizeof(T));
		NAMED(step)(b, m, gates, own, h, c, r->hidden ? NAMED(row_at)(r->hidden, row, n) : NULL);
		if (r->cell)
			memcpy(NAMED(row_at)(r->cell, row, n), c, (size_t)n * sizeof(T));
		memcpy(NAMED(row_at)(r->out, row, r->stride), h, (size_t)n * sizeof(T));
		if (r->y)
			NAMED(dnn_write)(h, r->y_type, NAMED(y_at)(b, row), 1, n);
	}
}

static bool NAMED(forward)(const struct block *b)
{
	const struct dnn_rnn_work *r = b->r;
	int64_t n = b->hidden;
	struct NAMED(room) m = NAMED(room_of)(b);
	T fill = (T)b->w->scalar[0];

	NAMED(weights_get)(b, &m);
	NAMED(state_get)(b, m.h, r->first_h);
	NAMED(state_get)(b, m.c, r->first_c);
	for (int64_t s = 0; s < b->longest; s++)
		for (int64_t first = 0, end; first < b->count; first = end) {
			end = first + product_rows(b->count - first, b->gates * n, n);
			NAMED(forward_some)(b, &m, s, first, end);
			if (!step_told(b, end - first))
				return false;
		}
	NAMED(state_put)(b, m.h, r->last_h);
	NAMED(state_put)(b, m.c, r->last_c);
	for (int64_t i = 0; i < b->count; i++) {
		int64_t image = b->from + i;
		bool packed = r->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;

		NAMED(rest_clear)(b, image, r->out, r->stride, n);
		NAMED(rest_clear)(b, image, r->before, n, n);
		for (int64_t s = b->length[image]; r->y && !packed && s < b->steps; s++)
			for (int64_t k = 0; k < n; k++)
				NAMED(dnn_write)
		(&fill, r->y_type, (char *)NAMED(y_at)(b, row_of(b, image, s)) + k * (int64_t)dnn_type_bytes(r->y_type),
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

static void NAMED(backward_some)(const struct block *b, const struct NAMED(room) * m, int64_t s, int64_t first,
				 int64_t end)
{
	const struct dnn_rnn_work *r = b->r;
	int64_t n = b->hidden, all = b->gates * n;

	for (int64_t i = first; i < end; i++) {
		int64_t image = b->from + i, row;
		const T *cell_before = m->given + i * n;
		T *part = m->part + i * all, *dh = m->h + i * n;

		memset(part, 0, (size_t)all * sizeof(T));
		if (s >= b->length[image])
			continue;
		row = row_of(b, image, step_of(b, image, s));
		if (s && r->cell)
			cell_before = NAMED(row_at)(r->cell, row_of(b, image, step_of(b, image, s - 1)), n);
		NAMED(dnn_read)(m->dy, r->y_type, NAMED(y_at)(b, row), 1, n);
		for (int64_t k = 0; k < n; k++)
			dh[k] += m->dy[k];
		NAMED(step_back)
		(b, NAMED(row_at)(r->gates, row, all), r->cell ? NAMED(row_at)(r->cell, row, n) : NULL, cell_before,
		 r->hidden ? NAMED(row_at)(r->hidden, row, n) : NULL,
		 r->before ? NAMED(row_at)(r->before, row, n) : NULL, dh, m->c + i * n,
		 NAMED(row_at)(r->slopes, row, all), part);
		if (r->slopes_hidden)
			memcpy(NAMED(row_at)(r->slopes_hidden, row, n), part + (b->gates - 1) * n,
			       (size_t)n * sizeof(T));
	}
	NAMED(product_kept)
	(b->number, b->longest, false, end - first, n, all, m->part + first * all, all, m->recurrent, n,
	 m->pass + first * n, n);
	for (int64_t i = first; i < end; i++)
		for (int64_t k = 0; s < b->length[b->from + i] && k < n; k++)
			m->h[i * n + k] += m->pass[i * n + k];
}

static bool NAMED(backward)(const struct block *b)
{
	const struct dnn_rnn_work *r = b->r;
	int64_t n = b->hidden, all = b->gates * n;
	struct NAMED(room) m = NAMED(room_of)(b);

	NAMED(weights_get)(b, &m);
	NAMED(state_get)(b, m.h, r->last_h);
	NAMED(state_get)(b, m.c, r->last_c);
	NAMED(state_get)(b, m.given, r->given_c);
	for (int64_t s = b->longest - 1; s >= 0; s--)
		for (int64_t first = 0, end; first < b->count; first = end) {
			end = first + product_rows(b->count - first, b->gates * n, n);
			NAMED(backward_some)(b, &m, s, first, end);
			if (!step_told(b, end - first))
				return false;
		}
	NAMED(state_put)(b, m.h, r->first_h);
	NAMED(state_put)(b, m.c, r->first_c);
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
