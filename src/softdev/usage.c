/* usage.c: a device's time and memory for tools: see wire/soft_usage.h. */
#include "softdev/usage.h"

#include "base/clock.h"
#include "softdev/array.h"
#include "softdev/driver.h"
#include "softdev/module.h"
#include "wire/soft_usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_OF(owner) (((uint32_t)(owner) & (2 * SEGMENT_MAX_PROCESSES - 1)) - 1)

static void process_tell(const struct timeline_context *c, struct soft_usage_process *ret)
{
	const struct segment_process *q = &driver.place.segment->process[PLACE_OF(c->owner) % SEGMENT_MAX_PROCESSES];

	*ret = (struct soft_usage_process){ .pid = atomic_load(&q->pid), .served_ns = c->served_ns };
	snprintf(ret->command, sizeof(ret->command), "%.*s", (int)sizeof(ret->command) - 1, q->command);
}

static void usage_tell(const struct timeline *t, struct soft_usage *ret, struct soft_usage_process *process,
		       uint32_t room)
{
	static const char *const name[] = { "slices", "together", "off" };

	*ret = (struct soft_usage){ .at_ns = t->now_ns,
				    .wall_ns = t->now_ns - t->began_ns,
				    .served_ns = t->served_ns,
				    .switch_ns = t->switch_ns,
				    .idle_ns = timeline_idle_ns(t),
				    .slice_ns = t->slice_ns,
				    .switch_cost_ns = t->switch_cost_ns,
				    .sharing = name[t->sharing % 3] };
	for (uint32_t i = 0; i < t->count; i++) {
		if (!t->context[i].owner)
			continue;
		if (ret->process_count < room)
			process_tell(&t->context[i], &process[ret->process_count]);
		ret->process_count++;
	}
}

static int usage(int ordinal, struct soft_usage *ret, struct soft_usage_process *process, uint32_t room)
{
	struct timeline *t;
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return (int)e;
	segment_reap(&driver.place);
	t = malloc(sizeof(*t));
	if (!t || !segment_time_read(driver.place.segment, d->index, t)) {
		free(t);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (t->began_ns)
		timeline_advance(t, clock_now_ns());
	usage_tell(t, ret, process, room);
	free(t);
	return CUDA_SUCCESS;
}

static int held(int ordinal, uint64_t *ret_bytes)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (!e)
		*ret_bytes = segment_held_units(&driver.place, d->index) * SEGMENT_UNIT_BYTES;
	return (int)e;
}

static uint64_t context_bytes(int ordinal)
{
	struct device *d;

	return device_find(ordinal, &d) ? 0 : d->config->context_bytes;
}

const void *usage_table(const CUuuid *id)
{
	static const struct soft_usage_table table = { sizeof(table),	 usage, held, context_bytes, array_need_bytes,
						       module_need_bytes };
	static const char mine[16] = SOFT_USAGE_ID;

	return memcmp(id, mine, sizeof(mine)) ? NULL : &table;
}
