/* waits.c: see waits.h. */
#include "core/waits.h"
#include "core/capture.h"
#include "core/marks.h"
#include "core/tick.h"

#define LEARNT 8u	       /* so many delays have to be known */
#define DRAWN_EACH 16u	       /* one launch, and one wait, in so many has markers nevertheless */
#define KEPT 16u	       /* a mean is of so many of late, about */
#define STEADY_NS 2000u	       /* the mean deviation of a delay, at most */
#define STEADY_PART 64u	       /* or this part of the work's length */
#define DELAY_PART 4u	       /* a wait returns so small a part of the work's length behind its end, at most */
#define OUTLIER 4	       /* of so many times that, one value counts no more */
#define PUT_NS 10000u	       /* what a marker takes that has nothing to wait for, at most */
#define OFF_NS 200000u	       /* a thread that was off the processor says nothing of delays */
#define STRIKES 7u	       /* so many doublings of LEARNT */
#define FORGIVEN 512u	       /* after so many launches without markers one of them is over */
#define LATE_EACH 64u	       /* one launch in so many may be late that has an event of the program's behind it */
#define LATE_MOST 256u	       /* or a few more in a row */
#define LONGER_NS 20000u       /* work that seems to take so much longer than its like, and a quarter more */
#define LEFT_MOST_NS 10000000u /* the markers of longer work cost nothing beside it */

/* Some launch has gone without a marker. */
static _Atomic bool any_left;
/* Records of the program's events: how many have begun, and in the lowest bits how many are under way. */
static _Atomic uint64_t recordings;
#define RECORDING 0x10000u

/* How much the delays of work of this length may vary. */
static double most_deviation(uint64_t ns)
{
	return (double)(ns / STEADY_PART > STEADY_NS ? ns / STEADY_PART : STEADY_NS);
}

/* A single value far from the others, of a thread that was off the processor for a moment, hardly counts. */
static double within(double off, double most)
{
	return off < -most ? -most : off > most ? most : off;
}

/* False: it is far below what was learnt, so that what went without markers has been charged too little. */
static bool learn(struct delay *d, double delay_ns, uint64_t length_ns)
{
	double most = OUTLIER * most_deviation(length_ns), part = 1.0 / (d->seen + 1), off;

	if (delay_ns >= OFF_NS)
		return true;
	if (d->seen >= LEARNT && delay_ns < d->mean_ns - most)
		return false;
	if (!d->seen) {
		d->mean_ns = delay_ns;
		d->deviation_ns = 0;
	} else {
		off = within(delay_ns - d->mean_ns, most);
		d->deviation_ns += ((off < 0 ? -off : off) - d->deviation_ns) * part;
		d->mean_ns += off * part;
	}
	d->seen += d->seen + 1 < KEPT;
	return true;
}

static bool is_steady(const struct delay *d, uint64_t ns)
{
	return d->seen >= LEARNT && d->deviation_ns <= most_deviation(ns);
}

/* As a delay is taken for work without a marker: a little less than the mean, so that no less is charged than was had.
 */
static uint64_t likely_ns(const struct delay *d)
{
	double ns = d->mean_ns - d->deviation_ns / 2;

	return ns > 0 ? (uint64_t)ns : 0;
}

/*
 * The host's clock says nothing of work for which the program does not wait, or beside a thread that loses its
 * processor: markers again, for longer each time.
 */
static void forget_locked(struct pace *p)
{
	p->begin_delay.seen = p->end_delay.seen = 0;
	p->to_mark = LEARNT << p->strikes;
	p->strikes += p->strikes < STRIKES;
}

/* A choice that the program cannot foresee: what it did otherwise where it is measured would be charged wrong. */
static bool is_drawn(void)
{
	return estimate_mix(0, tick_now()) % DRAWN_EACH == 0;
}

/*
 * Of work that got its marker while the program waited for it: how late the wait returned. Where it had ended before,
 * nobody knows: a wait says something that sleeps until the end.
 */
static bool learn_end(struct pace *p, const struct chunk *c, uint64_t begin_ns, uint64_t end_ns)
{
	if (p->waited != c->stream || p->waited_word != c->word || p->wait_begun_ns > end_ns ||
	    end_ns < c->end_ns + PUT_NS)
		return true;
	return learn(&p->end_delay, p->waited_ns > end_ns ? (double)(p->waited_ns - end_ns) : 0, end_ns - begin_ns);
}

void waits_learn_locked(struct pace *p, const struct chunk *c, uint64_t begin_ns, uint64_t end_ns)
{
	bool as_learnt = true;

	if (c->left) {
		as_learnt = learn_end(p, c, begin_ns, end_ns);
	} else {
		p->unheld = c->stream;
		p->unheld_holds = c->holds;
		p->to_mark -= p->to_mark > 0;
		if (c->drawn)
			as_learnt =
				learn(&p->begin_delay, begin_ns > c->least_ns ? (double)(begin_ns - c->least_ns) : 0,
				      end_ns - begin_ns);
	}
	if (!as_learnt)
		forget_locked(p);
}

bool waits_may_leave_locked(struct pace *p, uint64_t ns)
{
	if (ns > LEFT_MOST_NS || p->to_mark || !is_steady(&p->begin_delay, ns))
		return false;
	if (++p->unmarked_launches % FORGIVEN == 0)
		p->strikes -= p->strikes > 0;
	p->lates -= p->lates > 0;
	return !is_drawn();
}

void waits_leave(struct pace *p, const struct launch *l)
{
	uint64_t now = tick_now();
	struct left left = { .stream = l->stream, .least_ns = marker_least_ns(l, now), .most_ns = now };

	/* If another thread submits to the stream as well, the word is never reached, and the watcher marks both. */
	left.ns = pace_ns(l->inc);
	left.word = atomic_load(&l->stream->flow[p->engine].submitted) + l->inc;
	left.admitted = l->admitted;
	if (!atomic_load_explicit(&any_left, memory_order_relaxed))
		atomic_store(&any_left, true);
	pthread_mutex_lock(&p->lock);
	p->left = left;
	atomic_store_explicit(&p->left_event, NULL, memory_order_relaxed);
	atomic_store_explicit(&p->left_of, left.stream, memory_order_relaxed);
	pthread_mutex_unlock(&p->lock);
}

bool waits_left_locked(const struct pace *p)
{
	const struct flow *f = p->left.stream ? &p->left.stream->flow[p->engine] : NULL;

	return f && p->left.word == atomic_load(&f->submitted) && (int64_t)(p->left.word - f->marked) > 0;
}

void waits_late_locked(struct pace *p)
{
	if (!waits_left_locked(p))
		return;
	/* Its event would have shown the end: the clock is not at fault, and that one is charged too much. */
	p->lates += LATE_EACH;
	if (atomic_load_explicit(&p->left_event, memory_order_relaxed) && p->lates <= LATE_MOST)
		return;
	p->lates = 0;
	forget_locked(p);
}

void waits_missed(struct pace *p, const struct stream *s)
{
	struct stream *left;

	pthread_mutex_lock(&p->lock);
	left = waits_left_locked(p) && p->left.stream == s ? p->left.stream : NULL;
	if (left)
		forget_locked(p);
	pthread_mutex_unlock(&p->lock);
	if (left)
		marks_stream(p, left);
}

uint64_t waits_begin_of_left_locked(struct pace *p, const struct chunk *c, uint64_t end_ns)
{
	uint64_t at_ns = c->least_ns + likely_ns(&p->begin_delay);

	return c->most_ns - c->least_ns > OFF_NS ? marker_likely_ns_locked(p, c, c->least_ns, end_ns) : at_ns;
}

/* True: *ret is the work without a marker, which has ended. */
static bool take_left_locked(struct pace *p, struct stream *s, uint64_t word, struct chunk *ret)
{
	struct flow *f = &s->flow[p->engine];

	if (!waits_left_locked(p) || p->left.stream != s || p->left.word != word || f->claimed)
		return false;
	*ret = (struct chunk){ .stream = s,
			       .lane = s->lane,
			       .word = word,
			       .least_ns = p->left.least_ns,
			       .most_ns = p->left.most_ns,
			       .key = atomic_exchange_explicit(&f->key, 0, memory_order_relaxed) };
	return true;
}

/* As the wait shows it. The delay is one of waits that sleep; when work ended before its wait began is not known. */
static uint64_t end_by_wait_locked(const struct pace *p)
{
	uint64_t end_ns = p->waited_ns - likely_ns(&p->end_delay);

	return end_ns < p->wait_begun_ns ? p->wait_begun_ns : end_ns;
}

static struct marker_news account_left_locked(struct pace *p, const struct chunk *c, uint64_t end_ns)
{
	uint64_t begin_ns = waits_begin_of_left_locked(p, c, end_ns), like_ns = estimate_mean(c->key);

	/* It took longer, or this thread was off the processor: nobody can tell, and the next ones are marked. */
	if (like_ns && end_ns > begin_ns + like_ns + like_ns / 4 + LONGER_NS)
		forget_locked(p);
	return marker_account_locked(p, c, begin_ns, end_ns, p->waited_ns);
}

static void note_waited_locked(struct pace *p, struct stream *s, uint64_t word, uint64_t begun_ns, uint64_t now_ns)
{
	p->waited = s;
	p->waited_word = word;
	p->wait_begun_ns = begun_ns;
	p->waited_ns = now_ns;
}

/* All work of the stream up to `word` has ended. */
static void ended(struct pace *p, struct stream *s, uint64_t word, uint64_t begun_ns, uint64_t now_ns)
{
	struct marker_news news;
	struct chunk c;
	bool left;

	if ((int64_t)(word - __atomic_load_n(&s->flow[p->engine].completed, __ATOMIC_ACQUIRE)) <= 0)
		return;
	pthread_mutex_lock(&p->lock);
	note_waited_locked(p, s, word, begun_ns, now_ns);
	left = take_left_locked(p, s, word, &c);
	if (left)
		news = account_left_locked(p, &c, end_by_wait_locked(p));
	pthread_mutex_unlock(&p->lock);
	if (left)
		marker_tell(p, news);
}

/* The work without a marker gets one now: the program does not know of which. With the lock held. */
static bool is_measured_locked(const struct pace *p, const struct stream *s)
{
	if (!waits_left_locked(p) || p->left.stream != s)
		return false;
	return !is_steady(&p->end_delay, p->left.ns) || p->end_delay.mean_ns > (double)(p->left.ns / DELAY_PART) ||
	       is_drawn();
}

static void measure(struct pace *p, struct stream *s)
{
	bool is;

	pthread_mutex_lock(&p->lock);
	is = is_measured_locked(p, s);
	pthread_mutex_unlock(&p->lock);
	if (!is || capture_going() || !s->lane->face->enter(s->lane->context))
		return;
	marks_stream(p, s);
	s->lane->face->leave();
}

static void add(struct waits *w, struct stream *s)
{
	w->of[w->count].stream = s;
	for (int e = 0; e < WIRE_ENGINES; e++)
		w->of[w->count].word[e] = atomic_load(&s->flow[e].submitted);
	w->count++;
}

static void begin(struct waits *w)
{
	for (unsigned int i = 0; i < w->count; i++)
		for (int e = 0; e < WIRE_ENGINES; e++)
			measure(&paces[w->of[i].stream->lane->device][e], w->of[i].stream);
	w->begun_ns = w->count ? tick_now() : 0;
}

void waits_begin_by(const struct face *f, struct waits *w, face_queue queue, bool per_thread, bool sleeps)
{
	uint64_t key = streams_known() ? stream_key_by(f, queue, per_thread) : 0;
	struct stream *s = key ? stream_lookup(key) : NULL;

	w->count = 0;
	w->begun_ns = s ? tick_now() : 0;
	if (s)
		add(w, s);
	if (s && sleeps)
		begin(w);
}

static bool has_work(const struct stream *s)
{
	for (int e = 0; e < WIRE_ENGINES; e++)
		if (atomic_load(&s->flow[e].submitted) != __atomic_load_n(&s->flow[e].completed, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

void waits_begin_context(struct waits *w, face_context context)
{
	uint32_t known = streams_known();

	w->count = 0;
	for (uint32_t i = 0; i < known && w->count < WAITS_STREAMS; i++) {
		struct stream *s = stream_known(i);

		if (s && s->lane->context == context && has_work(s))
			add(w, s);
	}
	begin(w);
}

void waits_begin_current_by(const struct face *f, struct waits *w)
{
	w->count = 0;
	if (streams_known() && f->context_of_default)
		waits_begin_context(w, f->context_of_default());
}

void waits_end(const struct waits *w)
{
	uint64_t now = w->count ? tick_now() : 0;

	for (unsigned int i = 0; i < w->count; i++)
		for (int e = 0; e < WIRE_ENGINES; e++)
			ended(&paces[w->of[i].stream->lane->device][e], w->of[i].stream, w->of[i].word[e], w->begun_ns,
			      now);
}

/* The program's own events ---------------------------------------------------------------------------------------- */

static unsigned int pace_total(void)
{
	return atomic_load_explicit(&pace_count, memory_order_acquire) * WIRE_ENGINES;
}

static struct pace *pace_at(unsigned int i)
{
	return &paces[i / WIRE_ENGINES][i % WIRE_ENGINES];
}

/* The event stands behind other work from now on: NULL: any event. */
static void lose_event(face_marker event)
{
	for (unsigned int i = 0; i < pace_total(); i++) {
		struct pace *p = pace_at(i);

		if (!atomic_load_explicit(&p->left_of, memory_order_relaxed))
			continue;
		pthread_mutex_lock(&p->lock);
		if (!event || atomic_load_explicit(&p->left_event, memory_order_relaxed) == event)
			atomic_store_explicit(&p->left_event, NULL, memory_order_relaxed);
		pthread_mutex_unlock(&p->lock);
	}
}

uint64_t waits_record_begin(face_marker event)
{
	uint64_t were;

	if (!atomic_load_explicit(&any_left, memory_order_relaxed))
		return 0;
	were = atomic_fetch_add(&recordings, RECORDING + 1);
	lose_event(event);
	return were % RECORDING ? 1 : were + RECORDING + 1;
}

/* With the lock held: only the launch of `left` has been admitted since before it was, so only that is behind. */
static bool is_alone_locked(const struct pace *p, const struct stream *s)
{
	return p->left.stream == s && waits_left_locked(p) && atomic_load(&p->admitted) == p->left.admitted;
}

static void note_event(struct pace *p, const struct stream *s, face_marker event, uint64_t ticket)
{
	pthread_mutex_lock(&p->lock);
	/* In a captured stream it would have been made a node, and be as it was: an earlier one, which has happened. */
	if (is_alone_locked(p, s) && atomic_load(&recordings) == ticket && !capture_going())
		atomic_store_explicit(&p->left_event, event, memory_order_relaxed);
	pthread_mutex_unlock(&p->lock);
}

void waits_record_end_by(const struct face *f, uint64_t ticket, face_marker event, face_queue queue, bool per_thread)
{
	uint64_t key = ticket > 1 && event ? stream_key_by(f, queue, per_thread) : 0;
	struct stream *s = key ? stream_lookup(key) : NULL;

	for (int e = 0; s && e < WIRE_ENGINES; e++) {
		struct pace *p = &paces[s->lane->device][e];

		if (atomic_load_explicit(&p->left_of, memory_order_relaxed) == s)
			note_event(p, s, event, ticket);
	}
	if (ticket)
		atomic_fetch_sub(&recordings, 1);
}

void waits_reset(void)
{
	atomic_store(&any_left, false);
	atomic_store(&recordings, 0);
}

void waits_begin_event(struct waits *w, face_marker event)
{
	unsigned int count = atomic_load_explicit(&any_left, memory_order_relaxed) ? pace_total() : 0;

	w->count = 0;
	for (unsigned int i = 0; i < count && !w->count; i++) {
		struct pace *p = pace_at(i);

		if (atomic_load_explicit(&p->left_event, memory_order_relaxed) != event)
			continue;
		pthread_mutex_lock(&p->lock);
		if (p->left.stream && is_alone_locked(p, p->left.stream)) {
			w->count = 1;
			w->event = event;
			w->pace = p;
			w->of[0].stream = p->left.stream;
			w->of[0].word[p->engine] = p->left.word;
			w->least_ns = p->left.least_ns;
		}
		pthread_mutex_unlock(&p->lock);
	}
	w->begun_ns = w->count ? tick_now() : 0;
}

/* With the lock held: the event stands behind the work without a marker, and nothing else has been launched since. */
static bool is_shown_locked(const struct pace *p, const struct waits *w)
{
	return atomic_load_explicit(&p->left_event, memory_order_relaxed) == w->event &&
	       p->left.word == w->of[0].word[p->engine] && is_alone_locked(p, w->of[0].stream);
}

void waits_end_event(const struct waits *w)
{
	struct stream *s = w->count ? w->of[0].stream : NULL;
	struct pace *p = w->pace;
	uint64_t now, end_ns = 0;
	struct marker_news news;
	struct chunk c;
	bool taken;

	if (!s || !lane_enter(s->lane))
		return;
	now = tick_now();
	end_ns = lane_time(s->lane, w->event, w->least_ns, now);
	lane_leave(s->lane);
	if (!end_ns)
		return;
	pthread_mutex_lock(&p->lock);
	taken = is_shown_locked(p, w) && take_left_locked(p, s, p->left.word, &c);
	if (taken) {
		note_waited_locked(p, s, c.word, w->begun_ns, now);
		news = account_left_locked(p, &c, end_ns);
	}
	pthread_mutex_unlock(&p->lock);
	if (taken)
		marker_tell(p, news);
}
