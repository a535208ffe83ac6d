/*
 * move_memory.c: the memory of a session that moves. What the program has of the device is copied out as it is; the new
 * worker is asked for places at the same addresses: blocks that share a granule, as drivers pack small ones, share a
 * place. Pinned memory stays in the arena, which moves along, and is registered anew.
 */
#include "remote/client/move.h"

#include "cuda_remote.h"
#include "remote/client/context.h"
#include "remote/client/copy.h"
#include "remote/client/move_store.h"
#include "remote/client/unified.h"
#include "remote/client/vmm.h"
#include "remote/copy.h"

#include <stdlib.h>
#include <string.h>

#define PIECE (UINT64_C(32) << 20)
#define PAGE UINT64_C(4096)

static bool on_device(const struct range *r)
{
	return r->kind == RANGE_DEVICE || r->kind == RANGE_POOL;
}

/* The blocks from the `from`-th range on that share granules with it: the place that they need. */
static size_t place_of(const struct move *m, size_t from, struct move_place *ret)
{
	uint64_t end = 0;
	size_t i = from;

	ret->begin = m->range[from].begin / MOVE_GRANULE * MOVE_GRANULE;
	for (; i < m->ranges; i++) {
		const struct range *r = &m->range[i];
		uint64_t last = (r->begin + r->bytes + MOVE_GRANULE - 1) / MOVE_GRANULE * MOVE_GRANULE;

		if (!on_device(r))
			continue;
		if (i > from && r->begin >= end)
			break;
		end = last > end ? last : end;
	}
	ret->bytes = end - ret->begin;
	return i;
}

/* Whether the quota has room for places where it has had plain memory, beside all else that is held of it. */
static bool would_fit(struct move *m)
{
	size_t free_bytes = 0, total = 0, next;
	struct move_place at = { 0 };
	uint64_t placed = 0;

	for (size_t i = 0; i < m->ranges; i = next) {
		next = i + 1;
		if (!on_device(&m->range[i]))
			continue;
		move_enter(m->range[i].context);
		next = place_of(m, i, &at);
		placed += at.bytes;
	}
	for (size_t i = 0; i < m->mapped_count; i++)
		placed += m->mapped[i].physical->bytes;
	return !placed || client_cuMemGetInfo_v2(&free_bytes, &total) != CUDA_SUCCESS ||
	       placed <= free_bytes + m->total;
}

bool move_memory_look(struct move *m)
{
	m->range = ranges_all(m->session, &m->ranges);
	if (!m->range)
		return move_stays(m, WORKER_STAY_HOST, 0);
	for (size_t i = 0; i < m->ranges; i++)
		if (on_device(&m->range[i]))
			m->total += m->range[i].bytes;
	m->aside += unified_aside(m->session);
	return move_mapped_look(m);
}

bool move_memory_fits(struct move *m)
{
	return would_fit(m) || move_stays(m, WORKER_STAY_PACKING, 0);
}

/* ---- out ---- */

/* Of the device, whatever the program has at that address. */
static CUresult copy_piece(const struct move *m, uint64_t device, uint8_t *here, uint64_t bytes, bool out)
{
	const struct copy_end there = { .type = CU_MEMORYTYPE_DEVICE, .address = device };
	const struct copy_end mine = { .type = CU_MEMORYTYPE_HOST, .address = ADDRESS(here) };
	const struct copy k = { .from = out ? there : mine,
				.to = out ? mine : there,
				.width = bytes,
				.height = 1,
				.depth = 1,
				.at = m->session };

	return copy_plain(&k);
}

/* A part of a range, as much as there is room for at a time. *ret_bytes: so much of it has been copied. */
static CUresult copy_part(struct move *m, const struct range *range, uint64_t done, bool out, uint64_t *ret_bytes)
{
	uint64_t bytes = range->bytes - done < PIECE ? range->bytes - done : PIECE;
	uint8_t *at = store_at(&bytes);
	CUresult r = copy_piece(m, range->begin + done, at, bytes, out);

	m->done += bytes;
	*ret_bytes = bytes;
	if (out && r == CUDA_SUCCESS)
		move_words_count(m, at, bytes);
	if (r == CUDA_SUCCESS && !store_done(bytes))
		r = CUDA_ERROR_OPERATING_SYSTEM;
	if (r == CUDA_SUCCESS && !move_say(m, out ? WORKER_LEAVING : WORKER_RETURNING, false))
		r = CLIENT_LOST;
	return r;
}

static CUresult copy_range(struct move *m, const struct range *range, bool out)
{
	CUresult r = CUDA_SUCCESS;

	move_enter(range->context);
	for (uint64_t done = 0, bytes; r == CUDA_SUCCESS && done < range->bytes; done += bytes)
		r = copy_part(m, range, done, out, &bytes);
	return r;
}

static CUresult copy(struct move *m, bool out)
{
	CUresult r = store_rewind(!out) ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;

	for (size_t i = 0; r == CUDA_SUCCESS && i < m->ranges; i++)
		if (on_device(&m->range[i]))
			r = copy_range(m, &m->range[i], out);
	for (size_t i = 0; r == CUDA_SUCCESS && i < m->mapped_count; i++) {
		const struct range range = { .begin = m->mapped[i].at,
					     .bytes = m->mapped[i].physical->bytes,
					     .context = m->a_context };

		r = copy_range(m, &range, out);
	}
	return r == CUDA_SUCCESS && out && !store_flush() ? CUDA_ERROR_OPERATING_SYSTEM : r;
}

/* Memory here that kernels read as well. */
static void look_through_host(struct move *m)
{
	for (size_t i = 0; m->spans && i < m->ranges; i++) {
		const struct range *r = &m->range[i];

		if (r->kind == RANGE_HOST || (on_device(r) && r->managed) ||
		    (r->kind == RANGE_REGISTERED && r->other != r->begin))
			move_words_count(m, (const void *)(uintptr_t)r->begin, r->bytes);
	}
}

bool move_memory_out(struct move *m)
{
	static const enum worker_stay stays[] = {
		[STORE_NO_MEMORY] = WORKER_STAY_HOST, [STORE_NO_ROOM] = WORKER_STAY_ROOM
	};
	const enum store_outcome place = store_begin(m->session, m->total, !*m->where);
	CUresult r;

	if (place != STORE_READY)
		return move_stays(m, stays[place], 0);
	if (!move_mapped_show(m)) {
		move_mapped_hide(m);
		return false;
	}
	r = copy(m, true);
	if (move_mapped_hide(m) != CUDA_SUCCESS && r == CUDA_SUCCESS)
		r = CLIENT_LOST;
	if (r == CUDA_ERROR_OPERATING_SYSTEM)
		return move_stays(m, WORKER_STAY_DISK, 0);
	if (r == CUDA_SUCCESS)
		r = unified_out(m->session);
	if (r == CUDA_SUCCESS)
		look_through_host(m);
	if (m->words)
		return move_stays(m, WORKER_STAY_VARIABLE, m->words < UINT32_MAX ? (uint32_t)m->words : UINT32_MAX);
	return r == CUDA_SUCCESS || move_stays(m, WORKER_STAY_FAULT, 0);
}

/* ---- in ---- */

uint64_t move_context_id(uint64_t handle)
{
	struct context *c = context_of((CUcontext)(uintptr_t)handle);

	return c ? c->id : 0;
}

static CUresult place(struct move *m, size_t from, size_t to, struct move_place *place)
{
	struct {
		struct move_place place;
		struct move_block block[MOVE_BLOCKS_MOST];
	} sent = { .place = *place };
	CUresult r = CUDA_SUCCESS;

	for (size_t i = from; r == CUDA_SUCCESS && i < to; i++) {
		const struct range *range = &m->range[i];
		struct link_answer answer;

		if (on_device(range))
			sent.block[sent.place.count++] = (struct move_block){ .begin = range->begin,
									      .bytes = range->bytes,
									      .ordered = range->kind == RANGE_POOL };
		if (!sent.place.count ||
		    (sent.place.count < MOVE_BLOCKS_MOST && i + 1 < to && m->range[i + 1].context == range->context))
			continue;
		r = move_request(m, CALL_MOVE_PLACE, move_context_id(range->context), &sent,
				 sizeof(sent.place) + sent.place.count * sizeof(*sent.block), &answer);
		link_done(&answer);
		sent.place.count = 0;
	}
	return r;
}

static CUresult pin(struct move *m, const struct range *range, uint64_t offset)
{
	struct pin_request pin = { offset, (range->bytes + PAGE - 1) / PAGE * PAGE };
	struct link_answer answer;
	uint64_t device = 0;
	CUresult r = move_request(m, CALL_PIN, move_context_id(range->context), &pin, sizeof(pin), &answer);

	if (r == CUDA_SUCCESS && answer.bytes >= sizeof(device))
		memcpy(&device, answer.body, sizeof(device));
	link_done(&answer);
	/* Kernels may hold the address. */
	return r == CUDA_SUCCESS && device != range->other ? CUDA_ERROR_INVALID_ADDRESS_SPACE : r;
}

CUresult move_memory_in(struct move *m)
{
	struct move_place at = { 0 };
	CUresult r = CUDA_SUCCESS;
	size_t next;

	for (size_t i = 0; r == CUDA_SUCCESS && i < m->ranges; i = next) {
		next = i + 1;
		if (!on_device(&m->range[i]))
			continue;
		next = place_of(m, i, &at);
		r = place(m, i, next, &at);
	}
	if (r == CUDA_SUCCESS)
		r = move_known_reserve(m);
	if (r == CUDA_SUCCESS)
		r = move_mapped_in(m);
	for (size_t i = 0; r == CUDA_SUCCESS && i < m->ranges; i++) {
		const struct range *range = &m->range[i];
		uint64_t arena = (uint64_t)(uintptr_t)m->session->link.wall.arena;

		if (range->kind == RANGE_HOST)
			r = pin(m, range, range->begin - arena);
		else if (range->kind == RANGE_REGISTERED && range->other != range->begin)
			r = pin(m, range, range->copy);
	}
	if (r == CUDA_SUCCESS)
		r = copy(m, false);
	if (r == CUDA_SUCCESS)
		r = move_mapped_hide(m);
	return r == CUDA_SUCCESS ? unified_in(m->session) : r;
}

void move_memory_free(struct move *m)
{
	store_end();
	free(m->range);
	move_mapped_free(m);
	unified_keep_none();
}
