/* marks.c: see marks.h. */
#include "core/marks.h"
#include "core/capture.h"
#include "core/faces.h"
#include "core/markers.h"

static _Atomic bool armed;

void marks_arm(void)
{
	if (!atomic_load_explicit(&armed, memory_order_relaxed) && !atomic_exchange(&armed, true))
		faces_arm();
}

void marks_stream(struct pace *p, struct stream *s)
{
	struct flow *f = &s->flow[p->engine];
	bool due;

	pthread_mutex_lock(&p->lock);
	due = !f->claimed && (int64_t)(atomic_load(&f->submitted) - f->marked) > 0;
	f->claimed |= due;
	pthread_mutex_unlock(&p->lock);
	if (!due)
		return;
	if (lane_enter(s->lane)) {
		marker_record(p, s, NULL);
		lane_leave(s->lane);
		return;
	}
	pthread_mutex_lock(&p->lock);
	f->claimed = false;
	pthread_mutex_unlock(&p->lock);
}

static void mark_pace(struct pace *p)
{
	struct stream *s;

	for (;;) {
		pthread_mutex_lock(&p->lock);
		s = p->busy ? markers_unmarked_locked(p) : NULL;
		if (s)
			s->flow[p->engine].claimed = false;
		pace_refresh_locked(p, 0);
		pthread_mutex_unlock(&p->lock);
		if (!s || !s->lane->face->enter(s->lane->context))
			return;
		marks_stream(p, s);
		s->lane->face->leave();
	}
}

/* What was submitted is marked here, and what comes is preceded by an event. `but`: not for this engine. */
static void break_stream(struct stream *s, int but)
{
	for (int e = 0; e < WIRE_ENGINES; e++) {
		struct pace *p = &paces[s->lane->device][e];
		struct flow *f = &s->flow[e];

		if (e == but)
			continue;
		if (atomic_load(&f->submitted) != __atomic_load_n(&f->marked, __ATOMIC_RELAXED) &&
		    !(capture_going() && s->lane->face->captured(s->handle, s->per_thread)))
			marks_stream(p, s);
		if (!(atomic_load_explicit(&f->slow, memory_order_relaxed) & FLOW_FRESH))
			atomic_fetch_or_explicit(&f->slow, FLOW_FRESH, memory_order_relaxed);
	}
}

void marks_all(void)
{
	uint32_t count = atomic_load_explicit(&pace_count, memory_order_acquire);

	for (uint32_t d = 0; atomic_load_explicit(&armed, memory_order_relaxed) && d < count; d++)
		for (int e = 0; e < WIRE_ENGINES; e++)
			mark_pace(&paces[d][e]);
}

void marks_break_by(const struct face *f, face_queue queue, bool per_thread, int but)
{
	struct stream *s;
	uint64_t key;

	if (!atomic_load_explicit(&armed, memory_order_relaxed))
		return;
	/* Of any stream, known or not: the legacy stream waits for it. */
	if (but == WIRE_ENGINES)
		atomic_fetch_add_explicit(&lane_holds, 1, memory_order_relaxed);
	key = stream_key_by(f, queue, per_thread);
	s = key ? stream_lookup(key) : NULL;
	if (s)
		break_stream(s, but);
}

static void fresh(struct stream *s)
{
	for (int e = 0; e < WIRE_ENGINES; e++)
		if (!(atomic_load_explicit(&s->flow[e].slow, memory_order_relaxed) & FLOW_FRESH))
			atomic_fetch_or_explicit(&s->flow[e].slow, FLOW_FRESH, memory_order_relaxed);
}

void marks_ended_by(const struct face *f, face_queue queue, bool per_thread)
{
	struct stream *s;
	uint64_t key;

	if (!atomic_load_explicit(&armed, memory_order_relaxed))
		return;
	key = stream_key_by(f, queue, per_thread);
	s = key ? stream_lookup(key) : NULL;
	if (s)
		fresh(s);
}

void marks_ended_all(void)
{
	if (atomic_load_explicit(&armed, memory_order_relaxed))
		streams_each(fresh);
}

/* Its work is marked before it goes, and the watcher keeps its hands off from then on. */
void marks_queue_goes(face_queue queue)
{
	struct stream *s;
	struct lane *l;

	if (!atomic_load_explicit(&armed, memory_order_relaxed) || (uintptr_t)queue <= 2 ||
	    !(s = stream_lookup((uintptr_t)queue)))
		return;
	for (int e = 0; e < WIRE_ENGINES; e++) {
		struct pace *p = &paces[s->lane->device][e];

		marks_stream(p, s);
		markers_unclaimed(p, s);
	}
	l = s->lane;
	stream_retire(s);
	/* Where there was no room for a marker, the watcher may have begun again before the stream was retired. */
	for (int e = 0; e < WIRE_ENGINES; e++)
		markers_unclaimed(&paces[l->device][e], s);
}

void marks_context_leaves(face_context context)
{
	if (atomic_load_explicit(&armed, memory_order_relaxed))
		lane_freeze(context);
}

void marks_context_left(face_context context, bool gone)
{
	struct lane *l = atomic_load_explicit(&armed, memory_order_relaxed) ? lane_known(context) : NULL;

	if (!l)
		return;
	if (!gone) {
		lane_thaw(l);
		return;
	}
	for (struct lane *each = l; each; each = each->beside) {
		streams_retire(each);
		for (int e = 0; e < WIRE_ENGINES; e++)
			markers_drop_lane(&paces[each->device][e], each);
	}
	lane_drop(l);
}
