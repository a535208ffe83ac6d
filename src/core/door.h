/*
 * door.h: where the program's calls enter the driver, if its memory may leave the device.
 *
 * If the memory of a tenant may move (METE_SPILL=1), each of its calls is inside the door while it runs. Before memory
 * leaves, the door is shut: new calls wait there until the memory has returned, and calls inside leave when their work
 * ends. A thread that waits for its turn or for meted's answer steps out meanwhile, because the driver does not depend
 * on it. Nested calls on one thread count once.
 *
 * Each thread records in its own slot how many calls it is inside, by plain stores of constants, and reads the door's
 * state by a plain load. The thread that shuts the door makes every running thread pass a memory barrier
 * (membarrier(2)), so an entry needs none. If the kernel does not have that call, or a filter refuses it, each entry
 * executes a barrier.
 *
 * A launch without an entry would cost nothing, and would leave nothing by which the thread that shuts the door could
 * tell that the launch is over: a program that returns from it may make no other call for minutes.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DOOR_SHUT (1u << 31)
#define DOOR_FENCED 1u		 /* entries need barriers of their own */
#define DOOR_CROWDED 2u		 /* the same, permanently, because a thread has found no slot */
#define DOOR_FOR_EVER (1u << 16) /* of a slot's depth: its thread passes, and does not count as inside */

/* The slot of one thread, as large as a cache line. */
struct door_slot {
	_Atomic uint32_t depth; /* calls that it is inside; 0: it is outside, or has stepped out */
	_Atomic uint32_t used;	/* it has entered since the last door_used() */
	_Atomic uint32_t taken;
	uint32_t unused[13];
};

extern _Atomic uint32_t door_state;   /* 0: open; a futex */
extern _Atomic uint32_t door_waiting; /* threads that wait for it to open */
extern __thread struct door_slot *door_mine __attribute__((tls_model("initial-exec"))); /* NULL: none yet */

struct door_slot *door_claim(void);
void door_enter_slow(struct door_slot *mine);
void door_leave_slow(void);

/* The fast path, for launches. No value depends on a value that the call before has stored. */
__attribute__((always_inline)) static inline void door_in(void)
{
	struct door_slot *mine = door_mine;
	uint32_t depth;

	if (__builtin_expect(!mine, 0))
		mine = door_claim();
	/* This thread alone writes the depth. The store and the load below stay in program order: see door_shut(). */
	depth = atomic_load_explicit(&mine->depth, memory_order_relaxed);
	if (__builtin_expect(depth, 0)) {
		atomic_store_explicit(&mine->depth, depth + 1, memory_order_relaxed);
		return;
	}
	atomic_store_explicit(&mine->depth, 1, memory_order_relaxed);
	atomic_store_explicit(&mine->used, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	/* Acquire: pairs with the release in door_open(), so that memory that moved is seen where it is now. */
	if (__builtin_expect(atomic_load_explicit(&door_state, memory_order_acquire), 0))
		door_enter_slow(mine);
}

__attribute__((always_inline)) static inline void door_out(void)
{
	struct door_slot *mine = door_mine;
	uint32_t depth = atomic_load_explicit(&mine->depth, memory_order_relaxed);

	if (__builtin_expect(depth != 1, 0)) {
		atomic_store_explicit(&mine->depth, depth - 1, memory_order_relaxed);
		return;
	}
	/* Release: the effects of the call come before. */
	atomic_store_explicit(&mine->depth, 0, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&door_state, memory_order_relaxed), 0))
		door_leave_slow();
}

static inline void door_enter(void)
{
	door_in();
}

static inline void door_leave(void)
{
	door_out();
}

/* Around a wait for something other than the driver. No effect if the thread is not inside. */
void door_step_out(void);
void door_step_in(void);

/* True if the door is shut, or is about to be once all threads have stepped out. */
static inline bool door_is_shut(void)
{
	return __builtin_expect(atomic_load_explicit(&door_state, memory_order_relaxed) & DOOR_SHUT, 0);
}

/* True if this thread is inside. */
static inline bool door_is_inside(void)
{
	return door_mine && atomic_load_explicit(&door_mine->depth, memory_order_relaxed);
}

/* Call once in each process before the door can be shut. */
void door_begin(void);
/*
 * Shuts the door and waits until no thread is inside. False: some thread still was at `until_ns` (CLOCK_MONOTONIC); the
 * door is open again.
 */
bool door_shut(uint64_t until_ns);
void door_open(void);
/* True if a thread is inside, or has been since the last call of this function, which one thread makes. */
bool door_used(void);

/* Call when the process ends: from now on this thread neither waits at the door nor counts as inside. */
void door_pass_for_ever(void);

/* In the child of fork(): the door is open; the depth of this thread is kept. */
void door_reset(void);
