/* log.c: see log.h. */
#include "daemon/turns/log.h"

#include "base/clock.h"

#include <stdatomic.h>

#define NOTES 16384u /* a power of two */

static struct turn_note notes[NOTES];
static _Atomic unsigned int readers;
static _Atomic uint32_t head; /* written so far; by the arbitration */
static _Atomic uint32_t tail; /* read so far; by the loop */
static _Atomic uint32_t lost; /* since the last one that was taken */

bool turn_log_on(void)
{
	return atomic_load_explicit(&readers, memory_order_relaxed);
}

static void put(const struct turn_note *note)
{
	uint32_t at = atomic_load_explicit(&head, memory_order_relaxed);

	/* Acquire: pairs with the release in turn_log_take(): the place has been read. */
	if (at - atomic_load_explicit(&tail, memory_order_acquire) >= NOTES) {
		atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
		return;
	}
	notes[at % NOTES] = *note;
	/* Release: pairs with the acquire in turn_log_take(). */
	atomic_store_explicit(&head, at + 1, memory_order_release);
}

void turn_log_edge(const struct wire_turn *turn, uint64_t at_ns, bool begins)
{
	struct turn_note note = { .turn = turn, .kind = begins ? TURN_NOTE_BEGINS : TURN_NOTE_ENDS, .at_ns = at_ns };

	if (turn_log_on())
		put(&note);
}

void turn_log_turn(const struct wire_turn *turn, const struct arbiter_turn *now, uint64_t planned_ns, bool frozen,
		   bool wants, int64_t lag_ns)
{
	struct turn_note note = {
		.turn = turn, .bound_ns = now->bound_ns, .until_ns = now->until_ns, .lag_ns = lag_ns
	};

	if (!turn_log_on())
		return;
	note.at_ns = clock_now_ns();
	if (now->open)
		note.kind = TURN_NOTE_OPENED;
	else if (frozen)
		note.kind = TURN_NOTE_FROZEN;
	else if (!wants)
		note.kind = TURN_NOTE_IDLE;
	else
		note.kind = planned_ns && note.at_ns < planned_ns ? TURN_NOTE_TAKEN : TURN_NOTE_OVER;
	put(&note);
}

void turn_log_start(void)
{
	if (!atomic_load(&readers)) {
		atomic_store(&tail, atomic_load(&head));
		atomic_store(&lost, 0);
	}
	atomic_fetch_add(&readers, 1);
}

void turn_log_stop(void)
{
	atomic_fetch_sub(&readers, 1);
}

bool turn_log_take(struct turn_note *ret, uint32_t *ret_lost)
{
	uint32_t at = atomic_load_explicit(&tail, memory_order_relaxed);

	*ret_lost = atomic_exchange_explicit(&lost, 0, memory_order_relaxed);
	if (at == atomic_load_explicit(&head, memory_order_acquire))
		return false;
	*ret = notes[at % NOTES];
	atomic_store_explicit(&tail, at + 1, memory_order_release);
	return true;
}
