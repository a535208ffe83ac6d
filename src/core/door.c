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
__thread struct door_slot *door_mine __attribute__((tls_model("initial-exec")));

_Alignas(64) static struct door_slot slots[SLOTS];
/* A thread that has found no slot is one of the crowd (DOOR_CROWDED): it has this one, which no other thread sees. */
static __thread struct door_slot apart __attribute__((tls_model("initial-exec")));
static __thread bool counted __attribute__((tls_model("initial-exec")));  /* one of the crowd: it is inside */
static __thread uint32_t kept __attribute__((tls_model("initial-exec"))); /* its depth while it has stepped out */
static _Atomic uint32_t crowd_inside;					  /* how many of the crowd are inside */
static _Atomic bool crowd_used;
static _Atomic uint32_t taken;	      /* slots that have ever been taken are below */
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

static void count(bool in)
{
	counted = in;
	atomic_store_explicit(&crowd_used, true, memory_order_relaxed);
	atomic_fetch_add(&crowd_inside, in ? 1 : UINT32_MAX);
}

/* The thread steps out, for all to see. */
static void step_out(struct door_slot *mine)
{
	kept = atomic_load_explicit(&mine->depth, memory_order_relaxed);
	atomic_store(&mine->depth, 0);
	if (mine == &apart)
		count(false);
}

static void step_in(struct door_slot *mine)
{
	atomic_store(&mine->depth, kept);
	atomic_store_explicit(&mine->used, 1, memory_order_relaxed);
	kept = 0;
	if (mine == &apart)
		count(true);
}

static bool is_inside(uint32_t depth)
{
	return depth && depth < DOOR_FOR_EVER;
}

/* Its thread has ended, perhaps inside a call. A destructor that comes later claims another one. */
static void give_back(void *slot)
{
	struct door_slot *mine = slot;

	door_mine = NULL;
	kept = 0;
	if (atomic_exchange(&mine->depth, 0)) {
		if (counted)
			count(false);
		ring();
	}
	if (mine != &apart)
		atomic_store_explicit(&mine->taken, 0, memory_order_release);
}

static void key_new(void)
{
	has_key = !pthread_key_create(&key, give_back);
}

static bool take(uint32_t i)
{
	uint32_t none = 0, now = atomic_load_explicit(&taken, memory_order_relaxed);

	if (!atomic_compare_exchange_strong(&slots[i].taken, &none, 1))
		return false;
	while (now <= i && !atomic_compare_exchange_weak(&taken, &now, i + 1))
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
	door_mine = i < SLOTS ? &slots[i] : &apart;
	if (has_key)
		pthread_setspecific(key, door_mine);
	if (door_mine == &apart)
		atomic_fetch_or(&door_state, DOOR_CROWDED);
	errno = saved;
	return door_mine;
}

static bool anybody_inside(void)
{
	uint32_t end = atomic_load(&taken);

	for (uint32_t i = 0; i < end; i++)
		if (is_inside(atomic_load(&slots[i].depth)))
			return true;
	return atomic_load(&crowd_inside);
}

/* It has said that it is inside. */
static void wait_while_shut(struct door_slot *mine)
{
	uint32_t state;

	atomic_thread_fence(memory_order_seq_cst);
	if (!(atomic_load(&door_state) & DOOR_SHUT))
		return;
	atomic_fetch_add(&door_waiting, 1);
	do {
		step_out(mine);
		ring();
		while ((state = atomic_load(&door_state)) & DOOR_SHUT)
			tick_wait(&door_state, state, NAP_NS, false);
		step_in(mine);
	} while (atomic_load(&door_state) & DOOR_SHUT);
	atomic_fetch_sub(&door_waiting, 1);
}

/* Its slot says that it is inside. */
void door_enter_slow(struct door_slot *mine)
{
	if (mine == &apart)
		count(true);
	wait_while_shut(mine);
}

/* Its slot says that it is outside. */
void door_leave_slow(void)
{
	if (counted)
		count(false);
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&door_state) & DOOR_SHUT)
		ring();
}

void door_step_out(void)
{
	if (!door_mine || !is_inside(atomic_load_explicit(&door_mine->depth, memory_order_relaxed)))
		return;
	step_out(door_mine);
	if (door_is_shut())
		ring();
}

void door_step_in(void)
{
	if (!kept)
		return;
	step_in(door_mine);
	wait_while_shut(door_mine);
}

void door_pass_for_ever(void)
{
	struct door_slot *mine = door_mine ? door_mine : door_claim();

	atomic_fetch_add(&mine->depth, DOOR_FOR_EVER);
	if (counted)
		count(false);
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

bool door_used(void)
{
	bool any = atomic_exchange_explicit(&crowd_used, false, memory_order_relaxed);

	for (uint32_t i = 0, end = atomic_load(&taken); i < end; i++)
		if (atomic_load_explicit(&slots[i].used, memory_order_relaxed)) {
			/* An entry that is lost here is one of those that are told of now. */
			atomic_store_explicit(&slots[i].used, 0, memory_order_relaxed);
			any = true;
		}
	return any || anybody_inside();
}

void door_reset(void)
{
	uint32_t depth = door_mine ? atomic_load_explicit(&door_mine->depth, memory_order_relaxed) : 0;

	for (uint32_t i = 0; i < SLOTS && i < atomic_load(&taken); i++) {
		if (&slots[i] == door_mine)
			continue;
		atomic_store(&slots[i].depth, 0);
		atomic_store(&slots[i].taken, 0);
	}
	atomic_store(&crowd_inside, 0);
	atomic_store(&door_state, DOOR_FENCED);
	atomic_store(&door_waiting, 0);
	atomic_store(&has_barrier, false);
	if (door_mine != &apart)
		return;
	/* There is no crowd any more, unless threads that end are not learnt of. */
	counted = false;
	atomic_store(&apart.depth, 0);
	door_claim();
	atomic_store(&door_mine->depth, depth);
	if (door_mine == &apart && is_inside(depth))
		count(true);
}
