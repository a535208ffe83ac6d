/*
 * account.c: see account.h.
 *
 * Comfort: whoever asks takes some credit for the next calls along (COMFORT), so that small allocations do not ask each
 * time. meted takes it back when another process of the tenant needs it, so comfort costs nobody room. After a call
 * that had everything set aside no more than that is kept: else each of the others' allocations would have to be asked
 * for.
 */
#include "core/account.h"
#include "core/attach.h"
#include "core/door.h"
#include "core/gate.h"
#include "core/log.h"
#include "core/others.h"
#include "core/pace.h"

#include <pthread.h>
#include <string.h>

#define COMFORT_BYTES (64u << 20)
#define COMFORT_PART 16 /* at most this part of the quota */

struct account accounts[WIRE_MAX_DEVICES];
unsigned int account_count;

static struct wire_account nothing; /* word 0: no credit; what accounts[] show while there is no page */
static _Atomic bool outage_logged;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one face at a time attaches */
static _Atomic bool filled; /* accounts[] are those of the page */

static const struct attach_hooks hooks = { .freeze = gate_close, .thaw = gate_open };

static void init(void)
{
	attach_init(ATTACH_DRIVER, &hooks);
}

/* Each face comes here. */
void account_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init);
}

static int attach_locked(void)
{
	const struct wire_welcome *welcome;
	struct wire_page *page;
	int r;

	r = attach_open();
	if (r < 0)
		return r;
	page = attach_page();
	welcome = attach_welcome();
	for (unsigned int i = 0; i < welcome->device_count; i++) {
		const struct wire_device *d = &welcome->device[i];

		accounts[i].granule_units = d->granule_bytes > WIRE_UNIT_BYTES ? d->granule_bytes / WIRE_UNIT_BYTES : 1;
		accounts[i].soft = d->flags & WIRE_DEVICE_SOFT;
		accounts[i].stays_asked = d->flags & WIRE_DEVICE_STAYS_ASKED;
		__atomic_store_n(&accounts[i].wire, &page->account[i], __ATOMIC_RELEASE);
	}
	account_count = welcome->device_count;
	pace_attach(page, account_count);
	atomic_store_explicit(&filled, true, memory_order_release);
	return 0;
}

int account_attach(void)
{
	int r;

	pthread_mutex_lock(&lock);
	r = account_attached() ? 0 : attach_locked();
	pthread_mutex_unlock(&lock);
	return r;
}

bool account_attached(void)
{
	return atomic_load_explicit(&filled, memory_order_acquire) && attach_page();
}

void account_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	atomic_store_explicit(&filled, false, memory_order_relaxed);
	others_forget(true);
	for (unsigned int i = 0; i < WIRE_MAX_DEVICES; i++) {
		accounts[i].wire = &nothing;
		account_owe(i, 0);
	}
	atomic_store_explicit(&nothing.word, 0, memory_order_relaxed);
}

void account_note_peak(unsigned int device)
{
	struct wire_account *a = accounts[device].wire;
	uint64_t held = wire_held(atomic_load_explicit(&a->word, memory_order_relaxed));
	uint64_t peak = atomic_load_explicit(&a->peak_units, memory_order_relaxed);

	while (held > peak && !atomic_compare_exchange_weak_explicit(&a->peak_units, &peak, held, memory_order_relaxed,
								     memory_order_relaxed))
		;
}

bool account_take(unsigned int device, uint32_t units, bool asked)
{
	return (asked || !units || !accounts[device].stays_asked) && account_take_moving(device, units, asked);
}

bool account_take_moving(unsigned int device, uint32_t units, bool asked)
{
	struct wire_account *a = accounts[device].wire;

	if (!asked && atomic_load_explicit(&a->tight, memory_order_relaxed) && units)
		return false;
	if (!wire_take(a, units))
		return false;
	account_note_peak(device);
	return true;
}

uint32_t account_pay(unsigned int device, uint32_t units)
{
	struct account *a = &accounts[device];
	uint32_t debt = atomic_load_explicit(&a->debt_units, memory_order_relaxed), part;

	do
		part = debt < units ? debt : units;
	while (part && !atomic_compare_exchange_weak_explicit(&a->debt_units, &debt, debt - part, memory_order_relaxed,
							      memory_order_relaxed));
	atomic_fetch_add_explicit(&a->paid_units, part, memory_order_relaxed);
	return part;
}

void account_pay_from_credit(unsigned int device)
{
	uint32_t debt = atomic_load_explicit(&accounts[device].debt_units, memory_order_relaxed);
	uint32_t credit = account_credit_units(device), units = debt < credit ? debt : credit;

	if (units && wire_take(accounts[device].wire, units))
		account_give(device, units); /* pays, and what another thread has paid meanwhile is credit again */
}

uint32_t account_owe(unsigned int device, uint32_t units)
{
	atomic_store_explicit(&accounts[device].debt_units, units, memory_order_relaxed);
	return atomic_exchange_explicit(&accounts[device].paid_units, 0, memory_order_relaxed);
}

uint32_t account_credit_units(unsigned int device)
{
	uint64_t word = atomic_load_explicit(&accounts[device].wire->word, memory_order_acquire);

	return wire_held(word) < wire_granted(word) ? wire_granted(word) - wire_held(word) : 0;
}

/* What came back to a RESERVE, as the caller of a driver's function can use it. */
static int verdict(unsigned int device, int r)
{
	if (r == WIRE_OK) {
		atomic_store_explicit(&outage_logged, false, memory_order_relaxed);
		return ACCOUNT_GRANTED;
	}
	if (r == WIRE_NO_ROOM)
		return ACCOUNT_NO_ROOM;
	if (!atomic_exchange_explicit(&outage_logged, true, memory_order_relaxed))
		log_line(
			r < 0 ? "meted is out of reach (%s), so no more device memory can be taken on device %u; "
				"start it again: this process goes on with what it has"
			      : "meted refused a request as malformed (%s) on device %u; install both from one release",
			r < 0 ? strerror(-r) : "status", device);
	return ACCOUNT_NO_ROOM;
}

/* Other tenants' memory may have to leave the device first, and ours as well. */
static int reserve(unsigned int device, uint32_t need, uint32_t want, uint32_t flags, unsigned int patience_ms)
{
	_Atomic uint32_t *measuring = flags & WIRE_RESERVE_ALL ? &accounts[device].wire->measuring : NULL;
	struct wire_reserve ask = { .head = { .type = WIRE_RESERVE, .size = sizeof ask },
				    .device = device,
				    .flags = flags,
				    .need_units = need,
				    .want_units = want };
	struct wire_reserved got = { .again = 0 };
	int r;

	do {
		if (got.again && measuring)
			attach_uncount(measuring); /* it was answered, and is raised anew */
		got.again = 0;
		door_step_out();
		r = attach_ask_counted(&ask, &got, sizeof got, patience_ms, measuring);
		door_step_in();
	} while (r == WIRE_NO_ROOM && got.again);
	return r;
}

/* In a child of fork() the first one to need memory attaches. */
static int attach_again(void)
{
	return account_attached() ? 0 : account_attach();
}

static uint64_t comfort_units(unsigned int device)
{
	uint64_t comfort = account_quota_bytes(device) / COMFORT_PART;

	return (comfort < COMFORT_BYTES ? comfort : COMFORT_BYTES) / WIRE_UNIT_BYTES;
}

static int ask(unsigned int device, uint64_t units, uint32_t flags)
{
	uint64_t comfort;

	if (units > WIRE_MAX_UNITS || attach_again() < 0)
		return ACCOUNT_NO_ROOM;
	comfort = comfort_units(device);
	return verdict(device, reserve(device, (uint32_t)units, (uint32_t)(units > comfort ? units : comfort), flags,
				       ATTACH_PATIENCE_MS));
}

int account_ask(unsigned int device, uint64_t units)
{
	return ask(device, units, accounts[device].stays_asked ? WIRE_RESERVE_STAYS : 0);
}

int account_ask_moving(unsigned int device, uint64_t units)
{
	return ask(device, units, 0);
}

int account_ask_all(unsigned int device)
{
	int r;

	if (attach_again() < 0)
		return ACCOUNT_NO_ROOM;
	r = reserve(device, 0, 0, WIRE_RESERVE_ALL, ATTACH_PATIENCE_MS);
	if (r < 0) /* it goes on with the credit at hand, and account_measured() follows */
		atomic_fetch_add_explicit(&accounts[device].wire->measuring, 1, memory_order_relaxed);
	return verdict(device, r);
}

void account_measured(unsigned int device)
{
	if (!account_attached())
		return;
	attach_uncount(&accounts[device].wire->measuring);
	reserve(device, 0, (uint32_t)comfort_units(device), 0, 0);
}

uint64_t account_quota_bytes(unsigned int device)
{
	return atomic_load_explicit(&accounts[device].wire->quota_bytes, memory_order_relaxed);
}

uint32_t account_held_units(unsigned int device)
{
	return wire_held(atomic_load_explicit(&accounts[device].wire->word, memory_order_relaxed));
}

static void info(unsigned int device, uint64_t *ret_quota_bytes, uint64_t *ret_held_bytes)
{
	struct wire_info ask = { .head = { .type = WIRE_INFO, .size = sizeof ask }, .device = device };
	struct wire_info_is got;
	uint64_t units;

	if (account_attached() && others_held(device, &units)) {
		*ret_quota_bytes = account_quota_bytes(device);
		*ret_held_bytes = units * WIRE_UNIT_BYTES;
		return;
	}
	if (attach_again() == 0 && attach_ask(&ask, &got, sizeof got, 200) == WIRE_OK) {
		*ret_quota_bytes = got.quota_bytes;
		*ret_held_bytes = got.held_bytes;
		return;
	}
	*ret_quota_bytes = account_quota_bytes(device);
	*ret_held_bytes = (uint64_t)account_held_units(device) * WIRE_UNIT_BYTES;
}

/* The connection may be with threads that wait for room, which memory has to leave for. */
void account_info(unsigned int device, uint64_t *ret_quota_bytes, uint64_t *ret_held_bytes)
{
	door_step_out();
	info(device, ret_quota_bytes, ret_held_bytes);
	door_step_in();
}
