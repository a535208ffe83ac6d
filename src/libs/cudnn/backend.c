/*
 * backend.c: descriptors of cuDNN's backend and their attributes.
 *
 * Of every graph that its operations can compute there is one engine, number 0, without knobs and notes.
 *
 * Facts: cuDNN 9 graph API reference; the comments of cudnn_graph.h (attributes, their types, statuses).
 */
#include "libs/cudnn/backend.h"

#include "softdev/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC UINT64_C(0x6d6574652d626b64)
#define COUNT_MOST (INT64_C(1) << 20)

/* guards the descriptors' holders */
static pthread_mutex_t holding = PTHREAD_MUTEX_INITIALIZER;

/* Which attributes a descriptor has. */
static const struct {
	int type, first, last;
} owners[] = {
	{ CUDNN_BACKEND_POINTWISE_DESCRIPTOR, 0, 9 },
	{ CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, 100, 106 },
	{ CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, 200, 205 },
	{ CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 300, 304 },
	{ CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, 400, 408 },
	{ CUDNN_BACKEND_INTERMEDIATE_INFO_DESCRIPTOR, 500, 503 },
	{ CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, 600, 601 },
	{ CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 700, 705 },
	{ CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 706, 711 },
	{ CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, 712, 717 },
	{ CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 750, 758 },
	{ CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, 770, 774 },
	{ CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 800, 806 },
	{ CUDNN_BACKEND_TENSOR_DESCRIPTOR, 900, 914 },
	{ CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, 1000, 1012 },
	{ CUDNN_BACKEND_LAYOUT_INFO_DESCRIPTOR, 1100, 1101 },
	{ CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR, 1200, 1203 },
	{ CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1300, 1309 },
	{ CUDNN_BACKEND_MATMUL_DESCRIPTOR, 1500, 1503 },
	{ CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, 1520, 1527 },
	{ CUDNN_BACKEND_REDUCTION_DESCRIPTOR, 1600, 1602 },
	{ CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, 1610, 1613 },
	{ CUDNN_BACKEND_RESAMPLE_DESCRIPTOR, 1700, 1708 },
	{ CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR, 1710, 1716 },
	{ CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR, 1720, 1727 },
	{ CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR, 1950, 1953 },
	{ CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, 2000, 2014 },
	{ CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR, 2100, 2110 },
	{ CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 2200, 2202 },
	{ CUDNN_BACKEND_RNG_DESCRIPTOR, 2300, 2305 },
	{ CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR, 2310, 2313 },
	{ CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, 2700, 2702 },
	{ CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, 2800, 2829 },
	{ CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR, 2851, 2875 },
	{ CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR, 3000, 3009 },
	{ CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR, 3100, 3106 },
	{ CUDNN_BACKEND_OPERATION_TRANSPOSE_DESCRIPTOR, 3200, 3202 },
	{ CUDNN_BACKEND_OPERATION_SLICE_DESCRIPTOR, 3300, 3304 },
};

#define REAL (-1) /* float or double */
#define ANY (-2)
#define NUMBER (-3) /* a descriptor or a number */

/* The type of an attribute's elements. */
static const struct {
	int first, last, type;
} kinds[] = {
	{ 0, 0, CUDNN_TYPE_POINTWISE_MODE },
	{ 1, 1, CUDNN_TYPE_DATA_TYPE },
	{ 2, 2, CUDNN_TYPE_NAN_PROPOGATION },
	{ 3, 8, REAL },
	{ 9, 9, CUDNN_TYPE_INT64 },
	{ 100, 100, CUDNN_TYPE_DATA_TYPE },
	{ 101, 101, CUDNN_TYPE_CONVOLUTION_MODE },
	{ 102, 106, CUDNN_TYPE_INT64 },
	{ 200, 200, CUDNN_TYPE_HEUR_MODE },
	{ 201, 202, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 203, 203, CUDNN_TYPE_INT32 },
	{ 204, 204, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 205, 205, CUDNN_TYPE_INT32 },
	{ 300, 302, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 303, 303, CUDNN_TYPE_INT64 },
	{ 400, 400, CUDNN_TYPE_HANDLE },
	{ 401, 401, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 402, 404, CUDNN_TYPE_INT64 },
	{ 405, 405, CUDNN_TYPE_CHAR },
	{ 406, 407, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 408, 408, CUDNN_TYPE_CUDA_GRAPH_RETENTION },
	{ 600, 600, CUDNN_TYPE_KNOB_TYPE },
	{ 601, 601, CUDNN_TYPE_INT64 },
	{ 700, 701, REAL },
	{ 702, 705, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 706, 707, REAL },
	{ 708, 711, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 712, 713, REAL },
	{ 714, 717, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 750, 753, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 754, 755, REAL },
	{ 756, 758, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 770, 770, CUDNN_TYPE_GENSTATS_MODE },
	{ 771, 771, CUDNN_TYPE_DATA_TYPE },
	{ 772, 774, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 800, 800, CUDNN_TYPE_HANDLE },
	{ 801, 801, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 802, 802, CUDNN_TYPE_INT64 },
	{ 803, 805, CUDNN_TYPE_BOOLEAN },
	{ 806, 806, CUDNN_TYPE_OPERATIONGRAPH_MODE },
	{ 900, 900, CUDNN_TYPE_INT64 },
	{ 901, 901, CUDNN_TYPE_DATA_TYPE },
	{ 902, 906, CUDNN_TYPE_INT64 },
	{ 907, 908, CUDNN_TYPE_BOOLEAN },
	{ 909, 909, CUDNN_TYPE_TENSOR_REORDERING_MODE },
	{ 913, 913, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 914, 914, CUDNN_TYPE_INT64 },
	{ 1000, 1000, CUDNN_TYPE_INT64 },
	{ 1001, 1003, CUDNN_TYPE_VOID_PTR },
	{ 1010, 1012, CUDNN_TYPE_INT64 },
	{ 1300, 1300, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 1301, 1301, CUDNN_TYPE_INT64 },
	{ 1302, 1302, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 1303, 1303, CUDNN_TYPE_NUMERICAL_NOTE },
	{ 1304, 1304, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 1305, 1305, CUDNN_TYPE_BEHAVIOR_NOTE },
	{ 1306, 1306, CUDNN_TYPE_INT32 },
	{ 1307, 1307, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 1309, 1309, CUDNN_TYPE_INT32 },
	{ 1500, 1500, CUDNN_TYPE_DATA_TYPE },
	{ 1503, 1503, REAL },
	{ 1520, 1523, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 1524, 1524, CUDNN_TYPE_INT64 },
	{ 1525, 1527, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 1600, 1600, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE },
	{ 1601, 1601, CUDNN_TYPE_DATA_TYPE },
	{ 1602, 1602, CUDNN_TYPE_BOOLEAN },
	{ 1610, 1613, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 1700, 1700, CUDNN_TYPE_RESAMPLE_MODE },
	{ 1701, 1701, CUDNN_TYPE_DATA_TYPE },
	{ 1702, 1702, CUDNN_TYPE_INT64 },
	{ 1703, 1705, ANY }, /* whole numbers or fractions */
	{ 1706, 1706, ANY },
	{ 1707, 1707, CUDNN_TYPE_NAN_PROPOGATION },
	{ 1708, 1708, CUDNN_TYPE_PADDING_MODE },
	{ 1710, 1712, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 1713, 1714, REAL },
	{ 1716, 1722, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 1723, 1724, REAL },
	{ 1725, 1727, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 1950, 1953, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 2000, 2000, CUDNN_TYPE_NORM_MODE },
	{ 2001, 2001, CUDNN_TYPE_NORM_FWD_PHASE },
	{ 2002, 2014, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 2100, 2100, CUDNN_TYPE_NORM_MODE },
	{ 2101, 2110, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 2200, 2201, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 2202, 2202, CUDNN_TYPE_RESHAPE_MODE },
	{ 2300, 2300, CUDNN_TYPE_RNG_DISTRIBUTION },
	{ 2301, 2305, REAL },
	{ 2310, 2310, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 2311, 2311, NUMBER },
	{ 2312, 2313, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 2700, 2700, CUDNN_TYPE_INT32 },
	{ 2701, 2701, CUDNN_TYPE_HANDLE },
	{ 2702, 2702, CUDNN_TYPE_CHAR },
	{ 2800, 2811, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 2812, 2813, CUDNN_TYPE_INT64 },
	{ 2814, 2817, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 2818, 2818, REAL },
	{ 2819, 2819, CUDNN_TYPE_BOOLEAN },
	{ 2820, 2829, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 2851, 2864, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 2865, 2866, CUDNN_TYPE_INT64 },
	{ 2867, 2867, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 2868, 2869, CUDNN_TYPE_INT64 },
	{ 2870, 2873, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 2874, 2874, REAL },
	{ 2875, 2875, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 3000, 3006, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 3007, 3007, CUDNN_TYPE_POINTWISE_MODE },
	{ 3008, 3009, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 3100, 3105, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 3106, 3106, CUDNN_TYPE_BOOLEAN },
	{ 3200, 3201, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 3202, 3202, CUDNN_TYPE_INT64 },
	{ 3300, 3301, CUDNN_TYPE_BACKEND_DESCRIPTOR },
	{ 3302, 3304, CUDNN_TYPE_INT64 },
};

size_t attribute_type_bytes(cudnnBackendAttributeType_t type)
{
	switch (type) {
	case CUDNN_TYPE_HANDLE:
	case CUDNN_TYPE_INT64:
	case CUDNN_TYPE_DOUBLE:
	case CUDNN_TYPE_VOID_PTR:
	case CUDNN_TYPE_BACKEND_DESCRIPTOR:
		return 8;
	case CUDNN_TYPE_BOOLEAN:
	case CUDNN_TYPE_CHAR:
		return 1;
	case CUDNN_TYPE_FRACTION:
		return 16;
	default:
		return (unsigned int)type <= CUDNN_TYPE_CUDA_GRAPH_RETENTION ? 4 : 0;
	}
}

static bool owns(cudnnBackendDescriptorType_t type, cudnnBackendAttributeName_t name)
{
	for (size_t i = 0; i < sizeof(owners) / sizeof(*owners); i++)
		if (owners[i].type == (int)type)
			return (int)name >= owners[i].first && (int)name <= owners[i].last;
	return false;
}

static bool kind_fits(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type)
{
	if (!attribute_type_bytes(type))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if ((int)name < kinds[i].first || (int)name > kinds[i].last)
			continue;
		if (kinds[i].type == REAL)
			return type == CUDNN_TYPE_FLOAT || type == CUDNN_TYPE_DOUBLE;
		if (kinds[i].type == ANY)
			return type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_FRACTION;
		if (kinds[i].type == NUMBER)
			return type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
		return kinds[i].type == (int)type;
	}
	return true;
}

bool descriptor_type_known(int type)
{
	for (size_t i = 0; i < sizeof(owners) / sizeof(*owners); i++)
		if (owners[i].type == type)
			return true;
	return false;
}

bool attribute_known(int descriptor, int name, int type)
{
	return owns((cudnnBackendDescriptorType_t)descriptor, (cudnnBackendAttributeName_t)name) &&
	       kind_fits((cudnnBackendAttributeName_t)name, (cudnnBackendAttributeType_t)type);
}

/* ---- descriptors ---- */

void descriptor_hold(struct descriptor *d)
{
	pthread_mutex_lock(&holding);
	d->holders++;
	pthread_mutex_unlock(&holding);
}

static void attributes_free(struct descriptor *d)
{
	struct attribute *next;

	for (struct attribute *a = d->attributes; a; a = next) {
		next = a->next;
		for (int64_t i = 0; a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < a->count; i++)
			descriptor_let(((struct descriptor **)(void *)a->data)[i]);
		free(a);
	}
	d->attributes = NULL;
	if (d->graph)
		graph_let(d->graph);
	d->graph = NULL;
}

void descriptor_let(struct descriptor *d)
{
	bool last;

	pthread_mutex_lock(&holding);
	last = !--d->holders;
	pthread_mutex_unlock(&holding);
	if (!last)
		return;
	attributes_free(d);
	d->magic = 0;
	free(d);
}

static struct descriptor *descriptor_of(const void *given)
{
	struct descriptor *d = (struct descriptor *)(uintptr_t)given;

	return d && !((uintptr_t)d % _Alignof(struct descriptor)) && d->magic == MAGIC ? d : NULL;
}

struct descriptor *descriptor_find(const void *given, cudnnBackendDescriptorType_t type)
{
	struct descriptor *d = descriptor_of(given);

	return d && d->type == type && d->final ? d : NULL;
}

const struct attribute *attribute_find(const struct descriptor *d, int name)
{
	for (const struct attribute *a = d->attributes; a; a = a->next)
		if ((int)a->name == name)
			return a;
	return NULL;
}

static int64_t element_number(const struct attribute *a, int64_t i)
{
	int64_t wide;
	int32_t narrow;
	bool flag;

	switch (attribute_type_bytes(a->type)) {
	case 1:
		memcpy(&flag, a->data + i, sizeof(flag));
		return flag;
	case 4:
		memcpy(&narrow, a->data + 4 * i, sizeof(narrow));
		return narrow;
	case 8:
		memcpy(&wide, a->data + 8 * i, sizeof(wide));
		return wide;
	default: /* a fraction: numerator, denominator */
		memcpy(&wide, a->data + 16 * i, sizeof(wide));
		return wide;
	}
}

int64_t attribute_number(const struct descriptor *d, int name, int64_t otherwise)
{
	const struct attribute *a = attribute_find(d, name);

	return a && a->count ? element_number(a, 0) : otherwise;
}

int64_t attribute_list(const struct descriptor *d, int name, int64_t *ret, int64_t most)
{
	const struct attribute *a = attribute_find(d, name);

	for (int64_t i = 0; a && i < a->count && i < most; i++)
		ret[i] = element_number(a, i);
	return a ? a->count : 0;
}

double attribute_real(const struct descriptor *d, int name, double otherwise)
{
	const struct attribute *a = attribute_find(d, name);
	double wide;
	float narrow;

	if (!a || !a->count)
		return otherwise;
	if (a->type == CUDNN_TYPE_DOUBLE) {
		memcpy(&wide, a->data, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, a->data, sizeof(narrow));
	return narrow;
}

struct descriptor *attribute_descriptor(const struct descriptor *d, int name, int64_t index)
{
	const struct attribute *a = attribute_find(d, name);

	return a && a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && index < a->count
		       ? ((struct descriptor **)(void *)a->data)[index]
		       : NULL;
}

cudnnStatus_t soft_cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType,
						cudnnBackendDescriptor_t *descriptor)
{
	struct descriptor *d;

	if (!descriptor)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (!descriptor_type_known((int)descriptorType))
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED,
				"descriptors of type %d: not supported by the software device's cuDNN",
				(int)descriptorType);
	d = calloc(1, sizeof(*d));
	if (!d)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	d->magic = MAGIC;
	d->holders = 1;
	d->type = descriptorType;
	*descriptor = d;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
	struct descriptor *d = descriptor_of(descriptor);

	if (!descriptor)
		return CUDNN_STATUS_SUCCESS;
	if (!d)
		return CUDNN_STATUS_BAD_PARAM;
	descriptor_let(d);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor)
{
	struct descriptor *d = descriptor_of(descriptor);

	if (!d)
		return CUDNN_STATUS_BAD_PARAM;
	attributes_free(d);
	d->final = false;
	return CUDNN_STATUS_SUCCESS;
}

/* ---- attributes ---- */

static struct attribute *attribute_make(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
					int64_t count, const void *elements)
{
	size_t bytes = (size_t)count * attribute_type_bytes(type);
	struct attribute *a = malloc(sizeof(*a) + bytes + 1);

	if (!a)
		return NULL;
	*a = (struct attribute){ .name = name, .type = type, .count = count };
	if (bytes)
		memcpy(a->data, elements, bytes);
	for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++)
		descriptor_hold(((struct descriptor **)(void *)a->data)[i]);
	return a;
}

static void attribute_put(struct descriptor *d, struct attribute *a)
{
	struct attribute **at = &d->attributes, *old;

	while (*at && (*at)->name != a->name)
		at = &(*at)->next;
	old = *at;
	a->next = old ? old->next : NULL;
	*at = a;
	for (int64_t i = 0; old && old->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < old->count; i++)
		descriptor_let(((struct descriptor **)(void *)old->data)[i]);
	free(old);
}

/* What an attribute may refer to is finalized. */
static cudnnStatus_t elements_check(cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
	for (int64_t i = 0; i < count; i++) {
		const void *one;

		memcpy(&one, (const char *)elements + (size_t)i * sizeof(one), sizeof(one));
		if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && !descriptor_of(one))
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "element %lld is no descriptor", (long long)i);
		if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && !descriptor_of(one)->final)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "descriptor %lld is not finalized",
					(long long)i);
		if (type == CUDNN_TYPE_HANDLE && !dnn_handle_known(one))
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "no handle of cuDNN");
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
					    cudnnBackendAttributeName_t attributeName,
					    cudnnBackendAttributeType_t attributeType, int64_t elementCount,
					    const void *arrayOfElements)
{
	struct descriptor *d = descriptor_of(descriptor);
	cudnnStatus_t status;
	struct attribute *a;

	if (!d)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendSetAttribute: no descriptor");
	if (d->final)
		return dnn_fail(CUDNN_STATUS_NOT_INITIALIZED, "cudnnBackendSetAttribute: the descriptor is finalized");
	if (!owns(d->type, attributeName))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a descriptor of type %d has no attribute %d", (int)d->type,
				(int)attributeName);
	if (!kind_fits(attributeName, attributeType))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "attribute %d is not of type %d",
				(int)attributeName, (int)attributeType);
	if (elementCount < 0 || elementCount > COUNT_MOST)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "attribute %d with %lld elements", (int)attributeName,
				(long long)elementCount);
	if (elementCount && !arrayOfElements)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (attributeType == CUDNN_TYPE_BACKEND_DESCRIPTOR || attributeType == CUDNN_TYPE_HANDLE) {
		status = elements_check(attributeType, elementCount, arrayOfElements);
		if (status)
			return status;
	}
	a = attribute_make(attributeName, attributeType, elementCount, arrayOfElements);
	if (!a)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	attribute_put(d, a);
	return CUDNN_STATUS_SUCCESS;
}

/* A copy of what `from` says, in a descriptor that the program has made for it. */
static cudnnStatus_t descriptor_copy(struct descriptor *to, const struct descriptor *from)
{
	if (to->type != from->type)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "a descriptor of type %d where %d is needed",
				(int)to->type, (int)from->type);
	attributes_free(to);
	for (const struct attribute *a = from->attributes; a; a = a->next) {
		struct attribute *copy = attribute_make(a->name, a->type, a->count, a->data);

		if (!copy)
			return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
		attribute_put(to, copy);
	}
	if (from->graph)
		graph_hold(from->graph);
	to->graph = from->graph;
	to->final = from->final;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t elements_give(const struct attribute *a, int64_t requested, void *elements)
{
	int64_t count = a->count < requested ? a->count : requested;

	if (!elements || count <= 0)
		return CUDNN_STATUS_SUCCESS;
	if (a->type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
		memcpy(elements, a->data, (size_t)count * attribute_type_bytes(a->type));
		return CUDNN_STATUS_SUCCESS;
	}
	for (int64_t i = 0; i < count; i++) {
		struct descriptor *to = descriptor_of(((void **)elements)[i]);
		cudnnStatus_t status =
			to ? descriptor_copy(to, ((struct descriptor **)(void *)a->data)[i]) : CUDNN_STATUS_BAD_PARAM;

		if (status)
			return status;
	}
	return CUDNN_STATUS_SUCCESS;
}

/* Attributes that nobody sets. */
static bool number_asked(const struct descriptor *d, int name, int64_t *ret)
{
	switch (name) {
	case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
		*ret = 1;
		return true;
	case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
	case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
		*ret = d->graph ? graph_workspace(d->graph) : 0;
		return true;
	default:
		return false;
	}
}

static bool is_empty(int name)
{
	switch (name) {
	case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
	case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
	case CUDNN_ATTR_ENGINE_KNOB_INFO:
	case CUDNN_ATTR_ENGINE_LAYOUT_INFO:
	case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
	case CUDNN_ATTR_ENGINECFG_INTERMEDIATE_INFO:
	case CUDNN_ATTR_EXECUTION_PLAN_COMPUTED_INTERMEDIATE_UIDS:
	case CUDNN_ATTR_EXECUTION_PLAN_RUN_ONLY_INTERMEDIATE_UIDS:
		return true;
	default:
		return false;
	}
}

/* The only configuration of a graph. */
static cudnnStatus_t result_give(const struct descriptor *heuristics, void *elements)
{
	static const int64_t first;
	struct descriptor *graph = attribute_descriptor(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 0), *config;
	void *engine = NULL;
	cudnnStatus_t status;

	config = descriptor_of(*(void **)elements);
	if (!config || config->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
				"results of heuristics are configurations of engines");
	status = soft_cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine);
	if (!status)
		status = soft_cudnnBackendSetAttribute(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
						       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
	if (!status)
		status = soft_cudnnBackendSetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
						       &first);
	if (!status)
		status = soft_cudnnBackendFinalize(engine);
	soft_cudnnBackendInitialize(config);
	if (!status)
		status = soft_cudnnBackendSetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
						       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
	if (!status)
		status = soft_cudnnBackendFinalize(config);
	if (engine)
		soft_cudnnBackendDestroyDescriptor(engine);
	return status;
}

cudnnStatus_t soft_cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
					    cudnnBackendAttributeName_t attributeName,
					    cudnnBackendAttributeType_t attributeType, int64_t requestedElementCount,
					    int64_t *elementCount, void *arrayOfElements)
{
	struct descriptor *d = descriptor_of(descriptor);
	const struct attribute *a;
	int64_t number, none;

	if (!d)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendGetAttribute: no descriptor");
	if (!d->final)
		return dnn_fail(CUDNN_STATUS_NOT_INITIALIZED,
				"cudnnBackendGetAttribute: the descriptor is not finalized");
	if (!owns(d->type, attributeName))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a descriptor of type %d has no attribute %d", (int)d->type,
				(int)attributeName);
	if (!kind_fits(attributeName, attributeType))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "attribute %d is not of type %d",
				(int)attributeName, (int)attributeType);
	if (requestedElementCount < 0)
		return CUDNN_STATUS_BAD_PARAM;
	if (!elementCount)
		elementCount = &none;
	if (attributeName == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
		*elementCount = 1;
		return requestedElementCount && arrayOfElements ? result_give(d, arrayOfElements)
								: CUDNN_STATUS_SUCCESS;
	}
	if (attributeName == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION && d->graph) {
		*elementCount = serial_write(d->graph, arrayOfElements, requestedElementCount);
		return CUDNN_STATUS_SUCCESS;
	}
	if (number_asked(d, (int)attributeName, &number)) {
		*elementCount = 1;
		if (requestedElementCount && arrayOfElements)
			memcpy(arrayOfElements, &number, sizeof(number));
		return CUDNN_STATUS_SUCCESS;
	}
	a = attribute_find(d, (int)attributeName);
	if (!a) {
		*elementCount = 0;
		return is_empty((int)attributeName) ? CUDNN_STATUS_SUCCESS
						    : dnn_fail(CUDNN_STATUS_NOT_SUPPORTED,
							       "attribute %d has not been set", (int)attributeName);
	}
	if (a->type != attributeType)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "attribute %d is of type %d", (int)attributeName,
				(int)a->type);
	*elementCount = a->count;
	return elements_give(a, requestedElementCount, arrayOfElements);
}

/* ---- finalizing ---- */

/* The one descriptor of that type at an attribute, from which the steps come. */
static cudnnStatus_t graph_take(struct descriptor *d, int name, cudnnBackendDescriptorType_t type)
{
	struct descriptor *from = attribute_descriptor(d, name, 0);

	if (!from || from->type != type || !from->graph)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "attribute %d needs a descriptor of type %d", name, (int)type);
	graph_hold(from->graph);
	d->graph = from->graph;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t graph_finalize(struct descriptor *d)
{
	const struct attribute *a = attribute_find(d, CUDNN_ATTR_OPERATIONGRAPH_OPS);

	if (!a || !a->count)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a graph without operations");
	return graph_make((struct descriptor *const *)(const void *)a->data, a->count, &d->graph);
}

static cudnnStatus_t convolution_check(const struct descriptor *d)
{
	int64_t spatial = attribute_number(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0), list[DNN_SPATIAL];

	if (spatial < 1 || spatial > DNN_SPATIAL)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a convolution over %lld dimensions: 1 to %d",
				(long long)spatial, DNN_SPATIAL);
	for (int name = CUDNN_ATTR_CONVOLUTION_DILATIONS; name <= CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS; name++)
		if (attribute_list(d, name, list, DNN_SPATIAL) != spatial)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "attribute %d of a convolution needs %lld elements",
					name, (long long)spatial);
	if (!attribute_find(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE) ||
	    !attribute_find(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a convolution without type or mode");
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t operation_check(const struct descriptor *d)
{
	bool result, have = false;
	int name;

	for (int k = 0; (name = operation_port(d->type, k, &result)); k++) {
		struct descriptor *tensor = attribute_descriptor(d, name, 0);

		if (tensor && tensor->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "attribute %d is no tensor", name);
		have = have || (tensor && result);
	}
	return have ? CUDNN_STATUS_SUCCESS : dnn_fail(CUDNN_STATUS_BAD_PARAM, "an operation without a result");
}

static cudnnStatus_t pack_check(const struct descriptor *d)
{
	const struct attribute *ids = attribute_find(d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
	const struct attribute *pointers = attribute_find(d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);

	if ((ids ? ids->count : 0) != (pointers ? pointers->count : 0))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a variant pack with different numbers of ids and pointers");
	return CUDNN_STATUS_SUCCESS;
}

/* A finalized descriptor of a graph with one attribute, which a plan is given. */
static cudnnStatus_t plan_part(cudnnBackendDescriptorType_t type, struct graph *g, int name,
			       cudnnBackendAttributeType_t kind, const void *value, struct descriptor **ret)
{
	struct attribute *a = attribute_make((cudnnBackendAttributeName_t)name, kind, 1, value);
	void *made = NULL;
	cudnnStatus_t status =
		a ? soft_cudnnBackendCreateDescriptor(type, &made) : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;

	if (status) {
		free(a);
		return status;
	}
	*ret = made;
	attribute_put(*ret, a);
	graph_hold(g);
	(*ret)->graph = g;
	(*ret)->final = true;
	return CUDNN_STATUS_SUCCESS;
}

/* A plan from its text, with an engine and a configuration as one by heuristics has. */
static cudnnStatus_t plan_read(struct descriptor *d, const struct attribute *text)
{
	static const int64_t first;
	struct descriptor *engine = NULL, *config = NULL;
	cudnnStatus_t status = serial_read(text->data, text->count, &d->graph);
	struct attribute *a = NULL;

	if (!status)
		status = plan_part(CUDNN_BACKEND_ENGINE_DESCRIPTOR, d->graph, CUDNN_ATTR_ENGINE_GLOBAL_INDEX,
				   CUDNN_TYPE_INT64, &first, &engine);
	if (!status)
		status = plan_part(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, d->graph, CUDNN_ATTR_ENGINECFG_ENGINE,
				   CUDNN_TYPE_BACKEND_DESCRIPTOR, &engine, &config);
	if (!status) {
		a = attribute_make(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config);
		status = a ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	}
	if (a)
		attribute_put(d, a);
	if (engine)
		descriptor_let(engine);
	if (config)
		descriptor_let(config);
	return status;
}

static cudnnStatus_t descriptor_finalize(struct descriptor *d)
{
	const struct attribute *text;
	struct dnn_tensor tensor;

	switch (d->type) {
	case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
		return operation_tensor(d, &tensor);
	case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
		return convolution_check(d);
	case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
		return attribute_find(d, CUDNN_ATTR_POINTWISE_MODE) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
	case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
		return attribute_find(d, CUDNN_ATTR_REDUCTION_OPERATOR) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
	case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
		return pack_check(d);
	case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
		return graph_finalize(d);
	case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
		if (attribute_number(d, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1) != 0)
			return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "engine %lld: there is only engine 0",
					(long long)attribute_number(d, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1));
		return graph_take(d, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
		if (!attribute_find(d, CUDNN_ATTR_ENGINEHEUR_MODE) ||
		    (uint64_t)attribute_number(d, CUDNN_ATTR_ENGINEHEUR_MODE, -1) >= CUDNN_HEUR_MODES_COUNT)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "heuristics without a mode");
		return graph_take(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
		return graph_take(d, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
		text = attribute_find(d, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
		if (text && !attribute_find(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG))
			return plan_read(d, text);
		return graph_take(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
	case CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR:
		return attention_check(d);
	default:
		return operation_known(d->type) ? operation_check(d) : CUDNN_STATUS_SUCCESS;
	}
}

cudnnStatus_t soft_cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
	struct descriptor *d = descriptor_of(descriptor);
	cudnnStatus_t status;

	if (!d)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendFinalize: no descriptor");
	if (d->final)
		return CUDNN_STATUS_SUCCESS;
	status = descriptor_finalize(d);
	d->final = !status;
	return status;
}

/* ---- executing ---- */

cudnnStatus_t soft_cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
				       cudnnBackendDescriptor_t variantPack)
{
	struct descriptor *plan = descriptor_find(executionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	struct descriptor *pack = descriptor_find(variantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);

	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!plan || !pack)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM,
				"cudnnBackendExecute: no plan or no variant pack that is finalized");
	return graph_execute(handle, plan->graph, pack);
}

cudnnStatus_t soft_cudnnGetExecutionPlanWorkspaceSize(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
						      cudnnBackendDescriptor_t variantPack,
						      size_t *workspaceSizeInBytes)
{
	struct descriptor *plan = descriptor_find(executionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);

	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!plan || !workspaceSizeInBytes)
		return CUDNN_STATUS_BAD_PARAM;
	*workspaceSizeInBytes = (size_t)graph_workspace(plan->graph);
	return CUDNN_STATUS_SUCCESS;
}
