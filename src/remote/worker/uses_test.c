/*
 * uses_test.c: an object is ended while another thread of the client is in the driver with it. The driver here keeps
 * threads inside a call until the test lets them go, and notes an end that comes meanwhile.
 */
#include "base/tap.h"
#include "cuda_remote.h"
#include "remote/worker/execute.h"
#include "remote/worker/session.h"
#include "ring/wall.h"

#include <pthread.h>
#include <time.h>

#define CONTEXT CALL_ID(KIND_CONTEXT, 1, 1)
#define STREAM CALL_ID(KIND_STREAM, 1, 2)
#define EVENT CALL_ID(KIND_EVENT, 1, 3)
#define EVENT_NEXT CALL_ID(KIND_EVENT, 2, 3)
#define HANDLE(id) ((void *)(uintptr_t)((id)&0xffff))
#define PRIMARY ((CUcontext)(uintptr_t)0x1000)
#define OTHER_PRIMARY ((CUcontext)(uintptr_t)0x2000) /* of device 1 */

static struct wall wall;
static struct worker worker;

/* ---- the driver ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int inside, ended, ended_beside, retained, resets, in_reset, released;
static bool hold_calls, hold_resets;

static CUresult stay(void)
{
	pthread_mutex_lock(&lock);
	inside++;
	pthread_cond_broadcast(&changed);
	while (hold_calls)
		pthread_cond_wait(&changed, &lock);
	inside--;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static CUresult end(void)
{
	pthread_mutex_lock(&lock);
	ended++;
	ended_beside += inside;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static CUresult stream_call(CUstream s)
{
	return stay();
}

static CUresult event_call(CUevent e)
{
	return stay();
}

static CUresult stream_end(CUstream s)
{
	return end();
}

static CUresult event_end(CUevent e)
{
	return end();
}

static CUresult context_end(CUcontext c)
{
	return end();
}

static CUresult release(CUmemGenericAllocationHandle h)
{
	released++;
	return CUDA_SUCCESS;
}

static CUresult retain_handle(CUmemGenericAllocationHandle *ret, void *address)
{
	*ret = (CUmemGenericAllocationHandle)(uintptr_t)HANDLE(9);
	return CUDA_SUCCESS;
}

static CUresult set_current(CUcontext c)
{
	return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *ret)
{
	*ret = NULL;
	return CUDA_SUCCESS;
}

static CUresult pop_current(CUcontext *ret)
{
	return CUDA_SUCCESS;
}

static CUresult retain(CUcontext *ret, CUdevice device)
{
	*ret = device ? OTHER_PRIMARY : PRIMARY;
	pthread_mutex_lock(&lock);
	retained += !device;
	ended_beside += !device && in_reset;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static CUresult reset(CUdevice device)
{
	pthread_mutex_lock(&lock);
	resets++;
	ended_beside += inside;
	in_reset++;
	pthread_cond_broadcast(&changed);
	while (hold_resets)
		pthread_cond_wait(&changed, &lock);
	in_reset--;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static const struct cuda_table driver = { .cuStreamSynchronize = stream_call,
					  .cuStreamQuery = stream_call,
					  .cuEventSynchronize = event_call,
					  .cuStreamDestroy_v2 = stream_end,
					  .cuEventDestroy_v2 = event_end,
					  .cuCtxDestroy_v2 = context_end,
					  .cuMemRelease = release,
					  .cuMemRetainAllocationHandle = retain_handle,
					  .cuCtxSetCurrent = set_current,
					  .cuCtxPushCurrent_v2 = set_current,
					  .cuCtxGetCurrent = get_current,
					  .cuCtxPopCurrent_v2 = pop_current,
					  .cuDevicePrimaryCtxRetain = retain,
					  .cuDevicePrimaryCtxReset_v2 = reset };

static void let(bool *what)
{
	pthread_mutex_lock(&lock);
	*what = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void until(const int *what, int value)
{
	pthread_mutex_lock(&lock);
	while (*what != value)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* Until somebody waits for those who use an object. */
static void until_awaited(void)
{
	while (!atomic_load(&worker.ids.ends))
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

/* ---- requests ---- */

struct asked {
	pthread_t thread;
	enum cuda_call call;
	uint64_t context, argument, second;
	bool waits, two; /* with a second argument */
	int result;
};

static void *ask(void *arg)
{
	struct {
		struct call_request head;
		uint64_t argument[2];
	} message = { { 0 }, { 0 } };
	struct asked *a = arg;
	size_t size = sizeof(message) - (a->two ? 0 : sizeof(message.argument[1]));
	struct execute_room room;
	bool yielded;

	message.head = (struct call_request){ .size = (uint32_t)size,
					      .call = (uint16_t)a->call,
					      .flags = a->waits ? CALL_WAITS : 0,
					      .ticket = a->waits,
					      .thread = 1,
					      .context = a->context };
	message.argument[0] = a->argument;
	message.argument[1] = a->second;
	a->result = execute_room_init(&room, &worker.rooms, 4096);
	ids_reader_init(&worker.ids, &room.reader);
	memcpy(room.request, &message, sizeof(message));
	if (!a->result)
		a->result = execute(&worker, &room, size, &yielded);
	ids_reader_deinit(&worker.ids, &room.reader);
	execute_room_deinit(&room);
	return NULL;
}

static struct asked request(enum cuda_call call, uint64_t context, uint64_t argument, bool waits)
{
	return (struct asked){ .call = call, .context = context, .argument = argument, .waits = waits };
}

/* By another thread. */
static void begin(struct asked *a)
{
	pthread_create(&a->thread, NULL, ask, a);
}

static void join(struct asked *a)
{
	pthread_join(a->thread, NULL);
	is(a->result, 0);
}

static void start(void)
{
	ended = ended_beside = retained = resets = 0;
	hold_calls = true;
	is(ids_add(&worker.ids, KIND_CONTEXT, CONTEXT, HANDLE(CONTEXT), 0), 0);
	is(ids_add(&worker.ids, KIND_STREAM, STREAM, HANDLE(STREAM), CONTEXT), 0);
	is(ids_add(&worker.ids, KIND_EVENT, EVENT, HANDLE(EVENT), CONTEXT), 0);
}

static void over(void)
{
	ids_remove(&worker.ids, CONTEXT);
	is(ended_beside, 0);
	is(atomic_load(&worker.ids.ends), 0);
	is(worker.ids.count, 0);
	is(atomic_load(&worker.section) % 2, 0);
}

/* Nobody waits for the end of an event: it comes after the wait, and its place is free at once. */
static void test_later(void)
{
	struct asked wait = request(CUDA_CALL_cuEventSynchronize, CONTEXT, EVENT, true);
	struct asked ends = request(CUDA_CALL_cuEventDestroy_v2, CONTEXT, EVENT, false);
	struct asked again = request(CUDA_CALL_cuEventDestroy_v2, CONTEXT, EVENT_NEXT, false);

	start();
	begin(&wait);
	until(&inside, 1);
	ask(&ends);
	is(ends.result, 0);
	is(ended, 0);
	ok(!ids_find(&worker.ids, KIND_EVENT, EVENT));
	is(ids_add(&worker.ids, KIND_EVENT, EVENT_NEXT, HANDLE(9), CONTEXT), 0);
	let(&hold_calls);
	join(&wait);
	is(ended, 1);
	ask(&again);
	is(ended, 2);
	over();
}

/* Whoever waits for an end waits for the others as well. */
static void test_waits(enum cuda_call call, uint64_t argument)
{
	struct asked wait = request(CUDA_CALL_cuStreamSynchronize, CONTEXT, STREAM, true);
	struct asked other = request(CUDA_CALL_cuEventSynchronize, CONTEXT, EVENT, true);
	struct asked ends = request(call, CONTEXT, argument, true);

	start();
	begin(&wait);
	begin(&other);
	until(&inside, 2);
	begin(&ends);
	until_awaited();
	/* It is found by nobody from now on. */
	ok(!ids_find(&worker.ids, KIND_STREAM, STREAM));
	is(ended, 0);
	let(&hold_calls);
	join(&wait);
	join(&other);
	join(&ends);
	is(ended, 1);
	if (argument != CONTEXT)
		ended_beside = 0; /* the other one's event is none of its business */
	over();
}

/* Each of two threads ends the context that the other one has current. */
static void test_crosswise(void)
{
	uint64_t second = CALL_ID(KIND_CONTEXT, 1, 5);
	struct asked one = request(CUDA_CALL_cuCtxDestroy_v2, second, CONTEXT, true);
	struct asked two = request(CUDA_CALL_cuCtxDestroy_v2, CONTEXT, second, true);

	start();
	is(ids_add(&worker.ids, KIND_CONTEXT, second, HANDLE(second), 0), 0);
	begin(&one);
	begin(&two);
	pthread_join(one.thread, NULL);
	pthread_join(two.thread, NULL);
	ok(ended >= 1);
	ids_remove(&worker.ids, second);
	over();
}

/* The executor is in the driver with something of a primary context, which another thread releases. */
static void test_primary(void)
{
	struct asked retains = request(CUDA_CALL_cuDevicePrimaryCtxRetain, 0, 0, true), again = retains, last;
	struct asked ends = request(CUDA_CALL_cuDevicePrimaryCtxRelease_v2, 0, 0, true), query, late, other;
	uint64_t id;
	bool is_new;

	start();
	ask(&retains);
	is(retains.result, 0);
	id = ids_name(&worker.ids, KIND_CONTEXT, PRIMARY, 0, &is_new);
	ok(!is_new);
	is(ids_add(&worker.ids, KIND_STREAM, CALL_ID(KIND_STREAM, 1, 7), HANDLE(7), id), 0);
	query = late = request(CUDA_CALL_cuStreamQuery, id, CALL_ID(KIND_STREAM, 1, 7), true);
	hold_resets = true;
	begin(&query);
	until(&inside, 1);
	begin(&ends);
	/* It waits for the executor: what is looked up afterwards is not there. */
	while (ids_find(&worker.ids, KIND_CONTEXT, id))
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	is(resets, 0);
	let(&hold_calls);
	join(&query);
	until(&in_reset, 1);
	hold_calls = true;
	ask(&late); /* would stay in the driver */
	is(late.result, 0);
	/* Another device's has nothing to do with it. */
	other = request(CUDA_CALL_cuDevicePrimaryCtxRetain, 0, 1, true);
	ask(&other);
	ids_remove(&worker.ids, ids_name(&worker.ids, KIND_CONTEXT, OTHER_PRIMARY, 0, &is_new));
	ok(!is_new);
	begin(&again);
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	let(&hold_resets);
	join(&ends);
	join(&again);
	is(resets, 1);
	is(retained, 3);
	ok(ids_name(&worker.ids, KIND_CONTEXT, PRIMARY, 0, &is_new) != id && !is_new);
	last = request(CUDA_CALL_cuDevicePrimaryCtxReset_v2, 0, 0, true);
	ask(&last);
	hold_calls = false;
	over();
}

/* A client that never says that it gives up its last reference gives up no more than it has. */
static void test_references(void)
{
	struct asked gives = request(CUDA_CALL_cuMemRelease, 0, CALL_ID(KIND_MEMORY_HANDLE, 1, 9), true);

	start();
	gives.two = true;
	is(ids_add(&worker.ids, KIND_MEMORY_HANDLE, gives.argument, HANDLE(9), 0), 0);
	ask(&gives);
	ask(&gives);
	is(gives.result, 0);
	is(released, 1);
	hold_calls = false;
	over();
}

/* What says that it is the last one gives up all, and the id is free: the client uses it again. */
static void test_last_reference(void)
{
	struct asked gives = request(CUDA_CALL_cuMemRelease, 0, CALL_ID(KIND_MEMORY_HANDLE, 1, 9), true),
		     retains = request(CUDA_CALL_cuMemRetainAllocationHandle, 0, 0x4000, true);

	start();
	released = 0;
	gives.two = true;
	gives.second = 1;
	is(ids_add(&worker.ids, KIND_MEMORY_HANDLE, gives.argument, HANDLE(9), 0), 0);
	is(ranges_add(&worker.ranges, retains.argument, 4096, 0), 0);
	ask(&retains);
	ask(&retains);
	ask(&gives);
	is(gives.result, 0);
	is(released, 3);
	is(ids_add(&worker.ids, KIND_MEMORY_HANDLE, CALL_ID(KIND_MEMORY_HANDLE, 2, 9), HANDLE(9), 0), 0);
	ids_remove(&worker.ids, CALL_ID(KIND_MEMORY_HANDLE, 2, 9));
	hold_calls = false;
	over();
}

int main(void)
{
	struct wall_shape shape = { .heap_bytes = 1 << 20 };

	tap_begin();
	is(wall_make(&wall, &shape), 0);
	wall.welcome.flags |= WALL_COHERENT;
	is(session_init(&worker, &driver, &wall), 0);
	test_later();
	test_waits(CUDA_CALL_cuStreamDestroy_v2, STREAM);
	test_waits(CUDA_CALL_cuCtxDestroy_v2, CONTEXT);
	test_crosswise();
	test_primary();
	test_references();
	test_last_reference();
	session_deinit(&worker);
	wall_close(&wall);
	return tap_end();
}
