/* work.c: see work.h. */
#include "softdev/work.h"

#include "base/clock.h"
#include "softdev/duration.h"
#include "softdev/event.h"
#include "softdev/graph.h"
#include "softdev/launch.h"
#include "softdev/share.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A word may be one that other streams wait for: it is written whole, behind all that was written before. */
static void move_bytes(char *target, const char *source, size_t bytes)
{
	uint64_t wide;
	uint32_t word;

	if (bytes == sizeof(word) && (uintptr_t)target % sizeof(word) == 0) {
		memcpy(&word, source, sizeof(word));
		__atomic_store_n((uint32_t *)target, word, __ATOMIC_RELEASE);
	} else if (bytes == sizeof(wide) && (uintptr_t)target % sizeof(wide) == 0) {
		memcpy(&wide, source, sizeof(wide));
		__atomic_store_n((uint64_t *)target, wide, __ATOMIC_RELEASE);
	} else {
		memmove(target, source, bytes);
	}
}

static void copy_run(const struct work_copy *c)
{
	for (size_t z = 0; z < c->depth; z++) {
		const char *source = c->source + z * c->source_slice;
		char *target = c->target + z * c->target_slice;

		if (c->source_pitch == c->width && c->target_pitch == c->width) {
			move_bytes(target, source, c->width * c->height);
			continue;
		}
		for (size_t y = 0; y < c->height; y++)
			memmove(target + y * c->target_pitch, source + y * c->source_pitch, c->width);
	}
}

static void fill_run(const struct work_fill *f)
{
	for (size_t y = 0; y < f->height; y++) {
		char *row = f->target + y * f->pitch;

		if (f->element == 1) {
			memset(row, (int)(f->value & 0xff), f->width);
		} else if (f->element == 2) {
			for (size_t x = 0; x < f->width; x++)
				((uint16_t *)row)[x] = (uint16_t)f->value;
		} else {
			for (size_t x = 0; x < f->width; x++)
				((uint32_t *)row)[x] = f->value;
		}
	}
}

static bool value_there(uint64_t now, uint64_t wanted, unsigned flags, bool wide)
{
	switch (flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ:
		return wide ? (int64_t)(now - wanted) >= 0 : (int32_t)((uint32_t)now - (uint32_t)wanted) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return now == wanted;
	case CU_STREAM_WAIT_VALUE_AND:
		return now & wanted;
	default:
		return wide ? ~(now | wanted) != 0 : (uint32_t) ~(now | wanted) != 0;
	}
}

static bool value_wait_over(const CUstreamBatchMemOpParams *op)
{
	bool wide = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
	uint64_t wanted = wide ? op->waitValue.value64 : op->waitValue.value;
	void *at = (void *)(uintptr_t)op->waitValue.address;
	uint64_t now = wide ? __atomic_load_n((uint64_t *)at, __ATOMIC_ACQUIRE)
			    : __atomic_load_n((uint32_t *)at, __ATOMIC_ACQUIRE);

	return value_there(now, wanted, op->waitValue.flags, wide);
}

/* Waits until the value is there, or the context has faulted and nobody will write it. */
static void value_wait(const CUstreamBatchMemOpParams *op, struct context *c)
{
	for (unsigned spins = 0; !context_sticky(c) && !driver.ending; spins++) {
		if (value_wait_over(op))
			return;
		if (spins < 100)
			sched_yield();
		else
			nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
	}
}

static void value_run(const CUstreamBatchMemOpParams *op, struct context *c)
{
	switch (op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		value_wait(op, c);
		break;
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		pthread_rwlock_rdlock(&share_lock);
		__atomic_store_n((uint32_t *)(uintptr_t)op->writeValue.address, op->writeValue.value, __ATOMIC_RELEASE);
		pthread_rwlock_unlock(&share_lock);
		break;
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		pthread_rwlock_rdlock(&share_lock);
		__atomic_store_n((uint64_t *)(uintptr_t)op->writeValue.address, op->writeValue.value64,
				 __ATOMIC_RELEASE);
		pthread_rwlock_unlock(&share_lock);
		break;
	default:
		break; /* barriers: work of a stream runs in order on one thread, handed over through a lock */
	}
}

bool work_values_try(const struct work *w, uint32_t *at)
{
	for (; *at < w->values.count && !context_sticky(w->context) && !driver.ending; ++*at) {
		const CUstreamBatchMemOpParams *op = &w->values.op[*at];
		bool waits = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
			     op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;

		if (waits && !value_wait_over(op))
			return false;
		if (!waits)
			value_run(op, w->context);
	}
	return true;
}

static void host_run(const struct work *w)
{
	bool before = driver_in_callback;

	driver_in_callback = true;
	if (w->kind == WORK_HOST)
		w->host.f(w->host.data);
	else
		w->callback.f(w->callback.stream, context_sticky(w->context), w->callback.data);
	driver_in_callback = before;
}

void work_kernel_run(struct work *w, struct pace_kernel *k, struct pace_kernel *after)
{
	bool ended = true;

	*k = (struct pace_kernel){ 0 };
	if (after && after->device != w->context->device->index)
		pace_wait_end(after);
	if (!context_sticky(w->context)) {
		pthread_rwlock_rdlock(&share_lock);
		ended = launch_run(w, k, after);
		pthread_rwlock_unlock(&share_lock);
	}
	if (ended && !k->end_ns)
		k->end_ns = clock_now_ns();
}

/* Also waits for its end. */
static void kernel_run(struct work *w)
{
	struct pace_kernel k;

	work_kernel_run(w, &k, NULL);
	pace_wait_end(&k);
}

void work_record(struct work *w, uint64_t at_ns)
{
	event_reached(w->record.event, w->record.event_generation, w->record.version, at_ns);
	if (w->record.shared)
		shared_event_reached(w->record.shared, w->record.shared_version);
}

/* ---- copies ---- */

#define COPY_PIECE_NS 1000000u /* engines go to and fro between processes after so much */

static bool on_host(const void *address)
{
	struct range *r;
	bool yes;

	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked((uint64_t)(uintptr_t)address);
	yes = !r || r->kind == RANGE_HOST || r->kind == RANGE_REGISTERED;
	pthread_mutex_unlock(&memory_mutex);
	return yes;
}

/* Waits until the engine of its direction has done it. Value: when it had; 0: no engine's matter, or not modelled. */
static uint64_t copy_wait(const struct work_copy *c, uint32_t device, uint64_t began_ns)
{
	uint64_t left = duration_copy((uint64_t)c->width * c->height * c->depth), at = began_ns;
	bool from_host, to_host;

	if (!left)
		return 0;
	from_host = on_host(c->source);
	to_host = on_host(c->target);
	if (from_host == to_host)
		return 0;
	while (left && !driver.ending) {
		uint64_t piece = left < COPY_PIECE_NS ? left : COPY_PIECE_NS;

		at = pace_copy(device, from_host, at, piece);
		left -= piece;
		pace_sleep(at);
	}
	return at;
}

static uint64_t memory_run(struct work *w)
{
	uint64_t began = duration_copy(1 << 20) ? clock_now_ns() : 0;

	pthread_rwlock_rdlock(&share_lock);
	if (w->kind == WORK_COPY)
		copy_run(&w->copy);
	else
		fill_run(&w->fill);
	pthread_rwlock_unlock(&share_lock);
	return w->kind == WORK_COPY ? copy_wait(&w->copy, w->context->device->index, began) : 0;
}

uint64_t work_run(struct work *w, struct stream *s)
{
	if (w->kind == WORK_RECORD) {
		work_record(w, clock_now_ns());
		return 0;
	}
	if (w->kind == WORK_CALLBACK) {
		host_run(w);
		return 0;
	}
	if (context_sticky(w->context))
		return 0; /* a fault ends everything that was queued in the context */
	switch (w->kind) {
	case WORK_COPY:
	case WORK_FILL:
		return memory_run(w);
	case WORK_KERNEL:
		kernel_run(w);
		break;
	case WORK_AWAIT:
		shared_record_wait(w->await.shared, w->await.record, &w->context->sticky);
		break;
	case WORK_HOST:
		host_run(w);
		break;
	case WORK_VALUES: /* each waits for share_lock by itself: a wait may be long */
		for (uint32_t i = 0; i < w->values.count; i++)
			value_run(&w->values.op[i], w->context);
		break;
	case WORK_GRAPH:
		graph_launch_run(w->graph.launch, s, NULL);
		break;
	default:
		break;
	}
	return 0;
}

void work_deinit(struct work *w)
{
	if (w->kind == WORK_KERNEL)
		free(w->kernel.params);
	else if (w->kind == WORK_COPY)
		free(w->copy.staged);
	else if (w->kind == WORK_RECORD)
		shared_event_unref(w->record.shared);
	else if (w->kind == WORK_AWAIT)
		shared_event_unref(w->await.shared);
	else if (w->kind == WORK_VALUES)
		free(w->values.op);
	else if (w->kind == WORK_GRAPH)
		graph_launch_done(w->graph.launch);
	w->kind = WORK_EMPTY;
}

bool work_clone(const struct work *w, struct work *ret)
{
	struct work copy = *w;

	if (w->kind == WORK_KERNEL && w->kernel.params) {
		copy.kernel.params = malloc(w->kernel.param_bytes + 1);
		if (!copy.kernel.params)
			return false;
		memcpy(copy.kernel.params, w->kernel.params, w->kernel.param_bytes);
	} else if (w->kind == WORK_VALUES) {
		copy.values.op = calloc(w->values.count, sizeof(*w->values.op));
		if (!copy.values.op)
			return false;
		memcpy(copy.values.op, w->values.op, w->values.count * sizeof(*w->values.op));
	} else if (w->kind == WORK_AWAIT) {
		shared_event_ref(copy.await.shared);
	}
	*ret = copy;
	return true;
}
