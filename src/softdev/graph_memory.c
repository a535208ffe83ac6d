/*
 * graph_memory.c: memory of graph nodes. See graph.h.
 *
 * A launch reserves the sum of its graph's pieces. Where the device has not enough, what idle graphs have reserved is
 * given back first.
 */
#include "softdev/graph.h"

#include <stdlib.h>

static pthread_mutex_t graph_memory_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct graph_memory *all;
static struct {
	uint64_t reserved, reserved_high, used, used_high;
} account[SEGMENT_MAX_DEVICES]; /* by ordinal; graph_memory_mutex guards both */

static uint64_t memory_units(const struct graph_memory *m)
{
	return m->bytes / SEGMENT_UNIT_BYTES + !!(m->bytes % SEGMENT_UNIT_BYTES);
}

static uint64_t memory_bytes(const struct graph_memory *m)
{
	return memory_units(m) * SEGMENT_UNIT_BYTES;
}

/* What the program may touch. */
static void memory_show(struct graph_memory *m, bool shown)
{
	pthread_mutex_lock(&memory_mutex);
	m->range->released = !shown;
	pthread_mutex_unlock(&memory_mutex);
}

static void unreserve_locked(struct graph_memory *m)
{
	if (!m->reserved)
		return;
	m->reserved = false;
	range_discard(m->range);
	account[m->device->ordinal].reserved -= memory_bytes(m);
	segment_refund(&driver.place, m->device->index, memory_units(m));
}

CUresult graph_memory_new(struct device *d, size_t bytes, struct graph_memory **ret)
{
	struct graph_memory *m = calloc(1, sizeof(*m));

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (range_new_uncharged(d, NULL, RANGE_GRAPH, bytes, &m->range)) {
		free(m);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m->device = d;
	m->bytes = bytes;
	m->references = 1;
	memory_show(m, false);
	pthread_mutex_lock(&graph_memory_mutex);
	m->next = all;
	all = m;
	pthread_mutex_unlock(&graph_memory_mutex);
	*ret = m;
	return CUDA_SUCCESS;
}

struct graph_memory *graph_memory_ref(struct graph_memory *m)
{
	if (!m)
		return NULL;
	pthread_mutex_lock(&graph_memory_mutex);
	m->references++;
	pthread_mutex_unlock(&graph_memory_mutex);
	return m;
}

/* Nobody names it and it is not allocated: it goes. */
static bool memory_end_locked(struct graph_memory *m)
{
	if (m->references || m->used || m->running)
		return false;
	for (struct graph_memory **at = &all; *at; at = &(*at)->next)
		if (*at == m) {
			*at = m->next;
			break;
		}
	unreserve_locked(m);
	return true;
}

static void memory_free(struct graph_memory *m)
{
	range_free(m->range);
	free(m);
}

void graph_memory_unref(struct graph_memory *m)
{
	bool end;

	if (!m)
		return;
	pthread_mutex_lock(&graph_memory_mutex);
	m->references--;
	end = memory_end_locked(m);
	pthread_mutex_unlock(&graph_memory_mutex);
	if (end)
		memory_free(m);
}

struct graph_memory *graph_memory_find(CUdeviceptr address)
{
	struct graph_memory *m;

	pthread_mutex_lock(&graph_memory_mutex);
	for (m = all; m && m->range->begin != address; m = m->next)
		;
	pthread_mutex_unlock(&graph_memory_mutex);
	return m;
}

static void use_locked(struct graph_memory *m)
{
	uint64_t *used = &account[m->device->ordinal].used;

	if (m->used)
		return;
	m->used = true;
	*used += memory_bytes(m);
	if (*used > account[m->device->ordinal].used_high)
		account[m->device->ordinal].used_high = *used;
	memory_show(m, true);
}

/* What is queued may still touch it. */
static void unuse_locked(struct graph_memory *m)
{
	if (!m->used)
		return;
	m->used = false;
	account[m->device->ordinal].used -= memory_bytes(m);
	if (!m->running)
		memory_show(m, false);
}

static bool reserve_locked(struct graph_memory *m)
{
	uint64_t *reserved = &account[m->device->ordinal].reserved;

	if (segment_charge(&driver.place, m->device->index, memory_units(m)))
		return false;
	m->reserved = true;
	*reserved += memory_bytes(m);
	if (*reserved > account[m->device->ordinal].reserved_high)
		account[m->device->ordinal].reserved_high = *reserved;
	return true;
}

/* Whether the order of allocations and frees makes sense from where things stand. */
static CUresult uses_check_locked(const struct memory_use *use, size_t count, bool again)
{
	CUresult e = CUDA_SUCCESS;

	for (size_t i = 0; i < count; i++)
		use[i].memory->mark = use[i].memory->used;
	for (size_t i = 0; again && i < count; i++)
		if (use[i].allocates)
			use[i].memory->mark = false;
	for (size_t i = 0; i < count; i++) {
		if (use[i].memory->mark == use[i].allocates)
			e = CUDA_ERROR_INVALID_VALUE;
		use[i].memory->mark = use[i].allocates;
	}
	return e;
}

static void trim_locked(const struct device *d)
{
	for (struct graph_memory *m = all; m; m = m->next)
		if (m->device == d && !m->used && !m->running)
			unreserve_locked(m);
}

/* All that the launch allocates is reserved, or nothing has changed. */
static CUresult uses_reserve_locked(struct memory_use *use, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct graph_memory *m = use[i].memory;

		if (!use[i].allocates || m->reserved)
			continue;
		if (!reserve_locked(m)) {
			trim_locked(m->device);
			if (!reserve_locked(m))
				return CUDA_ERROR_OUT_OF_MEMORY;
		}
		use[i].fresh = true;
	}
	return CUDA_SUCCESS;
}

static CUresult take_locked(struct memory_use *use, size_t count, bool again)
{
	CUresult e = uses_check_locked(use, count, again);

	if (e)
		return e;
	for (size_t i = 0; i < count; i++)
		use[i].memory->running++;
	e = uses_reserve_locked(use, count);
	for (size_t i = 0; i < count; i++) {
		if (e) {
			use[i].memory->running--;
			if (use[i].fresh)
				unreserve_locked(use[i].memory);
		} else if (use[i].allocates) {
			use_locked(use[i].memory);
		} else {
			unuse_locked(use[i].memory);
		}
		use[i].fresh = false;
	}
	return e;
}

CUresult graph_memory_take(struct memory_use *use, size_t count, bool again)
{
	CUresult e;

	if (!count)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&graph_memory_mutex);
	e = take_locked(use, count, again);
	pthread_mutex_unlock(&graph_memory_mutex);
	return e;
}

void graph_memory_settle(struct memory_use *use, size_t count)
{
	if (!count)
		return;
	pthread_mutex_lock(&graph_memory_mutex);
	for (size_t i = 0; i < count; i++) {
		struct graph_memory *m = use[i].memory;

		if (!--m->running && !m->used)
			memory_show(m, false);
	}
	pthread_mutex_unlock(&graph_memory_mutex);
}

/* The program frees it. */
static CUresult memory_release(struct graph_memory *m)
{
	CUresult e = CUDA_ERROR_INVALID_VALUE;
	bool end = false;

	pthread_mutex_lock(&graph_memory_mutex);
	if (m->used) {
		unuse_locked(m);
		end = memory_end_locked(m);
		e = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&graph_memory_mutex);
	if (end)
		memory_free(m);
	return e;
}

CUresult graph_memory_free(CUdeviceptr address, struct stream *s)
{
	struct graph_memory *m = graph_memory_find(address);
	struct point p;

	if (!m || !m->used)
		return CUDA_ERROR_INVALID_VALUE;
	p = stream_point(s);
	point_wait(&p); /* freed in the order of the stream */
	return memory_release(m);
}

/* ---- calls ---- */

CUresult soft_cuDeviceGraphMemTrim(CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	pthread_mutex_lock(&graph_memory_mutex);
	trim_locked(d);
	pthread_mutex_unlock(&graph_memory_mutex);
	return CUDA_SUCCESS;
}

static uint64_t *account_field_locked(CUdevice ordinal, CUgraphMem_attribute attribute)
{
	switch (attribute) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
		return &account[ordinal].used;
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
		return &account[ordinal].used_high;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
		return &account[ordinal].reserved;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
		return &account[ordinal].reserved_high;
	default:
		return NULL;
	}
}

CUresult soft_cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void *value)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!value || (unsigned)attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_memory_mutex);
	*(cuuint64_t *)value = *account_field_locked(ordinal, attribute);
	pthread_mutex_unlock(&graph_memory_mutex);
	return CUDA_SUCCESS;
}

/* Only the high marks can be set, and only to 0: they start again from what is there. */
CUresult soft_cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void *value)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!value || *(cuuint64_t *)value ||
	    (attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_memory_mutex);
	*account_field_locked(ordinal, attribute) = *account_field_locked(ordinal, attribute - 1);
	pthread_mutex_unlock(&graph_memory_mutex);
	return CUDA_SUCCESS;
}
