/*
 * launch.c: see launch.h. All calls that launch a kernel, and the run itself.
 *
 * A device's kernels run on one pool of threads per process. printf of kernels goes to standard output when the kernel
 * prints, a fault to the log, once, with the kernel's name and place. malloc in kernels takes from the context's heap
 * limit and, like a context's other overhead, is not charged to the device.
 */
#include "softdev/launch.h"

#include "softdev/check.h"
#include "softdev/cluster.h"
#include "softdev/duration.h"
#include "softdev/event.h"
#include "softdev/graph.h"
#include "softdev/log.h"
#include "softdev/mempool.h"
#include "softdev/native.h"
#include "softdev/profile.h"
#include "softdev/segment_fault.h"
#include "softdev/stream.h"
#include "softdev/texture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_LEAST_BYTES 16384u

/* ---- checks ---- */

static CUresult shape_check(const struct launch *l, const struct function *f, const struct device *d)
{
	const struct ptx_kernel *k = f->kernel;
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	const uint32_t *required = k->required_threads;

	if (!l->grid[0] || !l->grid[1] || !l->grid[2] || !threads)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->grid[0] > 2147483647u || l->grid[1] > 65535 || l->grid[2] > 65535)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->block[0] > 1024 || l->block[1] > 1024 || l->block[2] > 64 || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (required[0] && (l->block[0] != required[0] || l->block[1] != required[1] || l->block[2] != required[2]))
		return CUDA_ERROR_INVALID_VALUE;
	if (threads > k->max_threads) /* .maxntid: devices say so, though it sounds like a lack of registers */
		return CUDA_ERROR_INVALID_VALUE;
	if (l->shared_bytes > function_shared_most(k, f->settings.dynamic_shared_most))
		return CUDA_ERROR_INVALID_VALUE;
	if (l->cooperative) {
		uint64_t most =
			(uint64_t)function_blocks_per_sm(k, (uint32_t)threads, l->shared_bytes) * d->config->sm_count;

		if ((uint64_t)l->grid[0] * l->grid[1] * l->grid[2] > most)
			return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	}
	return cluster_check(l, f);
}

/* The packed buffer that `extra` describes. */
static CUresult extra_read(void **extra, const void **ret, size_t *ret_bytes)
{
	const size_t *bytes = NULL;

	*ret = NULL;
	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*ret = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			bytes = extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (!*ret || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_bytes = *bytes;
	return CUDA_SUCCESS;
}

static CUresult params_pack(const struct launch *l, const struct ptx_kernel *k, char *to)
{
	const void *packed;
	size_t bytes;
	CUresult e;

	if (l->params && l->extra)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->extra) {
		e = extra_read(l->extra, &packed, &bytes);
		if (e)
			return e;
		if (bytes < k->param_bytes)
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(to, packed, k->param_bytes);
		return CUDA_SUCCESS;
	}
	if (k->param_count && !l->params)
		return CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < k->param_count; i++) {
		if (!l->params[i])
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(to + k->param[i].offset, l->params[i], k->param[i].bytes);
	}
	return CUDA_SUCCESS;
}

CUresult launch_describe(const struct launch *l, struct context *c, struct work *ret)
{
	struct function *f;
	CUresult e = function_find(l->function, c, &f);
	char *params;

	if (e)
		return e;
	if (f->module->context != c)
		return CUDA_ERROR_INVALID_HANDLE;
	atomic_store_explicit(&f->loaded, true, memory_order_relaxed);
	e = shape_check(l, f, c->device);
	if (e)
		return e;
	params = calloc(1, f->kernel->param_bytes + 1);
	if (!params)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e = params_pack(l, f->kernel, params);
	if (e) {
		free(params);
		return e;
	}
	*ret = (struct work){ .kind = WORK_KERNEL, .context = c };
	ret->kernel.function = f;
	ret->kernel.function_generation = f->head.generation;
	memcpy(ret->kernel.grid, l->grid, sizeof(l->grid));
	memcpy(ret->kernel.block, l->block, sizeof(l->block));
	memcpy(ret->kernel.cluster, l->cluster, sizeof(l->cluster));
	ret->kernel.shared_bytes = l->shared_bytes;
	ret->kernel.cooperative = l->cooperative;
	ret->kernel.params = params;
	ret->kernel.param_bytes = f->kernel->param_bytes;
	return CUDA_SUCCESS;
}

/* ---- the run ---- */

static struct ptx_pool *launch_pool(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static struct ptx_pool *pool;
	struct ptx_pool *p;

	pthread_mutex_lock(&mutex);
	if (!pool)
		pool = ptx_pool_new(driver.threads);
	p = pool;
	pthread_mutex_unlock(&mutex);
	return p;
}

static void kernel_print(void *unused, const char *text, size_t bytes)
{
	fwrite(text, 1, bytes, stdout);
	fflush(stdout);
}

static uint64_t heap_alloc(void *context, uint64_t bytes)
{
	struct context *c = context;
	struct range *r;

	if (!bytes || bytes > c->limit[CU_LIMIT_MALLOC_HEAP_SIZE])
		return 0;
	if (atomic_fetch_add(&c->heap_bytes, bytes) + bytes > c->limit[CU_LIMIT_MALLOC_HEAP_SIZE] ||
	    range_new_uncharged(c->device, c, RANGE_HEAP, bytes, &r)) {
		atomic_fetch_sub(&c->heap_bytes, bytes);
		return 0;
	}
	return r->begin;
}

/* A bad free in a kernel does nothing, as the guide leaves it open; the first one of a context is reported. */
static void heap_free(void *context, uint64_t address)
{
	struct context *c = context;
	struct range *r;

	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked(address);
	if (r && (r->kind != RANGE_HEAP || r->begin != address || r->released))
		r = NULL;
	if (r)
		r->released = true;
	pthread_mutex_unlock(&memory_mutex);
	if (!r) {
		if (!atomic_exchange(&c->bad_free, true))
			report_call("free in a kernel: invalid free", address, 1);
		return;
	}
	atomic_fetch_sub(&c->heap_bytes, r->bytes);
	range_free(r);
}

static bool memory_find(void *context, uint64_t address, struct ptx_range *ret)
{
	return range_accessible(context, address, ret);
}

static CUresult fault_error(enum ptx_fault_kind kind)
{
	switch (kind) {
	case PTX_FAULT_ILLEGAL_ADDRESS:
	case PTX_FAULT_HANDLE:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case PTX_FAULT_STACK_OVERFLOW:
		return CUDA_ERROR_HARDWARE_STACK_ERROR;
	case PTX_FAULT_ADDRESS_SPACE:
		return CUDA_ERROR_INVALID_ADDRESS_SPACE;
	case PTX_FAULT_MISALIGNED:
		return CUDA_ERROR_MISALIGNED_ADDRESS;
	case PTX_FAULT_ASSERT:
		return CUDA_ERROR_ASSERT;
	case PTX_FAULT_ILLEGAL_INSTRUCTION:
	case PTX_FAULT_BARRIER_NUMBER:
	case PTX_FAULT_BARRIER_COUNT:
	case PTX_FAULT_BARRIER_DIVERGENT:
		return CUDA_ERROR_ILLEGAL_INSTRUCTION;
	case PTX_FAULT_INVALID_PC:
		return CUDA_ERROR_INVALID_PC;
	case PTX_FAULT_TIMEOUT:
	case PTX_FAULT_DEADLOCK:
		return CUDA_ERROR_LAUNCH_TIMEOUT;
	case PTX_FAULT_NO_MEMORY:
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	default:
		return CUDA_ERROR_LAUNCH_FAILED;
	}
}

static void fault_tell(const struct ptx_launch *l, const struct function *function, struct context *c, CUresult error)
{
	const struct ptx_kernel *k = l->kernel;
	const struct ptx_fault *f = &l->fault;
	const char *name = "?";

	if (check_reports()) {
		report_fault(l, function, c, error);
		return;
	}
	soft_cuGetErrorName(error, &name);
	log_line("kernel %s: %s in %s, PTX line %u, block (%u,%u,%u), thread (%u,%u,%u), address 0x%llx", k->name, name,
		 f->function ? f->function : k->name, f->line, f->block[0], f->block[1], f->block[2], f->thread[0],
		 f->thread[1], f->thread[2], (unsigned long long)f->address);
}

/* A graph may outlive the module of its kernels. */
static bool function_gone(const struct work_kernel *k)
{
	return !k->function->head.live || k->function->head.generation != k->function_generation;
}

/* Of recursive functions, which nothing but the limit bounds; never less than the engine's own measure. */
static uint32_t stack_bytes(const struct context *c)
{
	const size_t limit = c->limit[CU_LIMIT_STACK_SIZE];

	return limit > STACK_LEAST_BYTES ? (uint32_t)limit : STACK_LEAST_BYTES;
}

bool launch_run(struct work *w, struct pace_kernel *pace, struct pace_kernel *after)
{
	struct context *c = w->context;
	const struct ptx_kernel *k = function_gone(&w->kernel) ? NULL : w->kernel.function->kernel;
	struct ptx_pool *pool = launch_pool();
	struct ptx_launch l = {
		.kernel = k,
		.shared_bytes = w->kernel.shared_bytes,
		.stack_bytes = stack_bytes(c),
		.params = w->kernel.params,
		.cooperative = w->kernel.cooperative,
		.sm_count = c->device->config->sm_count,
		.memory = { memory_find, heap_alloc, heap_free, c },
		.textures = { texture_find, c },
		.print = kernel_print,
		.exact = check_exact(),
		.timeout_ns = driver.check.timeout_ns,
		.cancel = segment_cancel(&driver.place, c->device->index),
		.condition = graph_condition_set,
		.condition_ctx = graph_launch_of_thread(),
		.native = native_find,
	};
	uint64_t begin_ns;
	bool ended;
	CUresult e;
	int r;

	if (driver.ending) {
		context_cut(c);
		return true;
	}
	if (!k) {
		log_line("a kernel is launched whose module has been unloaded meanwhile");
		context_fault(c, CUDA_ERROR_LAUNCH_FAILED);
		return true;
	}
	if (!pool) {
		log_line("kernel %s: no memory or threads to run it", k->name);
		context_fault(c, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
		return true;
	}
	memcpy(l.grid, w->kernel.grid, sizeof(l.grid));
	memcpy(l.block, w->kernel.block, sizeof(l.block));
	memcpy(l.cluster, w->kernel.cluster, sizeof(l.cluster));
	if (check_exact())
		mempool_mark_idle();
	pace_begin(pace, c->device->index, after, duration_demand(&l), duration_declared(w->kernel.function));
	l.beat_ns = pace_beat(pace);
	begin_ns = profile_begin(&l);
	r = ptx_launch_run(pool, &l);
	profile_launch(&l, begin_ns, c->device->ordinal);
	ended = pace_executed(pace, r ? 0 : duration_executed(&l));
	if (!r)
		return ended;
	if (!ended)
		pace_remove(pace);
	if (driver.ending)
		context_cut(c);
	if (driver.ending || (r > 0 && l.fault.kind == PTX_FAULT_CANCELLED))
		return true;
	e = r > 0 ? fault_error(l.fault.kind) : CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	if (r > 0)
		fault_tell(&l, w->kernel.function, c, e);
	else
		log_line("kernel %s: the launch is refused: %s", k->name, strerror(-r));
	context_fault(c, e);
	return true;
}

/* ---- calls ---- */

/* Within MODULES_STAY: the kernel is submitted before it can end. */
static CUresult launch_found(const struct launch *l, CUstream stream)
{
	struct stream *s;
	struct work w;
	CUresult e = stream_find(stream, &s);

	if (!e && driver.ending)
		e = CUDA_ERROR_DEINITIALIZED;
	if (!e)
		e = launch_describe(l, s->context, &w);
	return e ? e : stream_submit(s, &w, false);
}

static CUresult launch(const struct launch *l, CUstream stream)
{
	MODULES_STAY;

	return launch_found(l, stream);
}

CUresult soft_cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			     unsigned shared, CUstream stream, void **params, void **extra)
{
	struct launch l = { f, { gx, gy, gz }, { bx, by, bz }, shared, false, params, extra };

	return launch(&l, stream);
}

CUresult soft_cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
					unsigned bz, unsigned shared, CUstream stream, void **params)
{
	struct launch l = { f, { gx, gy, gz }, { bx, by, bz }, shared, true, params, NULL };

	return launch(&l, stream);
}

CUresult launch_attributes(const CUlaunchConfig *config, struct launch *l, CUevent *ret_event)
{
	if (config->numAttrs && !config->attrs)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttribute *a = &config->attrs[i];

		switch (a->id) {
		case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			l->cooperative = a->value.cooperative;
			break;
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
			if (!a->value.clusterDim.x || !a->value.clusterDim.y || !a->value.clusterDim.z)
				return CUDA_ERROR_INVALID_CLUSTER_SIZE;
			l->cluster[0] = a->value.clusterDim.x;
			l->cluster[1] = a->value.clusterDim.y;
			l->cluster[2] = a->value.clusterDim.z;
			break;
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
			*ret_event = a->value.programmaticEvent.event;
			break;
		case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
			*ret_event = a->value.launchCompletionEvent.event;
			break;
		case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
			return CUDA_ERROR_NOT_SUPPORTED;
		default:
			if ((unsigned)a->id >= CU_LAUNCH_ATTRIBUTE_MAX)
				return CUDA_ERROR_INVALID_VALUE;
			break; /* hints */
		}
	}
	return CUDA_SUCCESS;
}

CUresult soft_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	struct launch l = { .function = f, .params = params, .extra = extra };
	CUevent event = NULL;
	struct event *ev;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	l.grid[0] = config->gridDimX;
	l.grid[1] = config->gridDimY;
	l.grid[2] = config->gridDimZ;
	l.block[0] = config->blockDimX;
	l.block[1] = config->blockDimY;
	l.block[2] = config->blockDimZ;
	l.shared_bytes = config->sharedMemBytes;
	e = launch_attributes(config, &l, &event);
	if (!e && event)
		e = event_find(event, &ev); /* before anything is launched */
	if (!e)
		e = launch(&l, config->hStream);
	return e || !event ? e : soft_cuEventRecord(event, config->hStream);
}

/* ---- the oldest way to launch: shape and parameters are kept in the function ---- */

static CUresult function_current(CUfunction h, struct function **ret)
{
	struct context *c;
	CUresult e = context_current(&c);

	return e ? e : function_find(h, c, ret);
}

CUresult soft_cuFuncSetBlockShape(CUfunction h, int x, int y, int z)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_current(h, &f);

	if (e)
		return e;
	if (x <= 0 || y <= 0 || z <= 0 || x > 1024 || y > 1024 || z > 64)
		return CUDA_ERROR_INVALID_VALUE;
	f->block[0] = (uint32_t)x;
	f->block[1] = (uint32_t)y;
	f->block[2] = (uint32_t)z;
	return CUDA_SUCCESS;
}

CUresult soft_cuFuncSetSharedSize(CUfunction h, unsigned bytes)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_current(h, &f);

	if (!e)
		f->shared_bytes = bytes;
	return e;
}

CUresult soft_cuParamSetSize(CUfunction h, unsigned bytes)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_current(h, &f);

	if (e)
		return e;
	if (bytes > sizeof(f->param))
		return CUDA_ERROR_INVALID_VALUE;
	f->param_bytes = bytes;
	return CUDA_SUCCESS;
}

CUresult soft_cuParamSetv(CUfunction h, int offset, void *p, unsigned bytes)
{
	MODULES_STAY;
	struct function *f;
	CUresult e = function_current(h, &f);

	if (e)
		return e;
	if (offset < 0 || !p || (size_t)offset > sizeof(f->param) || bytes > sizeof(f->param) - (size_t)offset)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(f->param + offset, p, bytes);
	return CUDA_SUCCESS;
}

CUresult soft_cuParamSeti(CUfunction h, int offset, unsigned value)
{
	return soft_cuParamSetv(h, offset, &value, sizeof(value));
}

CUresult soft_cuParamSetf(CUfunction h, int offset, float value)
{
	return soft_cuParamSetv(h, offset, &value, sizeof(value));
}

CUresult soft_cuLaunchGridAsync(CUfunction h, int width, int height, CUstream stream)
{
	MODULES_STAY;
	struct function *f;
	size_t bytes;
	void *extra[5];
	struct launch l;
	CUresult e = function_current(h, &f);

	if (e)
		return e;
	if (width <= 0 || height <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	bytes = f->param_bytes;
	extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	extra[1] = f->param;
	extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
	extra[3] = &bytes;
	extra[4] = CU_LAUNCH_PARAM_END;
	l = (struct launch){ h,
			     { (uint32_t)width, (uint32_t)height, 1 },
			     { f->block[0], f->block[1], f->block[2] },
			     f->shared_bytes,
			     false,
			     NULL,
			     extra };
	return launch_found(&l, stream);
}

CUresult soft_cuLaunchGrid(CUfunction h, int width, int height)
{
	return soft_cuLaunchGridAsync(h, width, height, NULL);
}

CUresult soft_cuLaunch(CUfunction h)
{
	return soft_cuLaunchGridAsync(h, 1, 1, NULL);
}
