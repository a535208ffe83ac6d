/* flight.c: see flight.h. */
#include "softdev/flight.h"

#include "softdev/tail.h"
#include "softdev/work.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MOST 256u

bool flight_init(struct flight *f, uint32_t kernels, struct pace_kernel *after)
{
	*f = (struct flight){ .room = kernels < ROOM_MOST ? kernels : ROOM_MOST, .last = after };
	f->kernel = kernels ? calloc(f->room, sizeof(*f->kernel)) : NULL;
	return f->kernel;
}

static bool ended(const struct pace_kernel *k)
{
	return atomic_load_explicit(&k->end_ns, memory_order_acquire);
}

uint64_t flight_left_ns(const struct flight *f)
{
	uint64_t ns = 0;

	for (uint32_t i = f->count; i-- > 0 && !ended(&f->kernel[i]);)
		ns += f->kernel[i].overlap.duration_ns;
	return ns;
}

static uint32_t flight_left(const struct flight *f)
{
	uint32_t n = 0;

	while (n < f->count && !ended(&f->kernel[f->count - 1 - n]))
		n++;
	return n;
}

void flight_run(struct flight *f, struct work *w)
{
	uint32_t left = flight_left(f);
	struct pace_kernel *k;

	while (!tail_ahead_ok(left, flight_left_ns(f)) && !driver.ending) {
		pace_wait_end(&f->kernel[f->count - 1 - left / 2]);
		left = flight_left(f);
	}
	if (f->count == f->room) {
		flight_wait(f);
		f->count = 0;
		f->last = NULL;
	}
	k = &f->kernel[f->count];
	work_kernel_run(w, k, f->last);
	f->count++;
	f->last = k;
}

uint64_t flight_wait(struct flight *f)
{
	if (!f->last)
		return 0;
	pace_wait_end(f->last);
	return f->last->end_ns;
}

struct pace_kernel *flight_last(const struct flight *f)
{
	return f->count && !ended(&f->kernel[f->count - 1]) ? &f->kernel[f->count - 1] : NULL;
}

void flight_deinit(struct flight *f)
{
	for (uint32_t i = f->count; i-- > 0 && !ended(&f->kernel[i]);)
		pace_remove(&f->kernel[i]);
	free(f->kernel);
	memset(f, 0, sizeof(*f));
}
