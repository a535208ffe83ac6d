/* work_cases.c: queues, lists, events and kernels, and what they do. */
#include "cases.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char code[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			   ".visible .entry square(.param .u64 p)\n{\n"
			   "	.reg .b32 %r<4>;\n	.reg .b64 %rd<4>;\n"
			   "	ld.param.u64 %rd1, [p];\n"
			   "	mov.u32 %r1, %tid.x;\n"
			   "	mul.lo.s32 %r2, %r1, %r1;\n"
			   "	mul.wide.s32 %rd2, %r1, 4;\n"
			   "	add.s64 %rd3, %rd1, %rd2;\n"
			   "	st.global.u32 [%rd3], %r2;\n"
			   "	ret;\n}\n"
			   ".visible .entry spin_a()\n{\n	ret;\n}\n"
			   ".visible .entry quick()\n{\n	ret;\n}\n";

ze_command_queue_handle_t queue_new(uint32_t ordinal, uint32_t mode)
{
	const ze_command_queue_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					       .ordinal = ordinal,
					       .mode = mode };
	ze_command_queue_handle_t q = NULL;

	need(ze.zeCommandQueueCreate(context, device, &desc, &q), "zeCommandQueueCreate");
	return q;
}

ze_command_list_handle_t list_new(void)
{
	const ze_command_list_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_command_list_handle_t l = NULL;

	need(ze.zeCommandListCreate(context, device, &desc, &l), "zeCommandListCreate");
	return l;
}

ze_command_list_handle_t immediate_new(uint32_t mode)
{
	const ze_command_queue_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = mode };
	ze_command_list_handle_t l = NULL;

	need(ze.zeCommandListCreateImmediate(context, device, &desc, &l), "zeCommandListCreateImmediate");
	return l;
}

static ze_event_pool_handle_t pool;

ze_event_handle_t event_new(void)
{
	const ze_event_pool_desc_t pools = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = 5, .count = 64 };
	const ze_event_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_event_handle_t e = NULL;

	if (!pool)
		need(ze.zeEventPoolCreate(context, &pools, 1, &device, &pool), "zeEventPoolCreate");
	need(ze.zeEventCreate(pool, &desc, &e), "zeEventCreate");
	return e;
}

ze_kernel_handle_t kernel_new(const char *name)
{
	static ze_module_handle_t module;
	const ze_module_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
					.format = ZE_MODULE_FORMAT_NATIVE,
					.inputSize = sizeof code - 1,
					.pInputModule = (const uint8_t *)code };
	const ze_kernel_desc_t kernel = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name };
	ze_kernel_handle_t k = NULL;

	if (!module)
		need(ze.zeModuleCreate(context, device, &desc, &module, NULL), "zeModuleCreate");
	need(ze.zeKernelCreate(module, &kernel, &k), "zeKernelCreate");
	return k;
}

const ze_group_count_t one_group = { 1, 1, 1 };

/* Work that does not end before the event is signalled, on the list. */
void hold_up(ze_command_list_handle_t list, ze_event_handle_t event)
{
	need(ze.zeCommandListAppendWaitOnEvents(list, 1, &event), "zeCommandListAppendWaitOnEvents");
}

static uint32_t added(const uint32_t *values, unsigned int n)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < n; i++)
		sum += values[i];
	return sum;
}

int sum(unsigned int n)
{
	ze_kernel_handle_t k;
	ze_command_queue_handle_t q;
	ze_command_list_handle_t list, now_list;
	uint32_t *out, *on, first;

	need(begin(), "zeInit");
	k = kernel_new("square");
	q = queue_new(0, 0);
	list = list_new();
	now_list = immediate_new(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
	need(take_device((void **)&on, n * sizeof *on), "zeMemAllocDevice");
	need(ze.zeMemAllocHost(context, &on_host, n * sizeof *out, 0, (void **)&out), "zeMemAllocHost");
	need(ze.zeKernelSetGroupSize(k, n, 1, 1), "zeKernelSetGroupSize");
	need(ze.zeKernelSetArgumentValue(k, 0, sizeof on, &on), "zeKernelSetArgumentValue");
	need(ze.zeCommandListAppendLaunchKernel(list, k, &one_group, NULL, 0, NULL), "zeCommandListAppendLaunchKernel");
	need(ze.zeCommandListAppendBarrier(list, NULL, 0, NULL), "zeCommandListAppendBarrier");
	need(ze.zeCommandListAppendMemoryCopy(list, out, on, n * sizeof *out, NULL, 0, NULL),
	     "zeCommandListAppendMemoryCopy");
	need(ze.zeCommandListClose(list), "zeCommandListClose");
	need(ze.zeCommandQueueExecuteCommandLists(q, 1, &list, NULL), "zeCommandQueueExecuteCommandLists");
	need(ze.zeCommandQueueSynchronize(q, FOREVER), "zeCommandQueueSynchronize");
	first = added(out, n);
	memset(out, 0, n * sizeof *out);
	need(ze.zeCommandListAppendLaunchKernel(now_list, k, &one_group, NULL, 0, NULL),
	     "zeCommandListAppendLaunchKernel");
	need(ze.zeCommandListAppendMemoryCopy(now_list, out, on, n * sizeof *out, NULL, 0, NULL),
	     "zeCommandListAppendMemoryCopy");
	printf("%u %u\n", first, added(out, n));
	return 0;
}

int order(void)
{
	enum { N = 256 };
	const uint32_t five = 5;
	const ze_fence_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
	ze_command_queue_handle_t q, copies;
	ze_command_list_handle_t list, now_list, fill, twice[2];
	ze_event_handle_t event, gate, last;
	ze_kernel_timestamp_result_t stamp = { 0 };
	ze_fence_handle_t fence = NULL;
	ze_kernel_handle_t k;
	uint32_t *out, *on;
	bool good = true;

	need(begin(), "zeInit");
	q = queue_new(0, 0);
	copies = queue_new(1, 0);
	list = list_new();
	fill = list_new();
	now_list = immediate_new(0);
	event = event_new();
	gate = event_new();
	last = event_new();
	k = kernel_new("square");
	need(take_shared((void **)&on, N * sizeof *on), "zeMemAllocShared");
	need(ze.zeMemAllocHost(context, &on_host, N * sizeof *out, 0, (void **)&out), "zeMemAllocHost");
	need(ze.zeFenceCreate(q, &desc, &fence), "zeFenceCreate");
	need(ze.zeKernelSetGroupSize(k, N, 1, 1), "zeKernelSetGroupSize");
	need(ze.zeKernelSetArgumentValue(k, 0, sizeof on, &on), "zeKernelSetArgumentValue");
	need(ze.zeCommandListAppendMemoryFill(fill, on, &five, sizeof five, N * sizeof *on, NULL, 0, NULL), "fill");
	need(ze.zeCommandListClose(fill), "zeCommandListClose");
	need(ze.zeCommandListAppendMemoryCopy(list, out, on, N * sizeof *out, event, 0, NULL), "copy");
	need(ze.zeCommandListClose(list), "zeCommandListClose");
	for (int round = 0; round < 20 && good; round++) {
		need(ze.zeEventHostReset(event), "zeEventHostReset");
		need(ze.zeEventHostReset(last), "zeEventHostReset");
		need(ze.zeFenceReset(fence), "zeFenceReset");
		need(ze.zeCommandQueueExecuteCommandLists(q, 1, &fill, NULL), "execute");
		need(ze.zeCommandQueueExecuteCommandLists(q, 1, &list, fence), "execute");
		need(ze.zeFenceHostSynchronize(fence, FOREVER), "zeFenceHostSynchronize");
		good &= added(out, N) == 5 * N && ze.zeEventQueryStatus(event) == ZE_RESULT_SUCCESS;
		/* an immediate list that waits for an event of the host's, behind which a kernel stands */
		need(ze.zeEventHostReset(gate), "zeEventHostReset");
		need(ze.zeCommandListAppendLaunchKernel(now_list, k, &one_group, NULL, 1, &gate), "kernel");
		need(ze.zeCommandListAppendMemoryCopy(now_list, out, on, N * sizeof *out, last, 0, NULL), "copy");
		usleep(1000);
		good &= ze.zeEventQueryStatus(last) == ZE_RESULT_NOT_READY;
		need(ze.zeEventHostSignal(gate), "zeEventHostSignal");
		need(ze.zeEventHostSynchronize(last, FOREVER), "zeEventHostSynchronize");
		good &= added(out, N) == 5559680; /* of 0 to 255, squared */
		need(ze.zeEventQueryKernelTimestamp(last, &stamp), "zeEventQueryKernelTimestamp");
		good &= stamp.global.kernelEnd >= stamp.global.kernelStart;
		need(ze.zeCommandQueueExecuteCommandLists(copies, 1, &fill, NULL), "execute");
		need(ze.zeCommandQueueSynchronize(copies, FOREVER), "zeCommandQueueSynchronize");
		good &= added(on, N) == 5 * N;
	}
	ok(good, "20 rounds of fills, copies, kernels, events and fences give what they should");
	twice[0] = fill;
	twice[1] = list;
	if (ze.zeCommandListImmediateAppendCommandListsExp) {
		need(ze.zeEventHostReset(event), "zeEventHostReset");
		need(ze.zeCommandListImmediateAppendCommandListsExp(now_list, 2, twice, NULL, 0, NULL),
		     "lists in a list");
		need(ze.zeEventHostSynchronize(event, FOREVER), "zeEventHostSynchronize");
		ok(added(out, N) == 5 * N, "lists that an immediate list takes");
	}
	need(ze.zeCommandListDestroy(now_list), "zeCommandListDestroy");
	need(ze.zeCommandQueueDestroy(q), "zeCommandQueueDestroy");
	for (int i = 0; i < 50; i++) { /* queues that come and go, whose handles come again */
		q = queue_new(0, i % 3);
		need(ze.zeCommandQueueExecuteCommandLists(q, 1, &fill, NULL), "execute");
		need(ze.zeCommandQueueSynchronize(q, FOREVER), "zeCommandQueueSynchronize");
		need(ze.zeCommandQueueDestroy(q), "zeCommandQueueDestroy");
	}
	ok(added(on, N) == 5 * N, "queues that come and go");
	return done();
}

/* As many as end in the time; WAY: queue, immediate, or many kernels before each wait. */
int spin(double seconds, const char *way)
{
	bool immediate = !strcmp(way, "immediate");
	unsigned int each = !strcmp(way, "many") ? 8 : 1, count = 0;
	ze_command_queue_handle_t q = NULL;
	ze_command_list_handle_t list;
	ze_kernel_handle_t k;
	double end;

	need(begin(), "zeInit");
	k = kernel_new("spin_a");
	list = immediate ? immediate_new(0) : list_new();
	if (!immediate) {
		q = queue_new(0, 0);
		need(ze.zeCommandListAppendLaunchKernel(list, k, &one_group, NULL, 0, NULL), "kernel");
		need(ze.zeCommandListClose(list), "zeCommandListClose");
	}
	puts("begins");
	fflush(stdout);
	for (end = now() + seconds; now() < end;) {
		for (unsigned int i = 0; i < each; i++, count++)
			need(immediate ? ze.zeCommandListAppendLaunchKernel(list, k, &one_group, NULL, 0, NULL)
				       : ze.zeCommandQueueExecuteCommandLists(q, 1, &list, NULL),
			     "launch");
		/* Loaders before API 1.6 have no wait for an immediate list. */
		if (immediate && count % 16 == 0) {
			ze_event_handle_t e = event_new();

			need(ze.zeCommandListAppendSignalEvent(list, e), "zeCommandListAppendSignalEvent");
			need(ze.zeEventHostSynchronize(e, FOREVER), "zeEventHostSynchronize");
			need(ze.zeEventDestroy(e), "zeEventDestroy");
		} else if (!immediate) {
			need(ze.zeCommandQueueSynchronize(q, FOREVER), "zeCommandQueueSynchronize");
		}
	}
	printf("%u\n", count);
	return 0;
}

#define STORMERS 4

static double storm_end;
static _Atomic unsigned int storms;

/* All that a context can have, made, used and destroyed; `turn` says how. */
static void storm_once(unsigned int turn, ze_kernel_handle_t k)
{
	static const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	const ze_memory_free_ext_desc_t defer = { .stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, .freePolicy = 2 };
	const ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
						.ordinal = turn % 5 == 4,
						.mode = turn % 3 };
	const ze_command_queue_desc_t at_once = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = turn % 2 };
	const ze_command_list_desc_t listed = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_command_list_handle_t list = NULL, now_list = NULL;
	ze_command_queue_handle_t q = NULL;
	ze_context_handle_t c = NULL;
	void *p = NULL, *other = NULL;
	uint8_t byte = 1;

	need(ze.zeContextCreate(driver, &desc, &c), "zeContextCreate");
	need(ze.zeCommandQueueCreate(c, device, &queue, &q), "zeCommandQueueCreate");
	need(ze.zeCommandListCreate(c, device, &listed, &list), "zeCommandListCreate");
	need(ze.zeCommandListCreateImmediate(c, device, &at_once, &now_list), "zeCommandListCreateImmediate");
	need(ze.zeMemAllocDevice(c, &on_device, 4096 * (1 + turn % 9), 0, device, &p), "zeMemAllocDevice");
	need(ze.zeMemAllocShared(c, &on_device, &on_host, 8192, 0, device, &other), "zeMemAllocShared");
	if (!queue.ordinal)
		need(ze.zeCommandListAppendLaunchKernel(list, k, &one_group, NULL, 0, NULL), "kernel");
	need(ze.zeCommandListAppendMemoryFill(list, p, &byte, 1, 4096, NULL, 0, NULL), "fill");
	need(ze.zeCommandListClose(list), "zeCommandListClose");
	for (unsigned int i = 0; i < 1 + turn % 4; i++) {
		need(ze.zeCommandQueueExecuteCommandLists(q, 1, &list, NULL), "execute");
		need(ze.zeCommandListAppendLaunchKernel(now_list, k, &one_group, NULL, 0, NULL), "kernel");
		need(ze.zeCommandListAppendMemoryCopy(now_list, other, p, 4096, NULL, 0, NULL), "copy");
	}
	need(ze.zeCommandQueueSynchronize(q, FOREVER), "zeCommandQueueSynchronize");
	need(ze.zeMemFreeExt(c, &defer, p), "zeMemFreeExt");
	need(ze.zeCommandListDestroy(now_list), "zeCommandListDestroy");
	need(ze.zeCommandListDestroy(list), "zeCommandListDestroy");
	need(ze.zeCommandQueueDestroy(q), "zeCommandQueueDestroy");
	need(ze.zeMemFree(c, other), "zeMemFree");
	need(ze.zeContextDestroy(c), "zeContextDestroy");
	atomic_fetch_add(&storms, 1);
}

static void *stormer(void *kernel)
{
	for (unsigned int turn = 0; now() < storm_end; turn++)
		storm_once(turn, kernel);
	return NULL;
}

int storm(double seconds, uint64_t bytes)
{
	pthread_t thread[STORMERS];
	void *q = NULL;

	need(begin(), "zeInit");
	storm_end = now() + seconds;
	for (int i = 0; i < STORMERS; i++)
		if (pthread_create(&thread[i], NULL, stormer, kernel_new("spin_a")))
			return 2;
	for (int i = 0; i < STORMERS; i++)
		pthread_join(thread[i], NULL);
	ok(storms > 20, "%u contexts came and went", storms);
	for (int i = 0; i < 500 && room() != bytes; i++)
		usleep(2000);
	ok(room() == bytes, "and all of the memory is back: %llu", (unsigned long long)room());
	ok(take_device(&q, bytes) == ZE_RESULT_SUCCESS, "and can be had");
	return done();
}
