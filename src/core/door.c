/*
 * door.c: see door.h.
 *
 * A thread enters: it stores that it is inside, then loads the state. Another shuts: it stores the state, has every
 * running thread pass a barrier, then loads who is inside. A thread whose load came before the barrier has its store
 * seen; one whose load comes later sees the door shut. The same holds for who leaves and whether it has to ring.
 */
#include "core/door.h"
#include "core/tick.h"

#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAP_NS 100000000u
#ifndef SLOTS
#define SLOTS 4096u
#endif

_Atomic uint32_t door_state = DOOR_FENCED, door_waiting;
__thread uint32_t door_depth __attribute__((tls_model("initial-exec")));
__thread struct door_slot *door_mine __attribute__((tls_model("initial-exec")));

static struct door_slot slots[SLOTS];
static struct door_slot crowd;	      /* of all threads that have found no slot (DOOR_CROWDED) */
static _Atomic uint32_t crowd_inside; /* how many of them are inside */
static __thread bool counted __attribute__((tls_model("initial-exec"))); /* this one is */
static _Atomic uint32_t used;	      /* slots that have ever been taken are below */
static _Atomic uint32_t bell;	      /* a futex: rung when a thread leaves while the door is shut */
static _Atomic bool has_barrier;      /* the kernel's reaches this process's threads */
static pthread_key_t key;
static bool has_key; /* false: the program has all there are, and threads that end are not learnt of */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void ring(void)
{
	atomic_fetch_add(&bell, 1);
	tick_wake(&bell);
}

/* The thread comes in or goes out, for all to see. */
static void cross(struct door_slot *mine, bool in)
{
	if (mine == &crowd) {
		counted = in;
		atomic_fetch_add(&crowd_inside, in ? 1 : UINT32_MAX);
	} else {
		atomic_fetch_add(&mine->passed, 1);
	}
}

/* Its thread has ended, perhaps inside a call. A destructor that comes later claims another one. */
static void give_back(void *slot)
{
	struct door_slot *mine = slot;

	door_mine = NULL;
	door_depth = 0;
	if (mine == &crowd ? counted : atomic_load_explicit(&mine->passed, memory_order_relaxed) & 1) {
		cross(mine, false);
		ring();
	}
	if (mine != &crowd)
		atomic_store_explicit(&mine->taken, 0, memory_order_release);
}

static void key_new(void)
{
	has_key = !pthread_key_create(&key, give_back);
}

static bool take(uint32_t i)
{
	uint32_t none = 0, now = atomic_load_explicit(&used, memory_order_relaxed);

	if (!atomic_compare_exchange_strong(&slots[i].taken, &none, 1))
		return false;
	while (now <= i && !atomic_compare_exchange_weak(&used, &now, i + 1))
		;
	return true;
}

struct door_slot *door_claim(void)
{
	int saved = errno;
	uint32_t i = 0;

	pthread_once(&once, key_new);
	while (i < SLOTS && !(has_key && take(i)))
		i++;
	door_mine = i < SLOTS ? &slots[i] : &crowd;
	if (has_key)
		pthread_setspecific(key, door_mine);
	if (door_mine == &crowd)
		atomic_fetch_or(&door_state, DOOR_CROWDED);
	errno = saved;
	return door_mine;
}

static bool anybody_inside(void)
{
	uint32_t count = atomic_load(&used);

	for (uint32_t i = 0; i < count; i++)
		if (atomic_load(&slots[i].passed) & 1)
			return true;
	return atomic_load(&crowd_inside);
}

/* It has said that it is inside; but for one of the crowd. */
void door_enter_slow(struct door_slot *mine)
{
	uint32_t state;

	if (mine == &crowd)
		cross(mine, true);
	atomic_thread_fence(memory_order_seq_cst);
	if (!(atomic_load(&door_state) & DOOR_SHUT))
		return;
	atomic_fetch_add(&door_waiting, 1);
	do {
		cross(mine, false);
		ring();
		while ((state = atomic_load(&door_state)) & DOOR_SHUT)
			tick_wait(&door_state, state, NAP_NS, false);
		cross(mine, true);
	} while (atomic_load(&door_state) & DOOR_SHUT);
	atomic_fetch_sub(&door_waiting, 1);
}

/* It has said that it is outside; but for one of the crowd. */
void door_leave_slow(struct door_slot *mine)
{
	if (mine == &crowd)
		cross(mine, false);
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&door_state) & DOOR_SHUT)
		ring();
}

void door_step_out(void)
{
	if (!door_depth || door_depth >= DOOR_FOR_EVER)
		return;
	cross(door_mine, false);
	if (door_is_shut())
		ring();
}

void door_step_in(void)
{
	if (!door_depth || door_depth >= DOOR_FOR_EVER)
		return;
	/* One of the crowd is counted there. */
	if (door_mine != &crowd)
		cross(door_mine, true);
	door_enter_slow(door_mine);
}

static bool barrier(int command)
{
	int saved = errno;
	bool good = !syscall(SYS_membarrier, command, 0, 0);

	errno = saved;
	return good;
}

void door_begin(void)
{
	if (!barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) || !barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		return;
	atomic_store(&has_barrier, true);
	atomic_fetch_and(&door_state, ~DOOR_FENCED);
}

/* Also where entries are fenced: one may have begun before they were. */
static bool all_pass_barrier(void)
{
	if (!atomic_load(&has_barrier) || barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		return true;
	atomic_store(&has_barrier, false); /* a filter has come since: the next time it holds */
	atomic_fetch_or(&door_state, DOOR_FENCED);
	return false;
}

bool door_shut(uint64_t until_ns)
{
	uint32_t rung;
	uint64_t now;

	atomic_fetch_or(&door_state, DOOR_SHUT);
	if (!all_pass_barrier()) {
		door_open();
		return false;
	}
	for (;;) {
		rung = atomic_load(&bell);
		if (!anybody_inside())
			return true;
		now = tick_now();
		if (now >= until_ns) {
			door_open();
			return false;
		}
		tick_wait(&bell, rung, until_ns - now < NAP_NS ? until_ns - now : NAP_NS, false);
	}
}

void door_open(void)
{
	atomic_fetch_and(&door_state, ~DOOR_SHUT);
	tick_wake(&door_state);
}

bool door_used(uint32_t *passed)
{
	uint32_t sum = atomic_load_explicit(&crowd.passed, memory_order_relaxed), was = *passed;

	for (uint32_t i = 0, count = atomic_load(&used); i < count; i++)
		sum += atomic_load_explicit(&slots[i].passed, memory_order_relaxed);
	*passed = sum;
	return sum != was || anybody_inside();
}

void door_reset(void)
{
	bool inside = counted;

	for (uint32_t i = 0; i < SLOTS && i < atomic_load(&used); i++) {
		if (&slots[i] == door_mine)
			continue;
		atomic_store(&slots[i].passed, 0);
		atomic_store(&slots[i].taken, 0);
	}
	atomic_store(&crowd_inside, 0);
	atomic_store(&door_state, DOOR_FENCED);
	atomic_store(&door_waiting, 0);
	atomic_store(&has_barrier, false);
	if (door_mine != &crowd)
		return;
	/* There is no crowd any more. */
	counted = false;
	door_claim();
	if (inside)
		cross(door_mine, true);
}
