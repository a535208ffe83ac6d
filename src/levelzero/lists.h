/*
 * lists.h: work that is appended to command lists, and lists that are executed.
 *
 * Work that is appended to an immediate list begins at once, and waits for its turn like a launch. Work that is
 * appended to another list is recorded, and the list as a whole waits for its turn when it is executed. In an immediate
 * list, the events that work waits for become a separate wait before it, so that the wait is not timed as work. In a
 * recorded list that is not possible.
 *
 * Level Zero lets the program use a list from one thread at a time. Markers come from other threads, so the queue's
 * lock is held around each of the driver's calls on it, and never while a turn is waited for.
 */
#pragma once

#include "core/pace.h"
#include "levelzero/queues.h"

/* The first launch was gated: from then on markers come from other threads. */
extern _Atomic bool lists_armed __attribute__((visibility("hidden")));

static inline bool work_is_watched(void)
{
	return __builtin_expect(atomic_load_explicit(&lists_armed, memory_order_relaxed) || pace_gated(WIRE_COMPUTE) ||
					pace_gated(WIRE_COPY),
				0);
}

/* Identifies a kind of work, for estimates of its duration. */
struct list_kind {
	uint64_t key, family, size;
};

static inline struct list_kind list_kind(const void *object, const ze_group_count_t *groups)
{
	uint64_t family = (uint64_t)(uintptr_t)object, size = 1;
	uint64_t key = estimate_mix(0x7a656b6cu, family);

	if (groups) {
		size = (uint64_t)groups->groupCountX * groups->groupCountY * groups->groupCountZ;
		key = estimate_mix(key, groups->groupCountX ^ (uint64_t)groups->groupCountY << 24 ^
						(uint64_t)groups->groupCountZ << 48);
	}
	return (struct list_kind){ key | 1, family | 1, size };
}

static inline uint64_t list_region_bytes(const ze_copy_region_t *r)
{
	return r ? (uint64_t)r->width * (r->height ? r->height : 1) * (r->depth ? r->depth : 1) : 0;
}

/* One call in progress. */
struct list_work {
	struct queue *queue; /* NULL: it is recorded */
	struct launch launch;
};

void list_begin(struct list_work *w, ze_command_list_handle_t list, enum wire_engine engine, const char *call,
		uint64_t bytes, struct list_kind kind, uint32_t wait_count, ze_event_handle_t *waits);
/* The same for a command that is not work. `wait_count`: the command may hold the list back. */
void list_begin_between(struct list_work *w, ze_command_list_handle_t list, uint32_t wait_count);
ze_result_t list_end(struct list_work *w, ze_result_t r);
