/*
 * launches.c: see launches.h. All calls that launch a kernel by its whole description; legacy.c has the older ones.
 *
 * Nobody waits for a launch. What the driver would refuse at once has to be refused at once, though: so shapes are
 * checked here, and a launch that what is known of the function makes doubtful (more threads or shared memory than its
 * attributes allow, a cooperative grid, a cluster or a kernel made for one of a shape not launched before) is waited
 * for, and the driver says what it thinks.
 */
#include "remote/client/launches.h"

#include "remote/client/context.h"
#include "remote/client/events.h"
#include "remote/client/pinned.h"
#include "remote/client/session.h"
#include "remote/client/unified.h"
#include "remote/client/visible.h"

#include "cuda_remote.h"

#include <string.h>

/* On all devices since compute capability 3. */
#define BLOCK_X_MOST 1024u
#define BLOCK_Z_MOST 64u
#define GRID_X_MOST 2147483647u
#define GRID_YZ_MOST 65535u

static bool shape_good(const struct launch *l)
{
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];

	return l->grid[0] - 1 < GRID_X_MOST && l->grid[1] - 1 < GRID_YZ_MOST && l->grid[2] - 1 < GRID_YZ_MOST &&
	       l->block[0] - 1 < BLOCK_X_MOST && l->block[1] - 1 < BLOCK_X_MOST && l->block[2] - 1 < BLOCK_Z_MOST &&
	       threads <= BLOCK_X_MOST;
}

/* The packed buffer that `extra` describes. */
static bool extra_read(struct launch *l)
{
	const size_t *bytes = NULL;

	for (void **e = l->extra; *e != CU_LAUNCH_PARAM_END; e += 2) {
		if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
			l->packed = e[1];
		else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
			bytes = e[1];
		else
			return false;
	}
	if (!l->packed || !bytes || *bytes > CODE_PARAM_BYTES_MOST)
		return false;
	l->param_bytes = (uint32_t)*bytes;
	return true;
}

static CUresult params_check(struct launch *l)
{
	const struct function *f = l->function;

	l->packed = NULL;
	l->param_bytes = f->param_bytes;
	if (l->params && l->extra)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->extra) {
		if (!extra_read(l) || (f->layout && l->param_bytes < f->param_bytes))
			return CUDA_ERROR_INVALID_VALUE;
		if (f->layout)
			l->param_bytes = f->param_bytes;
		return CUDA_SUCCESS;
	}
	if (!f->layout) /* the driver is too old to say what the pointers point to */
		return l->params ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
	if (f->params && !l->params)
		return CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < f->params; i++)
		if (!l->params[i])
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult words_passed(struct session *s, const void *from, uint64_t bytes)
{
	CUresult r = CUDA_SUCCESS;
	uint64_t word;

	for (uint64_t at = 0; r == CUDA_SUCCESS && at + sizeof(word) <= bytes; at += sizeof(word)) {
		memcpy(&word, (const char *)from + at, sizeof(word));
		r = pinned_passed(s, word);
	}
	return r;
}

/* With one address space a kernel takes the program's own pointer to pinned memory: nobody asks for the device's. */
static CUresult params_passed(struct session *s, const struct launch *l)
{
	const struct function *f = l->function;
	CUresult r = CUDA_SUCCESS;

	if (!s || s->coherent)
		return CUDA_SUCCESS;
	if (l->packed)
		return words_passed(s, l->packed, l->param_bytes);
	for (uint32_t i = 0; l->params && r == CUDA_SUCCESS && i < f->params; i++)
		r = words_passed(s, l->params[i], f->param[i].bytes);
	return r;
}

static bool is_cooperative(const struct launch *l)
{
	for (unsigned int i = 0; i < l->attribute_count; i++)
		if (l->attributes[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && l->attributes[i].value.cooperative)
			return true;
	return l->kind == CODE_LAUNCH_COOPERATIVE;
}

/* All blocks of a cooperative launch run at once, or it is refused, before anybody looks at its parameters. */
static CUresult cooperative_check(const struct launch *l)
{
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	int each = 0, processors = 0;
	CUdevice device;
	CUresult r = client_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		&each, l->function->handle, (int)(l->block[0] * l->block[1] * l->block[2]), l->shared_bytes, 0);

	if (r == CUDA_SUCCESS)
		r = client_cuCtxGetDevice(&device);
	if (r == CUDA_SUCCESS)
		r = client_cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
	if (r == CUDA_SUCCESS && blocks > (uint64_t)each * (unsigned int)processors)
		r = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return r;
}

bool launch_check(struct client_call *c, struct launch *l, const void *function)
{
	if (c->result != CUDA_SUCCESS)
		return false;
	l->function = function_use(c, function);
	if (!l->function)
		return false;
	if (!shape_good(l) || (l->attribute_count && !l->attributes) ||
	    l->attribute_count > CODE_LAUNCH_ATTRIBUTES_MOST)
		c->result = CUDA_ERROR_INVALID_VALUE;
	else if (is_cooperative(l))
		c->result = cooperative_check(l);
	if (c->result == CUDA_SUCCESS)
		c->result = params_check(l);
	if (c->result == CUDA_SUCCESS)
		c->result = params_passed(c->session, l);
	return c->result == CUDA_SUCCESS;
}

size_t launch_room(const struct launch *l)
{
	return sizeof(struct code_launch) + l->param_bytes + 2 * CALL_ALIGN +
	       l->attribute_count * (sizeof(struct code_launch_attribute) + CALL_ALIGN);
}

/* Events in the attributes become ids. */
static void attribute_put(struct client_call *c, const CUlaunchAttribute *from)
{
	struct code_launch_attribute a = { .id = (uint32_t)from->id };
	uint64_t id;

	memcpy(a.value, &from->value, sizeof(a.value));
	if (from->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
	    from->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) {
		id = client_use(c, KIND_EVENT, from->value.launchCompletionEvent.event);
		events_in_graph(from->value.launchCompletionEvent.event); /* the launch records it */
		memcpy(a.value, &id, sizeof(id));
	}
	remote_put(&c->out, &a, sizeof(a));
}

_Static_assert(offsetof(CUlaunchAttributeValue, programmaticEvent.event) == 0 &&
		       offsetof(CUlaunchAttributeValue, launchCompletionEvent.event) == 0,
	       "the event comes first");

bool launch_put(struct client_call *c, const struct launch *l, uint64_t stream)
{
	const struct function *f = l->function;
	struct code_launch head = { .function = f->id,
				    .stream = stream,
				    .grid = { l->grid[0], l->grid[1], l->grid[2] },
				    .block = { l->block[0], l->block[1], l->block[2] },
				    .shared_bytes = l->shared_bytes,
				    .kind = l->kind,
				    .param_bytes = l->param_bytes,
				    .attributes = l->attribute_count };
	uint8_t *to;

	remote_put(&c->out, &head, sizeof(head));
	to = remote_reserve(&c->out, l->param_bytes);
	if (to && l->packed)
		memcpy(to, l->packed, l->param_bytes);
	else if (to && l->params) /* a question about a shape has none */
		for (uint32_t i = 0; i < f->params; i++)
			memcpy(to + f->param[i].offset, l->params[i], f->param[i].bytes);
	for (unsigned int i = 0; i < l->attribute_count; i++)
		attribute_put(c, &l->attributes[i]);
	return c->result == CUDA_SUCCESS && !c->out.bad;
}

/* ---- whether the driver is to look at it ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t shape_of(const struct launch *l)
{
	uint64_t h = mix(l->kind + 1, (uint64_t)l->grid[0] << 32 | l->grid[1]);

	h = mix(h, (uint64_t)l->grid[2] << 32 | l->shared_bytes);
	h = mix(h, (uint64_t)l->block[0] << 32 | l->block[1] << 16 | l->block[2]);
	for (unsigned int i = 0; i < l->attribute_count; i++)
		for (unsigned int k = 0; k < sizeof(l->attributes[i].value) / 8; k++) {
			uint64_t word;

			memcpy(&word, (const char *)&l->attributes[i].value + 8 * k, sizeof(word));
			h = mix(h ^ (uint64_t)l->attributes[i].id << 48, word);
		}
	return h ? h : 1;
}

static int device_here(const struct client_call *c, const struct function *f)
{
	struct context *context;
	int32_t local = 0;

	if (f->devices < 2 || context_current(c->thread, &context) != CUDA_SUCCESS)
		return 0;
	return visible_find(context->device, &local) ? local : 0;
}

static bool exceeds(struct client_call *c, struct function *f, int device, CUfunction_attribute attribute,
		    uint64_t asked)
{
	struct code_attributes *a = function_attribute(c, f, device, attribute);

	return !a || asked > (uint64_t)(int64_t)__atomic_load_n(&a->value[attribute], __ATOMIC_RELAXED);
}

/* Kernels that are made for clusters take grids of whole clusters alone. */
static bool clustered(struct client_call *c, struct function *f, int device)
{
	struct code_attributes *a = function_attribute(c, f, device, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);

	return a && __atomic_load_n(&a->value[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH], __ATOMIC_RELAXED) > 0;
}

/* 0: it is not doubtful; else the shape, to be remembered when it has been taken. */
static uint64_t doubtful(struct client_call *c, const struct launch *l)
{
	struct function *f = l->function;
	int device = device_here(c, f);
	uint64_t shape;

	if (l->kind == CODE_LAUNCH_PLAIN && !clustered(c, f, device) &&
	    !exceeds(c, f, device, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
		     (uint64_t)l->block[0] * l->block[1] * l->block[2]) &&
	    !exceeds(c, f, device, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, l->shared_bytes))
		return 0;
	shape = shape_of(l);
	return atomic_load_explicit(&f->passed, memory_order_relaxed) == shape ? 0 : shape;
}

/* A stream without a name is the current context's, and its function has to be of that one, too. */
static bool of_another_context(const struct client_call *c, uint64_t stream, const void *function)
{
	bool unnamed = stream == ID_STREAM_LEGACY || stream == ID_STREAM_PER_THREAD;
	uint64_t of = unnamed ? client_context(function) : 0;
	struct context *context;

	return of && context_current(c->thread, &context) == CUDA_SUCCESS && context->handle != of;
}

static CUresult launch(enum cuda_call call, struct launch *l, const void *function, CUstream stream)
{
	LOOKING;
	struct client_call c;
	uint64_t to, shape;

	client_call(&c, call);
	to = client_use_stream(&c, stream);
	if (to == ID_STREAM_LEGACY || to == ID_STREAM_PER_THREAD)
		client_use_current(&c);
	if (!launch_check(&c, l, function))
		return client_end(&c);
	if (of_another_context(&c, to, function)) {
		c.result = CUDA_ERROR_INVALID_HANDLE;
		return client_end(&c);
	}
	if (unified_any(c.session))
		unified_begin(c.session, stream);
	shape = doubtful(&c, l);
	if (client_begin_room(&c, shape, launch_room(l)) && launch_put(&c, l, to))
		client_send(&c);
	if (client_end(&c) == CUDA_SUCCESS && shape)
		atomic_store_explicit(&l->function->passed, shape, memory_order_relaxed);
	return c.result;
}

CUresult client_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
			       unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
			       unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
{
	struct launch l = { .grid = { gridDimX, gridDimY, gridDimZ },
			    .block = { blockDimX, blockDimY, blockDimZ },
			    .shared_bytes = sharedMemBytes,
			    .kind = CODE_LAUNCH_PLAIN,
			    .params = kernelParams,
			    .extra = extra };

	return launch(CUDA_CALL_cuLaunchKernel, &l, f, hStream);
}

CUresult client_cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
					  unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
					  unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
					  void **kernelParams)
{
	struct launch l = { .grid = { gridDimX, gridDimY, gridDimZ },
			    .block = { blockDimX, blockDimY, blockDimZ },
			    .shared_bytes = sharedMemBytes,
			    .kind = CODE_LAUNCH_COOPERATIVE,
			    .params = kernelParams };

	return launch(CUDA_CALL_cuLaunchKernel, &l, f, hStream);
}

struct launch launch_of(const CUlaunchConfig *config)
{
	return (struct launch){ .grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
				.block = { config->blockDimX, config->blockDimY, config->blockDimZ },
				.shared_bytes = config->sharedMemBytes,
				.kind = config->numAttrs ? CODE_LAUNCH_EX : CODE_LAUNCH_PLAIN,
				.attributes = config->attrs,
				.attribute_count = config->numAttrs };
}

static CUresult launch_ex(const CUlaunchConfig *config, CUfunction f, CUstream stream, void **params, void **extra)
{
	struct launch l = launch_of(config);

	l.params = params;
	l.extra = extra;
	return launch(CUDA_CALL_cuLaunchKernel, &l, f, stream);
}

CUresult client_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)
{
	return config ? launch_ex(config, f, config->hStream, kernelParams, extra) : CUDA_ERROR_INVALID_VALUE;
}

CUresult client_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)
{
	CUstream stream;

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	stream = config->hStream ? config->hStream : CU_STREAM_PER_THREAD;
	return launch_ex(config, f, stream, kernelParams, extra);
}
