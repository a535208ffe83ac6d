/*
 * account.h: this process's accounts with meted, one for each device of the grant.
 *
 * Taking and giving credit is one compare-and-swap on the page. If the credit is too small, account_ask() requests more
 * from meted, and the caller tries again. In this file and its callers, "device" is an index in the grant, not a
 * CUdevice (devices.h).
 */
#pragma once

#include "wire/message.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct account {
	struct wire_account *wire; /* in the page; while not attached, a stand-in without credit */
	uint32_t granule_units;	   /* the driver's allocation granule; 1 on the software device */
	bool soft;
	bool stays_asked; /* the grant's memory may leave: for what cannot, meted is asked each time */
	/*
	 * Debt: memory that the driver counts for this process beyond its account, and for which the quota had no room.
	 * Memory that is given back pays the debt first and stays in `held`. measured.c takes the paid units over from
	 * `paid_units`.
	 */
	_Atomic uint32_t debt_units, paid_units;
	_Atomic int64_t apart_units; /* held through another API on the same card, so not in this driver's figure */
};

extern struct account accounts[WIRE_MAX_DEVICES];
extern unsigned int account_count;

/* Reads the environment, once per process. Every face calls it before anything else of the core. */
void account_init(void);
/*
 * Attaches and fills accounts[]. Returns 0, or a negative errno as attach_open() does. Any thread; again after fork().
 */
int account_attach(void);
bool account_attached(void);

/*
 * Takes units from the credit on the page. False: too little credit; ask meted. `asked`: meted has just granted the
 * units, so take them even where the quota is almost used up.
 */
bool account_take(unsigned int device, uint32_t units, bool asked);
/* The same for memory that can leave the device. */
bool account_take_moving(unsigned int device, uint32_t units, bool asked);

/*
 * Pays the debt with up to `units` of what is held or was taken for it; these stay held. Returns the number of units
 * paid.
 */
uint32_t account_pay(unsigned int device, uint32_t units);
/* Pays the debt from the credit on the page. */
void account_pay_from_credit(unsigned int device);
/* Sets the debt; the caller has closed the gate. Returns the units that were paid since the last call. */
uint32_t account_owe(unsigned int device, uint32_t units);

static inline bool account_owes(unsigned int device)
{
	return __builtin_expect(atomic_load_explicit(&accounts[device].debt_units, memory_order_relaxed) > 0, 0);
}

static inline void account_give(unsigned int device, uint32_t units)
{
	if (account_owes(device))
		units -= account_pay(device, units);
	if (units)
		wire_give(accounts[device].wire, units);
}

/*
 * Notes units held through another API on the same card: the software device's figure does not contain them
 * (measured.c).
 */
static inline void account_apart(unsigned int device, int64_t units)
{
	if (accounts[device].soft)
		atomic_fetch_add_explicit(&accounts[device].apart_units, units, memory_order_relaxed);
}

enum account_answer {
	ACCOUNT_GRANTED = 0,
	ACCOUNT_NO_ROOM = 1, /* the quota is used up, or meted is out of reach; the log says which */
};

/* Updates the peak after `held` was changed directly. */
void account_note_peak(unsigned int device);

/* Asks meted until the credit is at least `units`. Another thread may take that credit first. Outside the gate. */
int account_ask(unsigned int device, uint64_t units);
int account_ask_moving(unsigned int device, uint64_t units);
/* For a call of unknown size: increments `measuring`, then asks for all that is left of the quota. Outside the gate. */
int account_ask_all(unsigned int device);
/* Decrements `measuring` and lets waiting processes continue. Outside the gate. */
void account_measured(unsigned int device);
/* Returns the credit on the page, in units. */
uint32_t account_credit_units(unsigned int device);

/*
 * Returns the quota and what the tenant holds, in bytes; from the page alone while meted is out of reach. Outside the
 * gate; the thread steps out of the door meanwhile, so memory may have moved.
 */
void account_info(unsigned int device, uint64_t *ret_quota_bytes, uint64_t *ret_held_bytes);
uint64_t account_quota_bytes(unsigned int device);
uint32_t account_held_units(unsigned int device);

/* In the child of fork(): drops all accounts. */
void account_forget(void);
