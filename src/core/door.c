/* door.c: see door.h. */
#include "core/door.h"
#include "core/tick.h"

#include <limits.h>

#define NAP_NS 100000000u

_Atomic uint32_t door_state, door_waiting, door_passed;
__thread uint32_t door_depth __attribute__((tls_model("initial-exec")));

void door_leave_slow(void)
{
	tick_wake(&door_state);
}

void door_enter_slow(void)
{
	uint32_t state;

	atomic_fetch_add(&door_waiting, 1);
	for (;;) {
		if (atomic_fetch_sub(&door_state, 1) == (DOOR_SHUT | 1))
			door_leave_slow();
		while ((state = atomic_load(&door_state)) & DOOR_SHUT)
			tick_wait(&door_state, state, NAP_NS, false);
		if (!(atomic_fetch_add(&door_state, 1) & DOOR_SHUT))
			break;
	}
	atomic_fetch_sub(&door_waiting, 1);
}

void door_step_out(void)
{
	if (door_depth && atomic_fetch_sub(&door_state, 1) == (DOOR_SHUT | 1))
		door_leave_slow();
}

void door_step_in(void)
{
	if (door_depth && atomic_fetch_add(&door_state, 1) & DOOR_SHUT)
		door_enter_slow();
}

bool door_shut(uint64_t until_ns)
{
	uint32_t state = atomic_fetch_or(&door_state, DOOR_SHUT) | DOOR_SHUT;
	uint64_t now;

	while (state != DOOR_SHUT) {
		now = tick_now();
		if (now >= until_ns) {
			door_open();
			return false;
		}
		tick_wait(&door_state, state, until_ns - now < NAP_NS ? until_ns - now : NAP_NS, false);
		state = atomic_load(&door_state);
	}
	return true;
}

void door_open(void)
{
	atomic_fetch_and(&door_state, ~DOOR_SHUT);
	tick_wake(&door_state);
}

void door_reset(void)
{
	atomic_store(&door_state, door_depth ? 1 : 0);
	atomic_store(&door_waiting, 0);
}
