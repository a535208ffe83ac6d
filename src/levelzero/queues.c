/* queues.c: see queues.h. */
#include "levelzero/queues.h"
#include "core/map.h"
#include "core/marks.h"
#include "levelzero/devices.h"
#include "levelzero/markers.h"
#include "levelzero/memory.h"

#include <stdlib.h>

#define SHARDS 64u
#define GROUPS_MOST 16u

/* Queues by their handles. */
static struct shard {
	_Alignas(64) pthread_spinlock_t lock;
	struct map map;
} shards[SHARDS];
static pthread_once_t shards_made = PTHREAD_ONCE_INIT;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct home *homes;
static struct queue *spare;

static void make_shards(void)
{
	for (unsigned int i = 0; i < SHARDS; i++)
		pthread_spin_init(&shards[i].lock, PTHREAD_PROCESS_PRIVATE);
}

static struct shard *shard_of(const void *handle)
{
	return &shards[map_hash((uint64_t)(uintptr_t)handle) >> 40 & (SHARDS - 1)];
}

struct queue *queues_find(const void *handle)
{
	struct shard *s = shard_of(handle);
	struct map_entry *e;
	struct queue *q;

	pthread_once(&shards_made, make_shards);
	pthread_spin_lock(&s->lock);
	e = map_find(&s->map, (uint64_t)(uintptr_t)handle);
	q = e ? (struct queue *)(uintptr_t)e->value[0] : NULL;
	pthread_spin_unlock(&s->lock);
	return q;
}

static bool put_in(const void *handle, struct queue *q)
{
	struct map_entry e = { .key = (uint64_t)(uintptr_t)handle, .value = { (uint64_t)(uintptr_t)q } };
	struct shard *s = shard_of(handle);
	bool added;

	pthread_once(&shards_made, make_shards);
	pthread_spin_lock(&s->lock);
	added = map_add(&s->map, &e);
	pthread_spin_unlock(&s->lock);
	return added;
}

static void take_out(const void *handle)
{
	struct shard *s = shard_of(handle);

	pthread_spin_lock(&s->lock);
	map_remove(&s->map, (uint64_t)(uintptr_t)handle, NULL);
	pthread_spin_unlock(&s->lock);
}

/* Homes -------------------------------------------------------------------------------------------------------------
 */

/* A driver of Level Zero 1.0 tells nanoseconds whatever it is asked for; no clock is as slow as that number. */
#define SLOWEST_HZ 100000u

static void describe(struct home *h)
{
	ze_device_properties_t p = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 };

	if (levelzero_real.zeDeviceGetProperties(h->device, &p) != ZE_RESULT_SUCCESS || !p.timerResolution)
		return;
	h->tick_ns = p.timerResolution < SLOWEST_HZ ? (double)p.timerResolution : 1e9 / (double)p.timerResolution;
	h->bits = p.kernelTimestampValidBits && p.kernelTimestampValidBits < 64 ? p.kernelTimestampValidBits : 64;
}

static struct home *find_home_locked(ze_context_handle_t context, ze_device_handle_t device)
{
	struct home *h = homes;

	while (h && (h->context != context || h->device != device))
		h = h->next;
	return h;
}

/* NULL: the device is not granted, or there is no memory. */
static struct home *home_of(ze_context_handle_t context, ze_device_handle_t device)
{
	struct home *h;
	unsigned int index;

	if (!devices_find(device, &index))
		return NULL;
	pthread_mutex_lock(&lock);
	h = find_home_locked(context, device);
	if (!h)
		h = calloc(1, sizeof *h);
	if (h && !h->context) {
		*h = (struct home){ .context = context, .device = device, .index = index, .next = homes };
		pthread_mutex_init(&h->lock, NULL);
		describe(h);
		homes = h;
	}
	pthread_mutex_unlock(&lock);
	return h;
}

/* Takes one home of the context out of the list. NULL: there is none. */
static struct home *take_home(ze_context_handle_t context)
{
	struct home **at = &homes, *h;

	pthread_mutex_lock(&lock);
	while (*at && (*at)->context != context)
		at = &(*at)->next;
	h = *at;
	if (h)
		*at = h->next;
	pthread_mutex_unlock(&lock);
	return h;
}

/* The core waits for nothing of a home any more once it has left; what it still names stays readable. */
ze_result_t face_zeContextDestroy(ze_context_handle_t hContext)
{
	struct home *gone = NULL, *h;
	struct memory_estate estate;
	ze_result_t r;

	if (!start_is_metered())
		return levelzero_real.zeContextDestroy(hContext);
	while ((h = take_home(hContext))) {
		atomic_store(&h->leaves, true);
		marks_context_leaves(h);
		markers_end(h);
		h->next = gone;
		gone = h;
	}
	memory_context_leaves(hContext, &estate);
	r = levelzero_real.zeContextDestroy(hContext);
	memory_context_left(&estate, r == ZE_RESULT_SUCCESS);
	while ((h = gone)) {
		gone = h->next;
		marks_context_left(h, true);
		markers_free(h);
		free(h);
	}
	return r;
}

/* Queues ------------------------------------------------------------------------------------------------------------
 */

/* A group that can copy and nothing else is the copy engine. */
static enum wire_engine engine_of(ze_device_handle_t device, uint32_t ordinal)
{
	ze_command_queue_group_properties_t group[GROUPS_MOST];
	uint32_t count = GROUPS_MOST;

	for (uint32_t i = 0; i < GROUPS_MOST; i++)
		group[i] = (ze_command_queue_group_properties_t){
			.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES
		};
	if (levelzero_real.zeDeviceGetCommandQueueGroupProperties(device, &count, group) == ZE_RESULT_SUCCESS &&
	    ordinal < count && !(group[ordinal].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE))
		return WIRE_COPY;
	return WIRE_COMPUTE;
}

static struct queue *queue_new(void)
{
	struct queue *q;

	pthread_mutex_lock(&lock);
	q = spare;
	if (q)
		spare = q->next;
	pthread_mutex_unlock(&lock);
	if (q)
		return q;
	q = calloc(1, sizeof *q);
	if (q)
		pthread_mutex_init(&q->lock, NULL);
	return q;
}

static void queue_end(struct queue *q)
{
	pthread_mutex_lock(&lock);
	q->next = spare;
	spare = q;
	pthread_mutex_unlock(&lock);
}

/* False: it cannot be metered, and is not to be had. */
static bool know(const void *key, struct queue is, ze_context_handle_t context, const ze_command_queue_desc_t *desc,
		 ze_device_handle_t device)
{
	struct home *h = home_of(context, device);
	struct queue *q = h ? queue_new() : NULL;

	if (!q)
		return false;
	q->home = h;
	q->handle = is.handle;
	q->list = is.list;
	q->ordinal = desc->ordinal;
	q->engine = engine_of(device, desc->ordinal);
	q->waits = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
	if (put_in(key, q))
		return true;
	queue_end(q);
	return false;
}

ze_result_t face_zeCommandQueueCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
				      const ze_command_queue_desc_t *desc, ze_command_queue_handle_t *phCommandQueue)
{
	ze_result_t r = levelzero_real.zeCommandQueueCreate(hContext, hDevice, desc, phCommandQueue);

	if (r != ZE_RESULT_SUCCESS || !start_is_metered() ||
	    know(*phCommandQueue, (struct queue){ .handle = *phCommandQueue }, hContext, desc, hDevice))
		return r;
	levelzero_real.zeCommandQueueDestroy(*phCommandQueue);
	return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t face_zeCommandListCreateImmediate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
					      const ze_command_queue_desc_t *altdesc,
					      ze_command_list_handle_t *phCommandList)
{
	ze_result_t r = levelzero_real.zeCommandListCreateImmediate(hContext, hDevice, altdesc, phCommandList);

	if (r != ZE_RESULT_SUCCESS || !start_is_metered() ||
	    know(*phCommandList, (struct queue){ .list = *phCommandList }, hContext, altdesc, hDevice))
		return r;
	levelzero_real.zeCommandListDestroy(*phCommandList);
	return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

/* From the driver's call on the handle may be another thread's new queue: it is taken out before. */
static struct queue *goes(const void *handle)
{
	struct queue *q = start_is_metered() ? queues_find(handle) : NULL;

	if (q) {
		marks_queue_goes((face_queue)q);
		take_out(handle);
	}
	return q;
}

static ze_result_t gone(const void *handle, struct queue *q, ze_result_t r)
{
	if (q && (r == ZE_RESULT_SUCCESS || !put_in(handle, q)))
		queue_end(q);
	return r;
}

ze_result_t face_zeCommandQueueDestroy(ze_command_queue_handle_t hCommandQueue)
{
	struct queue *q = goes(hCommandQueue);

	return gone(hCommandQueue, q, levelzero_real.zeCommandQueueDestroy(hCommandQueue));
}

ze_result_t face_zeCommandListDestroy(ze_command_list_handle_t hCommandList)
{
	struct queue *q = goes(hCommandList);

	return gone(hCommandList, q, levelzero_real.zeCommandListDestroy(hCommandList));
}

/* What the driver has is not the child's: homes and queues are left to themselves. */
void queues_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	homes = NULL;
	spare = NULL;
	make_shards();
	for (unsigned int i = 0; i < SHARDS; i++)
		map_clear(&shards[i].map);
}
