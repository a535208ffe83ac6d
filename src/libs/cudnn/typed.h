/*
 * typed.h: kernels in one type T of computing; NAMED(name) names a function, EXPF(x) and so on are the functions of
 * math.h. Included by run.c for float and double.
 */

static void NAMED(get)(T *to, const struct dnn_operand *o, const int64_t at[DNN_DIMS], int row, int64_t from,
		       int64_t count)
{
	double value;

	if (o->is_value || !o->at) {
		memcpy(&value, &o->at, sizeof(value));
		for (int64_t i = 0; i < count; i++)
			to[i] = (T)value;
		return;
	}
	NAMED(dnn_read)(to, o->type, element_at(o, operand_at(o, at), from * o->stride[row]), o->stride[row], count);
}

static void NAMED(put)(const T *values, const struct dnn_operand *o, const int64_t at[DNN_DIMS], int row, int64_t from,
		       int64_t count)
{
	NAMED(dnn_write)
	(values, o->type, element_at(o, operand_at(o, at), from * o->stride[row]), o->stride[row], count);
}

/* alpha * value + beta * what is there. */
static void NAMED(blend)(T *values, const struct dnn_operand *o, const int64_t at[DNN_DIMS], int row, int64_t from,
			 int64_t count, double alpha, double beta)
{
	T old[ROW];

	if (alpha != 1)
		for (int64_t i = 0; i < count; i++)
			values[i] *= (T)alpha;
	if (beta != 0) {
		NAMED(get)(old, o, at, row, from, count);
		for (int64_t i = 0; i < count; i++)
			values[i] += (T)beta * old[i];
	}
	NAMED(put)(values, o, at, row, from, count);
}

static T NAMED(one)(const struct dnn_operand *o, const int64_t at[DNN_DIMS])
{
	T value;

	NAMED(get)(&value, o, at, 0, 0, 1);
	return value;
}

/* ---- pointwise ---- */

static T NAMED(sigmoid)(T x)
{
	return 1 / (1 + EXP(-x));
}

static T NAMED(gelu_slope)(T x)
{
	return (T)0.5 * (1 + ERF(x * (T)0.70710678118654752440)) + x * (T)0.39894228040143267794 * EXP(-x * x / 2);
}

#define GELU_A (T)0.79788456080286535588
#define GELU_B (T)0.044715

static T NAMED(gelu_tanh)(T x)
{
	return (T)0.5 * x * (1 + TANH(GELU_A * (x + GELU_B * x * x * x)));
}

static T NAMED(gelu_tanh_slope)(T x)
{
	T t = TANH(GELU_A * (x + GELU_B * x * x * x));

	return (T)0.5 * (1 + t) + (T)0.5 * x * (1 - t * t) * GELU_A * (1 + 3 * GELU_B * x * x);
}

static T NAMED(softplus)(T x, T beta)
{
	return x * beta > 0 ? x + LOG1P(EXP(-x * beta)) / beta : LOG1P(EXP(x * beta)) / beta;
}

static T NAMED(floor_mod)(T x, T b)
{
	T r = FMOD(x, b);

	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* max() and min() as cuDNN has them with CUDNN_NOT_PROPAGATE_NAN are not: NaN goes on, as its documentation asks. */
#define LARGER(x, b) ((x) > (b) || isnan(x) ? (x) : (b))
#define SMALLER(x, b) ((x) < (b) || isnan(x) ? (x) : (b))

static T NAMED(relu)(T x, const struct dnn_work *w)
{
	T low = (T)w->scalar[POINT_LOW], high = (T)w->scalar[POINT_HIGH], slope = (T)w->scalar[POINT_SLOPE];

	if (x < low)
		return slope != 0 ? low + slope * (x - low) : low; /* also where x is infinite */
	return x > high ? high : x;
}

static T NAMED(relu_slope)(T x, const struct dnn_work *w)
{
	T high = (T)w->scalar[POINT_HIGH];

	if (x <= (T)w->scalar[POINT_LOW])
		return (T)w->scalar[POINT_SLOPE];
	return x > high || (w->flag && x == high) ? 0 : 1;
}

#define EACH(expression)                                                                                               \
	for (int64_t i = 0; i < count; i++) {                                                                          \
		T x = xs[i], b = bs[i];                                                                                \
		(void)x;                                                                                               \
		(void)b;                                                                                               \
		ys[i] = (expression);                                                                                  \
	}                                                                                                              \
	break

/* b is the gradient of what follows, where there is one; `flag` says that x is the function's value. */
static void NAMED(compute)(const struct dnn_work *w, T *ys, const T *xs, const T *bs, const T *ts, int64_t first,
			   int64_t count)
{
	T slope = (T)w->scalar[POINT_SLOPE];

	switch (w->mode) {
	case CUDNN_POINTWISE_ADD:
		EACH(x + b);
	case CUDNN_POINTWISE_ADD_SQUARE:
		EACH(x + b * b);
	case CUDNN_POINTWISE_DIV:
		EACH(x / b);
	case CUDNN_POINTWISE_MAX:
		EACH(LARGER(x, b));
	case CUDNN_POINTWISE_MIN:
		EACH(SMALLER(x, b));
	case CUDNN_POINTWISE_MOD:
		EACH(FMOD(x, b));
	case CUDNN_POINTWISE_FLOOR_MOD:
		EACH(NAMED(floor_mod)(x, b));
	case CUDNN_POINTWISE_MUL:
		EACH(x * b);
	case CUDNN_POINTWISE_POW:
		EACH(POW(x, b));
	case CUDNN_POINTWISE_SUB:
		EACH(x - b);
	case CUDNN_POINTWISE_ATAN2:
		EACH(ATAN2(x, b));
	case CUDNN_POINTWISE_ABS:
		EACH(x < 0 ? -x : x);
	case CUDNN_POINTWISE_CEIL:
		EACH(CEIL(x));
	case CUDNN_POINTWISE_COS:
		EACH(COS(x));
	case CUDNN_POINTWISE_EXP:
		EACH(EXP(x));
	case CUDNN_POINTWISE_FLOOR:
		EACH(FLOOR(x));
	case CUDNN_POINTWISE_LOG:
		EACH(LOG(x));
	case CUDNN_POINTWISE_NEG:
		EACH(-x);
	case CUDNN_POINTWISE_RSQRT:
		EACH(1 / SQRT(x));
	case CUDNN_POINTWISE_SIN:
		EACH(SIN(x));
	case CUDNN_POINTWISE_SQRT:
		EACH(SQRT(x));
	case CUDNN_POINTWISE_TAN:
		EACH(TAN(x));
	case CUDNN_POINTWISE_ERF:
		EACH(ERF(x));
	case CUDNN_POINTWISE_IDENTITY:
		EACH(x);
	case CUDNN_POINTWISE_RECIPROCAL:
		EACH(1 / x);
	case CUDNN_POINTWISE_RELU_FWD:
		EACH(NAMED(relu)(x, w));
	case CUDNN_POINTWISE_TANH_FWD:
		EACH(TANH(x));
	case CUDNN_POINTWISE_SIGMOID_FWD:
		EACH(NAMED(sigmoid)(x));
	case CUDNN_POINTWISE_ELU_FWD:
		EACH(x > 0 ? x : slope * EXPM1(x));
	case CUDNN_POINTWISE_GELU_FWD:
		EACH((T)0.5 * x * (1 + ERF(x * (T)0.70710678118654752440)));
	case CUDNN_POINTWISE_SOFTPLUS_FWD:
		EACH(NAMED(softplus)(x, slope));
	case CUDNN_POINTWISE_SWISH_FWD:
		EACH(x * NAMED(sigmoid)(slope * x));
	case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
		EACH(NAMED(gelu_tanh)(x));
	case CUDNN_POINTWISE_RELU_BWD:
		EACH(b * NAMED(relu_slope)(x, w));
	case CUDNN_POINTWISE_TANH_BWD:
		EACH(w->flag ? b * (1 - x * x) : b * (1 - TANH(x) * TANH(x)));
	case CUDNN_POINTWISE_SIGMOID_BWD:
		EACH(w->flag ? b * x * (1 - x) : b * NAMED(sigmoid)(x) * (1 - NAMED(sigmoid)(x)));
	case CUDNN_POINTWISE_ELU_BWD:
		EACH(x > 0 ? b : b * (w->flag ? x + slope : slope * EXP(x)));
	case CUDNN_POINTWISE_GELU_BWD:
		EACH(b * NAMED(gelu_slope)(x));
	case CUDNN_POINTWISE_SOFTPLUS_BWD:
		EACH(b * NAMED(sigmoid)(slope * x));
	case CUDNN_POINTWISE_SWISH_BWD:
		EACH(b * NAMED(sigmoid)(slope * x) * (1 + slope * x * (1 - NAMED(sigmoid)(slope * x))));
	case CUDNN_POINTWISE_GELU_APPROX_TANH_BWD:
		EACH(b * NAMED(gelu_tanh_slope)(x));
	case CUDNN_POINTWISE_CMP_EQ:
		EACH(x == b);
	case CUDNN_POINTWISE_CMP_NEQ:
		EACH(x != b);
	case CUDNN_POINTWISE_CMP_GT:
		EACH(x > b);
	case CUDNN_POINTWISE_CMP_GE:
		EACH(x >= b);
	case CUDNN_POINTWISE_CMP_LT:
		EACH(x < b);
	case CUDNN_POINTWISE_CMP_LE:
		EACH(x <= b);
	case CUDNN_POINTWISE_LOGICAL_AND:
		EACH(x != 0 && b != 0);
	case CUDNN_POINTWISE_LOGICAL_OR:
		EACH(x != 0 || b != 0);
	case CUDNN_POINTWISE_LOGICAL_NOT:
		EACH(x == 0);
	case CUDNN_POINTWISE_GEN_INDEX:
		EACH((T)(first + (w->flag ? i : 0)));
	case CUDNN_POINTWISE_BINARY_SELECT:
		EACH(ts[i] != 0 ? x : b);
	case DNN_POINT_FILL:
		EACH((T)w->scalar[POINT_LOW]);
	default:
		break;
	}
}

#undef EACH
#undef LARGER
#undef SMALLER

static bool NAMED(pointwise)(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to)
{
	const struct dnn_operand *o = w->operand;
	int axis = w->mode == CUDNN_POINTWISE_GEN_INDEX ? (int)w->scalar[POINT_AXIS] : 0, last = DNN_DIMS - 1;
	int64_t inner = w->dim[last], at[DNN_DIMS] = { 0 }, since = 0;
	T xs[ROW] = { 0 }, bs[ROW] = { 0 }, ts[ROW] = { 0 }, ys[ROW] = { 0 };
	struct dnn_work plan = *w;

	plan.flag = w->mode == CUDNN_POINTWISE_GEN_INDEX ? axis == last : w->flag;
	while (from < to) {
		int64_t column = from % inner, count = inner - column;

		count = count < to - from ? count : to - from;
		count = count < ROW ? count : ROW;
		walk_element(w->dim, ALL_AXES & ~(1u << last), from / inner, at);
		/* What counts 0 times is not looked at: it may be NaN, as memory is that nobody has written. */
		if (o[POINT_X].at && w->scalar[POINT_ALPHA1] != 0)
			NAMED(get)(xs, &o[POINT_X], at, last, column, count);
		if (o[POINT_B].at && w->scalar[POINT_ALPHA2] != 0)
			NAMED(get)(bs, &o[POINT_B], at, last, column, count);
		if (o[POINT_T].at)
			NAMED(get)(ts, &o[POINT_T], at, last, column, count);
		for (int64_t i = 0; w->scalar[POINT_ALPHA1] != 1 && i < count; i++)
			xs[i] *= (T)w->scalar[POINT_ALPHA1];
		for (int64_t i = 0; w->scalar[POINT_ALPHA2] != 1 && i < count; i++)
			bs[i] *= (T)w->scalar[POINT_ALPHA2];
		NAMED(compute)(&plan, ys, xs, bs, ts, axis == last ? column : at[axis], count);
		NAMED(blend)(ys, &o[POINT_Y], at, last, column, count, w->scalar[POINT_SCALE], w->scalar[POINT_BLEND]);
		from += count;
		since += count;
		if (since >= 65536) {
			if (!n->go_on(n, (uint64_t)since / 8))
				return false;
			since = 0;
		}
	}
	return n->go_on(n, (uint64_t)since / 8 + 1);
}

/* ---- reductions ---- */

static double NAMED(reduce_row)(unsigned int op, double sum, const T *row, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		double v = row[i];

		switch (op) {
		case CUDNN_REDUCE_TENSOR_ADD:
		case CUDNN_REDUCE_TENSOR_AVG:
			sum += v;
			break;
		case CUDNN_REDUCE_TENSOR_MUL:
			sum *= v;
			break;
		case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
			sum *= v != 0 ? v : 1;
			break;
		case CUDNN_REDUCE_TENSOR_MIN:
			sum = v < sum || isnan(v) ? v : sum;
			break;
		case CUDNN_REDUCE_TENSOR_MAX:
			sum = v > sum || isnan(v) ? v : sum;
			break;
		case CUDNN_REDUCE_TENSOR_AMAX:
			sum = fabs(v) > sum || isnan(v) ? fabs(v) : sum;
			break;
		case CUDNN_REDUCE_TENSOR_NORM1:
			sum += fabs(v);
			break;
		default:
			sum += v * v;
		}
	}
	return sum;
}

static double NAMED(reduce_begin)(unsigned int op)
{
	switch (op) {
	case CUDNN_REDUCE_TENSOR_MUL:
	case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
		return 1;
	case CUDNN_REDUCE_TENSOR_MIN:
		return HUGE_VAL;
	case CUDNN_REDUCE_TENSOR_MAX:
		return -HUGE_VAL;
	default:
		return 0;
	}
}

/* Every row of x that belongs to the group at `at`: read into `row`, from `from` on. */
#define ROWS(walk_, at_)                                                                                               \
	for (int64_t k = 0; k < (walk_).rows && !(walk_).ended; k++)                                                   \
		for (int64_t column = (walk_at(&(walk_), k, at_), 0), count = row_count(&(walk_), column); count;      \
		     column += count, count = row_count(&(walk_), column))

static bool NAMED(reduce)(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to)
{
	const struct dnn_operand *x = &w->operand[0], *y = &w->operand[1];
	struct walk walk;
	T row[ROW], value;

	walk_begin(&walk, n, w->dim, w->axes, x);
	for (int64_t g = from; g < to; g++) {
		double sum = NAMED(reduce_begin)(w->mode);
		int64_t at[DNN_DIMS] = { 0 };

		walk_element(w->dim, ALL_AXES & ~w->axes, g, at);
		ROWS(walk, at)
		{
			NAMED(get)(row, x, at, walk.row, column, count);
			sum = NAMED(reduce_row)(w->mode, sum, row, count);
		}
		if (w->mode == CUDNN_REDUCE_TENSOR_AVG)
			sum /= (double)walk.rows * (double)walk.length;
		if (w->mode == CUDNN_REDUCE_TENSOR_NORM2)
			sum = sqrt(sum);
		value = (T)sum;
		walk_element(w->dim, ALL_AXES & ~w->axes, g, at);
		NAMED(blend)(&value, y, at, 0, 0, 1, w->scalar[BLEND_ALPHA], w->scalar[BLEND_BETA]);
		if (walk.ended || !n->go_on(n, (uint64_t)(walk.rows * walk.length) / 16 + 1))
			return false;
	}
	return true;
}

/* ---- normalisations ---- */

struct NAMED(norm) {
	double mean, inverse, variance;
};

static struct NAMED(norm) NAMED(norm_statistics)(const struct dnn_work *w, struct walk *walk, int64_t at[DNN_DIMS])
{
	const struct dnn_operand *o = w->operand;
	struct NAMED(norm) s = { 0 };
	double all = (double)walk->rows * (double)walk->length, sum = 0;
	T row[ROW];

	if (w->mode != DNN_NORM_COMPUTE) {
		s.mean = w->flag ? 0 : (double)NAMED(one)(&o[NORM_MEAN], at);
		s.inverse = (double)NAMED(one)(&o[NORM_INVERSE], at);
		if (w->mode == DNN_NORM_VARIANCE)
			s.inverse = 1 / sqrt(s.inverse + w->scalar[NORM_EPSILON]);
		return s;
	}
	if (!w->flag) {
		ROWS(*walk, at)
		{
			NAMED(get)(row, &o[NORM_X], at, walk->row, column, count);
			for (int64_t i = 0; i < count; i++)
				sum += row[i];
		}
		s.mean = sum / all;
	}
	sum = 0;
	ROWS(*walk, at)
	{
		NAMED(get)(row, &o[NORM_X], at, walk->row, column, count);
		for (int64_t i = 0; i < count; i++)
			sum += (row[i] - s.mean) * (row[i] - s.mean);
	}
	s.variance = sum / all;
	s.inverse = 1 / sqrt(s.variance + w->scalar[NORM_EPSILON]);
	return s;
}

static void NAMED(norm_give)(const struct dnn_work *w, const struct NAMED(norm) * s, const int64_t at[DNN_DIMS],
			     double all)
{
	const struct dnn_operand *o = w->operand;
	double factor = w->scalar[NORM_FACTOR];
	T mean = (T)s->mean, inverse = (T)s->inverse, old;

	if (o[NORM_MEAN].at)
		NAMED(put)(&mean, &o[NORM_MEAN], at, 0, 0, 1);
	if (o[NORM_INVERSE].at)
		NAMED(put)(&inverse, &o[NORM_INVERSE], at, 0, 0, 1);
	for (int i = 0; i < 2; i++) {
		const struct dnn_operand *run = &o[i ? NORM_RUN_VARIANCE : NORM_RUN_MEAN];
		struct dnn_operand next = *run;

		next.at = w->more[i];
		if (!next.at)
			continue;
		/* With a factor of 1 what was there before does not matter, even if it is NaN. */
		old = run->at && factor != 1 ? NAMED(one)(run, at) : 0;
		old = (T)((1 - factor) * old + factor * (i ? s->variance * (all > 1 ? all / (all - 1) : 1) : s->mean));
		NAMED(put)(&old, &next, at, 0, 0, 1);
	}
}

static bool NAMED(norm)(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to)
{
	const struct dnn_operand *o = w->operand;
	struct walk walk;
	T row[ROW], scale[ROW], bias[ROW];

	walk_begin(&walk, n, w->dim, w->axes, &o[NORM_X]);
	for (int64_t g = from; g < to; g++) {
		int64_t at[DNN_DIMS] = { 0 };
		struct NAMED(norm) s;

		walk_element(w->dim, ALL_AXES & ~w->axes, g, at);
		s = NAMED(norm_statistics)(w, &walk, at);
		ROWS(walk, at)
		{
			NAMED(get)(row, &o[NORM_X], at, walk.row, column, count);
			if (o[NORM_SCALE].at)
				NAMED(get)(scale, &o[NORM_SCALE], at, walk.row, column, count);
			if (o[NORM_BIAS].at)
				NAMED(get)(bias, &o[NORM_BIAS], at, walk.row, column, count);
			for (int64_t i = 0; i < count; i++)
				row[i] =
					(T)(((double)row[i] - s.mean) * s.inverse) * (o[NORM_SCALE].at ? scale[i] : 1) +
					(o[NORM_BIAS].at ? bias[i] : 0);
			NAMED(blend)
			(row, &o[NORM_Y], at, walk.row, column, count, w->scalar[NORM_ALPHA], w->scalar[NORM_BETA]);
		}
		walk_element(w->dim, ALL_AXES & ~w->axes, g, at);
		if (w->mode == DNN_NORM_COMPUTE)
			NAMED(norm_give)(w, &s, at, (double)walk.rows * (double)walk.length);
		if (walk.ended || !n->go_on(n, (uint64_t)(walk.rows * walk.length) / 8 + 1))
			return false;
	}
	return true;
}

/* dx, where w->axes are those of the statistics. */
static bool NAMED(norm_data)(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to)
{
	const struct dnn_operand *o = w->operand;
	struct walk walk;
	T x[ROW], dy[ROW], scale[ROW];

	walk_begin(&walk, n, w->dim, w->axes, &o[NORM_X]);
	for (int64_t g = from; g < to; g++) {
		double all = (double)walk.rows * (double)walk.length, sum = 0, product = 0;
		int64_t at[DNN_DIMS] = { 0 };
		struct NAMED(norm) s;

		walk_element(w->dim, ALL_AXES & ~w->axes, g, at);
		s = NAMED(norm_statistics)(w, &walk, at);
		for (int pass = 0; pass < 2; pass++) {
			ROWS(walk, at)
			{
				NAMED(get)(x, &o[NORM_X], at, walk.row, column, count);
				NAMED(get)(dy, &o[NORM_DY], at, walk.row, column, count);
				if (o[NORM_SCALE].at)
					NAMED(get)(scale, &o[NORM_SCALE], at, walk.row, column, count);
				for (int64_t i = 0; i < count; i++) {
					double g_ = (double)dy[i] * (o[NORM_SCALE].at ? (double)scale[i] : 1);
					double normal = ((double)x[i] - s.mean) * s.inverse;

					if (pass) {
						x[i] = (T)(s.inverse *
							   (g_ - (w->flag ? 0 : sum / all) - normal * (product / all)));
						continue;
					}
					sum += g_;
					product += g_ * normal;
				}
				if (pass)
					NAMED(blend)
				(x, &o[NORM_DX], at, walk.row, column, count, w->scalar[NORM_ALPHA],
				 w->scalar[NORM_BETA]);
			}
		}
		if (walk.ended || !n->go_on(n, (uint64_t)(walk.rows * walk.length) / 4 + 1))
			return false;
	}
	return true;
}

/* Gradients of scale and bias; w->axes are those that scale does not have, more[0] the axes of the statistics. */
static bool NAMED(norm_weights)(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to)
{
	const struct dnn_operand *o = w->operand;
	uint8_t inner = (uint8_t)(w->axes & w->more[0]), outer = (uint8_t)(w->axes & ~w->more[0]);
	int64_t groups = walk_count(w->dim, outer);
	struct walk walk;
	T x[ROW], dy[ROW], value;

	walk_begin(&walk, n, w->dim, inner, &o[NORM_X]);
	for (int64_t g = from; g < to; g++) {
		double dscale = 0, dbias = 0;
		int64_t at[DNN_DIMS] = { 0 }, first[DNN_DIMS] = { 0 };

		walk_element(w->dim, ALL_AXES & ~w->axes, g, at);
		memcpy(first, at, sizeof(at));
		for (int64_t u = 0; u < groups && !walk.ended; u++) {
			struct NAMED(norm) s;

			walk_made(&walk, 1); /* a group may have no rows */
			walk_element(w->dim, outer, u, at);
			s = NAMED(norm_statistics)(w, &walk, at);
			ROWS(walk, at)
			{
				NAMED(get)(x, &o[NORM_X], at, walk.row, column, count);
				NAMED(get)(dy, &o[NORM_DY], at, walk.row, column, count);
				for (int64_t i = 0; i < count; i++) {
					dscale += (double)dy[i] * (((double)x[i] - s.mean) * s.inverse);
					dbias += (double)dy[i];
				}
			}
		}
		value = (T)dscale;
		if (o[NORM_DSCALE].at)
			NAMED(blend)
		(&value, &o[NORM_DSCALE], first, 0, 0, 1, w->scalar[NORM_ALPHA], w->scalar[NORM_BETA]);
		value = (T)dbias;
		if (o[NORM_DBIAS].at)
			NAMED(blend)
		(&value, &o[NORM_DBIAS], first, 0, 0, 1, w->scalar[NORM_ALPHA], w->scalar[NORM_BETA]);
		if (walk.ended || !n->go_on(n, (uint64_t)(groups * walk.rows * walk.length) / 8 + 1))
			return false;
	}
	return true;
}

/* ---- softmax ---- */

static bool NAMED(softmax)(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to)
{
	const struct dnn_operand *x = &w->operand[0], *y = &w->operand[1];
	struct walk walk;
	T row[ROW];

	walk_begin(&walk, n, w->dim, w->axes, x);
	for (int64_t g = from; g < to; g++) {
		int64_t at[DNN_DIMS] = { 0 };
		double most = -HUGE_VAL, sum = 0;

		walk_element(w->dim, ALL_AXES & ~w->axes, g, at);
		ROWS(walk, at)
		{
			NAMED(get)(row, x, at, walk.row, column, count);
			most = NAMED(reduce_row)(CUDNN_REDUCE_TENSOR_MAX, most, row, count);
		}
		ROWS(walk, at)
		{
			NAMED(get)(row, x, at, walk.row, column, count);
			for (int64_t i = 0; i < count; i++)
				sum += (double)EXP(row[i] - (T)most);
		}
		ROWS(walk, at)
		{
			NAMED(get)(row, x, at, walk.row, column, count);
			for (int64_t i = 0; i < count; i++)
				row[i] = w->mode ? row[i] - (T)most - (T)log(sum) : EXP(row[i] - (T)most) / (T)sum;
			NAMED(blend)
			(row, y, at, walk.row, column, count, w->scalar[BLEND_ALPHA], w->scalar[BLEND_BETA]);
		}
		if (walk.ended || !n->go_on(n, (uint64_t)(walk.rows * walk.length) + 1))
			return false;
	}
	return true;
}

static bool NAMED(softmax_back)(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to)
{
	const struct dnn_operand *y = &w->operand[0], *dy = &w->operand[1], *dx = &w->operand[2];
	struct walk walk;
	T value[ROW], slope[ROW];

	walk_begin(&walk, n, w->dim, w->axes, y);
	for (int64_t g = from; g < to; g++) {
		int64_t at[DNN_DIMS] = { 0 };
		double sum = 0;

		walk_element(w->dim, ALL_AXES & ~w->axes, g, at);
		for (int pass = 0; pass < 2; pass++) {
			ROWS(walk, at)
			{
				NAMED(get)(value, y, at, walk.row, column, count);
				NAMED(get)(slope, dy, at, walk.row, column, count);
				for (int64_t i = 0; i < count; i++) {
					if (!pass)
						sum += (double)slope[i] * (w->mode ? 1 : (double)value[i]);
					else
						value[i] = w->mode ? slope[i] - EXP(value[i]) * (T)sum
								   : value[i] * (slope[i] - (T)sum);
				}
				if (pass)
					NAMED(blend)
				(value, dx, at, walk.row, column, count, w->scalar[BLEND_ALPHA], w->scalar[BLEND_BETA]);
			}
		}
		if (walk.ended || !n->go_on(n, (uint64_t)(walk.rows * walk.length) / 2 + 1))
			return false;
	}
	return true;
}

/* ---- pooling ---- */

/* The window of one result: its sum or largest element, and where that is within the window. */
struct NAMED(window) {
	T value;
	int64_t place, from[DNN_SPATIAL], to[DNN_SPATIAL], inside;
};

static void NAMED(window_of)(const struct dnn_work *w, struct NAMED(window) * win, const int64_t out[DNN_DIMS])
{
	const struct dnn_pool_work *p = &w->pool;

	win->inside = 1;
	for (int d = 0; d < DNN_SPATIAL; d++) {
		int64_t begin = out[2 + d] * p->stride[d] - p->pad[d], end = begin + p->window[d];

		win->from[d] = begin < 0 ? 0 : begin;
		win->to[d] = end < w->dim[2 + d] ? end : w->dim[2 + d];
		win->inside *= win->to[d] > win->from[d] ? win->to[d] - win->from[d] : 0;
	}
}

/* Of the plane of an image and a channel, which is dense. */
static void NAMED(window_scan)(const struct dnn_work *w, struct NAMED(window) * win, const T *plane)
{
	bool most = w->mode == DNN_POOL_MAX;

	win->value = most ? (T)-HUGE_VAL : 0;
	win->place = -1;
	for (int64_t d = win->from[0]; d < win->to[0]; d++)
		for (int64_t h = win->from[1]; h < win->to[1]; h++)
			for (int64_t c = win->from[2]; c < win->to[2]; c++) {
				int64_t place = (d * w->dim[3] + h) * w->dim[4] + c;
				T v = plane[place];

				if (!most) {
					win->value += v;
				} else if (win->place < 0 || v > win->value || isnan(v)) {
					win->value = v;
					win->place = place;
				}
			}
}

static void NAMED(plane_get)(T *plane, const struct dnn_work *w, const struct dnn_operand *o, int64_t at[DNN_DIMS])
{
	for (at[2] = 0; at[2] < w->dim[2]; at[2]++)
		for (at[3] = 0; at[3] < w->dim[3]; at[3]++) {
			at[4] = 0;
			NAMED(get)(plane + (at[2] * w->dim[3] + at[3]) * w->dim[4], o, at, 4, 0, w->dim[4]);
		}
}

static bool NAMED(pool_plane)(struct soft_native *n, const struct dnn_work *w, const int64_t image[DNN_DIMS],
			      const T *plane, T *gradient)
{
	const struct dnn_pool_work *p = &w->pool;
	int64_t out[DNN_DIMS] = { image[0], image[1] }, whole = (int64_t)p->window[0] * p->window[1] * p->window[2];
	int64_t each = whole, since = 0;
	struct NAMED(window) win = { 0 };
	T value;

	for (out[2] = 0; out[2] < p->y_dim[2]; out[2]++)
		for (out[3] = 0; out[3] < p->y_dim[3]; out[3]++)
			for (out[4] = 0; out[4] < p->y_dim[4]; out[4]++) {
				since += each;
				if (since >= UNTOLD_MOST) {
					if (!n->go_on(n, (uint64_t)since / 8))
						return false;
					since = 0;
				}
				NAMED(window_of)(w, &win, out);
				if (w->mode == DNN_POOL_MEAN_INSIDE)
					whole = win.inside;
				if (!gradient || w->mode == DNN_POOL_MAX)
					NAMED(window_scan)(w, &win, plane);
				if (!gradient) {
					value = w->mode == DNN_POOL_MAX ? win.value : whole ? win.value / (T)whole : 0;
					NAMED(blend)
					(&value, &p->y, out, 0, 0, 1, w->scalar[BLEND_ALPHA], w->scalar[BLEND_BETA]);
					continue;
				}
				value = NAMED(one)(&p->dy, out);
				if (w->mode == DNN_POOL_MAX) {
					if (win.place >= 0)
						gradient[win.place] += value;
					continue;
				}
				for (int64_t d = win.from[0]; d < win.to[0]; d++)
					for (int64_t h = win.from[1]; h < win.to[1]; h++)
						for (int64_t c = win.from[2]; c < win.to[2]; c++)
							gradient[(d * w->dim[3] + h) * w->dim[4] + c] +=
								value / (T)whole;
			}
	return n->go_on(n, (uint64_t)since / 8 + 1);
}

static bool NAMED(pool)(struct soft_native *n, const struct dnn_work *w, int64_t from, int64_t to)
{
	int64_t size = w->dim[2] * w->dim[3] * w->dim[4];
	bool back = w->kernel == DNN_POOL_BACK;
	T *plane = scratch_get((size_t)size * (back ? 2 : 1) * sizeof(T)), *gradient = back ? plane + size : NULL;

	if (!plane)
		return n->refuse(n), false;
	for (int64_t g = from; g < to; g++) {
		int64_t at[DNN_DIMS] = { g / w->dim[1], g % w->dim[1] };

		if (w->pool.x.at)
			NAMED(plane_get)(plane, w, &w->pool.x, at);
		if (back)
			memset(gradient, 0, (size_t)size * sizeof(T));
		if (!NAMED(pool_plane)(n, w, at, plane, gradient))
			return false;
		for (at[2] = 0; back && at[2] < w->dim[2]; at[2]++)
			for (at[3] = 0; at[3] < w->dim[3]; at[3]++) {
				at[4] = 0;
				for (int64_t c = 0; c < w->dim[4]; c += ROW)
					NAMED(blend)
				(gradient + (at[2] * w->dim[3] + at[3]) * w->dim[4] + c, &w->pool.dx, at, 4, c,
				 w->dim[4] - c < ROW ? w->dim[4] - c : ROW, w->scalar[BLEND_ALPHA],
				 w->scalar[BLEND_BETA]);
			}
	}
	return true;
}

#undef ROWS
#undef GELU_A
#undef GELU_B
#undef T
#undef NAMED
