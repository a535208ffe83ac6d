/* markers.c: see markers.h. */
#include "core/markers.h"
#include "core/tick.h"
#include "core/waits.h"

#define SUBMIT_NS 15000u
#define DOUBT_PART 64u /* of what is charged */
#define DOUBT_MOST 20000000u
#define SINGLES 16u /* launches that are measured one by one after a mixed chunk went wrong */

static struct chunk *chunk_at(struct pace *p, uint32_t i)
{
	return &p->chunk[i % CHUNKS];
}

static void drop_done_locked(struct pace *p)
{
	while (p->chunk_tail != p->chunk_head && !chunk_at(p, p->chunk_tail)->stream)
		p->chunk_tail++;
}

/*
 * Since when other streams' work may have been running that is not done yet; UINT64_MAX: there is none. A thread that
 * has been let through may lose its processor before it launches: where a marker stands before its work, that work did
 * not begin before its call.
 */
static uint64_t others_from_locked(const struct pace *p, const struct flow *mine)
{
	uint64_t from_ns = UINT64_MAX;

	for (uint32_t i = p->chunk_tail; i != p->chunk_head; i++) {
		const struct chunk *c = &p->chunk[i % CHUNKS];
		const struct flow *f = c->stream ? &c->stream->flow[p->engine] : NULL;
		uint64_t at_ns;

		if (!f || f == mine || (int64_t)(c->word - f->completed) <= 0)
			continue;
		at_ns = c->begun_ns				    ? c->begun_ns
			: c->start && c->least_ns > f->busy_from_ns ? c->least_ns
								    : f->busy_from_ns;
		from_ns = at_ns < from_ns ? at_ns : from_ns;
	}
	return from_ns;
}

/* A busy period began with what ended first, or before: with another stream's work, which is still at it. */
static uint64_t period_begin_locked(const struct pace *p, uint64_t begin_ns)
{
	for (uint32_t i = p->chunk_tail; i != p->chunk_head; i++) {
		const struct chunk *c = &p->chunk[i % CHUNKS];

		if (c->stream && c->begun_ns && c->begun_ns < begin_ns)
			begin_ns = c->begun_ns;
	}
	return begin_ns;
}

/*
 * Writes an edge; a begin only where there is room for its end as well. Of periods that find no room the next begin
 * tells, which is so much earlier: the engine was idle for at least as long before it.
 */
static void edge_locked(struct pace *p, uint64_t at_ns, bool begins)
{
	if (begins && wire_edge_room(p->wire) >= 2) {
		wire_edge_put(p->wire, at_ns - p->untold_ns, true);
		p->untold_ns = p->untold_from_ns = 0;
		p->edge_open = true;
	} else if (begins) {
		p->untold_from_ns = at_ns;
		p->edge_open = false;
	} else if (p->edge_open) {
		p->edge_open = !wire_edge_put(p->wire, at_ns, false);
	} else if (p->untold_from_ns) {
		p->untold_ns += at_ns - p->untold_from_ns;
		p->untold_from_ns = 0;
	}
}

/* `cut`: tier T3 had switched all channels off until begin_ns, so nothing of the others' fills the gap. */
static void span_locked(struct pace *p, const struct flow *f, uint64_t begin_ns, uint64_t end_ns, bool cut)
{
	uint64_t from = begin_ns, busy, others = cut ? UINT64_MAX : others_from_locked(p, f);

	if (!p->span_begin_ns || (begin_ns > p->span_end_ns && others > p->span_end_ns)) {
		if (p->span_begin_ns)
			edge_locked(p, p->span_end_ns, false);
		if (!cut)
			begin_ns = period_begin_locked(p, begin_ns);
		if (p->span_begin_ns && others < begin_ns)
			begin_ns = others;
		if (begin_ns < p->span_end_ns)
			begin_ns = p->span_end_ns;
		edge_locked(p, begin_ns, true);
		p->span_begin_ns = from = begin_ns;
	} else if (from > p->span_end_ns || from < p->span_end_ns) {
		from = p->span_end_ns;
	}
	if (end_ns <= p->span_end_ns)
		return;
	busy = atomic_load_explicit(&p->wire->busy_ns, memory_order_relaxed);
	atomic_store_explicit(&p->wire->busy_ns, busy + (end_ns > from ? end_ns - from : 0), memory_order_relaxed);
	p->span_end_ns = end_ns;
}

/* The spans of what ended, without the time in which tier T3 had it stand still. Value: that time. */
static uint64_t spans_locked(struct pace *p, const struct flow *f, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t at_ns = begin_ns, off_ns, on_ns, still_ns = 0;

	while (wire_cut_next(p->wire, at_ns, end_ns, &off_ns, &on_ns)) {
		if (off_ns > at_ns)
			span_locked(p, f, at_ns, off_ns, at_ns > begin_ns);
		still_ns += on_ns - off_ns;
		at_ns = on_ns;
	}
	if (at_ns < end_ns || !still_ns)
		span_locked(p, f, at_ns, end_ns, at_ns > begin_ns);
	return still_ns;
}

static void learn_locked(struct pace *p, struct flow *f, const struct chunk *c, uint64_t packed, uint64_t ns)
{
	uint32_t launches = packed & ((1u << ESTIMATE_SHIFT) - 1);
	uint64_t predicted = pace_ns(packed);

	atomic_fetch_add_explicit(&p->wire->launches, launches, memory_order_relaxed);
	if (launches == 1 && ns > atomic_load_explicit(&p->wire->longest_ns, memory_order_relaxed))
		atomic_store_explicit(&p->wire->longest_ns, ns, memory_order_relaxed);
	if (launches == 1 && ns > atomic_load_explicit(&p->wire->bound_ns, memory_order_relaxed) &&
	    atomic_load_explicit(&p->wire->bound_ns, memory_order_relaxed))
		atomic_fetch_or_explicit(&p->wire->flags, WIRE_TURN_LONG, memory_order_relaxed);
	if (c->key != FLOW_MIXED) {
		estimate_learn(c->key, c->first ? estimate_less(c->key, ns) : ns / (launches ? launches : 1), launches);
	} else if (ns > predicted + predicted / 3 || ns < predicted - predicted / 3) {
		f->single = SINGLES;
		atomic_fetch_or_explicit(&f->slow, FLOW_SINGLE, memory_order_relaxed);
	}
}

/* begin_ns 0: it began when what was before it ended. */
static void account_locked(struct pace *p, const struct chunk *c, uint64_t begin_ns, uint64_t end_ns)
{
	struct flow *f = &c->stream->flow[p->engine];
	/* What is done may be another stream's record by now, which has this count from the beginning (streams.c). */
	uint64_t packed = c->word - __atomic_load_n(&f->completed, __ATOMIC_ACQUIRE), still_ns;

	if ((int64_t)packed <= 0)
		return;
	if (begin_ns < f->busy_from_ns)
		begin_ns = f->busy_from_ns;
	if (begin_ns < f->last_end_ns)
		begin_ns = f->last_end_ns;
	if (end_ns < begin_ns)
		end_ns = begin_ns;
	p->completed += packed;
	f->last_end_ns = p->anchor_ns = end_ns;
	if (p->passed_since_ns && c->end_ns >= p->passed_since_ns) {
		p->passed_ns += end_ns - begin_ns;
		atomic_fetch_add_explicit(&p->wire->passed_ns, end_ns - begin_ns, memory_order_relaxed);
	}
	p->doubt_ns += (end_ns - begin_ns) / DOUBT_PART;
	if (p->doubt_ns > DOUBT_MOST)
		p->doubt_ns = DOUBT_MOST;
	still_ns = spans_locked(p, f, begin_ns, end_ns);
	learn_locked(p, f, c, packed, (end_ns - begin_ns - still_ns) / pace_beside(p));
	if (atomic_load(&f->submitted) == c->word)
		atomic_fetch_or_explicit(&f->slow, FLOW_FRESH, memory_order_relaxed);
	/* Last: a record that is done may be another stream's from now on. Pairs with the acquire in streams.c. */
	__atomic_store_n(&f->completed, c->word, __ATOMIC_RELEASE);
}

bool pace_idle_locked(struct pace *p, uint64_t now_ns)
{
	if (!p->busy)
		return true;
	/* See pace.h: the limit first. */
	atomic_store(&p->limit, p->completed);
	if (atomic_load(&p->admitted) != p->completed) {
		pace_refresh_locked(p, now_ns);
		return false;
	}
	if (p->span_begin_ns)
		edge_locked(p, p->span_end_ns, false);
	p->span_begin_ns = 0;
	p->busy = false;
	p->passed_since_ns = 0;
	pace_alone_locked(p, false);
	p->idle_from_ns = now_ns;
	p->written_off_ns = 0;
	atomic_store(&p->wire->done_by_ns, 0);
	atomic_store(&p->wire->busy_since_ns, 0);
	return true;
}

static void progress(struct pace *p)
{
	atomic_fetch_add(&p->progress, 1);
	if (atomic_load(&p->awaited))
		tick_wake(&p->progress);
}

/* Where the stream was idle, its event happened before the work behind it had been submitted. */
static uint64_t begin_behind(const struct chunk *c, uint64_t at_ns)
{
	return at_ns && at_ns < c->least_ns ? c->least_ns : at_ns;
}

/* When the work behind the chunk's start began; 0: it has not, or nobody can say. Inside the lane. */
static uint64_t begin_of(const struct chunk *c, uint64_t seen_ns)
{
	return begin_behind(c, lane_time(c->lane, c->start, c->start_ns, seen_ns));
}

/* It is not charged from then on alone because of a guess: of all that is charged only a small part may be. */
static uint64_t doubted_locked(struct pace *p, uint64_t begin_ns, uint64_t likely_ns)
{
	uint64_t doubt_ns = likely_ns - begin_ns < p->doubt_ns ? likely_ns - begin_ns : p->doubt_ns;

	p->doubt_ns -= doubt_ns;
	return begin_ns + doubt_ns;
}

uint64_t marker_likely_ns_locked(struct pace *p, const struct chunk *c, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t launches = (c->word - c->stream->flow[p->engine].completed) & ((1u << ESTIMATE_SHIFT) - 1), like_ns;

	if (!begin_ns || begin_ns >= c->most_ns || launches != 1)
		return begin_ns;
	like_ns = estimate_mean(c->key);
	if (!like_ns || end_ns < begin_ns + like_ns)
		return begin_ns;
	return doubted_locked(p, begin_ns, end_ns - like_ns < c->most_ns ? end_ns - like_ns : c->most_ns);
}

/* The times of a chunk that has ended, as far as the driver says. Inside the lane. */
static void times_of(const struct chunk *c, uint64_t seen_ns, bool waited, uint64_t *ret_begin_ns, uint64_t *ret_end_ns)
{
	struct lane_span span = { .start = c->start,
				  .end = c->end,
				  .start_ns = c->start_ns,
				  .end_ns = c->end_ns,
				  .seen_ns = seen_ns,
				  .waited = waited,
				  .free = c->free,
				  .least_ns = c->least_ns };

	lane_times(c->lane, &span, ret_begin_ns, ret_end_ns);
	*ret_begin_ns = begin_behind(c, *ret_begin_ns);
}

/* A chunk has ended; it is claimed by the caller. */
static void finish(struct pace *p, struct chunk *at, uint64_t seen_ns, bool waited)
{
	uint64_t begin_ns = 0, end_ns = 0;
	struct chunk c;
	struct lane *l;
	bool idle, room;

	pthread_mutex_lock(&p->lock); /* its lane may be dropped just now, which is noted in it */
	c = *at;
	pthread_mutex_unlock(&p->lock);
	l = c.lane;
	if (lane_enter(l)) {
		times_of(&c, seen_ns, waited, &begin_ns, &end_ns);
		lane_leave(l);
	}
	pthread_mutex_lock(&p->lock);
	at->stream = NULL;
	at->claimed = false;
	if (end_ns && c.left)
		begin_ns = waits_begin_of_left_locked(p, &c, end_ns);
	else if (end_ns)
		begin_ns = marker_likely_ns_locked(p, &c, begin_ns, end_ns);
	if (begin_ns && end_ns)
		waits_learn_locked(p, &c, begin_ns, end_ns);
	account_locked(p, &c, begin_ns, end_ns ? end_ns : seen_ns);
	drop_done_locked(p);
	idle = pace_idle_locked(p, seen_ns);
	if (!idle)
		pace_refresh_locked(p, seen_ns);
	room = pace_room_locked(p, seen_ns);
	pthread_mutex_unlock(&p->lock);
	if (room)
		pace_wake_gate(p);
	lane_return(l, c.start);
	lane_return(l, c.end);
	lane_part(l);
	pace_ring_end(p, idle);
	progress(p);
}

static struct chunk *claim(struct pace *p, uint32_t *i)
{
	struct chunk *c = NULL;

	pthread_mutex_lock(&p->lock);
	if ((int32_t)(*i - p->chunk_tail) < 0)
		*i = p->chunk_tail;
	for (; *i != p->chunk_head && !c; ++*i)
		if (chunk_at(p, *i)->stream && !chunk_at(p, *i)->claimed)
			c = chunk_at(p, *i);
	if (c) {
		c->claimed = true;
		lane_join(c->lane);
	}
	pthread_mutex_unlock(&p->lock);
	return c;
}

static void unclaim(struct pace *p, struct chunk *c, uint64_t begun_ns)
{
	struct lane *l = c->lane;

	pthread_mutex_lock(&p->lock);
	if (begun_ns)
		c->begun_ns = begun_ns;
	c->claimed = false;
	/* Its stream has been written off. Another context has the lane soon, and its markers are not this one's. */
	if (c->gone)
		c->stream = NULL;
	drop_done_locked(p);
	pthread_mutex_unlock(&p->lock);
	lane_part(l);
}

/* The program has waited for it. The chunk is claimed by the caller. */
static bool is_known(struct pace *p, const struct chunk *c)
{
	bool known;

	pthread_mutex_lock(&p->lock);
	known = p->waited && p->waited == c->stream && (int64_t)(p->waited_word - c->word) >= 0;
	pthread_mutex_unlock(&p->lock);
	return known;
}

unsigned int markers_reap(struct pace *p)
{
	unsigned int ended = 0;
	struct chunk *c;
	uint32_t i = 0;

	pthread_mutex_lock(&p->lock);
	i = p->chunk_tail;
	pthread_mutex_unlock(&p->lock);
	while ((c = claim(p, &i))) {
		enum face_state end = FACE_PENDING;
		uint64_t begun_ns = 0;

		if (lane_enter(c->lane)) {
			end = is_known(p, c) ? FACE_HAPPENED : c->lane->face->marker_look(c->end);
			if (end == FACE_PENDING && c->start && !c->begun_ns &&
			    c->lane->face->marker_look(c->start) == FACE_HAPPENED)
				begun_ns = begin_of(c, tick_now());
			lane_leave(c->lane);
		}
		if (end == FACE_PENDING) {
			unclaim(p, c, begun_ns);
			continue;
		}
		finish(p, c, tick_now(), false);
		ended++;
	}
	return ended;
}

/*
 * Sees the work behind a chunk's start begin, which nobody else asks about while the chunk is claimed: what another
 * stream submits meanwhile may end first. Inside the lane.
 */
static void see_begin(struct pace *p, struct chunk *c)
{
	const struct face *f = c->lane->face;
	uint64_t begun_ns;

	if (!c->start || c->begun_ns || atomic_load_explicit(&c->lane->streams, memory_order_relaxed) < 2 ||
	    (f->marker_look(c->start) == FACE_PENDING && f->marker_wait(c->start) != FACE_HAPPENED))
		return;
	begun_ns = begin_of(c, tick_now());
	pthread_mutex_lock(&p->lock);
	c->begun_ns = begun_ns;
	pthread_mutex_unlock(&p->lock);
}

bool markers_wait(struct pace *p, bool *ret_gone)
{
	struct chunk *c;
	struct lane *l;
	bool waited;
	uint32_t i;

	pthread_mutex_lock(&p->lock);
	i = p->chunk_tail;
	pthread_mutex_unlock(&p->lock);
	c = claim(p, &i);
	*ret_gone = false;
	if (!c)
		return false;
	l = c->lane;
	if (!lane_enter(l)) {
		unclaim(p, c, 0);
		return false;
	}
	waited = l->face->marker_look(c->end) == FACE_PENDING;
	if (waited) {
		see_begin(p, c);
		*ret_gone = l->face->marker_wait(c->end) == FACE_GONE;
	}
	lane_leave(l);
	finish(p, c, tick_now(), waited);
	return true;
}

bool markers_one_stream_locked(struct pace *p)
{
	const struct stream *first = NULL;

	for (uint32_t i = p->chunk_tail; i != p->chunk_head; i++) {
		const struct stream *s = chunk_at(p, i)->stream;

		if (s && first && s != first)
			return false;
		if (s)
			first = s;
	}
	return true;
}

struct stream *markers_unmarked_locked(struct pace *p)
{
	for (uint32_t i = 0; i < streams_known(); i++) {
		struct stream *s = stream_known(i);
		struct flow *f = s ? &s->flow[p->engine] : NULL;

		/* In this order: a flow is guarded by the lock of its own device's pace. */
		if (!s || s->shared || s->lane->device != p->device || f->claimed ||
		    (int64_t)(atomic_load(&f->submitted) - f->marked) <= 0)
			continue;
		f->claimed = true;
		return s;
	}
	return NULL;
}

void markers_unclaimed(struct pace *p, struct stream *s)
{
	bool claimed = true;

	while (claimed) {
		uint32_t progress = atomic_load(&p->progress);

		pthread_mutex_lock(&p->lock);
		claimed = s->flow[p->engine].claimed;
		pthread_mutex_unlock(&p->lock);
		if (claimed)
			pace_await(p, progress, 100000);
	}
}

/* False: there is no room, or nothing to mark. */
static bool enqueue_locked(struct pace *p, const struct chunk *c)
{
	struct flow *f = &c->stream->flow[p->engine];
	uint64_t packed = c->word - f->marked;

	if (p->chunk_head - p->chunk_tail >= CHUNKS)
		return false;
	if ((int64_t)packed > 0) {
		f->marked = c->word;
		p->marked += packed;
	}
	*chunk_at(p, p->chunk_head++) = *c;
	return true;
}

/*
 * A launch into an idle stream begins towards the end of the driver's call; of a long call, during which the thread may
 * have been off the processor, no more than SUBMIT_NS count as spent before.
 */
uint64_t marker_least_ns(const struct launch *l, uint64_t returned_ns)
{
	uint64_t call_ns = (returned_ns - l->host_ns) / 4 * 3;

	return l->host_ns + (call_ns < SUBMIT_NS ? call_ns : SUBMIT_NS);
}

void marker_record(struct pace *p, struct stream *s, const struct launch *l)
{
	struct flow *f = &s->flow[p->engine];
	face_marker start = l ? l->start : NULL;
	struct chunk c = { .stream = s, .lane = s->lane, .start = start };
	bool queued = false;

	if (start) {
		c.start_ns = l->start_ns;
		c.most_ns = tick_now();
		c.least_ns = marker_least_ns(l, c.most_ns);
		c.free = l->free && l->holds == atomic_load_explicit(&lane_holds, memory_order_relaxed);
		c.drawn = c.free && l->drawn;
		c.first = l->first;
		c.holds = l->holds;
	}
	c.key = atomic_exchange_explicit(&f->key, 0, memory_order_relaxed);
	c.word = atomic_load(&f->submitted);
	c.end = lane_event(s->lane);
	c.end_ns = tick_now();
	if (c.end && !s->lane->face->marker_put(c.end, l ? l->handle : s->handle, l ? l->per_thread : s->per_thread)) {
		lane_return(s->lane, c.end);
		c.end = NULL;
	}
	pthread_mutex_lock(&p->lock);
	/* Work before the launch that nobody has marked yet: the start is that of the last part alone. */
	if (start && c.word - f->marked != l->inc) {
		c.start = NULL;
		c.free = c.drawn = false;
	}
	if (!l) /* of a launch another thread may have the claim, which marks the stream beside us */
		f->claimed = false;
	if (!l && waits_left_locked(p) && p->left.stream == s && p->left.word == c.word) {
		c.left = true;
		c.least_ns = p->left.least_ns;
		c.most_ns = p->left.most_ns;
	}
	if (c.end) {
		queued = enqueue_locked(p, &c);
		pace_refresh_locked(p, c.end_ns);
	} else {
		/* The driver takes no marker here: what is predicted stands for what cannot be measured. */
		uint64_t packed = c.word - f->marked;

		c.key = 0;
		if ((int64_t)packed > 0) {
			f->marked = c.word;
			p->marked += packed;
			account_locked(p, &c, 0, c.end_ns + pace_ns(packed));
		}
		pace_idle_locked(p, c.end_ns);
	}
	pthread_mutex_unlock(&p->lock);
	if (!queued)
		lane_return(s->lane, c.end);
	if (!queued || !c.start)
		lane_return(s->lane, start);
	pace_kick(p);
}

struct marker_news marker_account_locked(struct pace *p, const struct chunk *c, uint64_t begin_ns, uint64_t end_ns,
					 uint64_t now_ns)
{
	struct flow *f = &c->stream->flow[p->engine];
	struct marker_news news;

	if ((int64_t)(c->word - f->marked) > 0) {
		p->marked += c->word - f->marked;
		f->marked = c->word;
	}
	account_locked(p, c, begin_ns, end_ns);
	news.idle = pace_idle_locked(p, now_ns);
	news.room = pace_room_locked(p, now_ns);
	return news;
}

void marker_tell(struct pace *p, struct marker_news news)
{
	if (news.room)
		pace_wake_gate(p);
	pace_ring_end(p, news.idle);
	/* The watcher sees whether it is a pause. */
	if (news.idle && atomic_load_explicit(&p->wire->listen, memory_order_relaxed) & WIRE_ON_PAUSE)
		pace_kick(p);
	progress(p);
}

void marker_done(struct pace *p, struct launch *l, uint64_t begin_ns, uint64_t end_ns)
{
	struct flow *f = &l->stream->flow[p->engine];
	struct chunk c = { .stream = l->stream, .lane = l->stream->lane, .end_ns = end_ns };
	struct marker_news news;
	bool alone;

	pthread_mutex_lock(&p->lock);
	c.word = atomic_load(&f->submitted);
	alone = c.word - f->completed == l->inc;
	c.key = alone ? l->key : 0;
	news = marker_account_locked(p, &c, alone ? begin_ns : 0, end_ns, end_ns);
	pthread_mutex_unlock(&p->lock);
	marker_tell(p, news);
}

/* Its work in flight counts as done. */
static void write_off_locked(struct pace *p, struct stream *s, struct lane *l, uint64_t now)
{
	struct flow *f = &s->flow[p->engine];
	struct chunk c = { .stream = s, .lane = l };

	c.word = atomic_load(&f->submitted);
	p->marked += c.word - f->marked;
	f->marked = c.word;
	account_locked(p, &c, 0, now);
}

void markers_drop_lane(struct pace *p, struct lane *l)
{
	uint64_t now = tick_now();

	pthread_mutex_lock(&p->lock);
	for (uint32_t i = p->chunk_tail; i != p->chunk_head; i++) {
		struct chunk *c = chunk_at(p, i), ended;

		if (!c->stream || c->lane != l)
			continue;
		c->gone = c->claimed;
		if (c->gone)
			continue;
		ended = *c;
		c->stream = NULL;
		account_locked(p, &ended, 0, now);
	}
	streams_hold(); /* those that have been retired count, too, and another context may want their places */
	for (uint32_t i = 0; i < STREAMS; i++)
		if (atomic_load_explicit(&streams[i].key, memory_order_acquire) && streams[i].lane == l)
			write_off_locked(p, &streams[i], l, now);
	if (l->crowd)
		write_off_locked(p, l->crowd, l, now);
	streams_let_go();
	drop_done_locked(p);
	pace_idle_locked(p, now);
	pthread_mutex_unlock(&p->lock);
	progress(p);
}
