/*
 * cudnn_attention_test.c: attention as one operation of cuDNN's backend, and its gradients as another, against sums in
 * double: heads that share keys, masks, lengths plain and cumulative, ragged and paged tensors, statistics, a sink,
 * dropout; plans from their text; captured; and numbers in the device's memory that are wrong.
 */
#include "libs/cudnn_graphs.h"

enum { B = 2, H = 4, Q = 7, KV = 11, D = 8, PAGE = 4, PAGES = 9, EACH = (KV + PAGE - 1) / PAGE };

enum option {
	SHARED = 1, /* two heads for four */
	CAUSAL = 2,
	LENGTHS = 4,
	CUMULATIVE = 8,
	RAGGED = 16,
	PAGED = 32,
	SINK = 64,
	DROPOUT = 128,
	TWO = 256, /* statistics with the logarithm of 2 */
	PLAIN_STATS = 512,
	STRICT = 1024 /* with CAUSAL: the first row has no key */
};

static const int lengths_q[] = { 7, 4 }, lengths_kv[] = { 11, 6 };

/* Everything that a graph names, by its id. */
enum id {
	ID_Q = 1,
	ID_K,
	ID_V,
	ID_O,
	ID_DO,
	ID_DQ,
	ID_DK,
	ID_DV,
	ID_STATS,
	ID_MAX,
	ID_SUM,
	ID_SINK,
	ID_SCALE,
	ID_LOW,
	ID_LENGTH_Q,
	ID_LENGTH_KV,
	ID_TABLE,
	ID_OFFSETS_Q,
	ID_OFFSETS_KV,
	ID_SEED,
	ID_OFFSET,
	ID_DUMP,
	IDS
};

struct attention {
	int options, shared;
	object made[64];
	int count, bound;
	int64_t ids[IDS];
	void *pointers[IDS];
	CUdeviceptr memory[IDS];
	double q[B * H * Q * D], k[B * H * KV * D], v[B * H * KV * D], o[B * H * Q * D], dout[B * H * Q * D];
	double dq[B * H * Q * D], dk[B * H * KV * D], dv[B * H * KV * D], sink[H], kept[B * H * Q * KV];
	double stats[B * H * Q], most[B * H * Q], sum[B * H * Q];
};

static float scale_value = 0.4f, low_value = -INFINITY;
static int32_t table[B * EACH] = { 5, 0, 7, 2, 8, 3 };

static object own(struct attention *a, object d)
{
	a->made[a->count++] = d;
	return d;
}

static void bind(struct attention *a, enum id id, void *pointer)
{
	a->ids[a->bound] = id;
	a->pointers[a->bound++] = pointer;
}

/* Memory of the device with these bytes, under an id. */
static void give(struct attention *a, enum id id, const void *from, size_t bytes)
{
	if (!a->memory[id])
		CU(cuMemAlloc(&a->memory[id], bytes));
	if (from)
		CU(cuMemcpyHtoD(a->memory[id], from, bytes));
	bind(a, id, at(a->memory[id]));
}

static void give_numbers(struct attention *a, enum id id, int count_, const int *from)
{
	int32_t words[B + 1];

	for (int i = 0; i < count_; i++)
		words[i] = from[i];
	give(a, id, words, sizeof(*words) * (size_t)count_);
}

static object plain_tensor(struct attention *a, enum id id, cudnnDataType_t type, int b, int h, int s, int d)
{
	int dim[] = { b, h, s, d };

	return own(a, graph_tensor(id, type, 4, dim, NULL, false, false));
}

/* Where a number of images, heads, rows and columns lies: by rows, or ragged by images, rows, heads. */
static int spot(const struct attention *a, int heads, int rows, const int *lengths, int b, int h, int s, int d)
{
	int before = 0;

	if (!(a->options & RAGGED))
		return ((b * heads + h) * rows + s) * D + d;
	for (int i = 0; i < b; i++)
		before += lengths[i];
	return ((before + s) * heads + h) * D + d;
}

static bool is_held(const struct attention *a, const int *lengths, int b, int s)
{
	return !(a->options & (LENGTHS | CUMULATIVE)) || s < lengths[b];
}

/* A tensor of queries, keys and so on, with its values, or none. */
static object data_tensor(struct attention *a, enum id id, int heads, int rows, const int *lengths, const double *value)
{
	static float raw[B * H * KV * D];
	int dim[] = { B, heads, rows, D };
	int stride[] = { rows * heads * D, D, heads * D, 1 };
	int64_t begin[B + 1] = { 0 };
	enum id offsets = lengths == lengths_q ? ID_OFFSETS_Q : ID_OFFSETS_KV;
	bool is_virtual = false;
	object d, o;

	memset(raw, 0, sizeof(raw));
	for (int k = 0; value && k < B * heads * rows * D; k++) {
		int b = k / (heads * rows * D), h = k / (rows * D) % heads, s = k / D % rows;

		if (!(a->options & RAGGED) || s < lengths[b])
			raw[spot(a, heads, rows, lengths, b, h, s, k % D)] = (float)value[k];
	}
	give(a, id, raw, sizeof(float) * (size_t)(B * heads * rows * D));
	if (!(a->options & RAGGED))
		return plain_tensor(a, id, CUDNN_DATA_FLOAT, B, heads, rows, D);
	for (int b = 0; b < B; b++)
		begin[b + 1] = begin[b] + (int64_t)lengths[b] * heads * D;
	{
		int many[] = { B + 1, 1, 1, 1 };
		/* each tensor has offsets of its own: heads differ */
		int64_t own_id = 100 + id;

		CU(cuMemAlloc(&a->memory[offsets], sizeof(begin)));
		CU(cuMemcpyHtoD(a->memory[offsets], begin, sizeof(begin)));
		o = own(a, graph_tensor(own_id, CUDNN_DATA_INT64, 4, many, NULL, false, false));
		a->ids[a->bound] = own_id;
		a->pointers[a->bound++] = at(a->memory[offsets]);
		a->memory[offsets] = 0; /* is freed with the context */
	}
	d = new_object(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	{
		int64_t wide[2][4], number = id, alignment = 16;
		cudnnDataType_t type = CUDNN_DATA_FLOAT;

		for (int i = 0; i < 4; i++) {
			wide[0][i] = dim[i];
			wide[1][i] = stride[i];
		}
		set(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &number);
		set(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
		set(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
		set(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, wide[0]);
		set(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, wide[1]);
		set(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
		set(d, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &o);
		GOOD(t.cudnnBackendFinalize(d));
	}
	return own(a, d);
}

/* Keys or values in pages; what no page of the table has is NaN. */
static object paged_tensor(struct attention *a, enum id id, int heads, const double *value)
{
	static float raw[PAGES * H * PAGE * D];

	for (size_t i = 0; i < sizeof(raw) / sizeof(*raw); i++)
		raw[i] = NAN;
	for (int k = 0; k < B * heads * KV * D; k++) {
		int b = k / (heads * KV * D), h = k / (KV * D) % heads, s = k / D % KV;

		raw[((table[b * EACH + s / PAGE] * heads + h) * PAGE + s % PAGE) * D + k % D] = (float)value[k];
	}
	give(a, id, raw, sizeof(float) * (size_t)(PAGES * heads * PAGE * D));
	return plain_tensor(a, id, CUDNN_DATA_FLOAT, PAGES, heads, PAGE, D);
}

/* A causal mask as a graph of its own. */
static object causal_graph(struct attention *a)
{
	static const int names[] = { CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_XDESC,
				     CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_BDESC,
				     CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC };
	int dim[] = { B, H, Q, KV }, one[] = { 1, 1, 1, 1 };
	cudnnPointwiseMode_t mode = a->options & STRICT ? CUDNN_POINTWISE_CMP_GT : CUDNN_POINTWISE_CMP_GE;
	object graph = own(a, new_object(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
	object band = new_object(CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR);
	object values[] = { own(a, graph_tensor(1000, CUDNN_DATA_FLOAT, 4, dim, NULL, true, false)),
			    own(a, graph_tensor(ID_LOW, CUDNN_DATA_FLOAT, 4, one, NULL, false, true)),
			    own(a, graph_tensor(1001, CUDNN_DATA_FLOAT, 4, dim, NULL, true, false)) };

	for (int i = 0; i < 3; i++)
		set(band, names[i], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &values[i]);
	set(band, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
	GOOD(t.cudnnBackendFinalize(band));
	set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &band);
	GOOD(t.cudnnBackendFinalize(graph));
	GOOD(t.cudnnBackendDestroyDescriptor(band));
	bind(a, ID_LOW, &low_value);
	return graph;
}

static void refer(object d, int name, object to)
{
	set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &to);
}

/* Attributes that both operations have, each under its name. */
static void common(struct attention *a, object d, int scale, int length_q, int cumulative_q, int graph)
{
	int one[] = { 1, 1, 1, 1 }, cumulative[2][B + 1] = { { 0 } };
	int64_t in = 1000, out = 1001;

	refer(d, scale, own(a, graph_tensor(ID_SCALE, CUDNN_DATA_FLOAT, 4, one, NULL, false, true)));
	bind(a, ID_SCALE, &scale_value);
	for (int k = 0; k < 2; k++) {
		const int *lengths = k ? lengths_kv : lengths_q;
		enum id id = k ? ID_LENGTH_KV : ID_LENGTH_Q;

		for (int i = 0; i < B; i++)
			cumulative[k][i + 1] = cumulative[k][i] + lengths[i];
		if (a->options & LENGTHS) {
			refer(d, length_q + k, plain_tensor(a, id, CUDNN_DATA_INT32, B, 1, 1, 1));
			give_numbers(a, id, B, lengths);
		} else if (a->options & CUMULATIVE) {
			refer(d, cumulative_q + k, plain_tensor(a, id, CUDNN_DATA_INT32, B + 1, 1, 1, 1));
			give_numbers(a, id, B + 1, cumulative[k]);
		}
	}
	if (!(a->options & CAUSAL))
		return;
	refer(d, graph, causal_graph(a));
	set(d, graph + 1, CUDNN_TYPE_INT64, 1, &in);
	set(d, graph + 2, CUDNN_TYPE_INT64, 1, &out);
}

static object softmax_of(struct attention *a)
{
	int dim[] = { B, H, Q, KV }, heads[] = { 1, H, 1, 1 };
	object d = own(a, new_object(CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR));
	float sink[H];
	bool two = true;

	refer(d, CUDNN_ATTR_OPERATION_SOFTMAX_XDESC,
	      own(a, graph_tensor(1100, CUDNN_DATA_FLOAT, 4, dim, NULL, true, false)));
	refer(d, CUDNN_ATTR_OPERATION_SOFTMAX_YDESC,
	      own(a, graph_tensor(1101, CUDNN_DATA_FLOAT, 4, dim, NULL, true, false)));
	for (int i = 0; i < 3; i++) {
		refer(d, CUDNN_ATTR_OPERATION_SOFTMAX_STATS_DESC + i,
		      plain_tensor(a, ID_STATS + (enum id)i, CUDNN_DATA_FLOAT, B, H, Q, 1));
		give(a, ID_STATS + (enum id)i, NULL, sizeof(float) * B * H * Q);
	}
	if (a->options & TWO)
		set(d, CUDNN_ATTR_OPERATION_SOFTMAX_STATS_LOG2, CUDNN_TYPE_BOOLEAN, 1, &two);
	for (int h = 0; h < H; h++)
		sink[h] = (float)a->sink[h];
	if (a->options & SINK) {
		refer(d, CUDNN_ATTR_OPERATION_SOFTMAX_SINK_DESC,
		      own(a, graph_tensor(ID_SINK, CUDNN_DATA_FLOAT, 4, heads, NULL, false, false)));
		give(a, ID_SINK, sink, sizeof(sink));
	}
	GOOD(t.cudnnBackendFinalize(d));
	return d;
}

static object forward_of(struct attention *a)
{
	object d = new_object(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
	bool paged = a->options & PAGED;
	float probability = 0.25f;
	int64_t seed = 77;
	int dim[] = { B, H, Q, KV }, one[] = { 1, 1, 1, 1 };

	refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, data_tensor(a, ID_Q, H, Q, lengths_q, a->q));
	refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
	      paged ? paged_tensor(a, ID_K, a->shared, a->k) : data_tensor(a, ID_K, a->shared, KV, lengths_kv, a->k));
	refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC,
	      paged ? paged_tensor(a, ID_V, a->shared, a->v) : data_tensor(a, ID_V, a->shared, KV, lengths_kv, a->v));
	refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, data_tensor(a, ID_O, H, Q, lengths_q, NULL));
	if (paged) {
		for (int i = 0; i < 2; i++)
			refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC + i,
			      plain_tensor(a, ID_TABLE, CUDNN_DATA_INT32, B, 1, EACH, 1));
		give(a, ID_TABLE, table, sizeof(table));
	}
	common(a, d, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC,
	       CUDNN_ATTR_OPERATION_SDPA_FWD_CU_SEQ_LEN_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH);
	if (a->options & PLAIN_STATS) {
		refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC,
		      plain_tensor(a, ID_STATS, CUDNN_DATA_FLOAT, B, H, Q, 1));
		give(a, ID_STATS, NULL, sizeof(float) * B * H * Q);
	} else {
		refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_SOFTMAX_DESC, softmax_of(a));
	}
	if (a->options & DROPOUT) {
		set(d, CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_PROBABILITY, CUDNN_TYPE_FLOAT, 1, &probability);
		refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_SEED_DESC,
		      own(a, graph_tensor(ID_SEED, CUDNN_DATA_INT64, 4, one, NULL, false, false)));
		give(a, ID_SEED, &seed, sizeof(seed));
		refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_OFFSET_DESC,
		      own(a, graph_tensor(ID_OFFSET, CUDNN_DATA_INT64, 4, one, NULL, false, false)));
		give(a, ID_OFFSET, &seed, sizeof(seed));
		refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_RNG_DUMP_DESC,
		      own(a, graph_tensor(ID_DUMP, CUDNN_DATA_FLOAT, 4, dim, NULL, false, false)));
		give(a, ID_DUMP, NULL, sizeof(float) * B * H * Q * KV);
	}
	GOOD(t.cudnnBackendFinalize(d));
	return d;
}

static object backward_of(struct attention *a)
{
	object d = new_object(CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR);
	float stats[B * H * Q];

	for (int i = 0; i < B * H * Q; i++)
		stats[i] = (float)a->stats[i];
	refer(d, CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC, data_tensor(a, ID_Q, H, Q, lengths_q, a->q));
	refer(d, CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, data_tensor(a, ID_K, a->shared, KV, lengths_kv, a->k));
	refer(d, CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC, data_tensor(a, ID_V, a->shared, KV, lengths_kv, a->v));
	refer(d, CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC, data_tensor(a, ID_O, H, Q, lengths_q, a->o));
	refer(d, CUDNN_ATTR_OPERATION_SDPA_BWD_DODDESC, data_tensor(a, ID_DO, H, Q, lengths_q, a->dout));
	refer(d, CUDNN_ATTR_OPERATION_SDPA_BWD_STATSDESC, plain_tensor(a, ID_STATS, CUDNN_DATA_FLOAT, B, H, Q, 1));
	give(a, ID_STATS, stats, sizeof(stats));
	refer(d, CUDNN_ATTR_OPERATION_SDPA_BWD_DQDESC, data_tensor(a, ID_DQ, H, Q, lengths_q, NULL));
	refer(d, CUDNN_ATTR_OPERATION_SDPA_BWD_DKDESC, data_tensor(a, ID_DK, a->shared, KV, lengths_kv, NULL));
	refer(d, CUDNN_ATTR_OPERATION_SDPA_BWD_DVDESC, data_tensor(a, ID_DV, a->shared, KV, lengths_kv, NULL));
	common(a, d, CUDNN_ATTR_OPERATION_SDPA_BWD_SCALEDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_SEQ_LEN_QDESC,
	       CUDNN_ATTR_OPERATION_SDPA_BWD_CU_SEQ_LEN_QDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_SUBGRAPH);
	GOOD(t.cudnnBackendFinalize(d));
	return d;
}

/* One row of scores, its weights before and after dropout, and what it adds to the gradients. */
static void row_compute(struct attention *a, int b, int h, int s)
{
	double score[KV], weight[KV], direction = 0, sum, most = a->options & SINK ? a->sink[h] : -INFINITY;
	int row = (b * H + h) * Q + s, from = b * a->shared + h / (H / a->shared);
	double *o = &a->o[row * D];

	memset(o, 0, sizeof(double) * D);
	for (int j = 0; j < KV; j++) {
		score[j] = 0;
		for (int d = 0; d < D; d++)
			score[j] += a->q[row * D + d] * a->k[(from * KV + j) * D + d] * (double)scale_value;
		if ((a->options & CAUSAL && (j > s || (a->options & STRICT && j == s))) ||
		    !is_held(a, lengths_kv, b, j) || !is_held(a, lengths_q, b, s))
			score[j] = -INFINITY;
		most = fmax(most, score[j]);
	}
	sum = a->options & SINK ? exp(a->sink[h] - most) : 0;
	for (int j = 0; j < KV; j++)
		sum += most > -INFINITY ? exp(score[j] - most) : 0;
	a->most[row] = most;
	a->sum[row] = sum;
	a->stats[row] = most + log(sum);
	for (int j = 0; j < KV; j++) {
		weight[j] = sum > 0 ? exp(score[j] - most) / sum : 0;
		for (int d = 0; d < D; d++)
			o[d] += weight[j] * a->v[(from * KV + j) * D + d] *
				(a->options & DROPOUT ? a->kept[row * KV + j] / 0.75 : 1);
	}
	if (!is_held(a, lengths_q, b, s))
		return;
	for (int d = 0; d < D; d++)
		direction += o[d] * a->dout[row * D + d];
	for (int j = 0; j < KV; j++) {
		double slope = 0;

		for (int d = 0; d < D; d++) {
			slope += a->dout[row * D + d] * a->v[(from * KV + j) * D + d];
			a->dv[(from * KV + j) * D + d] += weight[j] * a->dout[row * D + d];
		}
		slope = weight[j] * (slope - direction) * (double)scale_value;
		for (int d = 0; d < D; d++) {
			a->dq[row * D + d] += slope * a->k[(from * KV + j) * D + d];
			a->dk[(from * KV + j) * D + d] += slope * a->q[row * D + d];
		}
	}
}

static void compute(struct attention *a)
{
	memset(a->dq, 0, sizeof(a->dq));
	memset(a->dk, 0, sizeof(a->dk));
	memset(a->dv, 0, sizeof(a->dv));
	for (int r = 0; r < B * H * Q; r++)
		row_compute(a, r / (H * Q), r / Q % H, r % Q);
}

static void check(struct attention *a, enum id id, int heads, int rows, const int *lengths, const double *wanted,
		  const char *what)
{
	static float raw[B * H * KV * D];
	double off = 0;

	CU(cuMemcpyDtoH(raw, a->memory[id], sizeof(float) * (size_t)(B * heads * rows * D)));
	for (int k = 0; k < B * heads * rows * D; k++) {
		int b = k / (heads * rows * D), h = k / (rows * D) % heads, s = k / D % rows;
		bool there = !(a->options & RAGGED) || s < lengths[b];
		double got = there ? (double)raw[spot(a, heads, rows, lengths, b, h, s, k % D)] : 0;
		double want = there && is_held(a, lengths, b, s) ? wanted[k] : 0;

		off = isnan(got) ? INFINITY : fmax(off, fabs(got - want));
	}
	tap_ok(off < 2e-5, "%s, options %d: off by %g", what, a->options, off);
}

static void check_rows(struct attention *a, enum id id, const double *wanted, double by, const char *what)
{
	float raw[B * H * Q];
	double off = 0;

	CU(cuMemcpyDtoH(raw, a->memory[id], sizeof(raw)));
	for (int r = 0; r < B * H * Q; r++)
		if (isfinite(wanted[r]))
			off = isnan(raw[r]) ? INFINITY : fmax(off, fabs((double)raw[r] - wanted[r] * by));
		else if (is_held(a, lengths_q, r / (H * Q), r % Q))
			off = (double)raw[r] == wanted[r] ? off : INFINITY;
	tap_ok(off < 2e-5, "%s, options %d: off by %g", what, a->options, off);
}

static void execute(struct attention *a, object plan, CUstream captured)
{
	CUdeviceptr workspace;
	CUgraph graph;
	CUgraphExec ready;
	object pack;

	workspace = workspace_make(plan);
	pack = pack_of(a->bound, a->ids, a->pointers, at(workspace));
	if (captured) {
		CU(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
		GOOD(t.cudnnSetStream(handle, (cudaStream_t)captured));
	}
	GOOD(t.cudnnBackendExecute(handle, plan, pack));
	if (captured) {
		GOOD(t.cudnnSetStream(handle, NULL));
		CU(cuStreamEndCapture(captured, &graph));
		CU(cuGraphInstantiate(&ready, graph, 0));
		CU(cuGraphLaunch(ready, captured));
		CU(cuStreamSynchronize(captured));
		CU(cuGraphExecDestroy(ready));
		CU(cuGraphDestroy(graph));
	}
	CU(cuCtxSynchronize());
	GOOD(t.cudnnBackendDestroyDescriptor(pack));
	cuMemFree(workspace);
}

static void attention_begin(struct attention *a, int options)
{
	*a = (struct attention){ .options = options, .shared = options & SHARED ? 2 : H };
	for (int i = 0; i < B * H * Q * D; i++) {
		a->q[i] = (double)(float)random_number();
		a->dout[i] = (double)(float)random_number();
	}
	for (int i = 0; i < B * H * KV * D; i++) {
		a->k[i] = (double)(float)random_number();
		a->v[i] = (double)(float)random_number();
	}
	for (int h = 0; h < H; h++)
		a->sink[h] = (double)(float)random_number();
}

static void attention_end(struct attention *a, object plan)
{
	GOOD(t.cudnnBackendDestroyDescriptor(plan));
	for (int i = 0; i < a->count; i++)
		GOOD(t.cudnnBackendDestroyDescriptor(a->made[i]));
	for (int i = 0; i < IDS; i++)
		if (a->memory[i])
			cuMemFree(a->memory[i]);
}

static void test_forward(int options, bool again, CUstream captured)
{
	static struct attention a;
	static float raw[B * H * Q * KV];
	object operation_, plan;

	attention_begin(&a, options);
	operation_ = forward_of(&a);
	plan = plan_of(&operation_, 1);
	if (again)
		plan = plan_again(plan);
	execute(&a, plan, captured);
	if (options & DROPOUT) {
		int kept = 0;

		CU(cuMemcpyDtoH(raw, a.memory[ID_DUMP], sizeof(raw)));
		for (int i = 0; i < B * H * Q * KV; i++) {
			a.kept[i] = (double)raw[i];
			kept += raw[i] == 1;
		}
		tap_ok(kept > B * H * Q * KV / 2 && kept < B * H * Q * KV, "%d of %d are kept", kept, B * H * Q * KV);
	}
	compute(&a);
	check(&a, ID_O, H, Q, lengths_q, a.o, "attention");
	check_rows(&a, ID_STATS, a.stats, options & TWO ? 1.4426950408889634 : 1, "its statistics");
	if (!(options & PLAIN_STATS)) {
		check_rows(&a, ID_MAX, a.most, 1, "its largest scores");
		check_rows(&a, ID_SUM, a.sum, 1, "its sums");
	}
	attention_end(&a, plan);
}

static void test_backward(int options)
{
	static struct attention a;
	object operation_, plan;

	attention_begin(&a, options);
	compute(&a);
	operation_ = backward_of(&a);
	plan = plan_of(&operation_, 1);
	execute(&a, plan, NULL);
	check(&a, ID_DQ, H, Q, lengths_q, a.dq, "the gradient of queries");
	check(&a, ID_DK, a.shared, KV, lengths_kv, a.dk, "the gradient of keys");
	check(&a, ID_DV, a.shared, KV, lengths_kv, a.dv, "the gradient of values");
	attention_end(&a, plan);
}

/* What the library cannot compute it says when it is told, and not when it executes. */
static void test_refused(void)
{
	static struct attention a;
	object d = new_object(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR), graph, mask;

	attention_begin(&a, 0);
	is(t.cudnnBackendFinalize(d), CUDNN_STATUS_BAD_PARAM);
	refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, plain_tensor(&a, ID_Q, CUDNN_DATA_FLOAT, B, H, Q, D));
	refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, plain_tensor(&a, ID_K, CUDNN_DATA_FLOAT, B, H, KV, D));
	refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, plain_tensor(&a, ID_V, CUDNN_DATA_FLOAT, B, H, KV, D));
	is(t.cudnnBackendFinalize(d), CUDNN_STATUS_BAD_PARAM);
	refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, plain_tensor(&a, ID_O, CUDNN_DATA_FLOAT, B, H, Q, D));
	mask = plain_tensor(&a, 60, CUDNN_DATA_UINT8, B, H, 1, 1);
	refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH, mask);
	is(t.cudnnBackendFinalize(d), CUDNN_STATUS_BAD_PARAM);
	refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH,
	      causal_graph(&a)); /* without the tensors that it begins with */
	refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_BLOCK_MASK_DESC, mask);
	GOOD(t.cudnnBackendFinalize(d));
	for (int i = 0; i < 2; i++) {
		graph = new_object(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
		refer(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, d);
		is(t.cudnnBackendFinalize(graph), i ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_NOT_SUPPORTED);
		GOOD(t.cudnnBackendDestroyDescriptor(graph));
		GOOD(t.cudnnBackendDestroyDescriptor(d));
		if (i)
			break;
		d = new_object(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
		for (int k = 0; k < 4; k++)
			refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC + k, a.made[k]);
		refer(d, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH, causal_graph(&a));
		GOOD(t.cudnnBackendFinalize(d));
	}
	for (int i = 0; i < a.count; i++)
		GOOD(t.cudnnBackendDestroyDescriptor(a.made[i]));
}

/* A page that there is not, in the device's memory: the launch has its fault, and touches nothing. */
static void test_wrong_page(void)
{
	static struct attention a;
	static const int32_t wrong[B * EACH] = { 5, 0, 7, 2, PAGES, 3 };
	object operation_, plan, pack;
	CUdeviceptr workspace;

	attention_begin(&a, PAGED | LENGTHS);
	operation_ = forward_of(&a);
	plan = plan_of(&operation_, 1);
	workspace = workspace_make(plan);
	CU(cuMemcpyHtoD(a.memory[ID_TABLE], wrong, sizeof(wrong)));
	pack = pack_of(a.bound, a.ids, a.pointers, at(workspace));
	t.cudnnBackendExecute(handle, plan, pack);
	tap_ok(cuCtxSynchronize() != CUDA_SUCCESS, "a page that there is not is the launch's fault");
	GOOD(t.cudnnBackendDestroyDescriptor(pack));
	attention_end(&a, plan);
}

/* The operation of attention is made of these; NVIDIA's 9.19 has neither. */
static bool has_operations(void)
{
	static const cudnnBackendDescriptorType_t types[] = { CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR,
							      CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR };
	bool has = true;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		object d = NULL;

		if (t.cudnnBackendCreateDescriptor(types[i], &d))
			has = false;
		else
			GOOD(t.cudnnBackendDestroyDescriptor(d));
	}
	ok(has || !is_ours);
	return has;
}

int main(void)
{
	static const int forward[] = { 0,
				       PLAIN_STATS,
				       SHARED,
				       CAUSAL,
				       CAUSAL | STRICT,
				       CAUSAL | SHARED | LENGTHS,
				       CUMULATIVE,
				       LENGTHS | RAGGED | SHARED,
				       CUMULATIVE | RAGGED | CAUSAL,
				       PAGED | LENGTHS | SHARED,
				       PAGED | LENGTHS | CAUSAL,
				       SINK | TWO,
				       SINK | CAUSAL | SHARED,
				       DROPOUT | CAUSAL };
	static const int backward[] = { 0,
					SHARED,
					CAUSAL,
					CAUSAL | SHARED | LENGTHS,
					CAUSAL | STRICT,
					CAUSAL | STRICT | LENGTHS | RAGGED,
					CUMULATIVE,
					LENGTHS | RAGGED | SHARED };
	CUstream stream;

	cudnn_begin();
	if (!has_operations()) {
		tap_ok(1, "version %zu # SKIP it has no softmax or mask of the operation of attention",
		       cudnnGetVersion());
		GOOD(t.cudnnDestroy(handle));
		return soft_end();
	}
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (size_t i = 0; i < sizeof(forward) / sizeof(*forward); i++)
		test_forward(forward[i], i == 7 || i == 9 || i == 13, i == 3 || i == 8 ? stream : NULL);
	for (size_t i = 0; i < sizeof(backward) / sizeof(*backward); i++)
		test_backward(backward[i]);
	test_refused();
	CU(cuStreamDestroy(stream));
	test_wrong_page();
	/* Its context has had a fault, which whoever asks first is told. */
	(void)t.cudnnDestroy(handle);
	return soft_end();
}
