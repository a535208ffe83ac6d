/*
 * mover.c: see mover.h.
 *
 * The driver has no call that waits for a context's work with a time limit. So another thread waits (drainer): it may
 * stay in the driver for as long as a kernel runs that never ends, and is the one that is asked the next time as well.
 */
#include "shim/mover.h"
#include "core/account.h"
#include "core/away.h"
#include "core/capture.h"
#include "core/door.h"
#include "core/face.h"
#include "core/log.h"
#include "core/thread.h"
#include "core/tick.h"
#include "cuda_shim.h"
#include "shim/contexts.h"
#include "shim/later.h"
#include "shim/movable.h"
#include "shim/pieces.h"
#include "shim/scratch.h"
#include "shim/stash.h"

#include <stdlib.h>
#include <string.h>

#define NAP_NS 100000000u
#define CONTEXTS_MOST 4096u
#define END_PATIENCE_NS 2000000000u
#define AGAIN_NS 200000000u  /* after a return for which there was no room */
#define TAILS_NS 1000000000u /* a program that allocates in each step needs what it has freed again */

enum drain {
	DRAIN_NONE,
	DRAIN_WAITS, /* a thread is in the driver */
	DRAIN_DONE,
	DRAIN_FAILED,
};

static _Atomic uint32_t started;
static _Atomic uint32_t drain;		/* enum drain; a futex */
static _Atomic(void *) drained_context; /* that the drainer is in; NULL: none */
static _Atomic bool given_up;		/* nobody waits for the drainer any more */
static unsigned int moving;		/* the device whose memory is on its way; the mover's own, as the rest */
static enum wire_place state[WIRE_MAX_DEVICES];
static enum wire_stay reason[WIRE_MAX_DEVICES];
static uint32_t answered[WIRE_MAX_DEVICES]; /* the wish */
static uint32_t used;			    /* WIRE_PLACE_USED or 0 */
static _Atomic bool ending;		    /* exit() has begun */
static _Atomic uint32_t in_driver;	    /* the mover is on the way; a futex */
static _Atomic bool told_exit;
static uint32_t again_wish;
static uint64_t again_ns;

/* The page may have been replaced: each time anew. */
static struct wire_account *wire_of(unsigned int device)
{
	return __atomic_load_n(&accounts[device].wire, __ATOMIC_ACQUIRE);
}

static void publish(unsigned int device, unsigned int percent)
{
	uint32_t place = (uint32_t)state[device] | WIRE_PLACE_MOVES | used |
			 (stash_asks(device) ? WIRE_PLACE_STORES : 0) | (stash_open() ? WIRE_PLACE_DISK : 0);

	if (atomic_load_explicit(&door_waiting, memory_order_relaxed))
		place |= WIRE_PLACE_WAITED;
	place |= (uint32_t)reason[device] << WIRE_PLACE_REASON_SHIFT | (uint32_t)percent << WIRE_PLACE_PERCENT_SHIFT |
		 wire_wish_serial(answered[device]) << WIRE_PLACE_SERIAL_SHIFT;
	atomic_store_explicit(&wire_of(device)->place, place, memory_order_release);
}

/* All contexts of the program, for scratch_free(). NULL: there is no room for the list. */
static void **list_contexts(unsigned int *ret_count)
{
	void **list = scratch_new(CONTEXTS_MOST, sizeof *list);

	*ret_count = list ? contexts_list(list, CONTEXTS_MOST) : 0;
	if (*ret_count < CONTEXTS_MOST)
		return list;
	scratch_free(list, CONTEXTS_MOST, sizeof *list);
	*ret_count = 0;
	return NULL;
}

static void *drainer(void *unused)
{
	void **contexts;
	unsigned int count;
	bool good;
	CUresult r;

	thread_begin("mete-drain");
	face->thread_begins();
	contexts = list_contexts(&count);
	good = contexts;
	if (!good)
		log_line("memory does not move: the program has more than %u contexts", CONTEXTS_MOST - 1);
	for (unsigned int i = 0; i < count; i++) {
		/* Sequentially consistent: pairs with mover_let_go(). */
		atomic_store(&drained_context, contexts[i]);
		if (atomic_load(&given_up))
			break;
		if (!face->enter(contexts[i]))
			continue;
		r = shim_real.cuCtxSynchronize();
		if (r != CUDA_SUCCESS)
			log_line("memory does not move: the driver answers %d to cuCtxSynchronize", (int)r);
		good = r == CUDA_SUCCESS && good;
		face->leave();
	}
	scratch_free(contexts, CONTEXTS_MOST, sizeof *contexts);
	atomic_store(&drained_context, NULL);
	atomic_store(&drain, good ? DRAIN_DONE : DRAIN_FAILED);
	tick_wake(&drain);
	return unused;
}

/* Everything that was submitted has ended. */
static enum wire_stay drained(uint64_t until_ns)
{
	uint64_t now;
	bool fresh = false;

	for (;;) {
		uint32_t is = atomic_load(&drain);

		if (fresh && is == DRAIN_DONE)
			return WIRE_STAY_NOT;
		if (fresh && is == DRAIN_FAILED)
			return WIRE_STAY_FAULT;
		now = tick_now();
		if (now >= until_ns) {
			atomic_store(&given_up, true);
			return WIRE_STAY_WORK;
		}
		if (is == DRAIN_WAITS) {
			tick_wait(&drain, is, until_ns - now < NAP_NS ? until_ns - now : NAP_NS, false);
			continue;
		}
		fresh = true;
		atomic_store(&given_up, false);
		atomic_store(&drain, DRAIN_WAITS);
		if (!thread_start(drainer, NULL)) {
			atomic_store(&drain, DRAIN_NONE);
			return WIRE_STAY_HOST;
		}
	}
}

/* Nobody is in the driver, and nothing in flight. The door is shut then, and only then. */
static enum wire_stay quiet(uint64_t until_ns)
{
	enum wire_stay why;

	for (;;) {
		if (!door_shut(until_ns))
			return atomic_load(&drain) == DRAIN_WAITS ? WIRE_STAY_WORK : WIRE_STAY_CALL;
		if (!capture_going())
			break;
		/* A call that waits for the context would spoil it. */
		door_open();
		if (tick_now() >= until_ns)
			return WIRE_STAY_CAPTURE;
		tick_wait(&drain, atomic_load(&drain), NAP_NS / 10, false);
	}
	why = drained(until_ns);
	if (why)
		door_open();
	return why;
}

/* The context's work ends before it does: the driver would wait for that as well. */
void mover_let_go(const void *context)
{
	while (atomic_load(&drained_context) == context)
		tick_wait(&drain, DRAIN_WAITS, NAP_NS / 10, false);
}

static enum wire_stay why_of(enum movable_result r)
{
	static const enum wire_stay is[] = {
		[MOVABLE_DONE] = WIRE_STAY_NOT,	   [MOVABLE_HOST] = WIRE_STAY_HOST, [MOVABLE_DEVICE] = WIRE_STAY_DEVICE,
		[MOVABLE_FAULT] = WIRE_STAY_FAULT, [MOVABLE_DISK] = WIRE_STAY_DISK,
	};

	return is[r];
}

/* A context of the device becomes current. False: there is none. */
static bool enter(unsigned int device)
{
	unsigned int count, is;
	void **contexts = list_contexts(&count);
	bool entered = false;

	for (unsigned int i = 0; i < count && !entered; i++)
		entered = contexts_device(contexts[i], &is) && is == device && face->enter(contexts[i]);
	scratch_free(contexts, CONTEXTS_MOST, sizeof *contexts);
	return entered;
}

static bool leaves_on(unsigned int percent)
{
	publish(moving, percent);
	return !atomic_load(&ending);
}

/* meted may change its mind. */
static bool returns_on(unsigned int percent)
{
	publish(moving, percent);
	return !(atomic_load_explicit(&wire_of(moving)->wish, memory_order_relaxed) & WIRE_LEAVE) &&
	       !atomic_load(&ending);
}

static void leave(unsigned int device, uint32_t wish)
{
	uint64_t limit = (uint64_t)(wish >> WIRE_DRAIN_SHIFT) * WIRE_DRAIN_NS;
	enum wire_stay why;
	bool entered;

	state[device] = WIRE_LEAVING;
	reason[device] = WIRE_STAY_NOT;
	answered[device] = wish;
	publish(device, 0);
	why = quiet(tick_now() + limit);
	if (!why) {
		later_release(); /* what is freed need not be copied */
		moving = device;
		entered = enter(device);
		why = why_of(movable_leave(device, leaves_on));
		if (entered)
			face->leave();
		if (why)
			door_open();
	}
	if (why && atomic_load(&ending))
		return;
	state[device] = why ? WIRE_RESIDENT : WIRE_AWAY;
	reason[device] = why;
	publish(device, 100);
}

static bool all_here(void)
{
	for (unsigned int i = 0; i < account_count; i++)
		if (state[i] != WIRE_RESIDENT)
			return false;
	return true;
}

static void come_back(unsigned int device, uint32_t wish)
{
	enum wire_stay why;
	bool entered;

	state[device] = WIRE_RETURNING;
	answered[device] = wish;
	publish(device, 0);
	moving = device;
	entered = enter(device);
	why = why_of(movable_return(device, returns_on));
	if (entered)
		face->leave();
	if (why && atomic_load(&ending))
		return;
	state[device] = why ? WIRE_AWAY : WIRE_RESIDENT;
	reason[device] = why;
	again_wish = why ? wish : 0;
	again_ns = tick_now() + AGAIN_NS;
	publish(device, 100);
	if (!why && all_here())
		door_open();
}

/*
 * Before the driver is torn down: what is on its way stops where it is, for all of it ends with the process. This
 * thread waits at no door from now on, because nobody opens it any more: what the program's destructors free is freed.
 */
static void stay_out(void)
{
	uint64_t until = tick_now() + END_PATIENCE_NS;

	atomic_store(&ending, true);
	while (atomic_load(&in_driver) && tick_now() < until)
		tick_wait(&in_driver, 1, NAP_NS / 10, false);
	door_pass_for_ever();
}

/* Sequentially consistent: pairs with stay_out(). */
static void go(void (*how)(unsigned int device, uint32_t wish), unsigned int device, uint32_t wish)
{
	atomic_store(&in_driver, 1);
	if (!atomic_load(&ending))
		how(device, wish);
	atomic_store(&in_driver, 0);
	tick_wake(&in_driver);
}

static void look(unsigned int device)
{
	uint32_t wish = atomic_load_explicit(&wire_of(device)->wish, memory_order_acquire);
	bool leaves = wish & WIRE_LEAVE;

	/* A refusal answers its wish: not again until there is another one. */
	if (leaves && state[device] == WIRE_RESIDENT && !(reason[device] && answered[device] == wish))
		go(leave, device, wish);
	else if (!leaves && state[device] == WIRE_AWAY && (wish != again_wish || tick_now() >= again_ns))
		go(come_back, device, wish);
	else if (leaves == (state[device] == WIRE_AWAY))
		answered[device] = wish;
}

static void look_at_door(void)
{
	used = door_used() ? WIRE_PLACE_USED : 0;
}

/* What was kept for a moment. Other processes of the tenant have no other way to it. */
static void trim(void)
{
	static uint64_t tails_ns;

	movable_trim(false);
	if (tick_now() - tails_ns < TAILS_NS)
		return;
	tails_ns = tick_now();
	pieces_drop_tails();
}

static void *move(void *unused)
{
	uint32_t wish;

	thread_begin("mete-mover");
	face->thread_begins();
	for (;;) {
		look_at_door();
		for (unsigned int i = 0; i < account_count; i++) {
			look(i);
			publish(i, 100);
			movable_tell(i);
		}
		trim();
		wish = atomic_load_explicit(&wire_of(0)->wish, memory_order_acquire);
		if (wish == answered[0])
			tick_wait(&wire_of(0)->wish, wish, NAP_NS, true);
		else
			tick_wait(&drain, atomic_load(&drain), NAP_NS / 10, false);
	}
	return unused;
}

void mover_start(void)
{
	uint32_t none = 0;

	if (!movable_wanted() || !atomic_compare_exchange_strong(&started, &none, 1))
		return;
	if (!atomic_exchange(&told_exit, true))
		atexit(stay_out);
	door_begin();
	away_keep(); /* a program that waits for its memory asks nobody: a meted that comes back has to know of it */
	/* Before the program holds memory: meted takes one that does not say so for one that was started without
	 * METE_SPILL. */
	for (unsigned int i = 0; i < account_count; i++)
		publish(i, 100);
	if (thread_start(move, NULL))
		return;
	for (unsigned int i = 0; i < account_count; i++)
		atomic_store_explicit(&wire_of(i)->place, 0, memory_order_release);
	atomic_store(&started, 0);
	log_line("no thread for moving memory: it stays on the device");
}

void mover_reset(void)
{
	atomic_store(&started, 0);
	atomic_store(&drain, DRAIN_NONE);
	atomic_store(&in_driver, 0);
	atomic_store(&drained_context, NULL);
	memset(state, 0, sizeof state);
	memset(reason, 0, sizeof reason);
	memset(answered, 0, sizeof answered);
}
