/*
 * account.h: this process's accounts with meted, one per device of the grant.
 *
 * Taking and giving are one compare-and-swap on the page; when the credit is short, account_ask() asks meted for more,
 * and then the caller tries again. "device" is everywhere the index in the grant, not a CUdevice (devices.h).
 */
#pragma once

#include "wire/message.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct account {
	struct wire_account *wire; /* in the page; a stand-in without credit while not attached */
	uint32_t granule_units;	   /* the driver's blocks; 1 on the software device */
	bool soft;
	bool stays_asked; /* the grant's memory may leave: for what cannot, meted is asked each time */
	/*
	 * What the driver counts beyond the account and the quota had no room for: paid before anything else out of
	 * what is given back. It stays in `held`; measured.c takes it over from `paid_units`.
	 */
	_Atomic uint32_t debt_units, paid_units;
	_Atomic int64_t apart_units; /* held, and not in the figure of this driver: another API's on the same card */
};

extern struct account accounts[WIRE_MAX_DEVICES];
extern unsigned int account_count;

/* By each face, before everything else: the environment is read, once. */
void account_init(void);
/* 0: attached, accounts[] is filled; else as attach_open(). Any thread; again after fork(). */
int account_attach(void);
bool account_attached(void);

/* From the credit at hand. False: ask. `asked`: meted has just said yes, so a tight quota does not stop it. */
bool account_take(unsigned int device, uint32_t units, bool asked);
/* The same for memory that can leave the device. */
bool account_take_moving(unsigned int device, uint32_t units, bool asked);

/* Of what was held or taken for it, up to `units` pay the debt, and stay held. Value: how many. */
uint32_t account_pay(unsigned int device, uint32_t units);
/* The debt, out of the credit at hand. */
void account_pay_from_credit(unsigned int device);
/* Sets the debt. Value: what was paid since the last time. With the gate closed. */
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

/* The figure of the software device does not know of another API's memory on the same card (measured.c). */
static inline void account_apart(unsigned int device, int64_t units)
{
	if (accounts[device].soft)
		atomic_fetch_add_explicit(&accounts[device].apart_units, units, memory_order_relaxed);
}

enum account_answer {
	ACCOUNT_GRANTED = 0,
	ACCOUNT_NO_ROOM = 1, /* the quota, or nobody to ask: what it means has been logged */
};

/* After held was settled by hand: the most that was held. */
void account_note_peak(unsigned int device);

/* Outside the gate. Raises the credit to at least `units`; other threads may take it first. */
int account_ask(unsigned int device, uint64_t units);
int account_ask_moving(unsigned int device, uint64_t units);
/* Outside the gate. For a call of unknown size: raises `measuring`, then all that is left of the quota. */
int account_ask_all(unsigned int device);
/* Outside the gate. Lowers `measuring`, and lets those who waited for it go on. */
void account_measured(unsigned int device);
/* The credit at hand, in units. */
uint32_t account_credit_units(unsigned int device);

/* Quota and what the tenant holds; from the page alone when meted is out of reach. Outside the gate. */
void account_info(unsigned int device, uint64_t *ret_quota_bytes, uint64_t *ret_held_bytes);
uint64_t account_quota_bytes(unsigned int device);
uint32_t account_held_units(unsigned int device);

/* In the child of fork(). */
void account_forget(void);
