/* residing.c: see residing.h. A wish that a client has refused is taken back, so that it is not asked again and again.
 */
#include "daemon/tenants/residing.h"

#include "base/clock.h"
#include "base/size.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/store/store.h"
#include "daemon/tenants/account.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/tenant.h"
#include "daemon/tenants/yielding.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STAYS_NS 5000000000u  /* one that could not leave is left alone for so long */
#define SILENT_NS 5000000000u /* one that does not begin to leave within it does not answer */
#define STUCK_NS 10000000000u /* nor does one that comes no further on its way */
#define LOST_NS 10000000000u  /* nor for one whose memory the disk keeps */
#define SILENCES 6u	      /* each in a row is believed half as often as the one before, so many times */

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

struct wire_account *residing_account(const struct client *c, unsigned int device)
{
	return &c->page.map->account[device];
}

uint32_t residing_place(const struct client *c)
{
	return c->page.map && !c->page.broken
		       ? atomic_load_explicit(&residing_account(c, 0)->place, memory_order_acquire)
		       : 0;
}

bool residing_can_be_asked(const struct client *c)
{
	return residence_moves(c->tenant) && residing_place(c) & WIRE_PLACE_MOVES;
}

/* What the client says; it writes the page, and is believed no more than it can have. */
uint64_t residing_away(const struct client *c)
{
	uint64_t units, quota = c->tenant->grant.share[0].ledger.quota_units;

	if (!residing_can_be_asked(c))
		return 0;
	units = atomic_load_explicit(&residing_account(c, 0)->away_units, memory_order_acquire);
	return units < quota ? units : quota;
}

uint64_t residing_movable(const struct client *c)
{
	uint64_t units = atomic_load_explicit(&residing_account(c, 0)->movable_units, memory_order_relaxed);

	return lesser(units, lesser(account_held(c, 0), account_lent(c, 0)));
}

/* What it holds that cannot leave. Its credit is no part of that: it asks for each such piece (WIRE_RESERVE_STAYS). */
uint64_t residing_staying(const struct client *c)
{
	uint64_t held = lesser(account_held(c, 0), account_lent(c, 0));

	return held - lesser(residing_movable(c), held);
}

bool residing_wishes_away(const struct client *c)
{
	return c->residing.wish & WIRE_LEAVE;
}

/* Its memory has not left, and may at any moment. */
bool residing_is_to_leave(const struct client *c)
{
	uint32_t place = residing_place(c);

	return wire_place_state(place) == WIRE_LEAVING ||
	       (place & WIRE_PLACE_MOVES && wire_place_state(place) == WIRE_RESIDENT && residing_wishes_away(c));
}

/* Half of the time that is stated is for work in flight: what is left is for the copy, or for others who are asked
 * then. */
static uint64_t patience_of(const struct client *c, bool urgent, uint64_t usual_ns)
{
	return urgent ? lesser(usual_ns, c->tenant->daemon->memory->yield_ns / 2) : usual_ns;
}

static uint32_t drain_of(const struct client *c, bool urgent)
{
	const struct suspension *s = &c->tenant->suspension;

	if (c->tenant->grant.suspended && s->drain)
		return s->drain;
	return (uint32_t)(patience_of(c, urgent, SUSPENSION_DRAIN_S * 1000000000ull) / WIRE_DRAIN_NS);
}

void residing_wish(struct client *c, bool away, const struct client *whom, bool urgent)
{
	struct wire_account *account = residing_account(c, 0);
	uint32_t serial = (wire_wish_serial(c->residing.wish) + 1) & WIRE_WISH_SERIALS;
	uint32_t drain = drain_of(c, urgent);
	enum wire_place place;

	if (residing_wishes_away(c) == away)
		return;
	c->residing.wish = serial * WIRE_WISH_SERIAL | (away ? WIRE_LEAVE : 0) | drain << WIRE_DRAIN_SHIFT;
	c->residing.asked_ns = c->residing.came_ns = clock_now_ns();
	c->residing.came_percent = 0;
	c->residing.urgent = urgent;
	snprintf(c->residing.whom, sizeof(c->residing.whom), "%s", whom ? whom->tenant->grant.name : "");
	/* It is there, or goes there without having been asked. */
	place = wire_place_state(c->residing.place);
	if (away ? place == WIRE_AWAY : place != WIRE_AWAY && place != WIRE_LEAVING)
		c->residing.counted = c->residing.wish;
	atomic_store_explicit(&account->wish, c->residing.wish, memory_order_release);
	syscall(SYS_futex, &account->wish, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static const char *const reasons[] = {
	[WIRE_STAY_NOT] = "nothing is in its way",
	[WIRE_STAY_CALL] = "a call of the program did not return in time",
	[WIRE_STAY_WORK] = "its work on the device did not end in time",
	[WIRE_STAY_CAPTURE] = "it was capturing a stream all the time",
	[WIRE_STAY_FAULT] = "the driver answers an error: a context of the program has failed",
	[WIRE_STAY_HOST] = "the host has no memory to take it",
	[WIRE_STAY_DEVICE] = "the device has no room for it",
	[WIRE_STAY_DISK] = "the disk of memory.disk answers an error, which its log has",
	"a reason that this meted does not know",
};

static void left(struct client *c, uint64_t now)
{
	struct suspension *s = &c->tenant->suspension;
	struct residing *r = &c->residing;
	char text[SIZE_TEXT_BYTES];
	uint64_t bytes = residing_away(c) * WIRE_UNIT_BYTES;

	yielding_left(c);
	r->leave_ns = now - (r->works_ns > r->asked_ns ? r->works_ns : r->asked_ns);
	s->out_bytes += bytes;
	s->moves++;
	s->moving_ns += r->leave_ns;
	tenant_note(c->tenant, 0, JOURNAL_ACTION, "%s: %s left the device in %.2f s%s%s", client_text(c),
		    size_format(bytes, text), (double)(now - r->asked_ns) / 1e9, *r->whom ? ", to make room for " : "",
		    r->whom);
}

static void returned(struct client *c, uint64_t now)
{
	struct suspension *s = &c->tenant->suspension;
	struct residing *r = &c->residing;
	char text[SIZE_TEXT_BYTES];
	uint64_t bytes = residing_movable(c) * WIRE_UNIT_BYTES, ns = now - r->asked_ns;

	/* What the user does costs no turn. */
	r->swap_before_ns = r->swap_ns;
	r->swap_ns = s->state == SUSPENSION_NONE ? r->leave_ns + ns : 0;
	r->called = false;
	s->in_bytes += bytes;
	s->moving_ns += ns;
	tenant_note(c->tenant, 0, JOURNAL_ACTION, "%s: %s returned to the device in %.2f s", client_text(c),
		    size_format(bytes, text), (double)ns / 1e9);
}

/* It was asked to leave, and has answered that it cannot, or not at all. */
static void stayed(struct client *c, uint64_t now, const char *why, uint64_t for_ns)
{
	struct suspension *s = &c->tenant->suspension;
	struct residing *r = &c->residing;
	char error[512];

	s->refused++;
	r->stays_until_ns = now + for_ns;
	tenant_note(c->tenant, 0, JOURNAL_ACTION, "%s stays on the device: %s", client_text(c), why);
	if (c->tenant->grant.suspended) {
		snprintf(s->why, sizeof(s->why), "%s: %s", client_text(c), why);
		s->state = SUSPENSION_REFUSED;
		c->tenant->grant.suspended = false;
		if (store_update(c->tenant->daemon->store, &c->tenant->grant, error, sizeof(error)))
			log_line("grant %s: %s", c->tenant->grant.name, error);
		for (struct client *other = c->tenant->clients; other; other = other->next)
			other->residing.called = true;
	}
	residing_wish(c, false, NULL, false);
}

/* What is asked is done, or so the client says. */
static bool is_done(const struct client *c)
{
	return wire_place_state(c->residing.place) == (residing_wishes_away(c) ? WIRE_AWAY : WIRE_RESIDENT);
}

/* It is on no way that anybody may wait for: it is stopped, or what it says is not true. */
static void look_whether_silent(struct client *c, uint64_t now)
{
	struct residing *r = &c->residing;
	enum wire_place place = wire_place_state(r->place);
	uint64_t patience = place == WIRE_RESIDENT ? patience_of(c, r->urgent, SILENT_NS) : STUCK_NS, for_ns;
	uint32_t percent = place == WIRE_LEAVING || place == WIRE_RETURNING ? wire_place_percent(r->place) : 0;

	if (percent > r->came_percent && percent <= 100) {
		r->came_percent = percent;
		r->came_ns = now;
	}
	if (place == WIRE_LEAVING && !r->came_percent)
		patience += (r->wish >> WIRE_DRAIN_SHIFT) * WIRE_DRAIN_NS;
	if (is_done(c) || now < r->stays_until_ns || now - r->came_ns < patience)
		return;
	for_ns = (uint64_t)STAYS_NS << (r->silences < SILENCES ? r->silences++ : SILENCES);
	if (residing_wishes_away(c) && place != WIRE_RETURNING) {
		stayed(c, now, "it does not answer: its process is stopped, perhaps", for_ns);
		return;
	}
	r->stays_until_ns = now + for_ns;
	r->came_ns = now + for_ns;
	tenant_note(c->tenant, 0, JOURNAL_ACTION, "%s does not come back to the device: others do not wait for it",
		    client_text(c));
}

/*
 * The disk does not give it back: it stays where it is, and is tried again from time to time. Its program waits, for
 * there is nothing right that it could be told.
 */
static void look_whether_lost(struct client *c, uint64_t now, uint32_t place)
{
	struct residing *r = &c->residing;

	if (residing_wishes_away(c) || wire_place_serial(place) != wire_wish_serial(r->wish) || r->told == r->wish)
		return;
	r->told = r->wish;
	r->stays_until_ns = r->came_ns = now + LOST_NS;
	c->tenant->suspension.refused++;
	tenant_note(c->tenant, 0, JOURNAL_ACTION,
		    "%s: its memory stays away: the disk of memory.disk does not give it back as it was; its log says "
		    "more, and `mete end %s` ends it",
		    client_text(c), c->tenant->grant.name);
}

/*
 * A client that is told to leave while it returns frees what it has mapped again, and keeps that as credit. Nobody else
 * would get it: those that wait for the device do not ask.
 */
static void recall_credit(struct client *c)
{
	account_recall(c->tenant, 0, &(struct ledger_units){ account_credit(c, 0), 0 }, NULL, NULL);
}

/* What has become of what was asked. */
void residing_look(struct client *c, uint64_t now)
{
	struct residing *r = &c->residing;
	uint32_t was = r->place, is = residing_place(c);
	enum wire_place from = wire_place_state(was), to = wire_place_state(is);

	r->place = is;
	if (to == WIRE_RESIDENT)
		residence_unstore(c, false);
	if (!(is & WIRE_PLACE_MOVES))
		return;
	if (to == WIRE_AWAY && wire_place_reason(is) == WIRE_STAY_DISK)
		look_whether_lost(c, now, is);
	/* The way back is part of its turn: it is done for the tenant. */
	if (!r->since_ns || (from != to && !(from == WIRE_RETURNING && to == WIRE_RESIDENT)))
		r->since_ns = now;
	if (from == WIRE_RETURNING && to == WIRE_RESIDENT)
		r->arrived_ns = now;
	if (to == WIRE_LEAVING && !wire_place_percent(is))
		r->works_ns = now;
	/* Once for each wish: what the page says besides is not counted. */
	if (from != to && is_done(c) && r->counted != r->wish) {
		r->counted = r->wish;
		r->silences = 0;
		if (to == WIRE_AWAY && from != WIRE_RETURNING)
			left(c, now);
		if (to == WIRE_RESIDENT && from != WIRE_LEAVING)
			returned(c, now);
	}
	if (to == WIRE_AWAY && residing_wishes_away(c))
		recall_credit(c);
	if (to == WIRE_RESIDENT && residing_wishes_away(c) && wire_place_reason(is) &&
	    wire_place_serial(is) == wire_wish_serial(r->wish))
		stayed(c, now,
		       wire_place_reason(is) == WIRE_STAY_HOST && *r->why ? r->why : reasons[wire_place_reason(is)],
		       STAYS_NS);
	else
		look_whether_silent(c, now);
	/* What was not there could not be used. */
	if (to != WIRE_RESIDENT || from != to || is & WIRE_PLACE_USED)
		r->idle_since_ns = 0;
	else if (!r->idle_since_ns)
		r->idle_since_ns = now;
	if (!(is & WIRE_PLACE_WAITED) && !r->called && (!r->want_units || now - r->want_ns >= RESIDING_WANT_NS)) {
		r->waits_since_ns = 0;
		r->want_units = 0;
	} else if (!r->waits_since_ns) {
		r->waits_since_ns = now;
	}
}

const char *residing_reason(enum wire_stay why)
{
	return reasons[why < sizeof(reasons) / sizeof(*reasons) ? why : sizeof(reasons) / sizeof(*reasons) - 1];
}
