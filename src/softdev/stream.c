/*
 * stream.c: see stream.h. The machinery; the calls are in stream_calls.c.
 *
 * stream_mutex guards all queues, points and events. Work runs without it. Workers are made as streams become ready, up
 * to WORKERS_MOST (a host function may block its worker), and stay.
 */
#include "softdev/stream.h"

#include "base/clock.h"
#include "softdev/event.h"
#include "softdev/graph.h"
#include "softdev/mempool.h"
#include "softdev/tail.h"
#include "softdev/thread.h"

#include <stdlib.h>
#include <string.h>

#define WORKERS_MOST 256u
#define OWN_MOST 16u /* contexts in which one thread has its own default stream */

pthread_mutex_t stream_mutex = PTHREAD_MUTEX_INITIALIZER;

/*
 * A worker without work. The last one to become idle is the first one to be woken, not the one that has waited the
 * longest: its core's caches still hold what kernels use, where a program has work only now and then.
 */
struct idle_worker {
	pthread_cond_t cond;
	struct idle_worker *next;
	bool woken;
};

static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER; /* an operation is done; for those who wait */
static struct stream *ready_first, *ready_last;
static struct stream *parked;
static struct stream *unminded; /* tails for a worker to mind */
static struct idle_worker *idle_first;
static unsigned workers, waiting;
static unsigned workers_coming; /* woken or started, and not there yet */
static _Atomic uint64_t next_id;

static void worker_need_locked(void);

/* ---- points ---- */

bool point_reached_locked(const struct point *p)
{
	return !p->stream || p->stream->head.generation != p->generation || p->stream->completed >= p->sequence;
}

bool point_reached(const struct point *p)
{
	bool reached;

	pthread_mutex_lock(&stream_mutex);
	reached = point_settled_locked(p);
	pthread_mutex_unlock(&stream_mutex);
	return reached;
}

static struct point stream_point_locked(struct stream *s)
{
	return (struct point){ s, s->head.generation, s->submitted };
}

struct point stream_point(struct stream *s)
{
	struct point p;

	pthread_mutex_lock(&stream_mutex);
	p = stream_point_locked(s);
	pthread_mutex_unlock(&stream_mutex);
	return p;
}

/* ---- who runs what ---- */

static void ready_push_locked(struct stream *s)
{
	struct stream **at = &ready_first;

	s->state = STREAM_READY;
	if (ready_last && ready_last->priority <= s->priority)
		at = &ready_last->next_ready;
	while (*at && (*at)->priority <= s->priority)
		at = &(*at)->next_ready;
	s->next_ready = *at;
	*at = s;
	if (!s->next_ready)
		ready_last = s;
}

static void ready_remove_locked(struct stream *s)
{
	struct stream *previous = NULL;

	for (struct stream *t = ready_first; t != s; t = t->next_ready)
		previous = t;
	if (previous)
		previous->next_ready = s->next_ready;
	else
		ready_first = s->next_ready;
	if (ready_last == s)
		ready_last = previous;
}

static bool operation_free_to_run_locked(struct operation *o)
{
	for (; o->point_count; o->point_count--) {
		const struct point *p = &o->point[o->point_count - 1];

		if (!point_reached_locked(p))
			return false;
		if (p->stream && p->stream->head.generation == p->generation && o->ready_ns < p->stream->reached_ns)
			o->ready_ns = p->stream->reached_ns;
	}
	return true;
}

/* Somebody depends on what leaves the tail, and nobody else is there to notice it. */
static void mind_locked(struct stream *s)
{
	if (tail_empty(s) || s->minded || !(parked || s->dying || s->tail_shared))
		return;
	s->minded = true;
	s->next_minded = unminded;
	unminded = s;
}

/* An idle stream with work becomes ready or parked. */
static void stream_schedule_locked(struct stream *s)
{
	if (operation_free_to_run_locked(s->todo)) {
		ready_push_locked(s);
		return;
	}
	s->state = STREAM_PARKED;
	s->next_ready = parked;
	parked = s;
	for (uint32_t i = 0; i < s->todo->point_count; i++) {
		const struct point *p = &s->todo->point[i];

		if (p->stream && p->stream->head.generation == p->generation)
			mind_locked(p->stream);
	}
}

/* Something was reached: parked streams may go on. */
static void parked_wake_locked(void)
{
	struct stream **at = &parked;
	bool woken = false;

	while (*at) {
		struct stream *s = *at;

		if (operation_free_to_run_locked(s->todo)) {
			*at = s->next_ready;
			ready_push_locked(s);
			woken = true;
		} else {
			at = &s->next_ready;
		}
	}
	if (woken)
		worker_need_locked();
}

static void stream_unlink_locked(struct stream *s)
{
	struct stream **at = &s->context->streams;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
}

/* The program's own functions run on a thread of the driver: one that waits for something must not run into another. */
static bool operation_calls_host(const struct operation *o)
{
	return o->work.kind == WORK_HOST || o->work.kind == WORK_CALLBACK || o->work.kind == WORK_GRAPH;
}

/* What has ended leaves the tail, and others may go on. */
static void settle_locked(struct stream *s)
{
	if (tail_empty(s) || !tail_settle(s))
		return;
	if (waiting)
		pthread_cond_broadcast(&done_cond);
	if (parked)
		parked_wake_locked();
	worker_need_locked();
}

bool point_settled_locked(const struct point *p)
{
	struct stream *s = p->stream;

	if (point_reached_locked(p))
		return true;
	if (tail_empty(s))
		return false;
	pace_update(tail_first(s)->timed->device);
	settle_locked(s);
	return point_reached_locked(p);
}

static void operation_execute(struct stream *s, struct operation *o, struct pace_kernel *after)
{
	uint64_t ended_ns = 0;

	if (o->work.kind == WORK_KERNEL) {
		work_kernel_run(&o->work, &o->pace, after);
		if (!o->pace.end_ns) {
			o->timed = &o->pace;
			o->timed_ns = o->pace.overlap.duration_ns;
		}
		return;
	}
	if (o->work.kind == WORK_GRAPH) {
		graph_launch_run(o->work.graph.launch, s, after);
		o->flight = graph_launch_flight(o->work.graph.launch);
		o->timed = flight_last(&o->flight);
		o->timed_ns = flight_left_ns(&o->flight);
	} else {
		ended_ns = work_run(&o->work, s);
	}
	work_deinit(&o->work);
	if (!o->timed)
		o->pace.end_ns = ended_ns ? ended_ns : clock_now_ns();
}

/* Executes the next operation; the lock is dropped. What only marks a place has nothing to execute. */
static void operation_execute_locked(struct stream *s, struct operation *o)
{
	struct operation *before = tail_timed(s);

	if (before)
		tail_hold(before);
	pthread_mutex_unlock(&stream_mutex);
	operation_execute(s, o, before ? before->timed : NULL);
	pthread_mutex_lock(&stream_mutex);
	if (before)
		tail_release(before);
}

static void stream_end_locked(struct stream *s)
{
	if (!s->dying || s->first || s->minded || s->state != STREAM_IDLE)
		return;
	stream_unlink_locked(s);
	s->head.generation++;
	handle_free(s);
	if (waiting)
		pthread_cond_broadcast(&done_cond);
}

/*
 * Runs the stream until it is empty or must wait. Somebody who waits for a point (NULL: a worker) goes no further than
 * that. The stream is in state RUNNING; the lock is dropped in between.
 */
static void stream_run_locked(struct stream *s, const struct point *until)
{
	settle_locked(s);
	while (s->todo && operation_free_to_run_locked(s->todo)) {
		struct operation *o = s->todo;

		if (until && (s->executed >= until->sequence || operation_calls_host(o)))
			break;
		if (!tail_has_room(s)) {
			tail_sleep(tail_awaited(s));
			settle_locked(s);
			continue;
		}
		mind_locked(s); /* it may take long, and others may wait for what is in the tail */
		worker_need_locked();
		if (!tail_marks(o))
			operation_execute_locked(s, o);
		else if (o->submitted_ns && tail_leads(o))
			o->marked_ns = clock_now_ns();
		tail_add(s);
		settle_locked(s);
		if (waiting && !tail_empty(s))
			pthread_cond_broadcast(&done_cond);
	}
	s->state = STREAM_IDLE;
	if (s->todo)
		stream_schedule_locked(s);
	mind_locked(s);
	stream_end_locked(s);
	worker_need_locked();
}

/* The stream goes on by itself meanwhile, if it can. */
static void tail_mind_locked(struct stream *s)
{
	while (!tail_empty(s) && (parked || s->dying || s->tail_shared)) {
		tail_sleep(tail_first(s));
		settle_locked(s);
	}
	s->minded = false;
	stream_end_locked(s);
}

static void worker_sleep_locked(void)
{
	struct idle_worker me = { .cond = PTHREAD_COND_INITIALIZER, .next = idle_first };

	idle_first = &me;
	while (!me.woken)
		pthread_cond_wait(&me.cond, &stream_mutex);
	workers_coming--;
	pthread_cond_destroy(&me.cond);
}

static void *worker_main(void *unused)
{
	pace_thread_init();
	pthread_mutex_lock(&stream_mutex);
	workers_coming--;
	for (;;) {
		struct stream *s = ready_first;

		if (!s && unminded) {
			s = unminded;
			unminded = s->next_minded;
			worker_need_locked();
			tail_mind_locked(s);
			continue;
		}
		if (!s) {
			worker_sleep_locked();
			continue;
		}
		ready_remove_locked(s);
		s->state = STREAM_RUNNING;
		worker_need_locked();
		stream_run_locked(s, NULL);
	}
	return NULL;
}

/*
 * There is something ready: somebody must be there to run it. One at a time is called: a worker that comes calls the
 * next one when it has taken something, and there is more.
 */
static void worker_need_locked(void)
{
	struct idle_worker *w = idle_first;

	if (workers_coming || (!ready_first && !unminded))
		return;
	if (w) {
		idle_first = w->next;
		w->woken = true;
		workers_coming++;
		pthread_cond_signal(&w->cond);
		return;
	}
	if (workers >= WORKERS_MOST || !thread_start(worker_main, NULL))
		return;
	workers++;
	workers_coming++;
}

void point_wait(const struct point *p)
{
	pthread_mutex_lock(&stream_mutex);
	while (!point_reached_locked(p)) {
		struct stream *s = p->stream;

		if (s->executed >= p->sequence) {
			tail_sleep(tail_until(s, p->sequence));
			if (!point_reached_locked(p)) /* else it may have ended, and its place be another's */
				settle_locked(s);
			continue;
		}
		if (s->state == STREAM_READY && !operation_calls_host(s->todo)) {
			ready_remove_locked(s);
			s->state = STREAM_RUNNING;
			stream_run_locked(s, p);
			continue;
		}
		/* Without a worker (none could be made) whoever waits runs what is ready. */
		if (!workers && ready_first) {
			s = ready_first;
			ready_remove_locked(s);
			s->state = STREAM_RUNNING;
			stream_run_locked(s, NULL);
			continue;
		}
		waiting++;
		pthread_cond_wait(&done_cond, &stream_mutex);
		waiting--;
	}
	pthread_mutex_unlock(&stream_mutex);
}

/* ---- gates ---- */

struct stream *stream_gate_new(void)
{
	struct stream *s = handle_new(HANDLE_STREAM);

	if (s)
		handle_retire(s); /* not for programs */
	return s;
}

void stream_gate_reach(struct stream *gate, uint64_t sequence)
{
	pthread_mutex_lock(&stream_mutex);
	if (gate->completed < sequence)
		gate->completed = gate->executed = sequence;
	gate->reached_ns = clock_now_ns();
	if (waiting)
		pthread_cond_broadcast(&done_cond);
	if (parked)
		parked_wake_locked();
	worker_need_locked();
	pthread_mutex_unlock(&stream_mutex);
}

void stream_gate_free(struct stream *gate)
{
	if (!gate)
		return;
	pthread_mutex_lock(&stream_mutex);
	gate->head.generation++;
	pthread_mutex_unlock(&stream_mutex);
	handle_free(gate);
}

/* ---- submission ---- */

/* The points that the default stream's rules add. Value: their number, or -1 without memory. */
static int implicit_points_locked(struct stream *s, struct point **ret)
{
	struct context *c = s->context;
	int count = 0;

	*ret = NULL;
	if (s->legacy) {
		for (struct stream *t = c->streams; t; t = t->next)
			count += t != s && !(t->flags & CU_STREAM_NON_BLOCKING) && t->submitted > t->completed;
	} else if (!(s->flags & CU_STREAM_NON_BLOCKING)) {
		count = c->legacy->submitted > c->legacy->completed;
	}
	if (!count)
		return 0;
	*ret = calloc((size_t)count, sizeof(**ret));
	if (!*ret)
		return -1;
	if (!s->legacy) {
		**ret = stream_point_locked(c->legacy);
		return 1;
	}
	count = 0;
	for (struct stream *t = c->streams; t; t = t->next)
		if (t != s && !(t->flags & CU_STREAM_NON_BLOCKING) && t->submitted > t->completed)
			(*ret)[count++] = stream_point_locked(t);
	return count;
}

static CUresult submit_locked(struct stream *s, struct work *w, const struct point *point, uint32_t extra,
			      struct point *ret)
{
	struct operation *o;
	int count;

	if (s->dying) /* another thread has destroyed it since it was looked up */
		return CUDA_ERROR_INVALID_HANDLE;
	o = calloc(1, sizeof(*o));
	count = o ? implicit_points_locked(s, &o->point) : -1;
	if (count < 0) {
		free(o);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (extra) {
		struct point *all = reallocarray(o->point, (size_t)count + extra, sizeof(*all));

		if (!all) {
			free(o->point);
			free(o);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		memcpy(all + count, point, extra * sizeof(*point));
		o->point = all;
	}
	o->point_count = (uint32_t)count + extra;
	o->work = *w;
	if (s->last)
		s->last->next = o;
	else
		s->first = o;
	s->last = o;
	if (!s->todo)
		s->todo = o;
	s->submitted++;
	s->context->pending++;
	if (w->kind == WORK_RECORD) {
		o->submitted_ns = clock_now_ns();
		event_recorded_locked(w->record.event, stream_point_locked(s), &o->work);
	}
	*ret = stream_point_locked(s);
	if (s->state == STREAM_IDLE)
		stream_schedule_locked(s);
	return CUDA_SUCCESS;
}

static CUresult submit(struct stream *s, struct work *w, const struct point *point, uint32_t count, bool wait)
{
	struct point done;
	CUresult e;

	pthread_mutex_lock(&stream_mutex);
	e = submit_locked(s, w, point, count, &done);
	if (!e && !wait)
		worker_need_locked();
	else if (!e && s->state != STREAM_READY)
		worker_need_locked(); /* the streams that this one depends on must go on */
	pthread_mutex_unlock(&stream_mutex);
	if (e)
		work_deinit(w);
	else if (wait)
		point_wait(&done);
	return e ? e : wait ? context_sticky(s->context) : CUDA_SUCCESS;
}

CUresult stream_submit(struct stream *s, struct work *w, bool wait)
{
	CUresult e;

	w->context = s->context;
	if (__builtin_expect(!!capture_of(s), 0)) {
		if (!wait)
			return capture_submit(s, w);
		work_deinit(w);
		return capture_forbidden(s);
	}
	e = capture_clash(s, wait);
	if (e) {
		work_deinit(w);
		return e;
	}
	return submit(s, w, NULL, 0, wait);
}

CUresult stream_submit_after(struct stream *s, struct work *w, const struct point *point, uint32_t count)
{
	w->context = s->context;
	return submit(s, w, point, count, false);
}

CUresult stream_submit_all(struct context *c, const struct work *w, const struct point *point)
{
	CUresult e = CUDA_SUCCESS;
	struct point done;

	pthread_mutex_lock(&stream_mutex);
	for (struct stream *s = c->streams; s && !e; s = s->next) {
		struct work copy;

		if (s->dying)
			continue;
		if (!work_clone(w, &copy)) {
			e = CUDA_ERROR_OUT_OF_MEMORY;
			break;
		}
		copy.context = c;
		e = submit_locked(s, &copy, point, 1, &done);
		if (e)
			work_deinit(&copy);
	}
	worker_need_locked();
	pthread_mutex_unlock(&stream_mutex);
	return e;
}

/* ---- waiting for many ---- */

void stream_settle_context(struct context *c)
{
	pthread_mutex_lock(&stream_mutex);
	for (struct stream *s = c->streams; s; s = s->next)
		if (!tail_empty(s)) {
			pace_update(tail_first(s)->timed->device);
			settle_locked(s);
		}
	pthread_mutex_unlock(&stream_mutex);
}

/* The points of all streams of the context with work left. Value: their number, or -1 without memory. */
static int context_points(struct context *c, struct point **ret)
{
	int count = 0;

	pthread_mutex_lock(&stream_mutex);
	for (struct stream *s = c->streams; s; s = s->next)
		count += s->submitted > s->completed;
	*ret = calloc((size_t)count + 1, sizeof(**ret));
	if (!*ret) {
		count = -1;
	} else {
		count = 0;
		for (struct stream *s = c->streams; s; s = s->next)
			if (s->submitted > s->completed)
				(*ret)[count++] = stream_point_locked(s);
	}
	pthread_mutex_unlock(&stream_mutex);
	return count;
}

CUresult stream_drain_context(struct context *c)
{
	struct point *point;
	int count;

	if (!c->pending)
		return CUDA_SUCCESS;
	count = context_points(c, &point);
	for (int i = 0; i < count; i++)
		point_wait(&point[i]);
	free(point);
	return count < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult stream_wait_context(struct context *c)
{
	CUresult e = stream_drain_context(c);

	mempool_synchronised(c->device);
	return context_sticky(c) ? context_sticky(c) : e;
}

struct points {
	const struct device *device;
	struct point *list; /* NULL: they are counted only */
	size_t count;
};

static void add_points_locked(void *object, void *arg)
{
	const struct context *c = object;
	struct points *p = arg;

	if (c->device != p->device)
		return;
	for (struct stream *s = c->streams; s; s = s->next) {
		if (s->submitted <= s->completed)
			continue;
		if (p->list)
			p->list[p->count] = stream_point_locked(s);
		p->count++;
	}
}

/* All points at once: while one of them is waited for, contexts come and go. */
void stream_wait_device(struct device *d)
{
	struct points p = { .device = d };

	pthread_mutex_lock(&stream_mutex);
	handle_each(HANDLE_CONTEXT, add_points_locked, &p);
	if (p.count)
		p.list = calloc(p.count, sizeof(*p.list));
	p.count = 0;
	if (p.list)
		handle_each(HANDLE_CONTEXT, add_points_locked, &p);
	pthread_mutex_unlock(&stream_mutex);
	for (size_t i = 0; i < p.count; i++)
		point_wait(&p.list[i]);
	free(p.list);
}

/* ---- life ---- */

struct stream *stream_new(struct context *c, unsigned flags, int priority)
{
	struct stream *s = handle_new(HANDLE_STREAM);

	if (!s)
		return NULL;
	s->context = c;
	s->flags = flags;
	s->priority = priority;
	s->id = ++next_id;
	s->sync_policy = CU_SYNC_POLICY_AUTO;
	pthread_mutex_lock(&stream_mutex);
	s->next = c->streams;
	c->streams = s;
	pthread_mutex_unlock(&stream_mutex);
	return s;
}

void stream_retire(struct stream *s)
{
	if (!handle_retire(s))
		return;
	pthread_mutex_lock(&stream_mutex);
	s->dying = true;
	mind_locked(s);
	stream_end_locked(s);
	worker_need_locked();
	pthread_mutex_unlock(&stream_mutex);
}

/*
 * Until they are out of the list: a worker that minds what is left of a stream looks at the context at its end.
 * Without a worker whoever waits is one.
 */
static void await_ended_locked(struct context *c)
{
	while (c->streams) {
		struct stream *s = ready_first;

		if (!workers && s) {
			ready_remove_locked(s);
			s->state = STREAM_RUNNING;
			stream_run_locked(s, NULL);
		} else if (!workers && unminded) {
			s = unminded;
			unminded = s->next_minded;
			tail_mind_locked(s);
		} else {
			waiting++;
			pthread_cond_wait(&done_cond, &stream_mutex);
			waiting--;
		}
	}
}

void stream_free_all(struct context *c)
{
	struct stream *s;

	do {
		pthread_mutex_lock(&stream_mutex);
		for (s = c->streams; s && s->dying; s = s->next)
			;
		pthread_mutex_unlock(&stream_mutex);
		if (s)
			stream_retire(s);
	} while (s);
	pthread_mutex_lock(&stream_mutex);
	await_ended_locked(c);
	pthread_mutex_unlock(&stream_mutex);
	c->legacy = NULL;
}

/* ---- a thread's own default streams ---- */

struct own {
	struct stream *stream;
	uint64_t generation;
};

static __thread struct own own[OWN_MOST];
static __thread bool own_registered;
static pthread_key_t own_key;

static void own_end(void *unused)
{
	for (unsigned i = 0; i < OWN_MOST; i++)
		if (own[i].stream && own[i].stream->head.generation == own[i].generation)
			stream_retire(own[i].stream);
	memset(own, 0, sizeof(own));
}

__attribute__((constructor)) static void own_load(void)
{
	pthread_key_create(&own_key, own_end);
}

static CUresult own_find(struct context *c, struct stream **ret)
{
	struct own *place = NULL;

	for (unsigned i = 0; i < OWN_MOST; i++) {
		bool lives = own[i].stream && own[i].stream->head.generation == own[i].generation;

		if (lives && own[i].stream->context == c) {
			*ret = own[i].stream;
			return CUDA_SUCCESS;
		}
		if (!lives)
			place = &own[i];
	}
	if (!place)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret = stream_new(c, CU_STREAM_DEFAULT, 0);
	if (!*ret)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*ret)->per_thread = true;
	*place = (struct own){ *ret, (*ret)->head.generation };
	if (!own_registered)
		own_registered = !pthread_setspecific(own_key, own);
	return CUDA_SUCCESS;
}

CUresult stream_find(CUstream h, struct stream **ret)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (h == CU_STREAM_PER_THREAD || (!h && soft_per_thread))
		return own_find(c, ret);
	if (!h || h == CU_STREAM_LEGACY) {
		*ret = c->legacy;
		return CUDA_SUCCESS;
	}
	*ret = handle_find(HANDLE_STREAM, h);
	if (!*ret || (*ret)->legacy || (*ret)->per_thread)
		return CUDA_ERROR_INVALID_HANDLE;
	return context_sticky((*ret)->context);
}
