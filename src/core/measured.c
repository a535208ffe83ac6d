/*
 * measured.c: see measured.h.
 *
 * meted is asked before the gate is closed (gate.h), so another thread may take some of the credit in between; what is
 * left then counts. While the gate is closed the driver's figure changes by the measured call alone, whatever other
 * processes do, because it is this process's figure. One thing moves nevertheless: what pools and graphs keep goes back
 * in synchronising calls, which no gate can hold up. So it is read along, and left out of every difference.
 *
 * The truth check: with the gate closed nothing of ours is on its way, so what the driver says we occupy should be what
 * we hold. What it occupies beyond our account (code loaded late, local memory grown by a launch) is taken into the
 * account as overhead when there is room; what there is no room for is reported to meted once per value, and owed: it
 * is paid out of what this process gives back, before it takes anything more. On the software device, whose figure is
 * exact, overhead goes back when the account turns out to hold more.
 */
#include "core/measured.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/charge.h"
#include "core/faces.h"
#include "core/gate.h"
#include "core/sharing.h"

#include <stdatomic.h>
#include <string.h>

static struct { /* changed with the gate closed */
	_Atomic uint64_t
		measured_units; /* charged by measured calls and not yet given back; added to inside the gate */
	_Atomic uint64_t overhead_units; /* charged by the truth check */
	int64_t reported;
} tally[WIRE_MAX_DEVICES];

struct report { /* made with the gate closed, sent when it is open */
	int64_t difference;
	uint64_t driver_bytes, held_bytes;
	bool due;
};

/* With the gate closed what is kept only gets less, so this ends. */
static void read_figure(const struct measured *m, struct figure *ret, uint64_t *ret_kept_units)
{
	uint64_t kept = m->face->kept(m->device), again;

	for (;;) {
		m->face->figure(m->device, ret);
		again = m->face->kept(m->device);
		if (again == kept)
			break;
		kept = again;
	}
	*ret_kept_units = kept;
}

/* What the measured call has taken; negative: given back. */
static int64_t taken(struct measured *m, struct figure *ret_after)
{
	uint64_t kept;

	read_figure(m, ret_after, &kept);
	return figure_difference(&m->before, ret_after) + (int64_t)(m->before_kept_units - kept);
}

/* What is charged without the reserve. */
static uint32_t held_before(const struct measured *m)
{
	int64_t apart = atomic_load_explicit(&accounts[m->device].apart_units, memory_order_relaxed);
	int64_t held = (int64_t)account_held_units(m->device) - (m->asked_all ? 0 : m->reserved_units) - apart;

	return held > 0 ? (uint32_t)held : 0;
}

/* Of the reserve, `units` stay charged and the rest goes back. False: they are more than it, and not to be had. */
static bool settle(const struct measured *m, uint32_t units)
{
	if (m->asked_all)
		return account_take(m->device, units, true);
	if (units > m->reserved_units)
		return account_take(m->device, units - m->reserved_units, false);
	account_give(m->device, m->reserved_units - units);
	return true;
}

/* Takes up to `units` out of a part of the tally. Value: how many it had. */
static uint64_t give_from(_Atomic uint64_t *part, uint64_t units, unsigned int device)
{
	if (units > *part)
		units = *part;
	*part -= units;
	account_give(device, (uint32_t)units);
	return units;
}

static uint32_t owed(int64_t units)
{
	return units < (int64_t)WIRE_MAX_UNITS ? (uint32_t)units : WIRE_MAX_UNITS;
}

static void check_truth(struct measured *m, struct report *report)
{
	struct report r = { 0 };
	int64_t held, difference;

	*report = r;
	if (!m->before.found)
		return;
	/* Without a debt nothing is paid while it is worked out anew. */
	tally[m->device].overhead_units += account_owe(m->device, 0);
	held = held_before(m);
	difference = (int64_t)wire_units(m->before.process_bytes) - held;
	if (difference < 0 && accounts[m->device].soft)
		give_from(&tally[m->device].overhead_units, (uint64_t)-difference, m->device);
	if (difference > 0) {
		uint32_t take = difference < m->reserved_units ? (uint32_t)difference : m->reserved_units;

		if (m->asked_all && !account_take(m->device, take, true))
			take = 0;
		m->reserved_units -= take;
		tally[m->device].overhead_units += take;
		difference -= take;
	}
	if (difference > 0)
		tally[m->device].overhead_units += account_owe(m->device, owed(difference));
	if (difference <= 0 || difference == tally[m->device].reported)
		return;
	tally[m->device].reported = difference;
	report->due = true;
	report->difference = difference;
	report->driver_bytes = m->before.process_bytes;
	report->held_bytes = (uint64_t)held * WIRE_UNIT_BYTES;
}

static void send_report(unsigned int device, const struct report *r)
{
	if (r->due)
		attach_event(device, "the driver counts %llu bytes for this process, its account %llu",
			     (unsigned long long)r->driver_bytes, (unsigned long long)r->held_bytes);
}

/* Reports wait here for the gate to open; one thread at a time has it closed. */
static struct report pending;

static void finish(struct measured *m)
{
	struct report report = pending;

	account_note_peak(m->device);
	pending.due = false;
	gate_open();
	if (m->asked_all)
		account_measured(m->device);
	send_report(m->device, &report);
}

static bool hold_bound(struct measured *m, uint64_t most)
{
	struct charge c = { 0 };

	if (charge_begin_units(&c, m->device, most) != CHARGE_HELD)
		return false;
	gate_leave();
	m->reserved_units = c.units;
	gate_close();
	return true;
}

static bool hold_all(struct measured *m, uint64_t least)
{
	bool enough;

	for (;;) {
		m->asked_all = true;
		account_ask_all(m->device); /* without an answer: the credit at hand */
		gate_close();
		m->reserved_units = account_credit_units(m->device);
		enough = m->reserved_units >= least;
		if (enough)
			return true;
		gate_open();
		account_measured(m->device);
		if (!sharing_look() && !faces_shrink(m->device))
			return false;
	}
}

uint64_t measured_least_units(unsigned int device, uint64_t bytes)
{
	uint64_t granule = accounts[device].granule_units, units = wire_units(bytes);

	if (granule == 1)
		return units;
	return units > granule ? (units - granule) / granule * granule : 0;
}

int measured_begin_by(const struct face *f, struct measured *m, unsigned int device, uint64_t least, uint64_t most)
{
	memset(m, 0, sizeof *m);
	m->face = f;
	m->device = device;
	if (least > WIRE_MAX_UNITS)
		return MEASURED_REFUSED;
	if (!(most <= WIRE_MAX_UNITS && hold_bound(m, most)) && (least == most || !hold_all(m, least)))
		return MEASURED_REFUSED;
	read_figure(m, &m->before, &m->before_kept_units);
	figure_assume(&m->before, (uint64_t)held_before(m) * WIRE_UNIT_BYTES);
	check_truth(m, &pending);
	return MEASURED_READY;
}

int measured_begin_adopted_by(const struct face *f, struct measured *m, unsigned int device)
{
	int r = measured_begin_by(f, m, device, 0, MEASURED_UNKNOWN);
	uint64_t held = r == MEASURED_READY ? (uint64_t)held_before(m) * WIRE_UNIT_BYTES : 0;

	if (r == MEASURED_READY && m->before.found && m->before.process_bytes > held)
		m->before.process_bytes = held;
	return r;
}

int measured_end(struct measured *m, uint32_t *ret_units)
{
	struct figure after;
	int64_t grown;

	grown = taken(m, &after);
	if (grown < (int64_t)m->floor_units)
		grown = m->floor_units;
	if (grown > (int64_t)WIRE_MAX_UNITS || !settle(m, (uint32_t)grown))
		return MEASURED_OVER;
	tally[m->device].measured_units += (uint64_t)grown;
	*ret_units = (uint32_t)grown;
	finish(m);
	return MEASURED_READY;
}

/* What the driver did not give back stays charged: a module that is unloaded may leave a block behind. */
void measured_cancel(struct measured *m)
{
	struct figure after;
	int64_t left;

	left = taken(m, &after);
	if (left < 0)
		left = 0;
	if (left > (int64_t)m->reserved_units)
		left = m->reserved_units;
	settle(m, (uint32_t)left);
	tally[m->device].measured_units += (uint64_t)left;
	finish(m);
}

void measured_begin_release_by(const struct face *f, struct measured *m, unsigned int device)
{
	memset(m, 0, sizeof *m);
	m->face = f;
	m->device = device;
	gate_close();
	read_figure(m, &m->before, &m->before_kept_units);
}

void measured_add(unsigned int device, uint64_t units)
{
	atomic_fetch_add_explicit(&tally[device].measured_units, units, memory_order_relaxed);
}

void measured_give(unsigned int device, uint64_t units)
{
	give_from(&tally[device].measured_units, units, device);
}

/*
 * On a real driver the figure also shrinks by what other processes let go of, and does not shrink where a call found
 * room in a block that was there. So of what is known all goes back that leaves no less charged than the driver counts.
 */
static uint64_t known_part(const struct measured *m, const struct figure *after, uint64_t rest, uint64_t known)
{
	uint64_t held = account_held_units(m->device), counted = wire_units(after->process_bytes);

	if (known == MEASURED_UNKNOWN || accounts[m->device].soft)
		return rest;
	if (held > counted && held - counted > rest)
		rest = held - counted;
	return rest < known ? rest : known;
}

void measured_end_release(struct measured *m, uint64_t refunded, uint64_t known)
{
	struct figure after;
	int64_t shrunk = -taken(m, &after);
	uint64_t rest = known == MEASURED_UNKNOWN ? 0 : known, part = rest;

	if (m->before.found && after.found) {
		rest = shrunk > (int64_t)refunded ? (uint64_t)shrunk - refunded : 0;
		part = known_part(m, &after, rest, known);
	}
	part = give_from(&tally[m->device].measured_units, part, m->device);
	if (rest > part)
		give_from(&tally[m->device].overhead_units, rest - part, m->device);
	finish(m);
}

void measured_reset(void)
{
	for (unsigned int d = 0; d < WIRE_MAX_DEVICES; d++) {
		tally[d].measured_units = tally[d].overhead_units = 0;
		tally[d].reported = 0;
	}
	pending.due = false;
}
