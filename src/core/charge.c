/*
 * charge.c: see charge.h.
 *
 * A small allocation on a driver with large blocks is charged a whole block first and refunded when it landed in one
 * that is already charged. At the very end of a quota this refuses an allocation that would have found room in such a
 * block; asking the driver first would let it open a block beyond the quota.
 */
#include "core/charge.h"
#include "core/account.h"
#include "core/blocks.h"
#include "core/faces.h"
#include "core/gate.h"
#include "core/records.h"
#include "core/sharing.h"

int charge_current_by(const struct face *f, face_context *ret_context, unsigned int *ret_device)
{
	switch (f->here(ret_context, ret_device)) {
	case FACE_NOWHERE:
		return CHARGE_NOT_OURS;
	case FACE_ELSEWHERE:
		return CHARGE_REFUSED;
	default:
		return CHARGE_HELD;
	}
}

uint64_t charge_units(unsigned int device, uint64_t bytes)
{
	uint64_t granule = accounts[device].granule_units, units = wire_units(bytes);

	return granule == 1 ? units : (units + granule - 1) / granule * granule;
}

static int try_units(struct charge *c, unsigned int device, uint64_t units, bool moves)
{
	bool (*take)(unsigned int, uint32_t, bool) = moves ? account_take_moving : account_take;
	int (*ask)(unsigned int, uint64_t) = moves ? account_ask_moving : account_ask;
	bool asked = false;

	if (units > WIRE_MAX_UNITS)
		return CHARGE_REFUSED;
	c->device = device;
	c->units = (uint32_t)units;
	for (;;) {
		if (account_owes(device))
			account_pay_from_credit(device);
		gate_enter();
		if ((!units || !account_owes(device)) && take(device, c->units, asked))
			return CHARGE_HELD;
		gate_leave();
		/* Other threads may be quicker with what meted has just granted; then it is asked again. */
		if (ask(device, units) != ACCOUNT_GRANTED)
			return CHARGE_REFUSED;
		asked = true;
	}
}

int charge_try_units(struct charge *c, unsigned int device, uint64_t units)
{
	return try_units(c, device, units, false);
}

static int begin_units(struct charge *c, unsigned int device, uint64_t units, bool moves)
{
	int r;

	do
		r = try_units(c, device, units, moves);
	while (r == CHARGE_REFUSED && units <= WIRE_MAX_UNITS && (sharing_look() || faces_shrink(device)));
	return r;
}

int charge_begin_units(struct charge *c, unsigned int device, uint64_t units)
{
	return begin_units(c, device, units, false);
}

int charge_begin_moving(struct charge *c, unsigned int device, uint64_t units)
{
	return begin_units(c, device, units, true);
}

int charge_begin_by(const struct face *f, struct charge *c, uint64_t bytes)
{
	int r = charge_current_by(f, &c->context, &c->device);

	return r == CHARGE_HELD ? charge_begin_units(c, c->device, charge_units(c->device, bytes)) : r;
}

bool charge_more(struct charge *c, uint32_t units)
{
	struct charge more = { 0 };

	if (account_take(c->device, units, false)) {
		c->units += units;
		return true;
	}
	gate_leave();
	if (charge_begin_units(&more, c->device, units) == CHARGE_HELD) {
		c->units += units;
		return true;
	}
	gate_enter();
	return false;
}

void charge_cancel(struct charge *c)
{
	account_give(c->device, c->units);
	c->units = 0;
	gate_leave();
}

/* Settles the charge at what the allocation touches. False: it cannot be had. */
static bool settle(struct charge *c, uint64_t pointer, uint64_t bytes)
{
	uint32_t granule = accounts[c->device].granule_units;
	uint64_t units = granule == 1 ? wire_units(bytes) : blocks_touch(pointer, bytes, granule);

	if (units <= c->units) {
		account_give(c->device, c->units - (uint32_t)units);
		c->units = (uint32_t)units;
		return true;
	}
	if (units <= WIRE_MAX_UNITS && charge_more(c, (uint32_t)units - c->units))
		return true;
	if (granule > 1)
		blocks_leave(pointer, bytes, granule);
	return false;
}

/* Sizes are recorded in units: blocks are left by the same bytes that they were touched by. No unit ends in another. */
static uint64_t whole(uint64_t bytes)
{
	return wire_units(bytes) * WIRE_UNIT_BYTES;
}

bool charge_end_by(const struct face *f, struct charge *c, bool made, uint64_t pointer, uint64_t bytes)
{
	struct record record = { .key = record_pointer(pointer),
				 .context = c->context,
				 .kind = RECORD_PLAIN,
				 .device = (uint8_t)c->device };

	if (!made) {
		charge_cancel(c);
		return false;
	}
	if (!settle(c, pointer, whole(bytes)))
		goto undo;
	record.units = c->units;
	record.size_units = (uint32_t)wire_units(bytes);
	if (!records_add(&record)) {
		if (accounts[c->device].granule_units > 1)
			blocks_leave(pointer, whole(bytes), accounts[c->device].granule_units);
		goto undo;
	}
	gate_leave();
	return true;
undo:
	f->undo(pointer);
	charge_cancel(c);
	return false;
}
