/* arbitrate.c: the thread that gives turns, see arbitrate.h. */
#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/store/store.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/arbitrate.h"
#include "daemon/turns/terms.h"
#include "daemon/turns/doorbell.h"
#include "model/policy.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define PRIORITY 10 /* real-time, low among those */
#define NICE (-10)
#define EVENTS 32
#define RINGS_MAX 40 /* of one tenant in RINGS_NS; then it is not heard until they are over */
#define RINGS_NS 1000000ull
#define LOUD_NS 16000000ull  /* who rings more may ring half as often, and twice as often again after so long */
#define GRID_NS 100000000ull /* of moments for what is far off */
#define WORK_NS 4000000ull   /* half of which the thread may be at work */
#define NO_WAIT_NS 5000ull
#define GANG_ROUNDS 3

/* What epoll says has happened: these, or the id of the grant whose doorbell was rung. */
enum { EVENT_TIMER, EVENT_POKE, EVENT_END, EVENT_GRANT };

struct due {
	struct due *next;
	struct engine *engine;
	uint64_t at_ns; /* 0: now */
};

struct bell {
	struct bell *next;
	struct tenant *tenant;
	unsigned int rings; /* since `from_ns` */
	unsigned int most;  /* from 1 to RINGS_MAX */
	uint64_t from_ns, loud_ns;
	bool muted;
	struct gang gang; /* of the tenant's devices */
};

static struct {
	pthread_mutex_t lock;
	pthread_t thread;
	bool running, stop;
	int epoll, timer, poke;
	struct due *engines;
	struct bell *bells;
	uint64_t armed_ns;
	char priority[24];
} arb = { .epoll = -1, .timer = -1, .poke = -1, .priority = "normal" };

static pthread_once_t lock_made = PTHREAD_ONCE_INIT;

/* Whoever waits lends its priority to who holds it. */
static void make_lock(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	if (pthread_mutex_init(&arb.lock, &a))
		pthread_mutex_init(&arb.lock, NULL);
	pthread_mutexattr_destroy(&a);
}

void arbitrate_lock(void)
{
	pthread_once(&lock_made, make_lock);
	pthread_mutex_lock(&arb.lock);
}

void arbitrate_unlock(void)
{
	pthread_mutex_unlock(&arb.lock);
}

/* The thread. */

static void take_priority(void)
{
	struct sched_param p = { .sched_priority = PRIORITY };

	prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
	if (!sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p))
		snprintf(arb.priority, sizeof(arb.priority), "real-time");
	else if (!setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE))
		snprintf(arb.priority, sizeof(arb.priority), "nice %d", NICE);
}

static void drain(int fd)
{
	uint64_t n;
	ssize_t r = read(fd, &n, sizeof(n));

	(void)r; /* it was read before */
}

static void mute(struct bell *b, bool muted)
{
	struct epoll_event event = { .events = muted ? 0 : EPOLLIN, .data.u64 = b->tenant->grant.id };

	b->muted = muted;
	epoll_ctl(arb.epoll, EPOLL_CTL_MOD, b->tenant->bell_fd, &event);
}

static void run_soon(const struct engine *e)
{
	for (struct due *d = arb.engines; d; d = d->next)
		if (d->engine == e)
			d->at_ns = 0;
}

static void tenant_soon(const struct tenant *t)
{
	for (unsigned int i = 0; i < t->grant.share_count; i++)
		for (int k = 0; k < WIRE_ENGINES; k++)
			if (t->places.at[i][k])
				run_soon(engine_of(t->places.at[i][k]));
}

/* It has not rung too often for a while. */
static void grow_quiet(struct bell *b, uint64_t now_ns)
{
	if (b->most >= RINGS_MAX || now_ns - b->loud_ns < LOUD_NS)
		return;
	b->most = 2 * b->most < RINGS_MAX ? 2 * b->most : RINGS_MAX;
	b->loud_ns = now_ns;
}

/* Somebody who rings all the time is looked at once or twice a millisecond: the thread has others to serve. */
static void rung(uint64_t id, uint64_t now_ns)
{
	struct bell *b = arb.bells;

	while (b && b->tenant->grant.id != id)
		b = b->next;
	if (!b)
		return;
	doorbell_quiet(b->tenant->bell_fd);
	if (now_ns - b->from_ns >= RINGS_NS) {
		b->from_ns = now_ns;
		b->rings = 0;
	}
	grow_quiet(b, now_ns);
	if (++b->rings > b->most) {
		mute(b, true);
		b->most = b->most > 1 ? b->most / 2 : 1;
		b->loud_ns = now_ns;
	}
	tenant_soon(b->tenant);
}

static uint64_t hear_again(uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (struct bell *b = arb.bells; b; b = b->next) {
		if (!b->muted)
			continue;
		if (now_ns - b->from_ns >= RINGS_NS)
			mute(b, false);
		else if (b->from_ns + RINGS_NS < next_ns)
			next_ns = b->from_ns + RINGS_NS;
	}
	return next_ns;
}

static void arm(uint64_t at_ns)
{
	struct itimerspec spec = { 0 };

	if (at_ns == arb.armed_ns)
		return;
	arb.armed_ns = at_ns;
	if (at_ns != UINT64_MAX) {
		spec.it_value.tv_sec = (time_t)(at_ns / 1000000000u);
		spec.it_value.tv_nsec = (long)(at_ns % 1000000000u);
	}
	timerfd_settime(arb.timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void treat(const struct epoll_event *event, uint64_t now_ns)
{
	if (event->data.u64 == EVENT_POKE) {
		drain(arb.poke);
	} else if (event->data.u64 == EVENT_TIMER) {
		drain(arb.timer);
		arb.armed_ns = UINT64_MAX;
	} else if (event->data.u64 == EVENT_END) {
		arb.stop = true;
	} else {
		rung(event->data.u64, now_ns);
	}
}

/*
 * What is far off is done a little early, which harms nobody, at a moment that others share: the heartbeats of many
 * engines at which nothing happens are one wake-up.
 */
static uint64_t together(uint64_t at_ns, uint64_t now_ns)
{
	return at_ns != UINT64_MAX && at_ns > now_ns + 2 * GRID_NS ? at_ns - at_ns % GRID_NS : at_ns;
}

static uint64_t run_due(void)
{
	uint64_t next_ns = UINT64_MAX;

	for (struct due *d = arb.engines; d; d = d->next) {
		uint64_t now_ns = clock_now_ns();

		if (d->at_ns <= now_ns)
			d->at_ns = together(engine_run(d->engine, now_ns), now_ns);
		if (d->at_ns < next_ns)
			next_ns = d->at_ns;
	}
	return next_ns;
}

/* Turns of a tenant with several devices. Value: engines are to be run again. */
static bool run_gang(struct bell *b, bool give, uint64_t now_ns)
{
	struct gang_member members[GANG_MOST] = { { NULL, 0 } };
	const struct tenant *t = b->tenant;
	unsigned int count = t->grant.share_count < GANG_MOST ? t->grant.share_count : GANG_MOST;
	uint32_t changed;

	for (unsigned int i = 0; i < count; i++)
		if (t->places.at[i][WIRE_COMPUTE])
			members[i] = place_member(t->places.at[i][WIRE_COMPUTE]);
	changed = gang_decide(&b->gang, members, count, give, now_ns);
	for (unsigned int i = 0; i < count; i++)
		if (changed & 1u << i)
			run_soon(engine_of(t->places.at[i][WIRE_COMPUTE]));
	return changed;
}

static bool run_gangs(uint64_t now_ns)
{
	bool given = false, again = false;

	for (struct bell *b = arb.bells; b; b = b->next) {
		if (b->tenant->grant.share_count < 2)
			continue;
		again |= run_gang(b, !given, now_ns);
		given |= gang_in_step(&b->gang, now_ns);
	}
	return again;
}

static void run_engines(void)
{
	uint64_t next_ns = hear_again(clock_now_ns()), due_ns = UINT64_MAX;

	for (int round = 0; round < GANG_ROUNDS; round++) {
		due_ns = run_due();
		if (!run_gangs(clock_now_ns()))
			break;
	}
	for (struct due *d = arb.engines; d; d = d->next)
		due_ns = d->at_ns < due_ns ? d->at_ns : due_ns;
	next_ns = due_ns < next_ns ? due_ns : next_ns;
	arm(next_ns ? next_ns : 1); /* at once */
}

/*
 * Whatever wakes the thread, it leaves a half of a core to others: at its priority nobody else would run there. A wait
 * that was none is work as well.
 */
static void rest(uint64_t before_ns, uint64_t woke_ns)
{
	static uint64_t from_ns, busy_ns;
	uint64_t now_ns = clock_now_ns();

	if (now_ns - from_ns >= WORK_NS) {
		from_ns = now_ns;
		busy_ns = 0;
	}
	busy_ns += now_ns - (woke_ns - before_ns < NO_WAIT_NS ? before_ns : woke_ns);
	if (busy_ns > WORK_NS / 2)
		usleep((useconds_t)((from_ns + WORK_NS - now_ns) / 1000));
}

/* What has happened within so many ms. Value: whether that is all. */
static bool run_once(int timeout_ms)
{
	struct epoll_event events[EVENTS];
	uint64_t before_ns = clock_now_ns(), now_ns;
	int n = epoll_wait(arb.epoll, events, EVENTS, timeout_ms);
	bool stop;

	now_ns = clock_now_ns();
	arbitrate_lock();
	for (int i = 0; i < n; i++)
		treat(&events[i], now_ns);
	if (!arb.stop)
		run_engines();
	stop = arb.stop;
	arbitrate_unlock();
	if (!stop)
		rest(before_ns, now_ns);
	return stop;
}

static void *run(void *unused)
{
	prctl(PR_SET_NAME, "meted turns");
	take_priority();
	while (!run_once(-1))
		;
	return unused;
}

static int watch(int fd, uint64_t what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = what };

	return epoll_ctl(arb.epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* SIGBUS stays: a page may have been cut short. */
static int start_thread(void)
{
	struct sched_param p = { .sched_priority = PRIORITY };
	pthread_attr_t at_once;
	sigset_t all, before;
	int r;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGABRT);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* At its priority from the first: where others have all cores it would wait for its turn to take it. */
	pthread_attr_init(&at_once);
	pthread_attr_setinheritsched(&at_once, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&at_once, SCHED_FIFO);
	pthread_attr_setschedparam(&at_once, &p);
	r = -pthread_create(&arb.thread, &at_once, run, NULL);
	pthread_attr_destroy(&at_once);
	if (r)
		r = -pthread_create(&arb.thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

static void poke(void)
{
	static const uint64_t one = 1;
	ssize_t r = arb.poke < 0 ? 0 : write(arb.poke, &one, sizeof(one));

	(void)r; /* a full one has been poked */
}

int arbitrate_start(void)
{
	int r;

	arb.epoll = epoll_create1(EPOLL_CLOEXEC);
	arb.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	arb.poke = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	arb.armed_ns = UINT64_MAX;
	if (arb.epoll < 0 || arb.timer < 0 || arb.poke < 0)
		return -errno;
	r = watch(arb.timer, EVENT_TIMER);
	if (!r)
		r = watch(arb.poke, EVENT_POKE);
	if (!r)
		r = start_thread();
	arb.running = !r;
	if (arb.running)
		poke(); /* tenants may be there already */
	return r;
}

/* What the parent waits with is its own. */
static bool begin_anew(int fd)
{
	make_lock();
	close(arb.epoll);
	close(arb.timer);
	close(arb.poke);
	arb.poke = -1;
	arb.epoll = epoll_create1(EPOLL_CLOEXEC);
	arb.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	arb.armed_ns = UINT64_MAX;
	if (arb.epoll < 0 || arb.timer < 0 || watch(arb.timer, EVENT_TIMER) || watch(fd, EVENT_END))
		return false;
	for (struct bell *b = arb.bells; b; b = b->next) {
		b->muted = false;
		watch(b->tenant->bell_fd, b->tenant->grant.id);
	}
	for (struct due *d = arb.engines; d; d = d->next)
		d->at_ns = 0;
	return true;
}

bool arbitrate_keep(int fd, uint64_t until_ns)
{
	int policy = sched_getscheduler(0), nice = getpriority(PRIO_PROCESS, 0);
	struct sched_param param = { 0 };
	uint64_t now_ns;

	if (!begin_anew(fd))
		return false;
	sched_getparam(0, &param);
	take_priority();
	while ((now_ns = clock_now_ns()) < until_ns && !run_once((int)((until_ns - now_ns) / 1000000u) + 1))
		;
	sched_setscheduler(0, policy, &param);
	setpriority(PRIO_PROCESS, 0, nice);
	return arb.stop;
}

void arbitrate_stop(void)
{
	if (arb.running) {
		arbitrate_lock();
		arb.stop = true;
		arbitrate_unlock();
		poke();
		pthread_join(arb.thread, NULL);
		arb.running = false;
	}
	if (arb.epoll >= 0)
		close(arb.epoll);
	if (arb.timer >= 0)
		close(arb.timer);
	if (arb.poke >= 0)
		close(arb.poke);
	arb.epoll = arb.timer = arb.poke = -1;
}

const char *arbitrate_priority(void)
{
	static char text[sizeof(arb.priority)];

	arbitrate_lock();
	memcpy(text, arb.priority, sizeof(text));
	arbitrate_unlock();
	return text;
}

/* Tenants. */

static struct engine *find_engine(const uint8_t *uuid, enum wire_engine kind)
{
	struct due *d = arb.engines;

	while (d && !engine_is(d->engine, uuid, kind))
		d = d->next;
	if (d)
		return d->engine;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->engine = engine_new(uuid, kind);
	if (!d->engine) {
		free(d);
		return NULL;
	}
	d->next = arb.engines;
	arb.engines = d;
	return d->engine;
}

static void drop_engine(const struct engine *e)
{
	struct due **at = &arb.engines, *d;

	if (!engine_empty(e))
		return;
	while ((*at)->engine != e)
		at = &(*at)->next;
	d = *at;
	*at = d->next;
	engine_free(d->engine);
	free(d);
}

static void listen_to(struct tenant *t)
{
	struct bell *b = arb.bells;

	while (b && b->tenant != t)
		b = b->next;
	if (b || t->bell_fd < 0 || arb.epoll < 0)
		return;
	b = calloc(1, sizeof(*b));
	if (!b || watch(t->bell_fd, t->grant.id)) {
		free(b);
		log_line("grant %s: its doorbell cannot be heard: turns are given by the timer alone", t->grant.name);
		return;
	}
	b->tenant = t;
	b->most = RINGS_MAX;
	b->next = arb.bells;
	arb.bells = b;
}

static void stop_listening(struct tenant *t)
{
	struct bell **at = &arb.bells, *b;

	while ((b = *at)) {
		if (b->tenant != t) {
			at = &b->next;
			continue;
		}
		epoll_ctl(arb.epoll, EPOLL_CTL_DEL, t->bell_fd, NULL);
		*at = b->next;
		free(b);
	}
}

static void sit(struct client *c, unsigned int i, int k, bool found)
{
	struct place *p = c->tenant->places.at[i][k];
	struct wire_turn *turn = &c->page.map->turn[i][k];
	uint64_t now_ns = clock_now_ns();

	if (!c->process_lives || c->seats.at[i][k])
		return;
	if (p)
		c->seats.at[i][k] = engine_sit(p, turn, found, now_ns);
	if (!c->seats.at[i][k])
		engine_pass(turn);
	else if (found)
		engine_deaf(c->seats.at[i][k], true);
}

static void rise(struct client *c, unsigned int i, int k, bool lives)
{
	if (c->seats.at[i][k])
		engine_rise(c->seats.at[i][k], clock_now_ns(), lives);
	c->seats.at[i][k] = NULL;
}

static void drop_place(struct tenant *t, unsigned int i, int k)
{
	struct place *p = t->places.at[i][k];
	struct engine *e;

	if (!p)
		return;
	for (struct client *c = t->clients; c; c = c->next)
		rise(c, i, k, true);
	e = engine_of(p);
	place_count(p, clock_now_ns(), t->places.since_ns[i][k]);
	engine_leave(p, clock_now_ns());
	run_soon(e);
	drop_engine(e);
	t->places.at[i][k] = NULL;
}

/* The operator has said how the device's time is shared, or somebody's grant has, and not that native runs beside. */
static bool holds_natives(struct daemon *daemon, const uint8_t *uuid, const struct tenant *except)
{
	return (daemon_shares_time(daemon, uuid, except) || terms_default(daemon, uuid) != POLICY_NATIVE) &&
	       !store_native(daemon->store, uuid);
}

/* What the tenant is held to: native ones, too, where time is shared out. */
static struct arbiter_terms terms_of(const struct tenant *t, unsigned int i, const struct tenant *except)
{
	const struct policy_wish left_over = { .policy = POLICY_FAIR, .class = -1 };
	struct arbiter_terms terms = t->grant.share[i].compute.terms;
	const uint8_t *uuid = t->grant.share[i].device.uuid;

	if (!terms.gated && holds_natives(t->daemon, uuid, except))
		policy_terms(&left_over, NULL, &terms, NULL, 0);
	return terms;
}

static int take_terms(struct tenant *t, unsigned int i, int k, const struct arbiter_terms *terms)
{
	struct place **p = &t->places.at[i][k];
	struct engine *e;

	if (!terms->gated) {
		drop_place(t, i, k);
		return 0;
	}
	if (*p) {
		engine_change(*p, terms, clock_now_ns());
		return 0;
	}
	e = find_engine(t->grant.share[i].device.uuid, (enum wire_engine)k);
	if (!e)
		return -ENOMEM;
	*p = engine_join(e, terms, clock_now_ns());
	if (!*p) {
		drop_engine(e);
		return -EMFILE;
	}
	engine_user(*p, t->grant.uid);
	for (struct client *c = t->clients; c; c = c->next)
		sit(c, i, k, false);
	return 0;
}

static int take_share(struct tenant *t, unsigned int i, const struct tenant *except)
{
	const struct arbiter_terms terms = terms_of(t, i, except);
	int r = 0;

	for (int k = 0; k < WIRE_ENGINES; k++)
		r = take_terms(t, i, k, &terms) ? -EMFILE : r;
	return r;
}

/* The lock is held. */
static int take_natives(struct daemon *daemon, const struct tenant *except)
{
	int r = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next)
		for (unsigned int i = 0; t != except && i < t->grant.share_count; i++) {
			if (t->grant.share[i].compute.terms.gated)
				continue;
			r = take_share(t, i, except) ? -EMFILE : r;
			listen_to(t);
			tenant_soon(t);
		}
	return r;
}

static void tell_missing(const char *name)
{
	log_line("grant %s: the device has %u tenants already, or there is no memory: this one is not held to "
		 "its share of time",
		 name, ARBITER_TENANTS);
}

int arbitrate_terms(struct tenant *t)
{
	int r = 0;

	arbitrate_lock();
	for (unsigned int i = 0; i < t->grant.share_count; i++)
		r = take_share(t, i, NULL) ? -EMFILE : r;
	listen_to(t);
	tenant_soon(t);
	r = take_natives(t->daemon, NULL) ? -EMFILE : r;
	arbitrate_unlock();
	poke();
	if (r)
		tell_missing(t->grant.name);
	return r;
}

void arbitrate_natives(struct daemon *daemon, const struct tenant *except)
{
	arbitrate_lock();
	if (take_natives(daemon, except))
		tell_missing("(policy native)");
	arbitrate_unlock();
	poke();
}

bool arbitrate_holds_native(const struct tenant *t, unsigned int i)
{
	return !t->grant.share[i].compute.terms.gated && t->places.at[i][WIRE_COMPUTE];
}

void arbitrate_leave(struct tenant *t)
{
	arbitrate_lock();
	stop_listening(t);
	for (unsigned int i = 0; i < t->grant.share_count; i++)
		for (int k = 0; k < WIRE_ENGINES; k++)
			drop_place(t, i, k);
	arbitrate_unlock();
	poke();
	arbitrate_natives(t->daemon, t);
}

/* Clients. */

/* Only then has the thread something to do for it, and it runs before all others: a wake-up costs whoever waits. */
static bool has_seats(const struct client *c)
{
	for (unsigned int i = 0; i < c->tenant->grant.share_count; i++)
		for (int k = 0; k < WIRE_ENGINES; k++)
			if (c->seats.at[i][k])
				return true;
	return false;
}

void arbitrate_attach(struct client *c, bool found)
{
	bool seated;

	arbitrate_lock();
	c->process_lives = true;
	for (unsigned int i = 0; i < c->tenant->grant.share_count; i++)
		for (int k = 0; k < WIRE_ENGINES; k++)
			sit(c, i, k, found);
	listen_to(c->tenant);
	tenant_soon(c->tenant);
	seated = has_seats(c);
	arbitrate_unlock();
	/* A new one says HELLO next. */
	if (seated && found)
		poke();
}

void arbitrate_hello(struct client *c, bool renewed)
{
	bool seated;

	arbitrate_lock();
	listen_to(c->tenant);
	for (unsigned int i = 0; i < c->tenant->grant.share_count; i++)
		for (int k = 0; k < WIRE_ENGINES; k++) {
			struct seat *s = c->seats.at[i][k];

			if (s && renewed)
				engine_renew(s, clock_now_ns());
			if (s)
				engine_deaf(s, false);
		}
	tenant_soon(c->tenant);
	seated = has_seats(c);
	arbitrate_unlock();
	if (seated)
		poke();
}

void arbitrate_detach(struct client *c, bool lives)
{
	bool seated;

	arbitrate_lock();
	seated = has_seats(c);
	tenant_soon(c->tenant);
	for (unsigned int i = 0; i < c->tenant->grant.share_count; i++)
		for (int k = 0; k < WIRE_ENGINES; k++)
			rise(c, i, k, lives);
	c->process_lives = lives;
	arbitrate_unlock();
	if (seated)
		poke();
}

/* Reading. */

bool arbitrate_read(struct tenant *t, unsigned int device, enum wire_engine engine, struct engine_reading *ret)
{
	struct place *p = t->places.at[device][engine];

	arbitrate_lock();
	if (p)
		engine_read(p, clock_now_ns(), ret);
	arbitrate_unlock();
	return p;
}

void arbitrate_count(struct tenant *t, unsigned int device, enum wire_engine engine,
		     uint64_t ret_since_ns[WINDOW_TOTALS], uint64_t ret_at_ns[WINDOW_TOTALS])
{
	struct place *p = t->places.at[device][engine];
	uint64_t *since = t->places.since_ns[device][engine];

	arbitrate_lock();
	if (p)
		place_count(p, clock_now_ns(), since);
	for (unsigned int i = 0; i < WINDOW_TOTALS; i++) {
		ret_since_ns[i] = since[i];
		ret_at_ns[i] = p ? place_counted(p, (enum window_total)i) : 0;
		since[i] = 0;
	}
	arbitrate_unlock();
}

void arbitrate_counted(struct tenant *t, unsigned int device, enum wire_engine engine,
		       const uint64_t at_ns[WINDOW_TOTALS])
{
	struct place *p = t->places.at[device][engine];

	arbitrate_lock();
	if (p)
		place_count_from(p, at_ns, clock_now_ns());
	arbitrate_unlock();
}

double arbitrate_client_share(struct client *c, unsigned int device)
{
	struct seat *s = c->seats.at[device][WIRE_COMPUTE];
	double share = -1;

	arbitrate_lock();
	if (s)
		share = engine_seat_share(s, clock_now_ns());
	arbitrate_unlock();
	return share;
}
