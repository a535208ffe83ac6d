/* lists.c: command lists and queues. See soft.h. */
#include "softdev/levelzero/soft.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a queue and an immediate list have. */
struct channel {
	struct ze_device *device;
	CUstream stream;
	bool waits; /* calls return when the work is done */
	struct channel *next;
};

struct ze_command_queue {
	struct channel channel;
};

enum what { KERNEL, COPY, FILL, BEGIN, SIGNAL, WAIT, RESET, STAMP };

struct op {
	enum what what;
	struct ze_event *event;
	struct soft_launch *launch;
	CUdeviceptr to, from;
	size_t bytes;
	uint32_t pattern, pattern_bytes;
};

struct ze_command_list {
	struct channel channel; /* stream NULL: it is recorded */
	struct op *op;
	size_t count, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct channel *channels;

static ze_result_t channel_open(struct channel *c, struct ze_device *d, const ze_command_queue_desc_t *desc)
{
	CUresult r;

	c->device = d;
	c->waits = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
	ON_DEVICE(d);
	r = soft_cu.cuStreamCreate(&c->stream, CU_STREAM_NON_BLOCKING);
	if (r != CUDA_SUCCESS)
		return soft_said(r);
	pthread_mutex_lock(&lock);
	c->next = channels;
	channels = c;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t channel_close(struct channel *c)
{
	struct channel **at = &channels;

	pthread_mutex_lock(&lock);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	pthread_mutex_unlock(&lock);
	ON_DEVICE(c->device);
	return soft_said(soft_cu.cuStreamDestroy_v2(c->stream));
}

bool soft_is_idle(struct ze_device *d)
{
	bool idle = true;

	if (soft_enter(d) != ZE_RESULT_SUCCESS)
		return true;
	pthread_mutex_lock(&lock);
	for (struct channel *c = channels; c && idle; c = c->next)
		idle = c->device != d || soft_cu.cuStreamQuery(c->stream) == CUDA_SUCCESS;
	pthread_mutex_unlock(&lock);
	soft_leave(&(ze_result_t){ ZE_RESULT_SUCCESS });
	return idle;
}

struct ze_device *soft_queue_device(ze_command_queue_handle_t queue)
{
	return queue->channel.device;
}

/* What is done ------------------------------------------------------------------------------------------------------
 */

static void stamp(void *to)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	*(uint64_t *)to = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static CUresult fill(const struct op *op, CUstream stream)
{
	switch (op->pattern_bytes) {
	case 1:
		return soft_cu.cuMemsetD8Async(op->to, (uint8_t)op->pattern, op->bytes, stream);
	case 2:
		return soft_cu.cuMemsetD16Async(op->to, (uint16_t)op->pattern, op->bytes / 2, stream);
	default:
		return soft_cu.cuMemsetD32Async(op->to, op->pattern, op->bytes / 4, stream);
	}
}

static CUresult run(const struct op *op, CUstream stream)
{
	switch (op->what) {
	case KERNEL:
		return soft_launch_run(op->launch, stream);
	case COPY:
		return soft_cu.cuMemcpyAsync(op->to, op->from, op->bytes, stream);
	case FILL:
		return fill(op, stream);
	case BEGIN:
		return soft_event_begins(op->event, stream);
	case SIGNAL:
		return soft_event_ends(op->event, stream);
	case WAIT:
		return soft_event_awaited(op->event, stream);
	case RESET:
		return soft_event_reset(op->event, stream);
	case STAMP:
		return soft_cu.cuLaunchHostFunc(stream, stamp, (void *)(uintptr_t)op->to);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static ze_result_t keep(struct ze_command_list *list, const struct op *op)
{
	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 16;
		struct op *more = realloc(list->op, room * sizeof *more);

		if (!more)
			return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
		list->op = more;
		list->room = room;
	}
	list->op[list->count++] = *op;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t put(struct ze_command_list *list, const struct op *op)
{
	ze_result_t r;

	if (!list->channel.stream)
		return keep(list, op);
	{
		ON_DEVICE(list->channel.device);
		r = soft_said(run(op, list->channel.stream));
	}
	soft_launch_free(op->launch);
	return r;
}

static ze_result_t put_event(struct ze_command_list *list, enum what what, struct ze_event *event)
{
	return put(list, &(struct op){ .what = what, .event = event });
}

/* `op` NULL: nothing but what it waits for and signals. */
static ze_result_t append(struct ze_command_list *list, const struct op *op, struct ze_event *signal, uint32_t count,
			  ze_event_handle_t *waits)
{
	ze_result_t r = ZE_RESULT_SUCCESS;

	for (uint32_t i = 0; r == ZE_RESULT_SUCCESS && i < count; i++)
		r = put_event(list, WAIT, waits[i]);
	if (r == ZE_RESULT_SUCCESS && signal)
		r = put_event(list, BEGIN, signal);
	if (r == ZE_RESULT_SUCCESS && op)
		r = put(list, op);
	if (r == ZE_RESULT_SUCCESS && signal)
		r = put_event(list, SIGNAL, signal);
	if (r == ZE_RESULT_SUCCESS && list->channel.waits) {
		ON_DEVICE(list->channel.device);
		r = soft_said(soft_cu.cuStreamSynchronize(list->channel.stream));
	}
	return r;
}

static ze_result_t append_kernel(ze_command_list_handle_t list, ze_kernel_handle_t hKernel,
				 const ze_group_count_t *groups, ze_event_handle_t signal, uint32_t count,
				 ze_event_handle_t *waits)
{
	struct op op = { .what = KERNEL, .launch = soft_launch_of(hKernel, groups) };

	return op.launch ? append(list, &op, signal, count, waits) : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

static ze_result_t append_copy(ze_command_list_handle_t list, void *to, const void *from, size_t size,
			       ze_event_handle_t signal, uint32_t count, ze_event_handle_t *waits)
{
	struct op op = {
		.what = COPY, .to = (CUdeviceptr)(uintptr_t)to, .from = (CUdeviceptr)(uintptr_t)from, .bytes = size
	};

	return append(list, &op, signal, count, waits);
}

static ze_result_t append_fill(ze_command_list_handle_t list, void *ptr, const void *pattern, size_t pattern_size,
			       size_t size, ze_event_handle_t signal, uint32_t count, ze_event_handle_t *waits)
{
	struct op op = {
		.what = FILL, .to = (CUdeviceptr)(uintptr_t)ptr, .bytes = size, .pattern_bytes = (uint32_t)pattern_size
	};

	if (pattern_size != 1 && pattern_size != 2 && pattern_size != 4)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	memcpy(&op.pattern, pattern, pattern_size);
	return append(list, &op, signal, count, waits);
}

static ze_result_t append_barrier(ze_command_list_handle_t list, ze_event_handle_t signal, uint32_t count,
				  ze_event_handle_t *waits)
{
	return append(list, NULL, signal, count, waits);
}

static ze_result_t append_stamp(ze_command_list_handle_t list, uint64_t *to, ze_event_handle_t signal, uint32_t count,
				ze_event_handle_t *waits)
{
	struct op op = { .what = STAMP, .to = (CUdeviceptr)(uintptr_t)to };

	return append(list, &op, signal, count, waits);
}

static ze_result_t append_signal(ze_command_list_handle_t list, ze_event_handle_t event)
{
	return append(list, NULL, event, 0, NULL);
}

static ze_result_t append_wait(ze_command_list_handle_t list, uint32_t count, ze_event_handle_t *events)
{
	return append(list, NULL, NULL, count, events);
}

static ze_result_t append_reset(ze_command_list_handle_t list, ze_event_handle_t event)
{
	return put_event(list, RESET, event);
}

/* Lists -------------------------------------------------------------------------------------------------------------
 */

static ze_result_t list_create(ze_context_handle_t hContext, ze_device_handle_t hDevice,
			       const ze_command_list_desc_t *desc, ze_command_list_handle_t *ret)
{
	struct ze_command_list *l = calloc(1, sizeof *l);

	(void)hContext;
	(void)desc;
	if (!l)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	l->channel.device = hDevice;
	*ret = l;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_create_immediate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
					 const ze_command_queue_desc_t *desc, ze_command_list_handle_t *ret)
{
	struct ze_command_list *l = calloc(1, sizeof *l);
	ze_result_t r = l ? channel_open(&l->channel, hDevice, desc) : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;

	(void)hContext;
	if (r != ZE_RESULT_SUCCESS)
		free(l);
	else
		*ret = l;
	return r;
}

static ze_result_t list_reset(ze_command_list_handle_t list)
{
	for (size_t i = 0; i < list->count; i++)
		soft_launch_free(list->op[i].launch);
	list->count = 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t list_destroy(ze_command_list_handle_t list)
{
	ze_result_t r = list->channel.stream ? channel_close(&list->channel) : ZE_RESULT_SUCCESS;

	list_reset(list);
	free(list->op);
	free(list);
	return r;
}

static ze_result_t list_close(ze_command_list_handle_t list)
{
	(void)list;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t synchronize(struct channel *c, uint64_t timeout)
{
	CUresult r;

	ON_DEVICE(c->device);
	r = timeout ? soft_cu.cuStreamSynchronize(c->stream) : soft_cu.cuStreamQuery(c->stream);
	return soft_said(r);
}

static ze_result_t list_synchronize(ze_command_list_handle_t list, uint64_t timeout)
{
	return synchronize(&list->channel, timeout);
}

/* Queues ------------------------------------------------------------------------------------------------------------
 */

static ze_result_t queue_create(ze_context_handle_t hContext, ze_device_handle_t hDevice,
				const ze_command_queue_desc_t *desc, ze_command_queue_handle_t *ret)
{
	struct ze_command_queue *q = calloc(1, sizeof *q);
	ze_result_t r = q ? channel_open(&q->channel, hDevice, desc) : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;

	(void)hContext;
	if (r != ZE_RESULT_SUCCESS)
		free(q);
	else
		*ret = q;
	return r;
}

static ze_result_t queue_destroy(ze_command_queue_handle_t queue)
{
	ze_result_t r = channel_close(&queue->channel);

	free(queue);
	return r;
}

static CUresult run_all(const struct ze_command_list *list, CUstream stream)
{
	CUresult r = CUDA_SUCCESS;

	for (size_t i = 0; r == CUDA_SUCCESS && i < list->count; i++)
		r = run(&list->op[i], stream);
	return r;
}

static ze_result_t queue_execute(ze_command_queue_handle_t queue, uint32_t count, ze_command_list_handle_t *lists,
				 ze_fence_handle_t fence)
{
	CUresult r = CUDA_SUCCESS;

	ON_DEVICE(queue->channel.device);
	for (uint32_t i = 0; r == CUDA_SUCCESS && i < count; i++)
		r = run_all(lists[i], queue->channel.stream);
	if (r == CUDA_SUCCESS && fence)
		r = soft_event_ends(soft_fence_event(fence), queue->channel.stream);
	if (r == CUDA_SUCCESS && queue->channel.waits)
		r = soft_cu.cuStreamSynchronize(queue->channel.stream);
	return soft_said(r);
}

static ze_result_t queue_synchronize(ze_command_queue_handle_t queue, uint64_t timeout)
{
	return synchronize(&queue->channel, timeout);
}

static ze_result_t list_append_lists(ze_command_list_handle_t list, uint32_t count, ze_command_list_handle_t *lists,
				     ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits)
{
	ze_result_t r = append(list, NULL, NULL, wait_count, waits);

	for (uint32_t i = 0; r == ZE_RESULT_SUCCESS && i < count; i++) {
		ON_DEVICE(list->channel.device);
		r = soft_said(run_all(lists[i], list->channel.stream));
	}
	return r == ZE_RESULT_SUCCESS ? append(list, NULL, signal, 0, NULL) : r;
}

void soft_fill_lists(struct levelzero_table *t)
{
	t->zeCommandListCreate = list_create;
	t->zeCommandListCreateImmediate = list_create_immediate;
	t->zeCommandListDestroy = list_destroy;
	t->zeCommandListClose = list_close;
	t->zeCommandListReset = list_reset;
	t->zeCommandListHostSynchronize = list_synchronize;
	t->zeCommandListAppendLaunchKernel = append_kernel;
	t->zeCommandListAppendLaunchCooperativeKernel = append_kernel;
	t->zeCommandListAppendMemoryCopy = append_copy;
	t->zeCommandListAppendMemoryFill = append_fill;
	t->zeCommandListAppendBarrier = append_barrier;
	t->zeCommandListAppendWriteGlobalTimestamp = append_stamp;
	t->zeCommandListAppendSignalEvent = append_signal;
	t->zeCommandListAppendWaitOnEvents = append_wait;
	t->zeCommandListAppendEventReset = append_reset;
	t->zeCommandListImmediateAppendCommandListsExp = list_append_lists;
	t->zeCommandQueueCreate = queue_create;
	t->zeCommandQueueDestroy = queue_destroy;
	t->zeCommandQueueExecuteCommandLists = queue_execute;
	t->zeCommandQueueSynchronize = queue_synchronize;
}
