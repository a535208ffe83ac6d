/*
 * launches.c: see launches.h. A launch is checked against what the worker itself knows of the function: the client's
 * word for how many bytes there are is taken only where the driver cannot say either, and then the driver gets a copy
 * of that size.
 */
#include "remote/worker/launches.h"

#include "cuda_remote.h"
#include "remote/worker/moved.h"

#include <errno.h>
#include <string.h>

/* The event in an attribute travels as its id. */
static void event_read(struct work *work, void *at)
{
	CUevent event;
	uint64_t id;
	bool known;

	memcpy(&id, at, sizeof(id));
	event = worker_find(work, KIND_EVENT, id, &known);
	if (!event)
		work->result = CUDA_ERROR_INVALID_HANDLE;
	memcpy(at, &event, sizeof(event));
}

void launch_attribute_check(struct work *work, CUlaunchAttribute *a)
{
	const CUaccessPolicyWindow *window = &a->value.accessPolicyWindow;

	switch (a->id) {
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
		event_read(work, &a->value.programmaticEvent.event);
		break;
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		event_read(work, &a->value.launchCompletionEvent.event);
		break;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		if (window->num_bytes &&
		    !worker_range(work, (CUdeviceptr)(uintptr_t)window->base_ptr, window->num_bytes))
			work->result = CUDA_ERROR_INVALID_VALUE;
		break;
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		if (a->value.deviceUpdatableKernelNode.deviceUpdatable)
			work->result = CUDA_ERROR_NOT_SUPPORTED; /* its handle would have to reach the kernel */
		break;
	default:
		/* Of a newer driver's nobody knows whether they hold an address. */
		if (a->id > CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
			work->result = CUDA_ERROR_INVALID_VALUE;
	}
}

static int attributes_read(struct work *work, struct launch *l)
{
	if (l->head.attributes > CODE_LAUNCH_ATTRIBUTES_MOST)
		return -EPROTO;
	for (uint32_t i = 0; i < l->head.attributes; i++) {
		struct code_launch_attribute a;

		remote_get(&work->in, &a, sizeof(a));
		if (work->in.bad)
			return -EPROTO;
		memset(&l->attribute[i], 0, sizeof(l->attribute[i]));
		l->attribute[i].id = (CUlaunchAttributeID)a.id;
		memcpy(&l->attribute[i].value, a.value, sizeof(l->attribute[i].value));
		launch_attribute_check(work, &l->attribute[i]);
	}
	return 0;
}

_Static_assert(sizeof(CUlaunchAttributeValue) == sizeof(((struct code_launch_attribute *)0)->value), "as it travels");

void launch_params(struct work *work, struct launch *l)
{
	const struct known *k = l->known;

	l->params = l->extra = NULL;
	if (!k->layout) {
		l->extra_bytes = l->head.param_bytes;
		l->extra_list[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
		l->extra_list[1] = (void *)(uintptr_t)l->packed;
		l->extra_list[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
		l->extra_list[3] = &l->extra_bytes;
		l->extra_list[4] = CU_LAUNCH_PARAM_END;
		l->extra = l->extra_bytes ? l->extra_list : NULL;
		return;
	}
	if (l->head.param_bytes != k->param_bytes) {
		work->result = CUDA_ERROR_INVALID_VALUE;
		return;
	}
	for (uint32_t i = 0; i < k->params; i++)
		l->param_list[i] = (void *)(uintptr_t)(l->packed + k->param[i].offset);
	l->params = k->params ? l->param_list : NULL;
}

int launch_read(struct work *work, struct launch *l)
{
	int r;

	remote_get(&work->in, &l->head, sizeof(l->head));
	if (work->in.bad || l->head.param_bytes > CODE_PARAM_BYTES_MOST || l->head.kind >= CODE_LAUNCH_KINDS)
		return -EPROTO;
	l->packed = remote_take(&work->in, l->head.param_bytes);
	if (work->in.bad)
		return -EPROTO;
	moved_words((void *)(uintptr_t)l->packed, l->head.param_bytes, true); /* the request is this thread's own */
	r = attributes_read(work, l);
	if (r)
		return r;
	l->known = functions_known(work, l->head.function);
	return 0;
}

CUlaunchConfig launch_config(struct launch *l, CUstream stream)
{
	const struct code_launch *h = &l->head;

	return (CUlaunchConfig){ .gridDimX = h->grid[0],
				 .gridDimY = h->grid[1],
				 .gridDimZ = h->grid[2],
				 .blockDimX = h->block[0],
				 .blockDimY = h->block[1],
				 .blockDimZ = h->block[2],
				 .sharedMemBytes = h->shared_bytes,
				 .hStream = stream,
				 .attrs = l->attribute,
				 .numAttrs = h->attributes };
}

static CUresult run(struct work *work, struct launch *l, CUstream stream)
{
	const struct code_launch *h = &l->head;
	CUfunction f = l->known->handle;
	CUlaunchConfig config;

	if (h->kind == CODE_LAUNCH_EX) {
		config = launch_config(l, stream);
		return work->driver->cuLaunchKernelEx(&config, f, l->params, l->extra);
	}
	if (h->kind == CODE_LAUNCH_COOPERATIVE)
		return work->driver->cuLaunchCooperativeKernel(f, h->grid[0], h->grid[1], h->grid[2], h->block[0],
							       h->block[1], h->block[2], h->shared_bytes, stream,
							       l->params);
	return work->driver->cuLaunchKernel(f, h->grid[0], h->grid[1], h->grid[2], h->block[0], h->block[1],
					    h->block[2], h->shared_bytes, stream, l->params, l->extra);
}

int worker_cuLaunchKernel(struct work *work)
{
	struct launch l;
	CUstream stream;
	bool known;
	int r = launch_read(work, &l);

	if (r)
		return r;
	if (work->in.used != work->in.size)
		return -EPROTO;
	stream = worker_find_stream(work, l.head.stream, &known);
	if (!known && work->result == CUDA_SUCCESS)
		work->result = CUDA_ERROR_INVALID_HANDLE;
	if (work->result == CUDA_SUCCESS)
		launch_params(work, &l);
	if (work->result == CUDA_SUCCESS)
		work->result = (int32_t)run(work, &l, stream);
	return 0;
}
