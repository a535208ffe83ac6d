/* lane.c: see lane.h. */
#include "core/lane.h"
#include "core/tick.h"

#include <stdlib.h>
#include <string.h>

#define LANES 64u	    /* of a block; a further one is made when all are in use */
#define BASE_NS 2000000000u /* a base older than this is replaced */
#define WAKE_NS 30000u	    /* what a sleeper needs to wake, about */
#define GAP_NS 200000u	    /* the time told lags behind what is seen by more: the base was placed too early */
#define GAPS 16u
#define EXCESSES 8u
#define LEAVE_PATIENCE_NS 2000000000u

struct block {
	struct block *next;
	struct lane lane[LANES];
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; /* guards which places are taken, and the list */
static struct block blocks;				       /* the first one; none is ever freed */

_Atomic uint64_t lane_holds = 1;

static struct lane *find_locked(face_context context)
{
	for (struct block *b = &blocks; b; b = b->next)
		for (unsigned int i = 0; i < LANES; i++)
			if (b->lane[i].context == context && !b->lane[i].is_beside)
				return &b->lane[i];
	return NULL;
}

static bool is_free(const struct lane *l)
{
	return !l->context && !atomic_load_explicit(&l->users, memory_order_acquire);
}

/* NULL: no memory. */
static struct lane *free_locked(void)
{
	struct block *b = &blocks;

	for (;;) {
		for (unsigned int i = 0; i < LANES; i++)
			if (is_free(&b->lane[i]))
				return &b->lane[i];
		if (!b->next)
			break;
		b = b->next;
	}
	b->next = calloc(1, sizeof *b);
	return b->next ? b->next->lane : NULL;
}

struct lane *lane_known(face_context context)
{
	struct lane *l;

	if (!context)
		return NULL;
	pthread_mutex_lock(&table_lock);
	l = find_locked(context);
	pthread_mutex_unlock(&table_lock);
	return l;
}

static void fill_locked(struct lane *l, const struct face *f, face_context context, unsigned int device)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	l->face = f;
	l->lock = unlocked;
	l->pooled = 0;
	l->base = l->next_base = NULL;
	l->gaps = l->excesses = 0;
	l->caught_up = false;
	l->device = device;
	l->beside = NULL;
	l->is_beside = false;
	atomic_store_explicit(&l->streams, 0, memory_order_relaxed);
	atomic_store_explicit(&l->free_of, 0, memory_order_relaxed); /* what came before is not known */
	atomic_store_explicit(&l->frozen, false, memory_order_relaxed);
	l->context = context;
}

struct lane *lane_find(const struct face *f, face_context context, bool *ret_full)
{
	unsigned int device;
	struct lane *l;

	*ret_full = false;
	l = lane_known(context);
	if (l || !context || !f->device(context, &device))
		return l;
	pthread_mutex_lock(&table_lock);
	l = find_locked(context);
	if (!l && (l = free_locked()))
		fill_locked(l, f, context, device);
	pthread_mutex_unlock(&table_lock);
	*ret_full = !l;
	return l;
}

/* Frozen if the context's own is, which lane_freeze() has noted before it looks at the list. */
static struct lane *add_beside_locked(struct lane *home, unsigned int device)
{
	struct lane *l = home->context ? free_locked() : NULL;

	if (!l)
		return NULL;
	fill_locked(l, home->face, home->context, device);
	l->is_beside = true;
	atomic_store(&l->frozen, atomic_load(&home->frozen));
	l->beside = home->beside;
	home->beside = l;
	return l;
}

struct lane *lane_beside(struct lane *home, unsigned int device)
{
	struct lane *l;

	pthread_mutex_lock(&table_lock);
	l = home->beside;
	while (l && l->device != device)
		l = l->beside;
	if (!l)
		l = add_beside_locked(home, device);
	pthread_mutex_unlock(&table_lock);
	return l;
}

/* Sequentially consistent, both here and in lane_freeze(): one of the two sees the other. */
bool lane_enter(struct lane *l)
{
	atomic_fetch_add(&l->inside, 1);
	if (!atomic_load(&l->frozen))
		return true;
	lane_leave(l);
	return false;
}

void lane_leave(struct lane *l)
{
	if (atomic_fetch_sub(&l->inside, 1) == 1 && atomic_load(&l->frozen))
		tick_wake(&l->inside);
}

face_marker lane_event(struct lane *l)
{
	face_marker event = NULL;

	pthread_mutex_lock(&l->lock);
	if (l->pooled)
		event = l->pool[--l->pooled];
	pthread_mutex_unlock(&l->lock);
	return event ? event : l->face->marker_new(l->context);
}

void lane_return(struct lane *l, face_marker event)
{
	bool full = true;

	if (!event)
		return;
	pthread_mutex_lock(&l->lock);
	if (l->pooled < LANE_EVENTS) {
		l->pool[l->pooled++] = event;
		full = false;
	}
	pthread_mutex_unlock(&l->lock);
	if (full && lane_enter(l)) {
		l->face->marker_free(event);
		lane_leave(l);
	}
}

void lane_base(struct lane *l, face_queue stream, bool per_thread, uint64_t now_ns)
{
	bool first = false, due;
	face_marker event;

	pthread_mutex_lock(&l->lock);
	first = !l->base;
	due = first || (!l->next_base && now_ns - l->base_submitted_ns > BASE_NS);
	pthread_mutex_unlock(&l->lock);
	if (!due)
		return;
	event = lane_event(l);
	if (event && !l->face->marker_put(event, stream, per_thread)) {
		lane_return(l, event);
		event = NULL;
	}
	if (!event)
		return;
	pthread_mutex_lock(&l->lock);
	if (first && !l->base) {
		l->base = event;
		l->base_ns = l->base_submitted_ns = now_ns;
		event = NULL;
	} else if (!first && !l->next_base) {
		l->next_base = event;
		l->next_submitted_ns = now_ns;
		event = NULL;
	}
	pthread_mutex_unlock(&l->lock);
	lane_return(l, event);
}

/* From the base to the event, in nanoseconds. */
static bool since_base(const struct lane *l, face_marker base, face_marker event, int64_t *ret)
{
	return base && l->face->marker_between(base, event, ret);
}

/* The next base has happened: from now on it is the base. */
static face_marker rebase_locked(struct lane *l)
{
	face_marker old = NULL;
	int64_t since;

	if (l->next_base && since_base(l, l->base, l->next_base, &since)) {
		old = l->base;
		l->base = l->next_base;
		l->base_ns += (uint64_t)since;
		l->base_submitted_ns = l->next_submitted_ns;
		l->next_base = NULL;
	}
	return old;
}

/*
 * The first base may have stood behind other work when it was submitted, which no lower bound shows: where events that
 * somebody slept for are seen late all the time, the clock is what is late.
 */
static void catch_up_locked(struct lane *l, uint64_t gap_ns)
{
	if (!l->gaps++ || gap_ns < l->least_gap_ns)
		l->least_gap_ns = gap_ns;
	if (l->gaps < GAPS)
		return;
	/* Of a thread that always gets its processor late this says nothing, as later events have shown. */
	if (l->least_gap_ns > GAP_NS && !l->caught_up)
		l->base_ns += l->least_gap_ns - WAKE_NS;
	l->gaps = 0;
}

/* Events that should have happened at once seem to happen late all the time: the clock is early. */
static void fall_back_locked(struct lane *l, uint64_t excess_ns)
{
	if (!l->excesses++ || excess_ns < l->least_excess_ns)
		l->least_excess_ns = excess_ns;
	if (l->excesses < EXCESSES)
		return;
	l->base_ns -= l->least_excess_ns;
	l->excesses = 0;
}

/* What happened so long after the base happened between the two times. */
static void bound_locked(struct lane *l, int64_t since, uint64_t submitted_ns, uint64_t seen_ns)
{
	if (l->base_ns + (uint64_t)since < submitted_ns)
		l->base_ns = submitted_ns - (uint64_t)since;
	if (l->base_ns + (uint64_t)since <= seen_ns)
		return;
	l->caught_up |= l->base_ns + (uint64_t)since - seen_ns > WAKE_NS;
	l->base_ns = seen_ns - (uint64_t)since;
}

uint64_t lane_time(struct lane *l, face_marker event, uint64_t submitted_ns, uint64_t seen_ns)
{
	face_marker old = NULL;
	uint64_t at = 0;
	int64_t since;

	pthread_mutex_lock(&l->lock);
	if (since_base(l, l->base, event, &since)) {
		bound_locked(l, since, submitted_ns, seen_ns);
		at = l->base_ns + (uint64_t)since;
		old = rebase_locked(l);
	}
	pthread_mutex_unlock(&l->lock);
	lane_return(l, old);
	return at;
}

bool lane_times(struct lane *l, const struct lane_span *span, uint64_t *ret_begin_ns, uint64_t *ret_end_ns)
{
	face_marker old = NULL;
	int64_t to_start = 0, to_end;
	bool known, both;

	*ret_begin_ns = *ret_end_ns = 0;
	pthread_mutex_lock(&l->lock);
	known = since_base(l, l->base, span->end, &to_end);
	both = known && span->start && since_base(l, l->base, span->start, &to_start);
	if (both)
		bound_locked(l, to_start, span->start_ns, span->seen_ns);
	if (known) {
		bound_locked(l, to_end, span->end_ns, span->seen_ns);
		*ret_end_ns = l->base_ns + (uint64_t)to_end;
		*ret_begin_ns = both ? l->base_ns + (uint64_t)to_start : 0;
		if (span->waited)
			catch_up_locked(l, span->seen_ns - *ret_end_ns);
		if (both && span->free)
			fall_back_locked(l, *ret_begin_ns > span->least_ns ? *ret_begin_ns - span->least_ns : 0);
		old = rebase_locked(l);
	}
	pthread_mutex_unlock(&l->lock);
	lane_return(l, old);
	return known;
}

/* None is added before the context's own is, and none goes but by the thread that destroys the context. */
static void freeze_all(struct lane *home, bool frozen)
{
	pthread_mutex_lock(&table_lock);
	for (struct lane *l = home; l; l = l->beside)
		atomic_store(&l->frozen, frozen);
	pthread_mutex_unlock(&table_lock);
}

void lane_freeze(face_context context)
{
	uint64_t until = tick_now() + LEAVE_PATIENCE_NS;
	struct lane *home = lane_known(context);
	uint32_t inside;

	if (!home)
		return;
	freeze_all(home, true);
	for (struct lane *l = home; l; l = l->beside)
		while ((inside = atomic_load(&l->inside)) && tick_now() < until)
			tick_wait(&l->inside, inside, 10000000, false);
}

void lane_thaw(struct lane *home)
{
	freeze_all(home, false);
}

void lane_drop(struct lane *home)
{
	struct lane *next;

	pthread_mutex_lock(&table_lock);
	for (struct lane *l = home; l; l = next) {
		next = l->beside;
		l->beside = NULL;
		l->context = NULL;
	}
	pthread_mutex_unlock(&table_lock);
}

void lane_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	table_lock = unlocked;
	for (struct block *b = &blocks; b; b = b->next)
		memset(b->lane, 0, sizeof b->lane);
}
