/* moving.c: see moving.h. */
#include "daemon/tenants/moving.h"

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/size.h"
#include "daemon/daemon.h"
#include "daemon/health/device_watch.h"
#include "daemon/health/health.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/store/store.h"
#include "daemon/tenants/account.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/residence.h"
#include "daemon/tenants/session.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/arbitrate.h"
#include "daemon/turns/terms.h"
#include "daemon/workers/pool.h"
#include "daemon/workers/worker.h"
#include "ring/wall.h"
#include "wire/page.h"
#include "wire/worker.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SILENT_NS 5000000000u /* a client that has not begun within it does not answer */
#define KNOCK_NS 500000000u   /* for who has left its worker to come to the wall; else its program has ended */
#define STUCK_NS 10000000000u /* nor does one that comes no further, when its work has had its time */
#define BEGIN_NS 10000000000u /* for a worker to begin its session with the client that it was given */
#define READY_NS 2000000000u  /* for a worker of another device to start, while its programs work on */
#define SLOWEST (1u << 20)    /* bytes a second; a client that says that it comes on all the same is not believed */

/* What a client says that stays; of those from WORKER_STAY_ARRAY on there are so many. */
static const char *const reasons[WORKER_STAY_COUNT] = {
	[WORKER_STAY_NOTHING] = "its program does not say why",
	[WORKER_STAY_DRAIN] = "its work in flight, or a call, did not end in time",
	[WORKER_STAY_CAPTURE] = "a stream is in capture: ask again when it has ended",
	[WORKER_STAY_FAULT] = "a kernel of it has faulted, or an error waits to be told to it",
	[WORKER_STAY_HOST] = "its process gets no memory for it",
	[WORKER_STAY_CLOSED] = "its program has closed a descriptor of mete's",
	[WORKER_STAY_IMAGE] = "its worker has not kept an image of its kernels",
	[WORKER_STAY_PACKING] = "placed anew it would not fit into the quota",
	[WORKER_STAY_DEVICES] = "its program uses several servers",
	[WORKER_STAY_ARRAY] = "texture references, or arrays of a rare format, which cannot move",
	[WORKER_STAY_VARIABLE] =
		"addresses of variables in memory, or images that do not name theirs, which cannot move",
	[WORKER_STAY_GRAPH] = "graphs or parts of them that cannot be made again, which cannot move",
	[WORKER_STAY_LIBRARY] = "handles of libraries, which cannot move",
	[WORKER_STAY_MAPPED] = "allocations of cuMemCreate that others than their device reach, which cannot move",
	[WORKER_STAY_MANAGED] = "blocks of managed memory, which cannot move",
	[WORKER_STAY_OTHER] = "objects that its worker has named, which cannot move",
	[WORKER_STAY_SHARED] = "blocks of pinned memory that kernels reach through a relay, which cannot move",
	[WORKER_STAY_SERVER] = "the other server does not take it",
	[WORKER_STAY_DISK] =
		"the disk of memory.disk answers an error, or its program may not write so much (ulimit -f)",
	[WORKER_STAY_ROOM] = "neither memory.pool nor memory.disk has room for it",
	[WORKER_STAY_HEAP] = "modules whose kernels allocate memory themselves (malloc), which cannot move",
};

bool moving_takes(const struct tenant *t)
{
	return t->pool && !t->grant.spill;
}

/*
 * Who leaves a worker for another one on this machine has ended the old one before the new one has its addresses. On
 * NVIDIA's driver (580, H200) no new worker got them, and the program was lost: docs/measurements. The software device
 * gives them, unless its METE_SOFT_ADDRESSES says otherwise.
 */
bool moving_keeps_addresses(const struct tenant *t)
{
	const char *word = getenv("METE_SOFT_ADDRESSES");

	return t->grant.kind == DEVICE_SOFT && (!word || strcmp(word, "any"));
}

/* Memory and time of it that the grant needs are promised to nobody. *ret_left: bytes. */
static bool has_room(const struct tenant *t, const struct device *to, uint64_t *ret_left)
{
	uint64_t promised = daemon_promised_bytes(t->daemon, to->uuid, t) +
			    residence_occupied_bytes(t->daemon, to->uuid, t->grant.uid);

	*ret_left = to->total_bytes > promised ? to->total_bytes - promised : 0;
	return grant_fits(to, promised, t->grant.share[0].ledger.quota_units * WIRE_UNIT_BYTES, t->grant.overcommit) ==
		       GRANT_FITS &&
	       terms_fit(t, to);
}

static bool could_go_to(const struct tenant *t, const struct device *to, uint64_t *ret_left)
{
	const struct device *from = &t->grant.share[0].device;
	char why[512];

	return has_room(t, to, ret_left) && to->kind == from->kind && memcmp(to->uuid, from->uuid, DEVICE_UUID_BYTES) &&
	       !strcmp(to->name, from->name) && to->granule_bytes == from->granule_bytes &&
	       health_admits(t->daemon, to, why, sizeof(why));
}

bool moving_find_return(const struct tenant *t, struct device *ret)
{
	const struct machine *machine = &t->daemon->machine;
	uint64_t left, most = 0;
	bool found = false;

	if (!moving_takes(t) || t->grant.share_count != 1 || (!moving_keeps_addresses(t) && !checkpoint_goes(t)))
		return false;
	for (unsigned int i = 0; i < machine->device_count; i++)
		if (could_go_to(t, &machine->device[i], &left) && (!found || left > most)) {
			*ret = machine->device[i];
			most = left;
			found = true;
		}
	return found;
}

bool moving_find_device(const struct tenant *t, struct device *ret)
{
	return !t->moving.active && !t->checkpointing.active && moving_find_return(t, ret);
}

bool moving_is_between(const struct tenant *t)
{
	const struct moving *m = &t->moving;
	const enum suspension_state state = t->suspension.state;

	return m->active && !m->far && (state == SUSPENSION_LEAVING || state == SUSPENSION_RETURNING) &&
	       (m->clients || (t->pool && pool_returning(t->pool, t, NULL)));
}

bool moving_holds(const struct tenant *t)
{
	return t->moving.active && !t->moving.far && t->suspension.state != SUSPENSION_RETURNING;
}

static bool is_of(const struct worker *w, const struct tenant *t)
{
	return w->state == WORKER_BUSY && w->grant_id == t->grant.id;
}

static bool can_be_asked(const struct worker *w)
{
	return w->traffic && atomic_load_explicit(&w->traffic->moves, memory_order_acquire);
}

/* enum worker_begun, or 0. Acquire: `moves` was stored before. */
static uint32_t begun_as(const struct worker *w)
{
	return w->traffic ? atomic_load_explicit(&w->traffic->begun, memory_order_acquire) : 0;
}

/* Whether it can be asked is not known yet. */
static bool begins(const struct worker *w)
{
	return w->traffic && !begun_as(w) && !can_be_asked(w) && clock_now_ns() - w->given_ns < BEGIN_NS;
}

static bool any_begins(const struct tenant *t)
{
	for (const struct worker *w = t->daemon->workers; w; w = w->next)
		if (is_of(w, t) && begins(w))
			return true;
	return false;
}

/* What the client has said last. Acquire: the rest was stored before. */
static enum worker_phase phase_of(const struct worker *w, uint32_t *ret_serial)
{
	uint32_t word = w->traffic ? atomic_load_explicit(&w->traffic->phase, memory_order_acquire) : 0;

	*ret_serial = word >> 16;
	return (word & 0xffffu) < WORKER_PHASES ? (enum worker_phase)(word & 0xffffu) : WORKER_SETTLED;
}

static void ask(const struct worker *w, const struct moving *m, uint32_t drain_s)
{
	const uint32_t serial = m->serial;

	if (!can_be_asked(w))
		return;
	memcpy(w->traffic->where, *m->way ? m->way : m->where, sizeof(w->traffic->where));
	/* Release: pairs with the worker's look (worker/traffic.c). */
	atomic_store_explicit(&w->traffic->wish, WALL_WISH(serial, drain_s), memory_order_release);
	syscall(SYS_futex, &w->traffic->wish, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void ask_all(struct tenant *t, uint32_t drain_s)
{
	for (struct worker *w = t->daemon->workers; w; w = w->next)
		if (is_of(w, t))
			ask(w, &t->moving, drain_s);
}

void moving_begin(struct tenant *t)
{
	if (!moving_takes(t) || !moving_keeps_addresses(t) || !t->grant.suspended)
		return;
	/* A meted before this one has asked; who was on the way goes on. */
	t->moving = (struct moving){ .active = true,
				     .serial = 1,
				     .asked_ns = clock_now_ns(),
				     .came_ns = clock_now_ns(),
				     .drain_s = SUSPENSION_DRAIN_S };
	t->suspension.state = SUSPENSION_LEAVING;
}

/* A program of it has answered a wish of this number, perhaps one of a meted before this one. */
static bool is_used(const struct tenant *t, uint32_t serial)
{
	uint32_t said;

	for (const struct worker *w = t->daemon->workers; w; w = w->next)
		if (is_of(w, t) && w->traffic && (phase_of(w, &said), said == serial))
			return true;
	return false;
}

static uint32_t next_serial(const struct tenant *t)
{
	uint32_t serial = t->moving.serial;

	do
		serial = serial < 0xffffu ? serial + 1 : 1;
	while (is_used(t, serial));
	return serial;
}

static struct moving moving_of(const struct tenant *t, uint32_t drain_s)
{
	return (struct moving){ .active = true,
				.serial = next_serial(t),
				.asked_ns = clock_now_ns(),
				.came_ns = clock_now_ns(),
				.clients = worker_count(t->daemon, t->grant.id),
				.drain_s = drain_s ? drain_s : SUSPENSION_DRAIN_S };
}

static void unready(struct tenant *t)
{
	pool_unref(t->moving.ready);
	t->moving.ready = NULL;
}

void moving_end(struct tenant *t)
{
	unready(t);
}

static void goes_to(struct tenant *t, const struct device *to)
{
	static struct grant there;

	there = t->grant;
	there.share[0].device = *to;
	t->moving.goes = true;
	t->moving.to = *to;
	t->moving.ready = pool_ref(t->daemon, &there);
}

/* Why it does not go to another server by this way; NULL: it does. */
static const char *bars_far(const struct worker *w, const char *way)
{
	const bool relayed = w->traffic && atomic_load_explicit(&w->traffic->relayed, memory_order_relaxed);

	if (!can_be_asked(w) || atomic_load_explicit(&w->traffic->moves, memory_order_relaxed) < WORKER_MOVES_FAR)
		return "its program, or its relay, is of an older release, and does not go to another server";
	if (relayed && *way)
		return "its program is of another machine, and proves itself to the other server as it did here: leave "
		       "--key, --cert and --plain away";
	if (!relayed && !*way)
		return "its program is of this machine: say how it proves itself to the other server, with --key, "
		       "--cert or --plain";
	return NULL;
}

/* Why one of its programs cannot be asked; NULL: all can, but for those whose sessions only begin. */
static const char *barred(const struct tenant *t, const struct moving *m)
{
	/* Who goes to another server keeps the old worker until the new one has the addresses. */
	if (!m->far && !moving_keeps_addresses(t))
		return "with this driver a worker of another device may not get the addresses of its memory, and it "
		       "would be lost: it can be suspended, or go to another server";
	for (const struct worker *w = t->daemon->workers; w; w = w->next) {
		const char *why = NULL;

		if (!is_of(w, t) || begins(w))
			continue;
		if (!can_be_asked(w) && !begun_as(w))
			why = "its session does not begin, or its worker is of an older release, and cannot move";
		else if (begun_as(w) == WORKER_BEGUN_BOUND)
			why = "what its worker shares with it lies at an address that no other worker could have, so "
			      "it cannot move: start it again";
		else if (m->far)
			why = bars_far(w, m->way);
		else if (!can_be_asked(w))
			why = "its program, or its relay, is of an older release, and cannot move: hold its work up "
			      "with --freeze";
		if (why)
			return why;
	}
	return NULL;
}

/*
 * Its programs work on until a worker of the other device waits for them: their calls are to wait no longer than they
 * must. What has only just been started is asked when its session has begun. Value: why one of them cannot be asked.
 */
static const char *ask_when_ready(struct tenant *t)
{
	struct moving *m = &t->moving;
	const uint64_t now = clock_now_ns();
	const char *why = barred(t, m);

	if (why || any_begins(t) || (m->ready && !pool_has_idle(m->ready, t) && now - m->waits_ns < READY_NS))
		return why;
	m->waits_ns = 0;
	m->asked_ns = m->came_ns = now;
	m->clients = worker_count(t->daemon, t->grant.id);
	ask_all(t, m->drain_s);
	return NULL;
}

int moving_suspend(struct tenant *t, const struct device *to, uint32_t drain_s, char *error, size_t size)
{
	const struct moving m = moving_of(t, drain_s);

	for (const struct client *c = t->clients; c; c = c->next)
		if (!worker_find(t->daemon, c->process.pid)) {
			snprintf(
				error, size,
				"grant %s: %s is not behind the wall, and its memory cannot leave the device: make the "
				"grant with --spill, or hold its work up with --freeze",
				t->grant.name, client_text(c));
			return -ENOTSUP;
		}
	if (barred(t, &m)) {
		snprintf(error, size, "grant %s: %s", t->grant.name, barred(t, &m));
		return -ENOTSUP;
	}
	unready(t);
	t->moving = m;
	t->moving.waits_ns = clock_now_ns();
	if (to)
		goes_to(t, to);
	ask_when_ready(t);
	return 0;
}

int moving_send(struct tenant *t, const char *where, const char *way, uint32_t drain_s, char *error, size_t size)
{
	struct moving m = moving_of(t, drain_s);

	m.far = true;
	snprintf(m.where, sizeof(m.where), "%s", where);
	snprintf(m.way, sizeof(m.way), "%s", way);
	if (barred(t, &m)) {
		snprintf(error, size, "grant %s: %s", t->grant.name, barred(t, &m));
		return -ENOTSUP;
	}
	if (!m.clients) {
		snprintf(error, size, "grant %s: no program of it runs: there is nothing to move", t->grant.name);
		return -ENOENT;
	}
	unready(t);
	t->moving = m;
	t->moving.waits_ns = clock_now_ns();
	ask_when_ready(t);
	return 0;
}

void moving_ends(struct tenant *t, const struct worker *w)
{
	uint32_t serial;

	if (t->moving.active && t->moving.far && is_of(w, t) && phase_of(w, &serial) == WORKER_LEFT)
		t->moving.gone++;
	if (t->moving.active)
		residence_look_soon(t->daemon);
}

void moving_resume(struct tenant *t)
{
	t->moving.goes = false;
	t->moving.waits_ns = 0;
	unready(t);
	t->moving.clients = pool_returning(t->pool, t, NULL);
	t->moving.gone_ns = 0;
	t->moving.returns_ns = clock_now_ns();
	/* Who is still leaving finds that it is not wanted any more; who has left comes in. */
	ask_all(t, 0);
	pool_go_on(t->pool);
	if (t->held_count)
		residence_look_on(t->daemon);
}

/* It stays: nobody is asked any more, and whoever has left returns. */
static void undo(struct tenant *t, const char *why, uint32_t count)
{
	struct suspension *s = &t->suspension;
	const bool far = t->moving.far;
	char error[256];

	if (count)
		snprintf(s->why, sizeof(s->why), "its program holds %u %s", count, why);
	else
		snprintf(s->why, sizeof(s->why), "%s", why);
	s->state = SUSPENSION_REFUSED;
	s->refused++;
	t->moving.active = false;
	unready(t);
	journal_add(t->daemon, JOURNAL_ACTION, t->grant.name, t->grant.share[0].device.uuid, "not %s: %s",
		    far ? "moved" : "suspended", s->why);
	if (far) {
		ask_all(t, 0);
		return;
	}
	t->grant.suspended = false;
	if (store_update(t->daemon->store, &t->grant, error, sizeof(error)))
		log_line("grant %s: %s", t->grant.name, error);
	moving_resume(t);
}

static const char *client_stays(const struct worker *w, uint32_t *ret_count)
{
	uint32_t stay = atomic_load_explicit(&w->traffic->stay, memory_order_relaxed), why = stay & 0xffffu;
	static char text[WORKER_WHERE_BYTES];

	*ret_count = 0;
	if (why == WORKER_STAY_SERVER) {
		memcpy(text, w->traffic->why, sizeof(text) - 1);
		return *clean_text_line(text) ? text : reasons[why];
	}
	*ret_count = why >= WORKER_STAY_ARRAY ? stay >> 16 : 0;
	return reasons[why < WORKER_STAY_COUNT ? why : WORKER_STAY_NOTHING];
}

const char *moving_pins(const struct worker *w, char *text, size_t size)
{
	uint32_t stay = w->traffic ? atomic_load_explicit(&w->traffic->stay, memory_order_relaxed) : 0, serial;
	const uint32_t why = stay & 0xffffu;

	*text = 0;
	if (why >= WORKER_STAY_ARRAY && why < WORKER_STAY_COUNT && why != WORKER_STAY_SERVER &&
	    phase_of(w, &serial) == WORKER_SETTLED)
		snprintf(text, size, "%u %.*s", stay >> 16, (int)strcspn(reasons[why], ","), reasons[why]);
	return text;
}

/* How far it is the client says, which may say so for ever. */
static bool is_late(const struct tenant *t, uint64_t since_ns, uint64_t now)
{
	uint64_t seconds = t->grant.share[0].ledger.quota_units * WIRE_UNIT_BYTES / SLOWEST + t->moving.drain_s;

	/* To another server it goes by a line, and begins there. */
	return now - since_ns > STUCK_NS + seconds * (t->moving.far ? 2 : 1) * UINT64_C(1000000000);
}

/* One that does not answer, or has come no further. */
static bool is_silent(struct tenant *t, bool begun, uint64_t bytes, uint64_t now)
{
	struct moving *m = &t->moving;
	uint64_t drained = m->asked_ns + m->drain_s * UINT64_C(1000000000);

	if (bytes > m->came_bytes || now < drained) {
		m->came_bytes = bytes;
		m->came_ns = now;
	}
	return (!begun && now - m->asked_ns > SILENT_NS) || (now > drained && now - m->came_ns > STUCK_NS);
}

int moving_admit(const struct tenant *t, const struct device *to, char *error, size_t size)
{
	uint64_t left;

	if (!health_admits(t->daemon, to, error, size))
		return -EBUSY;
	if (has_room(t, to, &left))
		return 0;
	snprintf(error, size, "device %u has been promised to others meanwhile", to->index);
	return -EBUSY;
}

static void tell_over(struct tenant *t, unsigned int from)
{
	const struct device *to = &t->grant.share[0].device;

	event_add(&t->events, "goes from device %u to device %u", from, to->index);
	journal_add(t->daemon, JOURNAL_ACTION, t->grant.name, to->uuid, "goes from device %u to device %u", from,
		    to->index);
}

int moving_change_device(struct tenant *t, const struct device *to, bool suspended, char *error, size_t size)
{
	struct grant_share *share = &t->grant.share[0];
	const struct device from = share->device;
	struct pool *pool;
	int r;

	arbitrate_leave(t);
	share->device = *to;
	t->grant.suspended = suspended;
	pool = pool_ref(t->daemon, &t->grant);
	r = pool ? store_update(t->daemon->store, &t->grant, error, size) : -ENOMEM;
	if (r) {
		share->device = from;
		t->grant.suspended = true;
		pool_unref(pool);
	} else {
		pool_send_away(t->pool, t);
		pool_unref(t->pool);
		t->pool = pool;
	}
	unready(t);
	arbitrate_terms(t);
	device_watch_update(t->daemon);
	if (!r)
		tell_over(t, from.index);
	return r;
}

/* Nothing of it is on its device: it is the other device's from now on. */
int moving_go_over(struct tenant *t, const struct device *to, char *error, size_t size)
{
	int r = moving_admit(t, to, error, size);

	return r ? r : moving_change_device(t, to, false, error, size);
}

/* All of it is away, and is to be elsewhere. */
static void move_on(struct tenant *t)
{
	const unsigned int clients = pool_returning(t->pool, t, NULL);
	struct suspension *s = &t->suspension;
	char error[256] = "no memory";

	t->moving.goes = false;
	if (moving_go_over(t, &t->moving.to, error, sizeof(error))) {
		undo(t, error, 0);
		return;
	}
	s->state = SUSPENSION_RETURNING;
	moving_resume(t);
	t->moving.clients = clients;
}

/* Nobody has a worker: all who had one have come to the wall, or will not. */
static bool has_come(struct tenant *t, uint64_t now)
{
	struct moving *m = &t->moving;

	if (!m->gone_ns)
		m->gone_ns = now;
	return pool_returning(t->pool, t, NULL) >= m->clients || now - m->gone_ns > KNOCK_NS;
}

/* No worker is left: its programs are at the other server, but for those that have ended. */
static void have_gone(struct tenant *t)
{
	struct suspension *s = &t->suspension;
	const struct moving *m = &t->moving;

	t->moving.active = false;
	if (!m->gone) {
		undo(t, "its programs have ended before they were there", 0);
		return;
	}
	s->state = SUSPENSION_NONE;
	s->moves++;
	s->out_bytes += m->came_bytes;
	event_add(&t->events, "its programs have gone to %s", m->where);
	journal_add(t->daemon, JOURNAL_ACTION, t->grant.name, t->grant.share[0].device.uuid,
		    "its programs have gone to %s", m->where);
}

static void follow_leaving(struct tenant *t, uint64_t now)
{
	uint64_t bytes = 0;
	bool begun = true, any = false, there = t->moving.far;

	for (const struct worker *w = t->daemon->workers; w; w = w->next) {
		uint32_t serial, count;
		enum worker_phase phase;

		if (!is_of(w, t))
			continue;
		any = true;
		phase = phase_of(w, &serial);
		if (serial == t->moving.serial && phase == WORKER_STAYS) {
			const char *why = client_stays(w, &count);

			undo(t, why, count);
			return;
		}
		begun = begun && serial == t->moving.serial;
		there = there && phase == WORKER_LEFT;
		bytes += w->traffic ? atomic_load_explicit(&w->traffic->move_done, memory_order_relaxed) : 0;
	}
	/* How far it is at the other server is not seen here. */
	if (any && ((is_silent(t, begun, bytes, now) && !there) || is_late(t, t->moving.asked_ns, now)))
		undo(t, begun ? "its program comes no further" : "its program does not answer", 0);
	/* Its accounts are closed when its workers have ended as processes. */
	if (any || t->clients)
		return;
	if (t->moving.far) {
		have_gone(t);
		return;
	}
	if (!has_come(t, now))
		return;
	t->suspension.state = SUSPENSION_AWAY;
	t->suspension.out_bytes += moving_away_bytes(t);
	t->suspension.moves++;
	*t->suspension.why = 0;
	if (t->moving.goes)
		move_on(t);
}

static bool is_returning(const struct worker *w)
{
	uint32_t serial;
	enum worker_phase phase = phase_of(w, &serial);

	return w->returns && (!serial || phase == WORKER_RETURNING);
}

/* All who were away have settled; or those who have not are not to be seen, for they have ended. */
static bool has_settled(struct tenant *t, uint64_t now)
{
	unsigned int settled = 0, seen = pool_returning(t->pool, t, NULL);
	struct moving *m = &t->moving;

	for (const struct worker *w = t->daemon->workers; w; w = w->next)
		if (is_of(w, t) && w->returns) {
			settled += !is_returning(w);
			seen += is_returning(w);
		}
	if (seen)
		m->gone_ns = 0;
	else if (!m->gone_ns)
		m->gone_ns = now;
	if (!m->returns_ns) /* a meted before this one has let them */
		m->returns_ns = now;
	return (!seen && (settled >= m->clients || now - m->gone_ns > KNOCK_NS)) || is_late(t, m->returns_ns, now);
}

static void follow_returning(struct tenant *t)
{
	struct suspension *s = &t->suspension;

	if (!has_settled(t, clock_now_ns()))
		return;
	for (struct worker *w = t->daemon->workers; w; w = w->next)
		if (is_of(w, t) && w->returns) {
			w->returns = false;
			s->in_bytes +=
				w->traffic ? atomic_load_explicit(&w->traffic->move_total, memory_order_relaxed) : 0;
			s->moves++;
		}
	s->state = SUSPENSION_NONE;
	*s->why = 0;
	t->moving.active = false;
}

static void follow_waiting(struct tenant *t)
{
	const char *why = ask_when_ready(t);

	if (why)
		undo(t, why, 0);
}

bool moving_follow(struct tenant *t)
{
	if (!t->moving.active)
		return false;
	if (t->suspension.state == SUSPENSION_LEAVING && t->moving.waits_ns)
		follow_waiting(t);
	else if (t->suspension.state == SUSPENSION_LEAVING)
		follow_leaving(t, clock_now_ns());
	else if (t->suspension.state == SUSPENSION_RETURNING)
		follow_returning(t);
	return t->moving.active && t->suspension.state != SUSPENSION_AWAY;
}

json_t *moving_waiting_json(const struct tenant *t)
{
	json_t *pids = json_array();

	if (!suspension_holds(t))
		return pids;
	for (const struct session *s = t->sessions; s; s = s->next)
		if (s->held)
			json_array_append_new(pids, json_integer(s->held_pid));
	pool_list_waiting(t->pool, t, pids);
	return pids;
}

/* What its programs say, in a message that anybody can write: all of them together have no more than the quota. */
uint64_t moving_away_bytes(const struct tenant *t)
{
	uint64_t bytes = 0, quota = 0;

	if (!t->pool)
		return 0;
	for (unsigned int i = 0; i < t->grant.share_count; i++)
		quota += t->grant.share[i].ledger.quota_units * WIRE_UNIT_BYTES;
	pool_returning(t->pool, t, &bytes);
	return bytes < quota ? bytes : quota;
}

void moving_share_json(const struct tenant *t, unsigned int device, json_t *share)
{
	static const char *const words[] = { [SUSPENSION_NONE] = "resident",
					     [SUSPENSION_LEAVING] = "leaving",
					     [SUSPENSION_AWAY] = "away",
					     [SUSPENSION_RETURNING] = "returning",
					     [SUSPENSION_REFUSED] = "resident" };
	enum suspension_state state = t->suspension.state;
	uint64_t done = 0, total = 0;

	if (device || !moving_takes(t))
		return;
	for (const struct worker *w = t->daemon->workers; w; w = w->next)
		if (is_of(w, t) && w->traffic) {
			done += atomic_load_explicit(&w->traffic->move_done, memory_order_relaxed);
			total += atomic_load_explicit(&w->traffic->move_total, memory_order_relaxed);
		}
	json_object_set_new(share, "away_bytes", json_integer((json_int_t)moving_away_bytes(t)));
	json_object_set_new(share, "disk_bytes", json_integer((json_int_t)residence_disk(t) * WIRE_UNIT_BYTES));
	json_object_set_new(share, "residence", json_string(words[state]));
	if (state == SUSPENSION_LEAVING || state == SUSPENSION_RETURNING)
		json_object_set_new(share, "moved_pct",
				    json_integer(total ? (json_int_t)(done < total ? done * 100.0 / total : 100) : 0));
}
