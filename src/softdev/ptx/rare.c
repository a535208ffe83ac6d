/*
 * rare.c: executors of rows_rare.h that work on memory or a whole warp: local memory taken at run time, atomics of 128
 * bits and of the extremes of 16-bit floats, the extreme of a warp's floats.
 */
#include "softdev/ptx/fp.h"
#include "softdev/ptx/once.h"
#include "softdev/ptx/reach.h"

static u64 stack_end(const struct warp *w, u32 lane)
{
	const struct block *b = w->block;

	return (uintptr_t)b->local + ((u64)w->index * LANES + lane + 1) * b->local_stride;
}

void stack_alloc(struct warp *w, const struct op *o)
{
	const u64 *size = at(w, o->a);
	const u64 frames = w->frame->local_offset + (u64)w->frame->function->local_bytes;
	u64 *d = at(w, o->d);

	w->has_stack = true;
	for (u32 i = 0; i < LANES; i++) {
		const u64 end = stack_end(w, i), least = end - w->block->local_stride + frames;
		u64 top = end - w->stack_taken[i];

		if (!(w->mask & lane_bit[i]))
			continue;
		if (top < least || size[i] > top - least || ((top - size[i]) & -o->imm) < least) {
			warp_fault(w, PTX_FAULT_STACK_OVERFLOW, o, i, 0);
			return;
		}
		top = (top - size[i]) & -o->imm;
		w->stack_taken[i] = (u32)(end - top);
		d[i] = top;
	}
}

void stack_save(struct warp *w, const struct op *o)
{
	u64 *d = at(w, o->d);

	for (u32 i = 0; i < LANES; i++)
		if (w->mask & lane_bit[i])
			d[i] = stack_end(w, i) - (w->has_stack ? w->stack_taken[i] : 0);
}

/* Only what has been taken can be given back. */
void stack_restore(struct warp *w, const struct op *o)
{
	const u64 *a = at(w, o->a);

	for (u32 i = 0; i < LANES && w->has_stack; i++) {
		const u64 end = stack_end(w, i);

		if (!(w->mask & lane_bit[i]))
			continue;
		if (a[i] > end || end - a[i] > w->stack_taken[i]) {
			warp_fault(w, PTX_FAULT_STACK_OVERFLOW, o, i, 0);
			return;
		}
		w->stack_taken[i] = (u32)(end - a[i]);
	}
}

#define REDUX_MAX 256u
#define REDUX_ABS 16u
#define REDUX_NAN 1u

void redux_f32(struct warp *w, const struct op *o)
{
	const f32 *a = at(w, o->a);
	const u32 *mask = at(w, o->f);
	f32 r[LANES], *d = at(w, o->d);

	for (u32 i = 0; i < LANES; i++) {
		const u32 all = mask[i] & w->mask;

		r[i] = 0;
		for (u32 left = all; left; left &= left - 1) {
			const f32 raw = a[__builtin_ctz(left)], x = o->imm & REDUX_ABS ? fabsf(raw) : raw;
			const f32 old = left == all ? x : r[i];
			const f32 next = o->imm & REDUX_MAX ? max_f32_of(old, x) : min_f32_of(old, x);

			r[i] = o->imm & REDUX_NAN ? nan_f32(old, x, next) : next;
		}
	}
	for (u32 i = 0; i < LANES; i++)
		d[i] = w->mask & lane_bit[i] ? r[i] : d[i];
}

/* The memory of one lane's atomic; NULL: the launch has got a fault. */
static void *atom_reach(struct warp *w, const struct op *o, u32 lane, bool shared, u32 bytes)
{
	const u64 address = lane_value(w, o->a, lane, shared) + o->imm;

	if (!shared && warp_off_limits(w, address)) {
		warp_fault_access(w, PTX_FAULT_ADDRESS_SPACE, o, lane, PTX_SPACE_DEVICE, address, bytes);
		return NULL;
	}
	return reach_bytes(w, o, lane, address, shared, bytes, bytes, true);
}

#define EXTREME_ATOM(name, t, expr)                                                                                    \
	static void name##_at(struct warp *w, const struct op *o, bool shared)                                         \
	{                                                                                                              \
		const u32 *b = at(w, o->b);                                                                            \
		u32 *d = at(w, o->d);                                                                                  \
		for (u32 left = w->mask; left; left &= left - 1) {                                                     \
			const u32 i = (u32)__builtin_ctz(left);                                                        \
			t *p = atom_reach(w, o, i, shared, sizeof(t)), old, next;                                      \
			const t y = (t)b[i];                                                                           \
			if (!p)                                                                                        \
				return;                                                                                \
			old = __atomic_load_n(p, __ATOMIC_RELAXED);                                                    \
			do {                                                                                           \
				const t x = old;                                                                       \
				next = (t)(expr);                                                                      \
			} while (!__atomic_compare_exchange_n(p, &old, next, true, __ATOMIC_SEQ_CST,                   \
							      __ATOMIC_RELAXED));                                      \
			d[i] = old;                                                                                    \
		}                                                                                                      \
	}                                                                                                              \
	void name(struct warp *w, const struct op *o)                                                                  \
	{                                                                                                              \
		name##_at(w, o, false);                                                                                \
	}                                                                                                              \
	void name##_shared(struct warp *w, const struct op *o)                                                         \
	{                                                                                                              \
		name##_at(w, o, true);                                                                                 \
	}
#define BOTH_HALVES(of) (of(x & 0xffff, y & 0xffff) | of(x >> 16, y >> 16) << 16)

EXTREME_ATOM(atom_min_f16, u16, hmin(x, y))
EXTREME_ATOM(atom_max_f16, u16, hmax(x, y))
EXTREME_ATOM(atom_min_bf16, u16, bmin(x, y))
EXTREME_ATOM(atom_max_bf16, u16, bmax(x, y))
EXTREME_ATOM(atom_min_f16x2, u32, BOTH_HALVES(hmin))
EXTREME_ATOM(atom_max_f16x2, u32, BOTH_HALVES(hmax))
EXTREME_ATOM(atom_min_bf16x2, u32, BOTH_HALVES(bmin))
EXTREME_ATOM(atom_max_bf16x2, u32, BOTH_HALVES(bmax))

typedef unsigned __int128 word128;

/*
 * One instruction of the host; where it has none, one lock for all of them. Written out, because compilers disagree
 * whether their builtin is that instruction: clang 14 calls a function that no library has.
 */
#if defined(__x86_64__)
static word128 exchange_if(word128 *p, word128 old, word128 next)
{
	u64 low = (u64)old, high = (u64)(old >> 64);

	__asm__ volatile("lock cmpxchg16b %0"
			 : "+m"(*p), "+a"(low), "+d"(high)
			 : "b"((u64)next), "c"((u64)(next >> 64))
			 : "cc", "memory");
	return (word128)high << 64 | low;
}
#else
static word128 exchange_if(word128 *p, word128 old, word128 next)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	word128 found;

	pthread_mutex_lock(&lock);
	found = *p;
	if (found == old)
		*p = next;
	pthread_mutex_unlock(&lock);
	return found;
}
#endif

static void atom_128(struct warp *w, const struct op *o, bool shared, bool compare)
{
	const word128 *b = at(w, o->b), *c = compare ? at(w, o->c) : NULL;
	word128 *d = at(w, o->d);

	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left);
		word128 *p = atom_reach(w, o, i, shared, sizeof(word128)), found;

		if (!p)
			return;
		if (compare) {
			d[i] = exchange_if(p, b[i], c[i]);
			continue;
		}
		for (word128 guess = 0; (found = exchange_if(p, guess, b[i])) != guess;)
			guess = found;
		d[i] = found;
	}
}

void atom_exch_128(struct warp *w, const struct op *o)
{
	atom_128(w, o, false, false);
}

void atom_exch_128_shared(struct warp *w, const struct op *o)
{
	atom_128(w, o, true, false);
}

void atom_cas_128(struct warp *w, const struct op *o)
{
	atom_128(w, o, false, true);
}

void atom_cas_128_shared(struct warp *w, const struct op *o)
{
	atom_128(w, o, true, true);
}
