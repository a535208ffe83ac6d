/*
 * spread.h: a launch whose work runs on several devices of the grant. It goes when it has the turn of each, and its
 * time is charged on each: all the time from its begin to its end, because nobody sees when a part of it begins or
 * ends.
 *
 * It waits for one device after the other, and keeps the turn that it has meanwhile: that time is charged as well.
 * Every process waits in the order of the devices' UUIDs, so no two of them wait for each other.
 */
#pragma once

#include "core/pace.h"

struct spread {
	struct launch part[WIRE_MAX_DEVICES];
	unsigned int count;
};

/* `devices`: a bit for each device of the grant that the work runs on. That of its queue is always one of them. */
void spread_begin_by(const struct face *f, struct spread *s, const struct work *w, uint32_t devices);

static inline void spread_begin(struct spread *s, const struct work *w, uint32_t devices)
{
	spread_begin_by(face, s, w, devices);
}

/* After the driver's call. */
void spread_end(struct spread *s, bool launched);

/*
 * The same for a launch of up to SPREAD_PARTS parts, each in a queue of its own device: part[i] is charged on the
 * device of work[i]'s queue, and ends by pace_end() after the driver's call.
 */
#define SPREAD_PARTS 16u
void spread_parts_begin_by(const struct face *f, struct launch *part, const struct work *work, unsigned int count);

static inline void spread_parts_begin(struct launch *part, const struct work *work, unsigned int count)
{
	spread_parts_begin_by(face, part, work, count);
}
