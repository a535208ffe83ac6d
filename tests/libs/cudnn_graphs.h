/*
 * cudnn_graphs.h: what tests of cuDNN share: tensors of the test and of the device, and graphs of the backend's
 * operations with their plans. A test has `t`, cuDNN's calls, and `handle`.
 */
#pragma once

#include "softdev/soft.h"

#include "cudnn_table.h"

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GOOD(call) is(call, CUDNN_STATUS_SUCCESS)
#define MOST 8192 /* elements of a tensor here */
#define DIMS 5
#define OURS 92801    /* the version that mete's library tells */
#define ENGINES 32    /* that are tried of those that heuristics name */
#define MANY_FDS 4096 /* more than a driver opens */

/*
 * A call that is refused: by mete's library with the status `wanted`, by another maker's with any. Behind a wall
 * another maker's refusal of work comes later, with a call of the driver: LATER() makes no such call there.
 */
#define REFUSED(call, wanted)                                                                                          \
	({                                                                                                             \
		cudnnStatus_t refused_ = (call);                                                                       \
		tap_ok(is_ours ? refused_ == (wanted) : refused_ != CUDNN_STATUS_SUCCESS,                              \
		       "%s:%d %s is refused with %s (%d)", __FILE__, __LINE__, #call, #wanted, (int)refused_);         \
	})
#define LATER(call, wanted)                                                                                            \
	do                                                                                                             \
		if (is_ours || !getenv("METE_TEST_FAR"))                                                               \
			REFUSED(call, wanted);                                                                         \
	while (0)

size_t cudnnGetVersion(void);

#pragma GCC diagnostic ignored "-Wunused-function"

static struct cudnn_table t;
static cudnnHandle_t handle;
static bool is_ours; /* mete's library; NVIDIA's own takes what mete's refuses, and has other engines */

static double random_number(void)
{
	static uint64_t seed = 88172645463325252ull;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(int64_t)seed / 9.3e18;
}

static void *at(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

/* ---- tensors ---- */

struct tensor {
	int rank, dim[DIMS], stride[DIMS];
	cudnnDataType_t type;
	double value[MOST]; /* by rows */
	CUdeviceptr memory;
	cudnnTensorDescriptor_t descriptor;
	cudnnFilterDescriptor_t filter;
};

static int count(const struct tensor *x)
{
	int all = 1;

	for (int i = 0; i < x->rank; i++)
		all *= x->dim[i];
	return all;
}

static int place(const struct tensor *x, int k)
{
	int offset = 0;

	for (int i = x->rank - 1; i >= 0; i--) {
		offset += k % x->dim[i] * x->stride[i];
		k /= x->dim[i];
	}
	return offset;
}

/* float as half: what the tests use are small numbers that both hold. */
static uint16_t half_of(double v)
{
	int e;
	double m = frexp(fabs(v), &e);
	int bits;

	if (v == 0 || e < -13 || !isfinite(v))
		return isfinite(v) ? 0 : isnan(v) ? 0x7e00 : (uint16_t)((v < 0) << 15 | 0x7c00);
	bits = (int)rint(ldexp(m, 11));
	if (bits == 2048) {
		bits = 1024;
		e++;
	}
	return (uint16_t)((v < 0) << 15 | (e + 14) << 10 | (bits - 1024));
}

static double of_half(uint16_t h)
{
	double m = h & 0x7c00 ? (h & 0x3ff) + 1024 : h & 0x3ff;

	return (h & 0x8000 ? -1 : 1) * ldexp(m, (h & 0x7c00 ? (h >> 10 & 31) : 1) - 25);
}

static size_t each(cudnnDataType_t type)
{
	return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_HALF ? 2 : 4;
}

static void store(const struct tensor *x)
{
	static char raw[MOST * 8];

	for (int k = 0; k < count(x); k++) {
		float f = (float)x->value[k];
		uint16_t h = half_of(x->value[k]);

		memcpy(raw + (size_t)place(x, k) * each(x->type),
		       x->type == CUDNN_DATA_DOUBLE ? (const void *)&x->value[k]
		       : x->type == CUDNN_DATA_HALF ? (void *)&h
						    : (void *)&f,
		       each(x->type));
	}
	if (cuMemcpyHtoD(x->memory, raw, (size_t)count(x) * each(x->type)))
		tap_ok(0, "writing");
}

static void load(const struct tensor *x, double *ret)
{
	static char raw[MOST * 8];

	if (cuMemcpyDtoH(raw, x->memory, (size_t)count(x) * each(x->type)))
		tap_ok(0, "reading");
	for (int k = 0; k < count(x); k++) {
		float f;
		uint16_t h;
		const char *from = raw + (size_t)place(x, k) * each(x->type);

		memcpy(&f, from, 4);
		memcpy(&h, from, 2);
		ret[k] = x->type == CUDNN_DATA_HALF ? of_half(h) : f;
		if (x->type == CUDNN_DATA_DOUBLE)
			memcpy(&ret[k], from, 8);
	}
}

/* `last`: channels last. */
static void make(struct tensor *x, cudnnDataType_t type, bool last, int rank, const int *dim)
{
	int stride = 1;

	x->rank = rank;
	x->type = type;
	memcpy(x->dim, dim, sizeof(int) * (size_t)rank);
	if (last) {
		x->stride[1] = 1;
		stride = dim[1];
	}
	for (int i = rank - 1; i >= 0; i--) {
		if (last && i == 1)
			continue;
		x->stride[i] = stride;
		stride *= dim[i];
	}
	for (int k = 0; k < count(x); k++)
		x->value[k] = of_half(half_of(random_number()));
	if (count(x) > MOST || cuMemAlloc(&x->memory, (size_t)count(x) * 8))
		tap_ok(0, "a tensor");
	GOOD(t.cudnnCreateTensorDescriptor(&x->descriptor));
	GOOD(t.cudnnSetTensorNdDescriptor(x->descriptor, type, rank, x->dim, x->stride));
	GOOD(t.cudnnCreateFilterDescriptor(&x->filter));
	GOOD(t.cudnnSetFilterNdDescriptor(x->filter, type, last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, rank, x->dim));
	store(x);
}

static void end(struct tensor *x)
{
	cuMemFree(x->memory);
	GOOD(t.cudnnDestroyTensorDescriptor(x->descriptor));
	GOOD(t.cudnnDestroyFilterDescriptor(x->filter));
}

static void same(const struct tensor *x, const double *wanted, const char *what)
{
	static double got[MOST];
	double most = 0, wrong = 0,
	       allowed = x->type == CUDNN_DATA_DOUBLE ? 1e-12
			 : x->type == CUDNN_DATA_HALF ? 2e-3
			 : is_ours		      ? 2e-5
						      : 1e-4; /* of any algorithm */

	load(x, got);
	for (int k = 0; k < count(x); k++) {
		most = fmax(most, fabs(wanted[k]));
		wrong = isnan(got[k]) ? INFINITY : fmax(wrong, fabs(got[k] - wanted[k]));
	}
	tap_ok(wrong <= allowed * fmax(most, 1), "%s: off by %g of %g", what, wrong, most);
}

/* ---- graphs ---- */

typedef cudnnBackendDescriptor_t object;

static void set(object d, int name, int type, int64_t n, const void *from)
{
	GOOD(t.cudnnBackendSetAttribute(d, (cudnnBackendAttributeName_t)name, (cudnnBackendAttributeType_t)type, n,
					from));
}

static object new_object(cudnnBackendDescriptorType_t type)
{
	object d = NULL;

	GOOD(t.cudnnBackendCreateDescriptor(type, &d));
	return d;
}

static object graph_tensor(int64_t id, cudnnDataType_t type, int rank, const int *dim, const int *stride,
			   bool is_virtual, bool value)
{
	object d = new_object(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	int64_t dims[DIMS], strides[DIMS], alignment = 16, packed = 1;

	for (int i = rank - 1; i >= 0; i--) {
		dims[i] = dim[i];
		strides[i] = stride ? stride[i] : packed;
		packed *= dim[i];
	}
	set(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
	set(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	set(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
	set(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, dims);
	set(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, strides);
	set(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
	set(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &value);
	GOOD(t.cudnnBackendFinalize(d));
	return d;
}

/* The operation holds what it is given: our own descriptors go. */
static object operation(cudnnBackendDescriptorType_t type, int count_, const int *names, object *values)
{
	object d = new_object(type);

	for (int i = 0; i < count_; i++)
		set(d, names[i], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &values[i]);
	GOOD(t.cudnnBackendFinalize(d));
	return d;
}

static object pointwise(cudnnPointwiseMode_t mode, object x, object b, object select, object y, int64_t axis)
{
	static const int names[] = { CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
				     CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_ATTR_OPERATION_POINTWISE_TDESC,
				     CUDNN_ATTR_OPERATION_POINTWISE_YDESC };
	object settings = new_object(CUDNN_BACKEND_POINTWISE_DESCRIPTOR), d, values[] = { settings, x, b, select, y };
	cudnnDataType_t type = CUDNN_DATA_FLOAT;

	set(settings, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
	set(settings, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
	if (mode == CUDNN_POINTWISE_GEN_INDEX)
		set(settings, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis);
	GOOD(t.cudnnBackendFinalize(settings));
	d = new_object(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	for (int i = 0; i < 5; i++)
		if (values[i])
			set(d, names[i], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &values[i]);
	GOOD(t.cudnnBackendFinalize(d));
	GOOD(t.cudnnBackendDestroyDescriptor(settings));
	return d;
}

static object reduction(cudnnReduceTensorOp_t op, object x, object y)
{
	static const int names[] = { CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_ATTR_OPERATION_REDUCTION_XDESC,
				     CUDNN_ATTR_OPERATION_REDUCTION_YDESC };
	object settings = new_object(CUDNN_BACKEND_REDUCTION_DESCRIPTOR), d, values[] = { settings, x, y };
	cudnnDataType_t type = CUDNN_DATA_FLOAT;

	set(settings, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &op);
	set(settings, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	GOOD(t.cudnnBackendFinalize(settings));
	d = operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, 3, names, values);
	GOOD(t.cudnnBackendDestroyDescriptor(settings));
	return d;
}

static object matmul(object a, object b, object c)
{
	static const int names[] = { CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_ATTR_OPERATION_MATMUL_ADESC,
				     CUDNN_ATTR_OPERATION_MATMUL_BDESC, CUDNN_ATTR_OPERATION_MATMUL_CDESC };
	object settings = new_object(CUDNN_BACKEND_MATMUL_DESCRIPTOR), d, values[] = { settings, a, b, c };
	cudnnDataType_t type = CUDNN_DATA_FLOAT;

	set(settings, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	GOOD(t.cudnnBackendFinalize(settings));
	d = operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, 4, names, values);
	GOOD(t.cudnnBackendDestroyDescriptor(settings));
	return d;
}

/* A plan of an engine, or NULL: another maker's heuristics name engines that do not take the graph. */
static object plan_with(object config)
{
	object plan = new_object(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	cudnnStatus_t status;

	set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
	status = t.cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
					    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config);
	if (!status)
		status = t.cudnnBackendFinalize(plan);
	if (is_ours)
		GOOD(status);
	if (!status)
		return plan;
	GOOD(t.cudnnBackendDestroyDescriptor(plan));
	return NULL;
}

/* The plan of the first engine that takes the graph. */
static object plan_first(object graph, cudnnBackendHeurMode_t mode)
{
	object heuristics = new_object(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), configs[ENGINES], plan = NULL;
	int64_t found = -1, room;

	set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
	set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
	GOOD(t.cudnnBackendFinalize(heuristics));
	GOOD(t.cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0,
					&found, NULL));
	tap_ok(is_ours ? found == 1 : found >= 0, "heuristics name %lld engines", (long long)found);
	room = found < ENGINES ? found : ENGINES;
	for (int64_t i = 0; i < room; i++)
		configs[i] = new_object(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	if (room > 0)
		GOOD(t.cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
						CUDNN_TYPE_BACKEND_DESCRIPTOR, room, &found, configs));
	for (int64_t i = 0; i < room && i < found && !plan; i++)
		plan = plan_with(configs[i]);
	for (int64_t i = 0; i < room; i++)
		GOOD(t.cudnnBackendDestroyDescriptor(configs[i]));
	GOOD(t.cudnnBackendDestroyDescriptor(heuristics));
	return plan;
}

/*
 * A plan by heuristics, as frameworks get it; operations and graph are destroyed behind it. NULL: no engine of another
 * maker's library takes the graph.
 */
static object plan_of(object *operations, int64_t count_)
{
	object graph = new_object(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR), plan;

	set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
	set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count_, operations);
	GOOD(t.cudnnBackendFinalize(graph));
	plan = plan_first(graph, CUDNN_HEUR_MODE_A);
	if (!plan && !is_ours)
		plan = plan_first(graph, CUDNN_HEUR_MODE_FALLBACK);
	for (int64_t i = 0; i < count_; i++)
		GOOD(t.cudnnBackendDestroyDescriptor(operations[i]));
	GOOD(t.cudnnBackendDestroyDescriptor(graph));
	tap_ok(plan || !is_ours, "an engine takes the graph%s", plan ? "" : " # SKIP none of another maker's does");
	return plan;
}

static object pack_of(int64_t count_, const int64_t *ids, void **pointers, void *workspace)
{
	object pack = new_object(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);

	set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count_, ids);
	set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count_, pointers);
	set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
	GOOD(t.cudnnBackendFinalize(pack));
	return pack;
}

static int64_t workspace_of(object plan)
{
	int64_t bytes = -1, n;

	GOOD(t.cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &n,
					&bytes));
	return bytes;
}

/* The memory that a plan asks for, or a byte. */
static CUdeviceptr workspace_make(object plan)
{
	int64_t bytes = workspace_of(plan);
	CUdeviceptr workspace = 0;

	CU(cuMemAlloc(&workspace, bytes > 0 ? (size_t)bytes : 1));
	return workspace;
}

/* The plan from its own text; text that is cut off or damaged makes none. */
static object plan_again(object plan)
{
	object again = new_object(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	int64_t n = 0;
	char *text;

	GOOD(t.cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0, &n,
					NULL));
	text = calloc(1, (size_t)n);
	GOOD(t.cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, n, &n,
					text));
	ok((int64_t)strlen(text) == n - 1);
	for (int64_t bad = 0; bad < n - 1; bad += 211) {
		object wrong = new_object(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
		char was = text[bad];

		text[bad] = 'x';
		set(wrong, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, bad % 2 ? n : bad + 1, text);
		tap_ok(t.cudnnBackendFinalize(wrong) != CUDNN_STATUS_SUCCESS, "text that is wrong at %lld",
		       (long long)bad);
		GOOD(t.cudnnBackendDestroyDescriptor(wrong));
		text[bad] = was;
	}
	set(again, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, n, text);
	GOOD(t.cudnnBackendFinalize(again));
	GOOD(t.cudnnBackendDestroyDescriptor(plan));
	plan = new_object(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	GOOD(t.cudnnBackendGetAttribute(again, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR,
					1, &n, &plan));
	GOOD(t.cudnnBackendDestroyDescriptor(plan));
	free(text);
	return again;
}

static void cudnn_begin(void)
{
	for (int i = 0; i < CUDNN_CALL_COUNT; i++)
		((void **)&t)[i] = dlsym(dlopen(NULL, RTLD_NOW), cudnn_call_name[i]);
	soft_begin("1", "256M");
	soft_context();
	tap_ok(cudnnGetVersion() / 10000 == 9, "version %zu", cudnnGetVersion());
	is_ours = cudnnGetVersion() == OURS;
	if (!is_ours) /* NVIDIA's driver and library open descriptors when they like */
		tap_fds = MANY_FDS;
	GOOD(t.cudnnCreate(&handle));
}
