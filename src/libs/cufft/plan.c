/*
 * plan.c: cuFFT's calls.
 *
 * A handle is a number; the plan behind it is described by a call of the Make family, which takes the work area as
 * well. Statuses as cuFFT documents them. A work area is as large as the transform's complex numbers.
 */
#include "libs/cufft/fft.h"
#include "libs/cufft/line.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PLANS_MOST 65536
#define SPLIT_ALONE 2048 /* lines from this length on are split when there are fewer than are worked on together */
#define SPLIT_ALWAYS 32768
#define FORWARD -1
#define BACKWARD 1

enum { KERNEL_LINES, KERNELS };

static const char *const kernels[] = { [KERNEL_LINES] = "cufft_lines" };

/* How numbers of one side lie. */
struct layout {
	int64_t embed[FFT_RANK], stride, apart;
};

struct plan {
	cufftHandle handle;
	const struct device_driver *driver;
	CUcontext context;
	cudaStream_t stream;
	bool made, automatic, basic, wide;
	enum fft_kind in_kind, out_kind;
	int rank;
	int64_t n[FFT_RANK], batch;
	struct layout in, out;
	int64_t split; /* rows of the matrix that a long line is; 0: it is none */
	size_t work_bytes;
	CUdeviceptr work, own_work;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct plan *plans[PLANS_MOST]; /* mutex guards it; the first one stays empty */

static cufftResult status_of(CUresult e)
{
	switch (e) {
	case CUDA_SUCCESS:
		return CUFFT_SUCCESS;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return CUFFT_ALLOC_FAILED;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_NO_DEVICE:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return CUFFT_SETUP_FAILED;
	default:
		return CUFFT_EXEC_FAILED;
	}
}

void soft_unsupported(enum cufft_call call)
{
	library_refused(FFT_TITLE, cufft_call_name[call]);
}

static struct plan *plan_find(cufftHandle handle)
{
	struct plan *p = NULL;

	pthread_mutex_lock(&mutex);
	if (handle > 0 && handle < PLANS_MOST)
		p = plans[handle];
	pthread_mutex_unlock(&mutex);
	return p;
}

/* ---- handles ---- */

cufftResult soft_cufftCreate(cufftHandle *handle)
{
	const struct device_driver *driver = device_open(FFT_TITLE, kernels, KERNELS, fft_run);
	struct plan *p;
	CUresult e;

	if (!handle)
		return CUFFT_INVALID_VALUE;
	if (!driver)
		return CUFFT_SETUP_FAILED;
	p = calloc(1, sizeof(*p));
	if (!p)
		return CUFFT_ALLOC_FAILED;
	p->driver = driver;
	p->automatic = true;
	e = device_context(&p->context);
	if (e) {
		free(p);
		return status_of(e);
	}
	pthread_mutex_lock(&mutex);
	for (p->handle = 1; p->handle < PLANS_MOST && plans[p->handle]; p->handle++)
		;
	if (p->handle < PLANS_MOST)
		plans[p->handle] = p;
	pthread_mutex_unlock(&mutex);
	if (p->handle == PLANS_MOST) {
		free(p);
		return CUFFT_ALLOC_FAILED;
	}
	*handle = p->handle;
	return CUFFT_SUCCESS;
}

static void work_free(struct plan *p)
{
	CUcontext popped;

	if (p->own_work && !p->driver->push(p->context)) {
		p->driver->free(p->own_work);
		p->driver->pop(&popped);
	}
	p->own_work = 0;
}

cufftResult soft_cufftDestroy(cufftHandle plan)
{
	struct plan *p = plan_find(plan);

	if (!p)
		return CUFFT_INVALID_PLAN;
	pthread_mutex_lock(&mutex);
	plans[plan] = NULL;
	pthread_mutex_unlock(&mutex);
	work_free(p);
	free(p);
	return CUFFT_SUCCESS;
}

cufftResult soft_cufftGetVersion(int *version)
{
	if (!version)
		return CUFFT_INVALID_VALUE;
	*version = fft_version;
	return CUFFT_SUCCESS;
}

cufftResult soft_cufftGetProperty(libraryPropertyType type, int *value)
{
	int part = library_property(fft_version / 1000, fft_version / 100 % 10, fft_version % 100, (int)type);

	if (part < 0 || !value)
		return CUFFT_INVALID_VALUE;
	*value = part;
	return CUFFT_SUCCESS;
}

/* ---- what a plan is ---- */

/* What of n lies in primes that a line has stages for, as near to its root as there is; 0: it cannot be parted. */
static int64_t split_find(int64_t n)
{
	int64_t rest = n, best = 0;

	for (int r = 2; r <= LINE_PRIME; r++)
		while (rest % r == 0)
			rest /= r;
	if (rest > 1)
		return 0;
	for (int64_t a = 2; a * a <= n; a++)
		if (n % a == 0)
			best = a;
	return best;
}

static bool types_find(cufftType type, struct plan *p)
{
	static const struct {
		cufftType type;
		enum fft_kind in, out;
		bool wide;
	} types[] = { { CUFFT_C2C, FFT_COMPLEX, FFT_COMPLEX, false }, { CUFFT_R2C, FFT_REAL, FFT_HALF, false },
		      { CUFFT_C2R, FFT_HALF, FFT_REAL, false },	      { CUFFT_Z2Z, FFT_COMPLEX, FFT_COMPLEX, true },
		      { CUFFT_D2Z, FFT_REAL, FFT_HALF, true },	      { CUFFT_Z2D, FFT_HALF, FFT_REAL, true } };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i].type == type) {
			p->in_kind = types[i].in;
			p->out_kind = types[i].out;
			p->wide = types[i].wide;
			return true;
		}
	return false;
}

/* The layout without one: numbers without gaps; real ones that become complex in place have room for them. */
static struct layout layout_basic(const struct plan *p, enum fft_kind kind, bool in_place)
{
	struct layout l = { .stride = 1, .apart = 1 };

	for (int i = 0; i < p->rank; i++) {
		bool last = i == p->rank - 1;

		l.embed[i] = !last || kind == FFT_COMPLEX ? p->n[i]
			     : kind == FFT_HALF		  ? p->n[i] / 2 + 1
			     : in_place			  ? 2 * (p->n[i] / 2 + 1)
							  : p->n[i];
		l.apart *= l.embed[i];
	}
	return l;
}

static struct layout layout_of(const struct plan *p, const long long *embed, long long stride, long long apart)
{
	struct layout l = { .stride = stride, .apart = apart };

	for (int i = 0; i < p->rank; i++)
		l.embed[i] = embed[i];
	return l;
}

static bool layout_good(const struct plan *p, const struct layout *l)
{
	bool good = l->stride > 0 && l->apart >= 0 && l->stride < INT64_C(1) << 40 && l->apart < INT64_C(1) << 40;

	for (int i = 0; i < p->rank; i++)
		good = good && l->embed[i] > 0 && l->embed[i] < INT64_C(1) << 40;
	return good;
}

/* What a plan would be. */
static cufftResult describe(struct plan *p, int rank, const long long *n, const long long *inembed, long long istride,
			    long long idist, const long long *onembed, long long ostride, long long odist,
			    cufftType type, long long batch)
{
	int64_t numbers = 1;

	if (!types_find(type, p))
		return CUFFT_INVALID_TYPE;
	if (rank < 1 || rank > FFT_RANK || !n)
		return CUFFT_INVALID_VALUE;
	p->rank = rank;
	p->batch = batch;
	for (int i = 0; i < rank; i++) {
		if (n[i] < 1 || n[i] > LINE_MOST)
			return CUFFT_INVALID_SIZE;
		p->n[i] = n[i];
		numbers *= i < rank - 1 || p->in_kind == FFT_COMPLEX ? n[i] : n[i] / 2 + 1;
		if (numbers > INT64_C(1) << 36)
			return CUFFT_INVALID_SIZE;
	}
	if (batch < 1 || batch > INT64_C(1) << 36 || numbers * batch > INT64_C(1) << 36)
		return CUFFT_INVALID_SIZE;
	p->basic = !inembed || !onembed;
	if (!p->basic) {
		p->in = layout_of(p, inembed, istride, idist);
		p->out = layout_of(p, onembed, ostride, odist);
		if (!layout_good(p, &p->in) || !layout_good(p, &p->out))
			return CUFFT_INVALID_VALUE;
	}
	p->split = 0;
	if (rank == 1 && (n[0] >= SPLIT_ALWAYS || (n[0] >= SPLIT_ALONE && batch < line_lanes(p->wide))))
		p->split = split_find(n[0]);
	/* the two passes of a long line need the whole of it between them */
	p->work_bytes = (size_t)(p->split ? n[0] * batch : numbers * batch) * (p->wide ? 16 : 8);
	return CUFFT_SUCCESS;
}

static cufftResult make(cufftHandle handle, int rank, const long long *n, const long long *inembed, long long istride,
			long long idist, const long long *onembed, long long ostride, long long odist, cufftType type,
			long long batch, size_t *ret_bytes)
{
	struct plan *p = plan_find(handle);
	CUresult e = CUDA_SUCCESS;
	cufftResult status;
	CUcontext popped;

	if (!p || p->made)
		return CUFFT_INVALID_PLAN;
	status = describe(p, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch);
	if (status)
		return status;
	if (p->automatic) {
		e = p->driver->push(p->context);
		if (!e) {
			e = p->driver->alloc(&p->own_work, p->work_bytes);
			p->driver->pop(&popped);
		}
		p->work = p->own_work;
	}
	if (e)
		return status_of(e);
	p->made = true;
	if (ret_bytes)
		*ret_bytes = p->work_bytes;
	return CUFFT_SUCCESS;
}

static cufftResult estimate(int rank, const long long *n, const long long *inembed, long long istride, long long idist,
			    const long long *onembed, long long ostride, long long odist, cufftType type,
			    long long batch, size_t *ret_bytes)
{
	struct plan p = { 0 };
	cufftResult status = describe(&p, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch);

	if (!status && !ret_bytes)
		return CUFFT_INVALID_VALUE;
	if (!status)
		*ret_bytes = p.work_bytes;
	return status;
}

#define WIDENED(name, from)                                                                                            \
	long long name##_[FFT_RANK] = { 0 };                                                                           \
	for (int i_ = 0; (from) && rank <= FFT_RANK && i_ < rank; i_++)                                                \
	name##_[i_] = (from)[i_]

cufftResult soft_cufftMakePlanMany64(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
				     long long idist, long long *onembed, long long ostride, long long odist,
				     cufftType type, long long batch, size_t *workSize)
{
	if (!workSize)
		return CUFFT_INVALID_VALUE;
	return make(plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, workSize);
}

static cufftResult make_many(cufftHandle plan, int rank, const int *n, const int *inembed, int istride, int idist,
			     const int *onembed, int ostride, int odist, cufftType type, int batch, size_t *workSize)
{
	WIDENED(n, n);
	WIDENED(in, inembed);
	WIDENED(out, onembed);
	return make(plan, rank, n ? n_ : NULL, inembed ? in_ : NULL, istride, idist, onembed ? out_ : NULL, ostride,
		    odist, type, batch, workSize);
}

cufftResult soft_cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *inembed, int istride, int idist,
				   int *onembed, int ostride, int odist, cufftType type, int batch, size_t *workSize)
{
	if (!workSize)
		return CUFFT_INVALID_VALUE;
	return make_many(plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, workSize);
}

cufftResult soft_cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch, size_t *workSize)
{
	return soft_cufftMakePlanMany(plan, 1, &nx, NULL, 1, 0, NULL, 1, 0, type, batch, workSize);
}

cufftResult soft_cufftMakePlan2d(cufftHandle plan, int nx, int ny, cufftType type, size_t *workSize)
{
	return soft_cufftMakePlanMany(plan, 2, (int[]){ nx, ny }, NULL, 1, 0, NULL, 1, 0, type, 1, workSize);
}

cufftResult soft_cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t *workSize)
{
	return soft_cufftMakePlanMany(plan, 3, (int[]){ nx, ny, nz }, NULL, 1, 0, NULL, 1, 0, type, 1, workSize);
}

/* A handle of its own, which a failure takes away again. */
cufftResult soft_cufftPlanMany(cufftHandle *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
			       int ostride, int odist, cufftType type, int batch)
{
	cufftResult status = soft_cufftCreate(plan);

	if (status)
		return status;
	status = make_many(*plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, NULL);
	if (status)
		soft_cufftDestroy(*plan);
	return status;
}

cufftResult soft_cufftPlan1d(cufftHandle *plan, int nx, cufftType type, int batch)
{
	return soft_cufftPlanMany(plan, 1, &nx, NULL, 1, 0, NULL, 1, 0, type, batch);
}

cufftResult soft_cufftPlan2d(cufftHandle *plan, int nx, int ny, cufftType type)
{
	return soft_cufftPlanMany(plan, 2, (int[]){ nx, ny }, NULL, 1, 0, NULL, 1, 0, type, 1);
}

cufftResult soft_cufftPlan3d(cufftHandle *plan, int nx, int ny, int nz, cufftType type)
{
	return soft_cufftPlanMany(plan, 3, (int[]){ nx, ny, nz }, NULL, 1, 0, NULL, 1, 0, type, 1);
}

/* ---- sizes ---- */

cufftResult soft_cufftEstimateMany(int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride,
				   int odist, cufftType type, int batch, size_t *workSize)
{
	WIDENED(n, n);
	WIDENED(in, inembed);
	WIDENED(out, onembed);
	return estimate(rank, n ? n_ : NULL, inembed ? in_ : NULL, istride, idist, onembed ? out_ : NULL, ostride,
			odist, type, batch, workSize);
}

cufftResult soft_cufftEstimate1d(int nx, cufftType type, int batch, size_t *workSize)
{
	return soft_cufftEstimateMany(1, &nx, NULL, 1, 0, NULL, 1, 0, type, batch, workSize);
}

cufftResult soft_cufftEstimate2d(int nx, int ny, cufftType type, size_t *workSize)
{
	return soft_cufftEstimateMany(2, (int[]){ nx, ny }, NULL, 1, 0, NULL, 1, 0, type, 1, workSize);
}

cufftResult soft_cufftEstimate3d(int nx, int ny, int nz, cufftType type, size_t *workSize)
{
	return soft_cufftEstimateMany(3, (int[]){ nx, ny, nz }, NULL, 1, 0, NULL, 1, 0, type, 1, workSize);
}

cufftResult soft_cufftGetSizeMany(cufftHandle handle, int rank, int *n, int *inembed, int istride, int idist,
				  int *onembed, int ostride, int odist, cufftType type, int batch, size_t *workSize)
{
	return plan_find(handle) ? soft_cufftEstimateMany(rank, n, inembed, istride, idist, onembed, ostride, odist,
							  type, batch, workSize)
				 : CUFFT_INVALID_PLAN;
}

cufftResult soft_cufftGetSizeMany64(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
				    long long idist, long long *onembed, long long ostride, long long odist,
				    cufftType type, long long batch, size_t *workSize)
{
	return plan_find(plan)
		       ? estimate(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, workSize)
		       : CUFFT_INVALID_PLAN;
}

cufftResult soft_cufftGetSize1d(cufftHandle handle, int nx, cufftType type, int batch, size_t *workSize)
{
	return plan_find(handle) ? soft_cufftEstimate1d(nx, type, batch, workSize) : CUFFT_INVALID_PLAN;
}

cufftResult soft_cufftGetSize2d(cufftHandle handle, int nx, int ny, cufftType type, size_t *workSize)
{
	return plan_find(handle) ? soft_cufftEstimate2d(nx, ny, type, workSize) : CUFFT_INVALID_PLAN;
}

cufftResult soft_cufftGetSize3d(cufftHandle handle, int nx, int ny, int nz, cufftType type, size_t *workSize)
{
	return plan_find(handle) ? soft_cufftEstimate3d(nx, ny, nz, type, workSize) : CUFFT_INVALID_PLAN;
}

cufftResult soft_cufftGetSize(cufftHandle handle, size_t *workSize)
{
	struct plan *p = plan_find(handle);

	if (!p)
		return CUFFT_INVALID_PLAN;
	if (!workSize)
		return CUFFT_INVALID_VALUE;
	*workSize = p->work_bytes;
	return CUFFT_SUCCESS;
}

/* ---- settings ---- */

cufftResult soft_cufftSetStream(cufftHandle plan, cudaStream_t stream)
{
	struct plan *p = plan_find(plan);

	if (!p)
		return CUFFT_INVALID_PLAN;
	p->stream = stream;
	return CUFFT_SUCCESS;
}

cufftResult soft_cufftSetAutoAllocation(cufftHandle plan, int autoAllocate)
{
	struct plan *p = plan_find(plan);

	if (!p || p->made)
		return CUFFT_INVALID_PLAN;
	p->automatic = autoAllocate != 0;
	return CUFFT_SUCCESS;
}

cufftResult soft_cufftSetWorkArea(cufftHandle plan, void *workArea)
{
	struct plan *p = plan_find(plan);

	if (!p)
		return CUFFT_INVALID_PLAN;
	work_free(p);
	p->work = (uintptr_t)workArea;
	return CUFFT_SUCCESS;
}

/* There is one way of working, whatever a property asks for. */
cufftResult soft_cufftSetPlanPropertyInt64(cufftHandle plan, cufftProperty property, long long inputValueInt)
{
	return plan_find(plan) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult soft_cufftGetPlanPropertyInt64(cufftHandle plan, cufftProperty property, long long *returnPtrValue)
{
	if (!plan_find(plan))
		return CUFFT_INVALID_PLAN;
	if (!returnPtrValue)
		return CUFFT_INVALID_VALUE;
	*returnPtrValue = 0;
	return CUFFT_SUCCESS;
}

cufftResult soft_cufftResetPlanProperty(cufftHandle plan, cufftProperty property)
{
	return plan_find(plan) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

/* ---- transforms ---- */

static cufftResult launch(struct plan *p, const struct fft_pass *pass)
{
	int64_t groups = fft_groups(pass);

	return status_of(library_launch(p->driver, p->context, KERNEL_LINES, library_blocks(groups, pass->n * 64),
					(CUstream)p->stream, pass, sizeof(*pass)));
}

/* Numbers between neighbours of a dimension. */
static int64_t stride_of(const struct plan *p, const struct layout *l, int dimension)
{
	int64_t stride = l->stride;

	for (int i = p->rank - 1; i > dimension; i--)
		stride *= l->embed[i];
	return stride;
}

static struct fft_side side_of(const struct plan *p, const struct layout *l, int dimension, enum fft_kind kind,
			       uint64_t at)
{
	struct fft_side s = { .at = at, .kind = kind, .stride = stride_of(p, l, dimension), .step = 1 };
	int k = 0;

	for (int i = p->rank - 1; i >= 0; i--)
		if (i != dimension)
			s.apart[k++] = stride_of(p, l, i);
	s.apart[k] = l->apart;
	return s;
}

/* One dimension of all. `halved`: of the last one, only the half is there. */
static cufftResult dimension_run(struct plan *p, int dimension, bool halved, bool backwards, struct fft_side in,
				 struct fft_side out)
{
	struct fft_pass pass = { .wide = p->wide,
				 .backwards = backwards,
				 .n = p->n[dimension],
				 .whole = p->n[dimension],
				 .count = { 1, 1, 1 },
				 .in = in,
				 .out = out };
	int k = 0;

	for (int i = p->rank - 1; i >= 0; i--)
		if (i != dimension)
			pass.count[k++] = halved && i == p->rank - 1 ? p->n[i] / 2 + 1 : p->n[i];
	pass.count[k] = p->batch;
	return launch(p, &pass);
}

/* A long line: columns of the matrix, turned, into the work area; then its rows. */
static cufftResult split_run(struct plan *p, bool backwards, struct fft_side in, struct fft_side out)
{
	int64_t rows = p->split, columns = p->n[0] / rows;
	struct fft_side between = { .at = p->work, .kind = FFT_COMPLEX, .stride = 1, .apart = { 0, p->n[0] } };
	struct fft_pass pass = { .wide = p->wide,
				 .backwards = backwards,
				 .turn = 1,
				 .n = rows,
				 .whole = p->n[0],
				 .count = { columns, p->batch, 1 },
				 .in = in,
				 .out = between };
	cufftResult status;

	if (!p->work)
		return CUFFT_NO_WORKSPACE;
	pass.in.step = pass.out.step = columns;
	pass.in.first = pass.out.first = 1;
	pass.in.apart[1] = in.apart[0];
	pass.in.apart[0] = 0;
	status = launch(p, &pass);
	if (status)
		return status;
	pass.turn = 0;
	pass.n = columns;
	pass.count[0] = rows;
	pass.in = between;
	pass.in.step = 1;
	pass.in.first = columns;
	pass.out = out;
	pass.out.step = rows;
	pass.out.first = 1;
	pass.out.apart[1] = out.apart[0];
	pass.out.apart[0] = 0;
	return launch(p, &pass);
}

static cufftResult transform(struct plan *p, uint64_t from, uint64_t to, bool backwards)
{
	struct layout in = p->basic ? layout_basic(p, p->in_kind, from == to) : p->in;
	struct layout out = p->basic ? layout_basic(p, p->out_kind, from == to) : p->out;
	int last = p->rank - 1;
	bool halved = p->in_kind != FFT_COMPLEX;
	struct fft_side a = side_of(p, &in, last, p->in_kind, from), b = side_of(p, &out, last, p->out_kind, to);
	cufftResult status = CUFFT_SUCCESS;

	if (p->split)
		return split_run(p, backwards, a, b);
	for (int i = 0; !status && p->in_kind == FFT_HALF && i < last; i++)
		status = dimension_run(p, i, true, backwards, side_of(p, &in, i, FFT_COMPLEX, from),
				       side_of(p, &in, i, FFT_COMPLEX, from));
	if (!status)
		status = dimension_run(p, last, false, backwards, a, b);
	for (int i = last - 1; !status && p->in_kind != FFT_HALF && i >= 0; i--)
		status = dimension_run(p, i, halved, backwards, side_of(p, &out, i, FFT_COMPLEX, to),
				       side_of(p, &out, i, FFT_COMPLEX, to));
	return status;
}

static cufftResult execute(cufftHandle handle, const void *from, void *to, int direction)
{
	struct plan *p = plan_find(handle);

	if (!p || !p->made)
		return CUFFT_INVALID_PLAN;
	if (!from || !to || (direction != FORWARD && direction != BACKWARD))
		return CUFFT_INVALID_VALUE;
	if (p->in_kind != FFT_COMPLEX)
		direction = p->in_kind == FFT_HALF ? BACKWARD : FORWARD;
	return transform(p, (uintptr_t)from, (uintptr_t)to, direction == BACKWARD);
}

/* A call for one type of plans. */
static cufftResult execute_as(cufftHandle handle, enum fft_kind in_kind, bool wide, const void *from, void *to,
			      int direction)
{
	struct plan *p = plan_find(handle);

	if (!p || (p->made && (p->in_kind != in_kind || p->wide != wide)))
		return CUFFT_INVALID_PLAN;
	return execute(handle, from, to, direction);
}

cufftResult soft_cufftExecC2C(cufftHandle plan, cufftComplex *idata, cufftComplex *odata, int direction)
{
	return execute_as(plan, FFT_COMPLEX, false, idata, odata, direction);
}

cufftResult soft_cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex *idata, cufftDoubleComplex *odata, int direction)
{
	return execute_as(plan, FFT_COMPLEX, true, idata, odata, direction);
}

cufftResult soft_cufftExecR2C(cufftHandle plan, cufftReal *idata, cufftComplex *odata)
{
	return execute_as(plan, FFT_REAL, false, idata, odata, FORWARD);
}

cufftResult soft_cufftExecD2Z(cufftHandle plan, cufftDoubleReal *idata, cufftDoubleComplex *odata)
{
	return execute_as(plan, FFT_REAL, true, idata, odata, FORWARD);
}

cufftResult soft_cufftExecC2R(cufftHandle plan, cufftComplex *idata, cufftReal *odata)
{
	return execute_as(plan, FFT_HALF, false, idata, odata, BACKWARD);
}

cufftResult soft_cufftExecZ2D(cufftHandle plan, cufftDoubleComplex *idata, cufftDoubleReal *odata)
{
	return execute_as(plan, FFT_HALF, true, idata, odata, BACKWARD);
}

/* ---- cufftXt, on one device ---- */

/* -1: there is no such transform here. */
static int type_of(cudaDataType in, cudaDataType out, cudaDataType execution)
{
	static const struct {
		cudaDataType in, out, execution;
		cufftType type;
	} types[] = {
		{ CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUFFT_C2C }, { CUDA_R_32F, CUDA_C_32F, CUDA_C_32F, CUFFT_R2C },
		{ CUDA_C_32F, CUDA_R_32F, CUDA_C_32F, CUFFT_C2R }, { CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUFFT_Z2Z },
		{ CUDA_R_64F, CUDA_C_64F, CUDA_C_64F, CUFFT_D2Z }, { CUDA_C_64F, CUDA_R_64F, CUDA_C_64F, CUFFT_Z2D }
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i].in == in && types[i].out == out && types[i].execution == execution)
			return (int)types[i].type;
	library_refused(FFT_TITLE, "a transform of other types than float and double");
	return -1;
}

cufftResult soft_cufftXtMakePlanMany(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
				     long long idist, cudaDataType inputtype, long long *onembed, long long ostride,
				     long long odist, cudaDataType outputtype, long long batch, size_t *workSize,
				     cudaDataType executiontype)
{
	int type = type_of(inputtype, outputtype, executiontype);

	return type < 0 ? CUFFT_NOT_SUPPORTED
			: soft_cufftMakePlanMany64(plan, rank, n, inembed, istride, idist, onembed, ostride, odist,
						   (cufftType)type, batch, workSize);
}

cufftResult soft_cufftXtGetSizeMany(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
				    long long idist, cudaDataType inputtype, long long *onembed, long long ostride,
				    long long odist, cudaDataType outputtype, long long batch, size_t *workSize,
				    cudaDataType executiontype)
{
	int type = type_of(inputtype, outputtype, executiontype);

	return type < 0 ? CUFFT_NOT_SUPPORTED
			: soft_cufftGetSizeMany64(plan, rank, n, inembed, istride, idist, onembed, ostride, odist,
						  (cufftType)type, batch, workSize);
}

cufftResult soft_cufftXtExec(cufftHandle plan, void *input, void *output, int direction)
{
	return execute(plan, input, output, direction);
}

cufftResult soft_cufftXtSetWorkAreaPolicy(cufftHandle plan, cufftXtWorkAreaPolicy policy, size_t *workSize)
{
	return plan_find(plan) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
