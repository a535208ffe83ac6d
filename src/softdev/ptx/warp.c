/*
 * warp.c: which lanes of a warp run, barriers, calls, faults.
 *
 * Lanes that stand at the same place in the same frame form a group and run together. Of several groups the one in the
 * deepest frame, and there the one with the smallest position, runs first: the others wait until it comes to where they
 * are, and join it. That brings lanes back together behind branches and loops without knowing the shape of the code. It
 * can starve lanes that somebody waits for, so after many backward jumps the groups take turns by age.
 */
#include "softdev/ptx/lane.h"

#include <stdlib.h>
#include <string.h>

#define KEY_NONE (~0ull)
#define DEPTH_MAX 0x7fffffffu

static uint32_t bit(uint32_t lane)
{
	return 1u << lane;
}

/*
 * Lanes join those that stand there already, except where some of them wait: what runs and what waits stays apart, so
 * that a place's stamp is that of the oldest lane that may run.
 */
void warp_save(struct warp *w, uint32_t lanes, uint32_t pc)
{
	const uint64_t key = w->key_base | pc;
	const uint32_t waiting = w->wait_bar | w->wait_sync;

	if (!lanes)
		return;
	w->stamp++;
	for (uint32_t k = 0; k < w->place_count; k++) {
		struct place *p = &w->place[k];

		if (p->key == key && p->frame == w->frame && !((p->lanes | lanes) & waiting)) {
			p->lanes |= lanes;
			return;
		}
	}
	w->place[w->place_count++] = (struct place){ key, w->frame, lanes, w->stamp };
}

const struct place *warp_place(const struct warp *w, uint32_t lane)
{
	for (uint32_t k = 0; k < w->place_count; k++)
		if (w->place[k].lanes & bit(lane))
			return &w->place[k];
	return NULL;
}

static void use_frame(struct warp *w, struct frame *f)
{
	w->frame = f;
	w->code = f->function->code;
	w->base[0] = f->regs;
	w->base[1] = f->function->constants;
	w->key_base = (uint64_t)(DEPTH_MAX - f->depth) << 32;
	w->compiled = f->depth ? NULL : w->machine;
	w->local = w->block->local
			   ? w->block->local + (size_t)w->index * LANES * w->block->local_stride + f->local_offset
			   : NULL;
}

void warp_set_group(struct warp *w, struct frame *frame, uint32_t pc, uint32_t mask)
{
	use_frame(w, frame);
	w->pc = pc;
	w->mask = mask;
	if (mask != ~0u)
		lanes_of(w->lanes, mask);
}

/* Whether place p, of whose lanes `may` can run, runs before q. */
static bool place_before(const struct place *p, uint32_t may, const struct place *q, uint32_t q_may, bool turns)
{
	if (turns)
		return (int32_t)(p->stamp - q->stamp) < 0;
	return p->key < q->key || (p->key == q->key && __builtin_ctz(may) < __builtin_ctz(q_may));
}

/* Takes the lanes at the place of `lead` that do not wait at a barrier out of the places. */
static uint32_t places_take(struct warp *w, const struct place *lead)
{
	const uint32_t may = w->live & ~w->wait_bar;
	const struct place at = *lead;
	uint32_t taken = 0;

	for (uint32_t k = w->place_count; k-- > 0;) {
		struct place *p = &w->place[k];

		if (p->key != at.key || p->frame != at.frame)
			continue;
		taken |= p->lanes & may;
		p->lanes &= ~may;
		if (!p->lanes)
			*p = w->place[--w->place_count];
	}
	return taken;
}

/* As most warps come from a barrier: all lanes that live stand at one place, and none waits. */
static bool schedule_whole(struct warp *w)
{
	const struct place *p = &w->place[0];

	if (w->place_count != 1 || p->lanes != w->live || w->wait_bar || w->wait_sync)
		return false;
	w->place_count = 0;
	w->other = KEY_NONE;
	w->spins = 0;
	warp_set_group(w, p->frame, (uint32_t)p->key, p->lanes);
	return true;
}

/* Chooses the next group. mask 0 afterwards: every lane has ended or waits at a barrier. */
void warp_schedule(struct warp *w)
{
	uint32_t run = w->live & ~w->wait_bar & ~w->wait_sync, lead_may = 0, group;
	const bool turns = w->spins > SPINS_MAX;
	const struct place *lead = NULL;
	struct frame *frame;
	uint64_t key;

	if (schedule_whole(w))
		return;
	w->mask = 0;
	w->other = KEY_NONE;
	w->spins = 0;
	if (!run) {
		/* Only lanes that wait for absent ones are left: a sync operation whose members never come goes on
		 * without. */
		run = w->live & ~w->wait_bar;
		if (!run)
			return;
		w->wait_sync = 0;
		w->force = true;
	}
	for (uint32_t k = 0; k < w->place_count; k++) {
		const struct place *p = &w->place[k];
		const uint32_t may = p->lanes & run;

		if (may && (!lead || place_before(p, may, lead, lead_may, turns))) {
			lead = p;
			lead_may = may;
		}
	}
	key = lead->key;
	frame = lead->frame;
	group = places_take(w, lead);
	w->wait_sync &= ~group;
	for (uint32_t k = 0; k < (turns ? 0 : w->place_count); k++) {
		const struct place *p = &w->place[k];
		/* the same place in another frame: one step apart, so that both get on */
		const uint64_t other = p->key == key ? key + 1 : p->key;

		if (p->lanes & run && other < w->other)
			w->other = other;
	}
	warp_set_group(w, frame, (uint32_t)key, group);
}

void warp_fault(struct warp *w, enum ptx_fault_kind kind, const struct op *o, uint32_t lane, uint64_t address)
{
	struct ptx_fault *f = &w->block->fault;

	if (f->kind)
		return;
	*f = (struct ptx_fault){ .kind = kind, .address = address, .function = w->frame->function->name };
	f->line = w->frame->function->line[o - w->code];
	f->text = w->frame->function->text;
	f->threads = 1;
	memcpy(f->block, w->block->id, sizeof(f->block));
	for (uint32_t k = 0; k < 3; k++)
		f->thread[k] = w->tid[k][lane & (LANES - 1)];
}

/* Local memory of one lane, from its outermost frame to the end of the group's. */
static struct ptx_range lane_local(const struct warp *w, uint32_t lane)
{
	const struct block *b = w->block;
	const uint64_t begin = (uintptr_t)b->local + ((uint64_t)w->index * LANES + lane) * b->local_stride;

	return (struct ptx_range){ begin, begin + w->frame->local_offset + w->frame->function->local_bytes, false };
}

/* Addresses of a block's own memory become offsets in it: that is what a program can make sense of. */
static void fault_place(const struct warp *w, struct ptx_fault *f, uint32_t lane)
{
	const struct block *b = w->block;
	const uint64_t shared = (uintptr_t)b->shared, local = (uintptr_t)b->local;
	const uint64_t shared_end = shared + b->shared_bytes;
	const struct ptx_range own = lane_local(w, lane);

	f->space_bytes = 0;
	if (f->address >= b->range[2].begin && f->address < b->range[2].end) {
		f->space = PTX_SPACE_PARAM;
		f->space_bytes = b->range[2].end - b->range[2].begin;
		f->address -= b->range[2].begin;
	} else if (f->address - local < (uint64_t)b->warp_count * LANES * b->local_stride ||
		   (f->address < local && b->local_stride && local - f->address < f->address - shared_end)) {
		f->space = PTX_SPACE_LOCAL;
		f->space_bytes = own.end - own.begin;
		f->address -= own.begin;
	} else if (f->address >= shared && f->address < local) {
		f->space = PTX_SPACE_SHARED;
		f->space_bytes = b->shared_bytes;
		f->address -= shared;
	}
}

bool warp_off_limits(const struct warp *w, uint64_t address)
{
	const struct ptx_range *r = w->block->range;

	return w->block->launch->exact &&
	       ((address >= r[1].begin && address < r[1].end) || (address >= r[2].begin && address < r[2].end));
}

void warp_fault_access(struct warp *w, enum ptx_fault_kind kind, const struct op *o, uint32_t lane,
		       enum ptx_space space, uint64_t address, uint32_t bytes)
{
	struct block *b = w->block;

	if (b->fault.kind) {
		b->fault.threads += b->fault_op == o;
		return;
	}
	warp_fault(w, kind, o, lane, address);
	b->fault_op = o;
	b->fault.bytes = bytes;
	b->fault.space = space;
	b->fault.space_bytes = b->shared_bytes;
	if (space == PTX_SPACE_DEVICE)
		fault_place(w, &b->fault, lane);
}

void warp_where(struct warp *w, struct ptx_fault *f)
{
	const uint32_t lane = (uint32_t)__builtin_ctz(w->mask ? w->mask : w->live);
	const struct place *p = w->mask ? NULL : warp_place(w, lane);
	const struct frame *frame = p ? p->frame : w->frame;
	uint32_t pc = p ? (uint32_t)p->key : w->pc;

	/* who waits at a barrier stands behind it */
	if (!w->mask && w->wait_bar & bit(lane) && pc)
		pc--;
	if (pc >= frame->function->count)
		pc = frame->function->count - 1;
	f->line = frame->function->line[pc];
	f->text = frame->function->text;
	f->function = frame->function->name;
	memcpy(f->block, w->block->id, sizeof(f->block));
	for (uint32_t k = 0; k < 3; k++)
		f->thread[k] = w->tid[k][lane];
}

/* Whether addresses lie in what the lane has taken of its stack at run time. */
static bool taken_from_stack(const struct warp *w, uint32_t lane, uint64_t begin, uint64_t end)
{
	const struct block *b = w->block;
	const uint64_t top = (uintptr_t)b->local + ((uint64_t)w->index * LANES + lane + 1) * b->local_stride;

	return w->has_stack && begin >= top - w->stack_taken[lane] && end <= top;
}

static uint32_t most_taken(const struct warp *w)
{
	uint32_t most = 0;

	for (uint32_t i = 0; w->has_stack && i < LANES; i++)
		most = w->stack_taken[i] > most ? w->stack_taken[i] : most;
	return most;
}

bool warp_reach(struct warp *w, uint64_t begin, uint64_t end, bool write)
{
	struct block *b = w->block;
	const struct ptx_memory *m = &b->launch->memory;
	struct ptx_range found = { 0 };

	for (uint32_t i = 0; i < RANGES; i++) {
		const struct ptx_range *r = &b->range[i];

		if (i == 1 && b->launch->exact && begin >= r->begin && end <= r->end) {
			const struct ptx_range own = lane_local(w, w->checked % LANES);

			return w->checked < LANES &&
			       ((begin >= own.begin && end <= own.end) || taken_from_stack(w, w->checked, begin, end));
		}
		if (begin >= r->begin && end <= r->end && end >= begin && !(write && r->read_only)) {
			b->range_last = i;
			return true;
		}
	}
	if (b->cluster->count > 1 && cluster_reach(b, begin, end))
		return true;
	if (end < begin || !m->find || !m->find(m->ctx, begin, &found))
		return false;
	if (begin < found.begin || end > found.end || (write && found.read_only))
		return false;
	b->range_next = b->range_next + 1 < RANGES ? b->range_next + 1 : RANGES_OWN;
	b->range[b->range_next] = found;
	b->range_last = b->range_next;
	return true;
}

/* Frames are kept by the block for the next call; the list holds mixed sizes, but few of them. */
static struct frame *frame_new(struct warp *w, const struct function *f)
{
	struct frame **at = &w->block->spare, *frame;

	for (; (frame = *at); at = &frame->up)
		if (frame->function->frame_bytes >= f->frame_bytes) {
			*at = frame->up;
			/* remember how large it is by the function it was made for */
			frame->made_for = frame->made_for ? frame->made_for : frame->function;
			frame->function = f;
			return frame;
		}
	frame = aligned_alloc(64, sizeof(*frame) + (((size_t)f->frame_bytes + 63) & ~(size_t)63));
	if (!frame)
		return NULL;
	frame->function = f;
	frame->made_for = f;
	return frame;
}

static void frame_put(struct warp *w, struct frame *f)
{
	f->function = f->made_for;
	f->up = w->block->spare;
	w->block->spare = f;
}

static uint8_t *local_of(const struct warp *w, const struct frame *f, uint32_t lane)
{
	return w->block->local + ((size_t)w->index * LANES + lane) * w->block->local_stride + f->local_offset;
}

/* Moves one value between the frames of caller and callee, for the given lanes. */
static void pass_value(struct warp *w, const struct frame *from, const struct call_value *a, const struct frame *to,
		       const struct call_value *b, uint32_t lanes)
{
	const uint32_t bytes = a->bytes < b->bytes ? a->bytes : b->bytes;
	const uint8_t *source = a->loc == LOC_NONE   ? NULL
				: a->loc & LOC_CONST ? from->function->constants + (a->loc & ~LOC_CONST)
						     : from->regs + a->loc;

	for (; lanes; lanes &= lanes - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(lanes);
		const uint8_t *s = source ? source + (size_t)i * a->lane_bytes : local_of(w, from, i) + a->offset;
		uint8_t *d = b->loc == LOC_NONE ? local_of(w, to, i) + b->offset
						: (uint8_t *)to->regs + b->loc + (size_t)i * b->lane_bytes;

		memcpy(d, s, bytes);
	}
}

static void clear_value(struct warp *w, const struct frame *to, const struct call_value *b, uint32_t lanes)
{
	for (; lanes; lanes &= lanes - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(lanes);

		memset(b->loc == LOC_NONE ? local_of(w, to, i) + b->offset
					  : (uint8_t *)to->regs + b->loc + (size_t)i * b->lane_bytes,
		       0, b->bytes);
	}
}

struct values {
	const struct call_value *at;
	uint32_t count;
};

/*
 * Moves the values of a call to their places. The text of a call and the definition that the linker found for it may
 * differ in how many there are: what is too much is dropped, what is missing is 0.
 */
static void pass_values(struct warp *w, const struct frame *from, struct values a, const struct frame *to,
			struct values b, uint32_t lanes)
{
	for (uint32_t k = 0; k < b.count; k++)
		if (k < a.count)
			pass_value(w, from, &a.at[k], to, &b.at[k], lanes);
		else
			clear_value(w, to, &b.at[k], lanes);
}

static const struct function *call_target(struct warp *w, const struct op *o, uint32_t lanes, uint32_t *ret_lanes)
{
	const struct function *f = o->call->function;
	const uint64_t *p;
	uint64_t address;
	uint32_t same = 0, lead = (uint32_t)__builtin_ctz(lanes);

	*ret_lanes = lanes;
	if (f)
		return f;
	p = (const uint64_t *)(w->base[o->a >> 31] + (o->a & ~LOC_CONST));
	address = p[lead];
	for (uint32_t left = lanes; left; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);

		same |= p[i] == address ? bit(i) : 0;
	}
	*ret_lanes = same;
	f = module_function_at(w->frame->function->module, address);
	if (!f || f->param_count != o->call->arg_count || f->result_count < o->call->result_count) {
		warp_fault(w, PTX_FAULT_INVALID_PC, o, lead, address);
		return NULL;
	}
	return f;
}

/* The group calls. Lanes that call something else wait at the call itself. */
void warp_enter(struct warp *w, const struct op *o, uint32_t lanes)
{
	const struct frame *caller = w->frame;
	uint32_t together, offset = caller->local_offset + caller->function->local_bytes;
	const struct function *f = call_target(w, o, lanes, &together);
	struct frame *frame;

	if (!f)
		return;
	if ((uint64_t)offset + (f->local_bytes ? f->local_bytes : 16) + most_taken(w) > w->block->local_stride) {
		warp_fault(w, PTX_FAULT_STACK_OVERFLOW, o, (uint32_t)__builtin_ctz(lanes), 0);
		return;
	}
	frame = frame_new(w, f);
	if (!frame) {
		warp_fault(w, PTX_FAULT_NO_MEMORY, o, 0, 0);
		return;
	}
	frame->up = w->frame;
	frame->call = o;
	frame->depth = caller->depth + 1;
	/* a frame without arrays takes some stack too: endless recursion must end */
	frame->local_offset = offset + (f->local_bytes ? 0 : 16);
	frame->return_pc = w->pc + 1;
	frame->mask = together;
	pass_values(w, caller, (struct values){ o->call->arg, o->call->arg_count }, frame,
		    (struct values){ f->param, f->param_count }, together);
	if (lanes & ~together) {
		warp_save(w, lanes & ~together, w->pc);
		w->other = (w->key_base | w->pc) < w->other ? (w->key_base | w->pc) : w->other;
	}
	warp_set_group(w, frame, 0, together);
}

void warp_return(struct warp *w, uint32_t lanes)
{
	struct frame *frame = w->frame, *up = frame->up;
	const struct call *call;
	const uint32_t rest = w->mask & ~lanes;

	if (!up) {
		warp_exit(w, lanes);
		return;
	}
	call = frame->call->call;
	pass_values(w, frame, (struct values){ frame->function->result, frame->function->result_count }, up,
		    (struct values){ call->result, call->result_count }, lanes);
	if (rest)
		warp_save(w, rest, w->pc + 1);
	warp_set_group(w, up, frame->return_pc, lanes);
	frame->mask &= ~lanes;
	if (!frame->mask)
		frame_put(w, frame);
	/* others may still be inside, deeper than here */
	warp_save(w, lanes, w->pc);
	warp_schedule(w);
}

void warp_exit(struct warp *w, uint32_t lanes)
{
	w->live &= ~lanes;
	w->block->live_threads -= (uint32_t)__builtin_popcount(lanes);
	cluster_leave(w->block, (uint32_t)__builtin_popcount(lanes));
	for (struct frame *f = w->frame; f && f->up;) {
		struct frame *up = f->up;

		f->mask &= ~lanes;
		if (!f->mask)
			frame_put(w, f);
		f = up;
	}
	w->mask &= ~lanes;
	if (w->mask)
		warp_save(w, w->mask, w->pc + 1);
	warp_bar_release(w->block);
	warp_schedule(w);
}

void warp_end(struct warp *w)
{
	struct block *b = w->block;

	w->live = w->mask = 0;
	b->live_threads -= LANES;
	cluster_leave(b, LANES);
	if (b->bars_used)
		warp_bar_release(b);
}

/* Threads at barrier `id`, counted in whole warps: one whose living lanes have all come counts as 32. */
static uint32_t bar_counted(const struct block *b, uint32_t id)
{
	uint32_t counted = 0;

	for (uint32_t k = 0; k < b->warp_count; k++) {
		const struct warp *w = &b->warp[k];
		const uint32_t here = w->bar_lanes[id];

		counted += here && here == w->live ? LANES : (uint32_t)__builtin_popcount(here);
	}
	return counted;
}

static uint32_t bar_result(const struct barrier *bar, const struct op *o)
{
	switch (o->bar->kind) {
	case BAR_POPC:
		return bar->popc;
	case BAR_AND:
		return bar->all ? ~0u : 0;
	default:
		return bar->any ? ~0u : 0;
	}
}

static void bar_give_results(struct block *b, struct warp *w, uint32_t id, uint32_t lanes)
{
	for (; lanes; lanes &= lanes - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(lanes);
		const struct op *o = w->lane_bar[i];

		w->lane_bar[i] = NULL;
		if (o && o->d != LOC_NONE)
			((uint32_t *)(warp_place(w, i)->frame->regs + o->d))[i] = bar_result(&b->bar[id], o);
	}
}

static void bar_wake(struct block *b, uint32_t id)
{
	for (uint32_t k = 0; k < b->warp_count; k++) {
		struct warp *w = &b->warp[k];

		if (b->bar[id].results)
			bar_give_results(b, w, id, w->bar_lanes[id]);
		w->wait_bar &= ~w->bar_lanes[id];
		w->bar_lanes[id] = 0;
	}
	b->bar[id] = (struct barrier){ 0 };
	b->bars_used &= ~(1u << id);
}

void warp_bar_release(struct block *b)
{
	for (uint32_t left = b->bars_used; left; left &= left - 1) {
		const uint32_t id = (uint32_t)__builtin_ctz(left);
		const struct barrier *bar = &b->bar[id];

		if (bar->expected ? bar_counted(b, id) + bar->arrived >= bar->expected
				  : bar->waiting + bar->arrived >= b->live_threads)
			bar_wake(b, id);
	}
}

/* Whether other lanes of the warp wait at a barrier elsewhere in the code. */
static bool others_wait_elsewhere(const struct warp *w)
{
	const uint64_t here = w->key_base | (w->pc + 1);

	for (uint32_t k = 0; k < w->place_count; k++)
		if (w->place[k].lanes & w->wait_bar && w->place[k].key != here)
			return true;
	return false;
}

static struct barrier *use_bar(struct block *b, uint32_t id)
{
	if (!(b->bars_used & 1u << id))
		b->bar[id] = (struct barrier){ .all = true };
	b->bars_used |= 1u << id;
	return &b->bar[id];
}

void warp_wait_bar(struct warp *w, uint32_t id, uint32_t lanes)
{
	use_bar(w->block, id)->waiting += (uint32_t)__builtin_popcount(lanes);
	w->bar_lanes[id] |= lanes;
	w->wait_bar |= lanes;
}

void warp_arrive(struct warp *w, const struct op *o, uint32_t lanes)
{
	const uint32_t lead = (uint32_t)__builtin_ctz(lanes);
	const uint32_t id = ((const uint32_t *)(w->base[o->a >> 31] + (o->a & ~LOC_CONST)))[lead];
	struct block *b = w->block;
	struct barrier *bar;
	uint32_t expected = 0;

	if (id >= BARRIERS) {
		warp_fault(w, PTX_FAULT_BARRIER_NUMBER, o, lead, id);
		return;
	}
	if (o->bar->aligned && b->launch->exact && others_wait_elsewhere(w)) {
		warp_fault(w, PTX_FAULT_BARRIER_DIVERGENT, o, lead, id);
		return;
	}
	if (o->b != LOC_NONE) {
		expected = ((const uint32_t *)(w->base[o->b >> 31] + (o->b & ~LOC_CONST)))[lead];
		if (!expected || expected % LANES) {
			warp_fault(w, PTX_FAULT_BARRIER_COUNT, o, lead, expected);
			return;
		}
	}
	bar = use_bar(b, id);
	if (expected)
		bar->expected = expected;
	if (o->c != LOC_NONE) {
		const uint32_t *p = (const uint32_t *)(w->base[o->c >> 31] + (o->c & ~LOC_CONST));

		for (uint32_t left = lanes; left; left &= left - 1) {
			const bool set = (p[__builtin_ctz(left)] != 0) != o->bar->negate;

			bar->popc += set;
			bar->all = bar->all && set;
			bar->any = bar->any || set;
		}
	}
	if (o->bar->kind == BAR_ARRIVE) {
		/* whole warps arrive; lanes that do not exist come along */
		bar->arrived += lanes == w->live ? LANES : (uint32_t)__builtin_popcount(lanes);
		w->pc++;
		warp_bar_release(b);
		return;
	}
	warp_wait_bar(w, id, lanes);
	warp_save(w, lanes, w->pc + 1);
	bar->results |= o->d != LOC_NONE;
	for (uint32_t left = o->d != LOC_NONE ? lanes : 0; left; left &= left - 1)
		w->lane_bar[__builtin_ctz(left)] = o;
	w->mask = 0;
	warp_bar_release(b);
	if (w->wait_bar != w->live) {
		warp_schedule(w);
		return;
	}
	w->other = KEY_NONE;
	w->spins = 0;
}
