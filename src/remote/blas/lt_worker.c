/*
 * lt_worker.c: the worker's half of cuBLASLt; see lt.h.
 *
 * Descriptions of the real library are made of what the client sent and kept, the oldest goes for a new one. What its
 * heuristics found stays here, too: the client has a number for it.
 */
#include "remote/blas/blas_worker.h"
#include "remote/blas/lt.h"
#include "remote/worker/memory.h"

#include <errno.h>
#include <stdlib.h>

#define KEPT 256u
#define ALGORITHMS 4096u

static uint64_t requests; /* of those below, counted */

static struct kept {
	void *made;
	uint64_t used_by; /* the request; what this one uses does not go */
	struct lt_description of;
} kept[KEPT];

static struct {
	cublasLtMatmulAlgo_t *found;
	uint64_t count;
} algorithms;

/* Requests are executed one after the other, and none of these lets another go on: nothing here is locked. */

/* The next description of the message; false: malformed. One of no kind is *d NULL. */
static bool take(struct forward_work *w, enum lt_kind kind, bool optional, const struct lt_description **d)
{
	struct remote_reader *r = &w->work->in;
	const struct lt_description *at = (const void *)(r->data + r->used);

	*d = NULL;
	if (r->bad || r->size - r->used < offsetof(struct lt_description, attributes) || at->count > LT_ATTRIBUTES)
		return !(r->bad = true);
	remote_take(r, lt_bytes(at));
	if (r->bad)
		return false;
	if (!at->kind && optional && !at->count)
		return true;
	if (at->kind != (uint32_t)kind)
		return !(r->bad = true);
	if (!lt_description_good(at))
		return !(r->bad = true);
	*d = at;
	return true;
}

#define CALL(name, ...) ((__typeof__(name) *)forward_function(CUBLAS_CALL_##name))(__VA_ARGS__)

static cublasStatus_t make_bare(const struct lt_description *d, void **made)
{
	const uint64_t *w = d->made_with;

	switch (d->kind) {
	case LT_PRODUCT:
		return CALL(cublasLtMatmulDescCreate, (cublasLtMatmulDesc_t *)made, (cublasComputeType_t)w[0],
			    (cudaDataType_t)w[1]);
	case LT_LAYOUT:
		return CALL(cublasLtMatrixLayoutCreate, (cublasLtMatrixLayout_t *)made, (cudaDataType)w[0], w[1], w[2],
			    (int64_t)w[3]);
	case LT_PREFERENCE:
		return CALL(cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t *)made);
	default:
		return CALL(cublasLtMatrixTransformDescCreate, (cublasLtMatrixTransformDesc_t *)made,
			    (cudaDataType)w[0]);
	}
}

static enum cublas_call setter(uint32_t kind)
{
	return kind == LT_PRODUCT      ? CUBLAS_CALL_cublasLtMatmulDescSetAttribute
	       : kind == LT_LAYOUT     ? CUBLAS_CALL_cublasLtMatrixLayoutSetAttribute
	       : kind == LT_PREFERENCE ? CUBLAS_CALL_cublasLtMatmulPreferenceSetAttribute
				       : CUBLAS_CALL_cublasLtMatrixTransformDescSetAttribute;
}

static void unmake(struct kept *k)
{
	enum cublas_call end = k->of.kind == LT_PRODUCT	     ? CUBLAS_CALL_cublasLtMatmulDescDestroy
			       : k->of.kind == LT_LAYOUT     ? CUBLAS_CALL_cublasLtMatrixLayoutDestroy
			       : k->of.kind == LT_PREFERENCE ? CUBLAS_CALL_cublasLtMatmulPreferenceDestroy
							     : CUBLAS_CALL_cublasLtMatrixTransformDescDestroy;

	if (k->made)
		((cublasStatus_t(*)(void *))forward_function(end))(k->made);
	k->made = NULL;
}

/* The real library's description of the same. */
static cublasStatus_t real(const struct lt_description *d, void **made)
{
	static unsigned int next;
	struct kept *k;
	cublasStatus_t s;

	*made = NULL;
	if (!d)
		return CUBLAS_STATUS_SUCCESS;
	for (size_t i = 0; i < KEPT; i++)
		if (kept[i].made && kept[i].of.count == d->count && !memcmp(&kept[i].of, d, lt_bytes(d))) {
			*made = kept[i].made;
			kept[i].used_by = requests;
			return CUBLAS_STATUS_SUCCESS;
		}
	do
		k = &kept[next++ % KEPT];
	while (k->made && k->used_by == requests);
	unmake(k);
	k->used_by = requests;
	s = make_bare(d, &k->made);
	if (s != CUBLAS_STATUS_SUCCESS) {
		k->made = NULL;
		return s;
	}
	memcpy(&k->of, d, lt_bytes(d));
	for (uint32_t i = 0; i < d->count && s == CUBLAS_STATUS_SUCCESS; i++)
		s = ((cublasStatus_t(*)(void *, int, const void *, size_t))forward_function(setter(d->kind)))(
			k->made, (int)d->attributes[i].number, d->attributes[i].value, d->attributes[i].bytes);
	if (s != CUBLAS_STATUS_SUCCESS)
		unmake(k);
	*made = k->made;
	return s;
}

/* Where the scalar stands must be where the library looks for it. */
static void get_scalar(struct forward_work *w, struct forward_scalar *s, size_t bytes, bool here)
{
	w->place = 0;
	forward_get_scalar(w, s, bytes, FORWARD_IN);
	if (w->place != (here ? FORWARD_IN_HOST : FORWARD_IN_DEVICE))
		w->unsound = true;
}

static bool sound(const struct forward_work *w)
{
	return !w->work->in.bad && w->work->in.used == w->work->in.size && !w->unsound;
}

static bool complete(void)
{
	static const enum cublas_call needed[] = {
		CUBLAS_CALL_cublasLtMatmulDescCreate,
		CUBLAS_CALL_cublasLtMatmulDescDestroy,
		CUBLAS_CALL_cublasLtMatmulDescSetAttribute,
		CUBLAS_CALL_cublasLtMatrixLayoutCreate,
		CUBLAS_CALL_cublasLtMatrixLayoutDestroy,
		CUBLAS_CALL_cublasLtMatrixLayoutSetAttribute,
		CUBLAS_CALL_cublasLtMatmulPreferenceCreate,
		CUBLAS_CALL_cublasLtMatmulPreferenceDestroy,
		CUBLAS_CALL_cublasLtMatmulPreferenceSetAttribute,
		CUBLAS_CALL_cublasLtMatrixTransformDescCreate,
		CUBLAS_CALL_cublasLtMatrixTransformDescDestroy,
		CUBLAS_CALL_cublasLtMatrixTransformDescSetAttribute,
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!forward_function(needed[i]))
			return false;
	return true;
}

static int addresses(struct forward_work *w, uint64_t *at, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		at[i] = worker_at(at[i]);
		if (!forward_device_good(w, at[i]))
			return CUBLAS_STATUS_EXECUTION_FAILED;
	}
	return CUBLAS_STATUS_SUCCESS;
}

/* What a description says that kernels are to read and write: memory of the session, as the matrices. */
static int described(struct forward_work *w, const struct lt_description *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		if (lt_attribute_form(d->kind, d->attributes[i].number) == LT_ADDRESS &&
		    !forward_device_good(w, lt_number(d, d->attributes[i].number, 0)))
			return CUBLAS_STATUS_EXECUTION_FAILED;
	return CUBLAS_STATUS_SUCCESS;
}

/* A heuristic is told how addresses are aligned, and none that anything lies at. */
static bool hidden(const struct lt_description *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		if (lt_attribute_form(d->kind, d->attributes[i].number) == LT_ADDRESS &&
		    lt_number(d, d->attributes[i].number, 0) >= 2 * LT_HIDDEN)
			return false;
	return true;
}

static int product(struct forward_work *w)
{
	const struct lt_description *d, *layouts[4];
	uint64_t matrices[4], algorithm, workspace, bytes;
	struct forward_scalar alpha, beta;
	void *desc, *real_layouts[4];
	CUstream stream;

	if (!take(w, LT_PRODUCT, false, &d))
		return -EPROTO;
	get_scalar(w, &alpha, lt_scalar_bytes(d), lt_alpha_here(d));
	get_scalar(w, &beta, lt_scalar_bytes(d), lt_beta_here(d));
	for (size_t i = 0; i < 4; i++) {
		forward_get(w, &matrices[i], sizeof(matrices[i]));
		if (!take(w, LT_LAYOUT, false, &layouts[i]))
			return -EPROTO;
	}
	forward_get(w, &algorithm, sizeof(algorithm));
	forward_get(w, &workspace, sizeof(workspace));
	forward_get(w, &bytes, sizeof(bytes));
	stream = forward_get_stream(w);
	if (!sound(w) || algorithm > algorithms.count)
		return -EPROTO;
	w->status = addresses(w, matrices, 4);
	if (w->status == CUBLAS_STATUS_SUCCESS && workspace && !memory_good(w->work, workspace, bytes ? bytes : 1))
		w->status = CUBLAS_STATUS_EXECUTION_FAILED;
	if (w->status == CUBLAS_STATUS_SUCCESS)
		w->status = described(w, d);
	if (w->status == CUBLAS_STATUS_SUCCESS)
		w->status = (int)real(d, &desc);
	for (size_t i = 0; i < 4 && w->status == CUBLAS_STATUS_SUCCESS; i++)
		w->status = (int)real(layouts[i], &real_layouts[i]);
	if (w->status == CUBLAS_STATUS_SUCCESS)
		w->status = (int)((__typeof__(cublasLtMatmul) *)w->function)(
			w->handle, desc, alpha.at, (void *)(uintptr_t)matrices[0], real_layouts[0],
			(void *)(uintptr_t)matrices[1], real_layouts[1], beta.at, (void *)(uintptr_t)matrices[2],
			real_layouts[2], (void *)(uintptr_t)matrices[3], real_layouts[3],
			algorithm ? &algorithms.found[algorithm - 1] : NULL, (void *)(uintptr_t)workspace, bytes,
			(cudaStream_t)stream);
	return 0;
}

static int transform(struct forward_work *w)
{
	const struct lt_description *d, *layouts[3];
	struct forward_scalar alpha, beta;
	void *desc, *real_layouts[3];
	uint64_t matrices[3];
	CUstream stream;

	if (!take(w, LT_TRANSFORM, false, &d))
		return -EPROTO;
	get_scalar(w, &alpha, lt_scalar_bytes(d), lt_alpha_here(d));
	get_scalar(w, &beta, lt_scalar_bytes(d), lt_beta_here(d));
	for (size_t i = 0; i < 3; i++) {
		forward_get(w, &matrices[i], sizeof(matrices[i]));
		if (!take(w, LT_LAYOUT, i == 1, &layouts[i]))
			return -EPROTO;
	}
	stream = forward_get_stream(w);
	if (!sound(w))
		return -EPROTO;
	w->status = addresses(w, matrices, 3);
	if (w->status == CUBLAS_STATUS_SUCCESS)
		w->status = (int)real(d, &desc);
	for (size_t i = 0; i < 3 && w->status == CUBLAS_STATUS_SUCCESS; i++)
		w->status = (int)real(layouts[i], &real_layouts[i]);
	if (w->status == CUBLAS_STATUS_SUCCESS)
		w->status = (int)((__typeof__(cublasLtMatrixTransform) *)w->function)(
			w->handle, desc, alpha.at, (void *)(uintptr_t)matrices[0], real_layouts[0], beta.at,
			(void *)(uintptr_t)matrices[1], real_layouts[1], (void *)(uintptr_t)matrices[2],
			real_layouts[2], (cudaStream_t)stream);
	return 0;
}

/* The number of what a heuristic found, from 1; 0: there are too many. */
static uint64_t number(const cublasLtMatmulAlgo_t *found)
{
	if (!algorithms.found)
		algorithms.found = calloc(ALGORITHMS, sizeof(*found));
	for (uint64_t i = 0; i < algorithms.count; i++)
		if (!memcmp(&algorithms.found[i], found, sizeof(*found)))
			return i + 1;
	if (!algorithms.found || algorithms.count == ALGORITHMS)
		return 0;
	algorithms.found[algorithms.count] = *found;
	return ++algorithms.count;
}

static int heuristic(struct forward_work *w)
{
	const struct lt_description *d, *layouts[4], *preference;
	cublasLtMatmulHeuristicResult_t found[LT_RESULTS];
	void *desc, *real_layouts[4], *preferred = NULL;
	uint64_t wanted, count;
	int n = 0;

	if (!take(w, LT_PRODUCT, false, &d))
		return -EPROTO;
	for (size_t i = 0; i < 4; i++)
		if (!take(w, LT_LAYOUT, false, &layouts[i]))
			return -EPROTO;
	if (!take(w, LT_PREFERENCE, true, &preference))
		return -EPROTO;
	forward_get(w, &wanted, sizeof(wanted));
	if (!sound(w) || !hidden(d) || !wanted || wanted > LT_RESULTS)
		return -EPROTO;
	w->status = (int)real(d, &desc);
	for (size_t i = 0; i < 4 && w->status == CUBLAS_STATUS_SUCCESS; i++)
		w->status = (int)real(layouts[i], &real_layouts[i]);
	if (w->status == CUBLAS_STATUS_SUCCESS)
		w->status = (int)real(preference, &preferred);
	if (w->status == CUBLAS_STATUS_SUCCESS)
		w->status = (int)((__typeof__(cublasLtMatmulAlgoGetHeuristic) *)w->function)(
			w->handle, desc, real_layouts[0], real_layouts[1], real_layouts[2], real_layouts[3], preferred,
			(int)wanted, (void *)found, (void *)&n);
	if (w->status != CUBLAS_STATUS_SUCCESS)
		return 0;
	count = n > 0 && (uint64_t)n <= wanted ? (uint64_t)n : 0;
	forward_put(w, &count, sizeof(count));
	for (uint64_t i = 0; i < count; i++) {
		struct lt_result r = { number(&found[i].algo), found[i].workspaceSize, (int32_t)found[i].state,
				       found[i].wavesCount };

		if (!r.algorithm)
			r.state = CUBLAS_STATUS_ALLOC_FAILED;
		forward_put(w, &r, sizeof(r));
	}
	return 0;
}

int forward_lt(struct forward_work *w)
{
	if (!w->function || !complete()) {
		w->status = CUBLAS_STATUS_NOT_SUPPORTED;
		return 0;
	}
	requests++;
	return w->call == CUBLAS_CALL_cublasLtMatmul		? product(w)
	       : w->call == CUBLAS_CALL_cublasLtMatrixTransform ? transform(w)
								: heuristic(w);
}
