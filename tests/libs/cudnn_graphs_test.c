/*
 * cudnn_graphs_test.c: graphs of operations in cuDNN of the software device against sums in double: attention, layer
 * and RMS normalisation, views, products of FP8, wrong objects. With METE_ONEDNN naming nothing
 * the device's own loops compute.
 */
#include "libs/cudnn_graphs.h"

/* Causal attention as cuDNN's frontend composes it: the operations are told out of order. Heads share keys and values.
 */
static void test_attention(void)
{
	enum { B = 2, H = 4, SHARED = 2, S = 6, D = 8 };
	static struct tensor q, k, v, o;
	static double wanted[MOST];
	int qd[] = { B, H, S, D }, kd[] = { B, SHARED, S, D }, kt[] = { B, SHARED, D, S },
	    ks[] = { SHARED * S * D, S * D, 1, D };
	int sd[] = { B, H, S, S }, rd[] = { B, H, S, 1 }, one[] = { 1, 1, 1, 1 };
	object tq, tk, tv, to, scale, low, scores, scaled, row, column, mask, masked, most, shifted, power, sum,
		weights, plan, pack;
	object list[11];
	float scale_value = 0.5f, low_value = -1e30f;
	int64_t ids[] = { 1, 2, 3, 4, 5, 6 };
	CUdeviceptr workspace;
	void *pointers[6];

	make(&q, CUDNN_DATA_FLOAT, false, 4, qd);
	make(&k, CUDNN_DATA_FLOAT, false, 4, kd);
	make(&v, CUDNN_DATA_FLOAT, false, 4, kd);
	make(&o, CUDNN_DATA_FLOAT, false, 4, qd);
	tq = graph_tensor(1, CUDNN_DATA_FLOAT, 4, qd, NULL, false, false);
	tk = graph_tensor(2, CUDNN_DATA_FLOAT, 4, kt, ks, false, false);
	tv = graph_tensor(3, CUDNN_DATA_FLOAT, 4, kd, NULL, false, false);
	to = graph_tensor(4, CUDNN_DATA_FLOAT, 4, qd, NULL, false, false);
	scale = graph_tensor(5, CUDNN_DATA_FLOAT, 4, one, NULL, false, true);
	low = graph_tensor(6, CUDNN_DATA_FLOAT, 4, one, NULL, false, true);
	scores = graph_tensor(10, CUDNN_DATA_FLOAT, 4, sd, NULL, true, false);
	scaled = graph_tensor(11, CUDNN_DATA_FLOAT, 4, sd, NULL, true, false);
	row = graph_tensor(12, CUDNN_DATA_INT32, 4, sd, NULL, true, false);
	column = graph_tensor(13, CUDNN_DATA_INT32, 4, sd, NULL, true, false);
	mask = graph_tensor(14, CUDNN_DATA_BOOLEAN, 4, sd, NULL, true, false);
	masked = graph_tensor(15, CUDNN_DATA_FLOAT, 4, sd, NULL, true, false);
	most = graph_tensor(16, CUDNN_DATA_FLOAT, 4, rd, NULL, true, false);
	shifted = graph_tensor(17, CUDNN_DATA_FLOAT, 4, sd, NULL, true, false);
	power = graph_tensor(18, CUDNN_DATA_FLOAT, 4, sd, NULL, true, false);
	sum = graph_tensor(19, CUDNN_DATA_FLOAT, 4, rd, NULL, true, false);
	weights = graph_tensor(20, CUDNN_DATA_FLOAT, 4, sd, NULL, true, false);
	list[10] = matmul(tq, tk, scores);
	list[1] = pointwise(CUDNN_POINTWISE_MUL, scores, scale, NULL, scaled, 0);
	list[2] = pointwise(CUDNN_POINTWISE_GEN_INDEX, scaled, NULL, NULL, row, 2);
	list[3] = pointwise(CUDNN_POINTWISE_GEN_INDEX, scaled, NULL, NULL, column, 3);
	list[4] = pointwise(CUDNN_POINTWISE_CMP_GE, row, column, NULL, mask, 0);
	list[5] = pointwise(CUDNN_POINTWISE_BINARY_SELECT, scaled, low, mask, masked, 0);
	list[6] = reduction(CUDNN_REDUCE_TENSOR_MAX, masked, most);
	list[7] = pointwise(CUDNN_POINTWISE_SUB, masked, most, NULL, shifted, 0);
	list[8] = pointwise(CUDNN_POINTWISE_EXP, shifted, NULL, NULL, power, 0);
	list[9] = reduction(CUDNN_REDUCE_TENSOR_ADD, power, sum);
	{
		object more[13];

		memcpy(more + 1, list + 1, sizeof(object) * 10);
		more[0] = matmul(weights, tv, to);
		more[11] = pointwise(CUDNN_POINTWISE_DIV, power, sum, NULL, weights, 0);
		plan = plan_of(more, 12);
	}
	if (!plan)
		return;
	plan = plan_again(plan);
	if (is_ours)
		tap_ok(workspace_of(plan) > 0 && workspace_of(plan) < 11 * B * H * S * S * 4,
		       "virtual tensors share a workspace of %lld bytes", (long long)workspace_of(plan));
	workspace = workspace_make(plan);
	pointers[0] = at(q.memory);
	pointers[1] = at(k.memory);
	pointers[2] = at(v.memory);
	pointers[3] = at(o.memory);
	pointers[4] = &scale_value;
	pointers[5] = &low_value;
	pack = pack_of(6, ids, pointers, at(workspace));
	GOOD(t.cudnnBackendExecute(handle, plan, pack));
	memset(wanted, 0, sizeof(wanted));
	for (int r = 0; r < B * H * S; r++) {
		int i = r % S, h = r / S % H, b = r / S / H, from = (b * SHARED + h / (H / SHARED)) * S;
		double p[S], all = 0;

		for (int j = 0; j <= i; j++) {
			p[j] = 0;
			for (int d = 0; d < D; d++)
				p[j] += q.value[r * D + d] * k.value[(from + j) * D + d] * 0.5;
			all += p[j] = exp(p[j]);
		}
		for (int j = 0; j <= i; j++)
			for (int d = 0; d < D; d++)
				wanted[r * D + d] += p[j] / all * v.value[(from + j) * D + d];
	}
	same(&o, wanted, "causal attention");
	GOOD(t.cudnnBackendDestroyDescriptor(pack));
	for (int few = 0; few < 2 && is_ours; few++) { /* without a workspace, without some tensors */
		pack = few ? pack_of(3, ids, pointers, at(workspace)) : pack_of(6, ids, pointers, NULL);
		is(t.cudnnBackendExecute(handle, plan, pack), CUDNN_STATUS_BAD_PARAM);
		GOOD(t.cudnnBackendDestroyDescriptor(pack));
	}
	GOOD(t.cudnnBackendDestroyDescriptor(plan));
	{
		object tensors[] = { tq,     tk,   tv,	   to,	 scale,	  low,	 scores, scaled, row,
				     column, mask, masked, most, shifted, power, sum,	 weights };

		for (size_t i = 0; i < sizeof(tensors) / sizeof(*tensors); i++)
			GOOD(t.cudnnBackendDestroyDescriptor(tensors[i]));
	}
	cuMemFree(workspace);
	end(&q);
	end(&k);
	end(&v);
	end(&o);
}

static object norm_forward(cudnnBackendNormMode_t mode, int count_, const int *names, object *values)
{
	object d = new_object(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
	cudnnBackendNormFwdPhase_t phase = CUDNN_NORM_FWD_TRAINING;

	set(d, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &mode);
	set(d, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, &phase);
	for (int i = 0; i < count_; i++)
		if (values[i])
			set(d, names[i], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &values[i]);
	GOOD(t.cudnnBackendFinalize(d));
	return d;
}

/* With a workspace for the while. */
static void execute(object plan, int64_t count_, const int64_t *ids, void **pointers)
{
	CUdeviceptr workspace = workspace_make(plan);
	object pack = pack_of(count_, ids, pointers, at(workspace));

	GOOD(t.cudnnBackendExecute(handle, plan, pack));
	CU(cuCtxSynchronize());
	GOOD(t.cudnnBackendDestroyDescriptor(pack));
	CU(cuMemFree(workspace));
}

/* Layer and RMS normalisation of rows, forward and back. */
static void test_layer(bool root)
{
	enum { ROWS = 5, LENGTH = 300 };
	static struct tensor x, y, dy, dx, scale, bias, mean, inverse, dscale, dbias;
	static double wanted[MOST], back[MOST], slope[MOST], m[ROWS], v[ROWS];
	struct tensor *list[] = { &x, &y, &scale, &bias, &mean, &inverse, &dy, &dx, &dscale, &dbias };
	static const int forward[] = {
		CUDNN_ATTR_OPERATION_NORM_FWD_XDESC,	   CUDNN_ATTR_OPERATION_NORM_FWD_YDESC,
		CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC,  CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC,
		CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC,   CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC,
		CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC
	};
	static const int backward[] = { CUDNN_ATTR_OPERATION_NORM_BWD_XDESC,
					CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC,
					CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC,
					CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC,
					CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC,
					CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC,
					CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC,
					CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC };
	int xd[] = { ROWS, LENGTH, 1, 1 }, sd[] = { 1, LENGTH, 1, 1 }, md[] = { ROWS, 1, 1, 1 }, one[] = { 1, 1, 1, 1 };
	cudnnBackendNormMode_t mode = root ? CUDNN_RMS_NORM : CUDNN_LAYER_NORM;
	int64_t ids[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	object tensor[11], plan, d;
	void *pointers[11];
	float epsilon = 1e-3f;

	for (int i = 0; i < 10; i++) {
		const int *dim = i == 2 || i == 3 || i >= 8 ? sd : i == 4 || i == 5 ? md : xd;

		make(list[i], CUDNN_DATA_FLOAT, false, 4, dim);
		tensor[i] = graph_tensor(i, CUDNN_DATA_FLOAT, 4, dim, NULL, false, false);
		pointers[i] = at(list[i]->memory);
	}
	tensor[10] = graph_tensor(10, CUDNN_DATA_FLOAT, 4, one, NULL, false, true);
	pointers[10] = &epsilon;
	{
		object values[] = { tensor[0], tensor[1], tensor[2], root ? NULL : tensor[3], root ? NULL : tensor[4],
				    tensor[5], tensor[10] };

		d = norm_forward(mode, 7, forward, values);
		plan = plan_of(&d, 1);
	}
	execute(plan, 11, ids, pointers);
	GOOD(t.cudnnBackendDestroyDescriptor(plan));
	memset(slope, 0, sizeof(slope));
	for (int r = 0; r < ROWS; r++) {
		double g = 0, product = 0, *from = x.value + r * LENGTH;

		m[r] = v[r] = 0;
		for (int i = 0; i < LENGTH && !root; i++)
			m[r] += from[i] / LENGTH;
		for (int i = 0; i < LENGTH; i++)
			v[r] += pow(from[i] - m[r], 2) / LENGTH;
		v[r] = 1 / sqrt(v[r] + (double)epsilon);
		for (int i = 0; i < LENGTH; i++) {
			double normal = (from[i] - m[r]) * v[r], s = dy.value[r * LENGTH + i] * scale.value[i];

			wanted[r * LENGTH + i] = normal * scale.value[i] + (root ? 0 : bias.value[i]);
			slope[i] += dy.value[r * LENGTH + i] * normal;
			g += root ? 0 : s / LENGTH;
			product += s * normal / LENGTH;
		}
		for (int i = 0; i < LENGTH; i++)
			back[r * LENGTH + i] = v[r] * (dy.value[r * LENGTH + i] * scale.value[i] - g -
						       (from[i] - m[r]) * v[r] * product);
	}
	same(&y, wanted, root ? "RMS normalisation" : "layer normalisation");
	same(&inverse, v, "its inverse deviation");
	{
		object values[] = { tensor[0], tensor[6], tensor[2], root ? NULL : tensor[4],
				    tensor[5], tensor[7], tensor[8], root ? NULL : tensor[9] };

		d = new_object(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
		set(d, CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &mode);
		for (int i = 0; i < 8; i++)
			if (values[i])
				set(d, backward[i], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &values[i]);
		GOOD(t.cudnnBackendFinalize(d));
		plan = plan_of(&d, 1);
	}
	execute(plan, 11, ids, pointers);
	same(&dx, back, "its gradient");
	same(&dscale, slope, "and that of the scale");
	GOOD(t.cudnnBackendDestroyDescriptor(plan));
	for (int i = 0; i < 11; i++)
		GOOD(t.cudnnBackendDestroyDescriptor(tensor[i]));
	for (int i = 0; i < 10; i++)
		end(list[i]);
}

/* A view of a view of the program's tensor, (4, 6) as 24 as (6, 4) by columns: it is the tensor's memory. */
static void test_views(void)
{
	static const int names[] = { CUDNN_ATTR_OPERATION_RESHAPE_XDESC, CUDNN_ATTR_OPERATION_RESHAPE_YDESC };
	static struct tensor x, y;
	static double wanted[MOST];
	int xd[] = { 1, 4, 6 }, flat[] = { 1, 24, 1 }, yd[] = { 1, 6, 4 }, turned[] = { 24, 1, 6 };
	int64_t ids[] = { 'x', 'y' };
	cudnnDataType_t type = CUDNN_DATA_FLOAT;
	object tx, ty, v1, v2, list[3], plan;
	void *pointers[2];

	make(&x, type, false, 3, xd);
	make(&y, type, false, 3, yd);
	tx = graph_tensor('x', type, 3, xd, NULL, false, false);
	v1 = graph_tensor(100, type, 3, flat, NULL, true, false);
	v2 = graph_tensor(101, type, 3, yd, turned, true, false);
	ty = graph_tensor('y', type, 3, yd, NULL, false, false);
	list[0] = operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 2, names, (object[]){ tx, v1 });
	list[1] = operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 2, names, (object[]){ v1, v2 });
	list[2] = pointwise(CUDNN_POINTWISE_NEG, v2, NULL, NULL, ty, 0);
	plan = plan_of(list, 3);
	pointers[0] = at(x.memory);
	pointers[1] = at(y.memory);
	for (int k = 0; k < 24; k++)
		wanted[k] = -x.value[k % 4 * 6 + k / 4];
	if (plan) {
		execute(plan, 2, ids, pointers);
		same(&y, wanted, "a view of a view");
	}
	{
		object all[] = { tx, ty, v1, v2, plan };

		for (size_t i = 0; i < 4 + (plan ? 1u : 0u); i++)
			GOOD(t.cudnnBackendDestroyDescriptor(all[i]));
	}
	end(&x);
	end(&y);
}

/* As the specification of the formats says it. */
static double fp8_of(int v, bool wide)
{
	int fraction = wide ? 2 : 3, bias = wide ? 15 : 7, e = (v & 0x7f) >> fraction, f = v & ((1 << fraction) - 1);
	double m = ldexp(e ? f + (1 << fraction) : f, (e ? e : 1) - bias - fraction);

	if (wide ? e == 31 && f : (v & 0x7f) == 0x7f)
		return NAN;
	return (v & 0x80 ? -1 : 1) * (wide && e == 31 ? INFINITY : m);
}

/* The nearest of all numbers, of two the even one; larger ones are the largest. */
static int fp8_nearest(double value, bool wide)
{
	double off = INFINITY;
	int best = 0x7f;

	for (int v = 0; v < 0x7f && !isnan(value); v++) {
		double now = fabs(fmin(fabs(value), 1e9) - fp8_of(v, wide));

		if (!isfinite(fp8_of(v, wide)) || now > off || (now == off && v & 1))
			continue;
		off = now;
		best = v;
	}
	return best | (signbit(value) ? 0x80 : 0);
}

static CUdeviceptr raw_memory(const void *from, size_t bytes)
{
	CUdeviceptr p = 0;

	CU(cuMemAlloc(&p, bytes));
	if (from)
		CU(cuMemcpyHtoD(p, from, bytes));
	return p;
}

static object fp8_tensor(int64_t id, cudnnDataType_t type, const int dim[3], bool is_virtual)
{
	return graph_tensor(id, type, 3, dim, NULL, is_virtual, false);
}

/*
 * As frameworks write a product of FP8: descaled, its largest number, scaled and rounded to FP8. Every number is a
 * multiple of a power of two that float holds, so the sums are exact.
 */
static void test_fp8(bool wide_a, bool wide_b, bool wide_d)
{
	enum { B = 2, M = 9, N = 7, K = 33 };
	static const int da[] = { B, M, K }, db[] = { B, K, N }, dd[] = { B, M, N }, one[] = { 1, 1, 1 };
	cudnnDataType_t type[] = { wide_a ? CUDNN_DATA_FP8_E5M2 : CUDNN_DATA_FP8_E4M3,
				   wide_b ? CUDNN_DATA_FP8_E5M2 : CUDNN_DATA_FP8_E4M3,
				   wide_d ? CUDNN_DATA_FP8_E5M2 : CUDNN_DATA_FP8_E4M3 };
	uint8_t a[B * M * K], b[B * K * N], d[B * M * N];
	float scale[2] = { 0.5f, 64 }, amax = 0, most = 0;
	int64_t ids[] = { 1, 2, 3, 4, 5, 6 };
	CUdeviceptr memory[6];
	void *pointers[6];
	object plan, pack, ops[4];
	int wrong = 0;

	for (int i = 0; i < B * M * K; i++)
		a[i] = (uint8_t)((wide_a ? 0x34 : 0x28) + (i * 7 + i / 5) % 24 + (i % 3 ? 0 : 0x80));
	for (int i = 0; i < B * K * N; i++)
		b[i] = (uint8_t)((wide_b ? 0x34 : 0x28) + (i * 5 + i / 3) % 24 + (i % 4 ? 0 : 0x80));
	memory[0] = raw_memory(a, sizeof(a));
	memory[1] = raw_memory(b, sizeof(b));
	memory[2] = raw_memory(&scale[0], 4);
	memory[3] = raw_memory(&scale[1], 4);
	memory[4] = raw_memory(NULL, 4);
	memory[5] = raw_memory(NULL, sizeof(d));
	for (int i = 0; i < 6; i++)
		pointers[i] = at(memory[i]);
	{
		object t_[] = {
			fp8_tensor(1, type[0], da, false),	     fp8_tensor(2, type[1], db, false),
			fp8_tensor(3, CUDNN_DATA_FLOAT, one, false), fp8_tensor(4, CUDNN_DATA_FLOAT, one, false),
			fp8_tensor(5, CUDNN_DATA_FLOAT, one, false), fp8_tensor(6, type[2], dd, false),
			fp8_tensor(7, CUDNN_DATA_FLOAT, dd, true),   fp8_tensor(8, CUDNN_DATA_FLOAT, dd, true)
		};

		ops[0] = matmul(t_[0], t_[1], t_[6]);
		ops[1] = pointwise(CUDNN_POINTWISE_MUL, t_[6], t_[2], NULL, t_[7], 0);
		ops[2] = reduction(CUDNN_REDUCE_TENSOR_AMAX, t_[7], t_[4]);
		ops[3] = pointwise(CUDNN_POINTWISE_MUL, t_[7], t_[3], NULL, t_[5], 0);
		plan = plan_of(ops, 4);
		for (int i = 0; i < 8; i++)
			GOOD(t.cudnnBackendDestroyDescriptor(t_[i]));
	}
	{
		CUdeviceptr workspace = workspace_make(plan);

		pack = pack_of(6, ids, pointers, at(workspace));
		GOOD(t.cudnnBackendExecute(handle, plan, pack));
		CU(cuMemcpyDtoH(d, memory[5], sizeof(d)));
		CU(cuMemFree(workspace));
	}
	CU(cuMemcpyDtoH(&amax, memory[4], 4));
	for (int i = 0; i < B * M * N; i++) {
		double sum = 0;

		for (int k = 0; k < K; k++)
			sum += fp8_of(a[i / N * K + k], wide_a) * fp8_of(b[(i / N / M * K + k) * N + i % N], wide_b);
		sum *= 0.5;
		most = fmaxf(most, (float)fabs(sum));
		wrong += d[i] != fp8_nearest(sum * 64, wide_d);
	}
	tap_ok(!wrong, "a product of FP8 %s by %s to %s: %d are wrong", wide_a ? "E5M2" : "E4M3",
	       wide_b ? "E5M2" : "E4M3", wide_d ? "E5M2" : "E4M3", wrong);
	tap_ok(amax == most, "and its largest number: %g of %g", (double)amax, (double)most);
	GOOD(t.cudnnBackendDestroyDescriptor(pack));
	GOOD(t.cudnnBackendDestroyDescriptor(plan));
	for (int i = 0; i < 6; i++)
		CU(cuMemFree(memory[i]));
}

/* Too large ones become infinite, or NaN where there is no infinity, in NVIDIA's engine of pointwise operations. */
static bool fp8_is_right(float from, uint8_t to, bool wide)
{
	double largest = fp8_of(wide ? 0x7b : 0x7e, wide);

	if (isnan(from))
		return (to & 0x7f) == 0x7f;
	if (!is_ours && fabs((double)from) > largest)
		return !isfinite(fp8_of(to, wide)) || to == fp8_nearest(from, wide);
	return to == fp8_nearest(from, wide);
}

/* Each number of 8 bits, and floats between, at and beyond them. */
static void test_fp8_round(bool wide)
{
	enum { COUNT = 4096 };
	static const int dim[] = { 1, 1, COUNT };
	static float x[COUNT];
	static uint8_t y[COUNT];
	int64_t ids[] = { 1, 2 };
	CUdeviceptr memory[2];
	void *pointers[2];
	object plan, op;
	int wrong = 0;

	for (int i = 0; i < COUNT; i++) {
		int v = i & 0xff;
		double low = fp8_of(v, wide), high = fp8_of((v & 0x80) | ((v + 1) & 0x7f), wide);

		x[i] = (float)(low + (isfinite(high) && isfinite(low) ? (high - low) * (i >> 8) / 8 : 0));
	}
	x[5] = NAN;
	x[6] = 1e9f;
	x[7] = -1e9f;
	x[8] = 1e-9f;
	memory[0] = raw_memory(x, sizeof(x));
	memory[1] = raw_memory(NULL, sizeof(y));
	pointers[0] = at(memory[0]);
	pointers[1] = at(memory[1]);
	{
		object from = fp8_tensor(1, CUDNN_DATA_FLOAT, dim, false),
		       to = fp8_tensor(2, wide ? CUDNN_DATA_FP8_E5M2 : CUDNN_DATA_FP8_E4M3, dim, false);

		op = pointwise(CUDNN_POINTWISE_IDENTITY, from, NULL, NULL, to, 0);
		plan = plan_of(&op, 1);
		GOOD(t.cudnnBackendDestroyDescriptor(from));
		GOOD(t.cudnnBackendDestroyDescriptor(to));
	}
	execute(plan, 2, ids, pointers);
	CU(cuMemcpyDtoH(y, memory[1], sizeof(y)));
	for (int i = 0; i < COUNT; i++)
		wrong += !fp8_is_right(x[i], y[i], wide);
	tap_ok(!wrong, "floats as FP8 %s: %d are wrong", wide ? "E5M2" : "E4M3", wrong);
	GOOD(t.cudnnBackendDestroyDescriptor(plan));
	CU(cuMemFree(memory[0]));
	CU(cuMemFree(memory[1]));
}

static void test_wrong_objects(void)
{
	int64_t two[] = { 1, 1 }, zero = 0, one = 1, n;
	cudnnDataType_t type = CUDNN_DATA_FLOAT, strange = (cudnnDataType_t)99;
	object tensor = new_object(CUDNN_BACKEND_TENSOR_DESCRIPTOR), d, graph;
	char text[256] = "", word[128] = { 0 };

	REFUSED(t.cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)9999, &d), CUDNN_STATUS_NOT_SUPPORTED);
	if (!is_ours) { /* NVIDIA's own reads what is no descriptor, and ends the process */
		GOOD(t.cudnnBackendDestroyDescriptor(tensor));
		return;
	}
	is(t.cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, NULL), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
	is(t.cudnnBackendSetAttribute(NULL, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type),
	   CUDNN_STATUS_BAD_PARAM);
	is(t.cudnnBackendSetAttribute(word, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type),
	   CUDNN_STATUS_BAD_PARAM);
	is(t.cudnnBackendSetAttribute(tensor, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &type),
	   CUDNN_STATUS_BAD_PARAM);
	is(t.cudnnBackendSetAttribute(tensor, (cudnnBackendAttributeName_t)77777, CUDNN_TYPE_INT64, 1, &one),
	   CUDNN_STATUS_BAD_PARAM);
	is(t.cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_INT64, 1, &one),
	   CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
	is(t.cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, -1, &one),
	   CUDNN_STATUS_BAD_PARAM);
	is(t.cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 2, NULL),
	   CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
	is(t.cudnnBackendGetAttribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 1, &n, &one),
	   CUDNN_STATUS_NOT_INITIALIZED);
	t.cudnnGetLastErrorString(text, sizeof(text));
	tap_ok(strstr(text, "not finalized") != NULL, "the reason: %s", text);
	is(t.cudnnBackendFinalize(tensor), CUDNN_STATUS_BAD_PARAM);
	set(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &one);
	set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &strange);
	set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 2, two);
	set(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 2, two);
	is(t.cudnnBackendFinalize(tensor), CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE);
	set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	two[1] = 0;
	set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 2, two);
	is(t.cudnnBackendFinalize(tensor), CUDNN_STATUS_BAD_PARAM);
	two[1] = INT64_MAX;
	set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 2, two);
	is(t.cudnnBackendFinalize(tensor), CUDNN_STATUS_NOT_SUPPORTED_SHAPE);
	graph = new_object(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	is(t.cudnnBackendSetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensor),
	   CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
	is(t.cudnnBackendFinalize(graph), CUDNN_STATUS_BAD_PARAM);
	two[1] = 3;
	set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 2, two);
	GOOD(t.cudnnBackendFinalize(tensor));
	is(t.cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &one),
	   CUDNN_STATUS_NOT_INITIALIZED);
	set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensor);
	is(t.cudnnBackendFinalize(graph), CUDNN_STATUS_BAD_PARAM);
	d = new_object(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	set(d, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &one);
	is(t.cudnnBackendFinalize(d), CUDNN_STATUS_NOT_SUPPORTED);
	set(d, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &zero);
	is(t.cudnnBackendFinalize(d), CUDNN_STATUS_BAD_PARAM);
	is(t.cudnnBackendExecute(handle, tensor, tensor), CUDNN_STATUS_BAD_PARAM);
	is(t.cudnnBackendExecute(NULL, tensor, tensor), CUDNN_STATUS_NOT_INITIALIZED);
	GOOD(t.cudnnBackendDestroyDescriptor(tensor));
	GOOD(t.cudnnBackendDestroyDescriptor(graph));
	GOOD(t.cudnnBackendDestroyDescriptor(d));
	GOOD(t.cudnnBackendDestroyDescriptor(NULL));
}

int main(void)
{
	cudnn_begin();
	test_attention();
	test_layer(false);
	test_layer(true);
	test_views();
	for (int i = 0; i < 8; i++)
		test_fp8(i & 1, i & 2, i & 4);
	test_fp8_round(false);
	test_fp8_round(true);
	test_wrong_objects();
	return soft_end();
}
