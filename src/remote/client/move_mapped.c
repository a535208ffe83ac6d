/*
 * move_mapped.c: addresses that the program has reserved, and the physical memory that it maps there (vmm.h), of a
 * session that moves. The next worker is asked for the same addresses; an allocation is made again under its id, and
 * mapped wherever it was. What the program has given the handle of back is held by its mappings there as well.
 *
 * An allocation is copied where it is mapped whole and open; else for the copy it is mapped to addresses of ours.
 */
#include "remote/client/move.h"

#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/visible.h"
#include "remote/client/vmm.h"

#include <stdlib.h>
#include <string.h>

#define BODY 256u

/* One session: the device is the same one to all of them. */
static bool may_move(const struct physical_seen *p)
{
	return p->at == CU_MEM_LOCATION_TYPE_DEVICE;
}

static bool maps(const struct range *r, const struct physical *p)
{
	return r->kind == RANGE_MAPPED && r->owner == (uint64_t)(uintptr_t)p;
}

/* Of the handle that the program has; 0: it has none. */
static uint64_t id_of(const struct move *m, const struct physical *p)
{
	const struct object *o = p->handle ? handles_find(&m->session->handles, p->handle) : NULL;

	return o ? o->id : 0;
}

/* 0: it is mapped whole nowhere, or not to be read and written. */
static uint64_t whole_at(const struct move *m, const struct physical_seen *p)
{
	for (size_t i = 0; i < m->ranges; i++) {
		const struct range *r = &m->range[i];

		if (maps(r, p->it) && !r->copy && r->bytes == p->bytes && !range_closed(r))
			return r->begin;
	}
	return 0;
}

bool move_mapped_look(struct move *m)
{
	struct physical_seen *list = physical_all(m->session, &m->mapped_count);
	uint32_t stay = 0;

	m->mapped = list ? calloc(m->mapped_count + 1, sizeof(*m->mapped)) : NULL;
	if (!m->mapped) {
		m->mapped_count = 0;
		free(list);
		return move_stays(m, WORKER_STAY_HOST, 0);
	}
	for (size_t i = 0; i < m->mapped_count; i++) {
		const struct physical_seen *p = &list[i];

		m->mapped[i] = (struct move_mapped){ .physical = p->it, .at = whole_at(m, p) };
		m->total += p->bytes;
		stay += !may_move(p);
	}
	free(list);
	/* Mapped by a handle that is none of an allocation, or open to more than its device. */
	for (size_t i = 0; i < m->ranges; i++)
		stay += m->range[i].kind == RANGE_MAPPED && (!m->range[i].owner || m->range[i].wide);
	return !stay || move_stays(m, WORKER_STAY_MAPPED, stay);
}

/* ---- requests, of which success alone is looked at ---- */

static CUresult send(struct move *m, uint16_t call, const struct remote_writer *body)
{
	struct {
		struct call_request head;
		uint8_t body[BODY];
	} message = { .head = move_head(call, move_context_id(m->a_context)) };

	if (body->bad)
		return CUDA_ERROR_NOT_SUPPORTED;
	memcpy(message.body, body->data, body->used);
	return move_send(m, &message, sizeof(message.head) + body->used);
}

static CUresult reserve(struct move *m, const struct range *range)
{
	const uint64_t body[] = { range->bytes, 0, range->begin, 0, 1 };
	struct link_answer answer;
	uint64_t at = 0;
	CUresult r = move_request(m, CUDA_CALL_cuMemAddressReserve, move_context_id(range->context), body, sizeof(body),
				  &answer);

	if (r == CUDA_SUCCESS && answer.bytes >= sizeof(at))
		memcpy(&at, answer.body, sizeof(at));
	link_done(&answer);
	return r == CUDA_SUCCESS && at != range->begin ? CUDA_ERROR_INVALID_ADDRESS_SPACE : r;
}

static CUresult create(struct move *m, const struct physical *p, uint64_t id)
{
	_Alignas(8) uint8_t data[BODY];
	struct remote_writer body = { .data = data, .capacity = sizeof(data) };
	CUmemAllocationProp prop = physical_asked(p);
	int32_t local = 0;

	if (!visible_find(prop.location.id, &local))
		return CUDA_ERROR_INVALID_DEVICE;
	prop.location.id = local;
	remote_put(&body, &p->bytes, sizeof(p->bytes));
	remote_put(&body, &p->flags, sizeof(p->flags));
	remote_put_present(&body, &id);
	remote_put(&body, &id, sizeof(id));
	remote_put_present(&body, &prop);
	remote_put(&body, &prop, sizeof(prop));
	return send(m, CUDA_CALL_cuMemCreate, &body);
}

static CUresult map(struct move *m, const struct range *r, uint64_t id)
{
	const uint64_t data[] = { r->begin, r->bytes, r->copy, id, 0 };

	return send(m, CUDA_CALL_cuMemMap,
		    &(struct remote_writer){ .data = (uint8_t *)(uintptr_t)data, .used = sizeof(data) });
}

static CUresult open_up(struct move *m, const struct range *r)
{
	_Alignas(8) uint8_t data[BODY];
	struct remote_writer body = { .data = data, .capacity = sizeof(data) };
	CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE }, .flags = r->flags };
	const uint64_t count = 1;
	int32_t local = 0;

	if (!visible_find(r->device, &local))
		return CUDA_ERROR_INVALID_DEVICE;
	access.location.id = local;
	remote_put(&body, &r->begin, sizeof(r->begin));
	remote_put(&body, &r->bytes, sizeof(r->bytes));
	remote_put(&body, &count, sizeof(count));
	remote_put_present(&body, &access);
	remote_put(&body, &access, sizeof(access));
	return send(m, CUDA_CALL_cuMemSetAccess, &body);
}

static CUresult map_all(struct move *m, const struct physical *p, uint64_t id)
{
	CUresult r = CUDA_SUCCESS;

	for (size_t i = 0; r == CUDA_SUCCESS && i < m->ranges; i++) {
		if (!maps(&m->range[i], p))
			continue;
		r = map(m, &m->range[i], id);
		if (r == CUDA_SUCCESS && m->range[i].flags)
			r = open_up(m, &m->range[i]);
	}
	return r;
}

static CUresult release(struct move *m, uint64_t id)
{
	const uint64_t data[] = { id, 1 };

	return send(m, CUDA_CALL_cuMemRelease,
		    &(struct remote_writer){ .data = (uint8_t *)(uintptr_t)data, .used = sizeof(data) });
}

/* ---- addresses of ours ---- */

/* As `id` is called at the worker. */
static CUresult show_as(struct move *m, struct move_mapped *k, uint64_t id)
{
	struct range r = { .bytes = k->physical->bytes,
			   .device = k->physical->prop.location.id,
			   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUdeviceptr at = 0;
	CUresult e = client_plain_cuMemAddressReserve(&at, r.bytes, 0, 0, 0);

	if (e != CUDA_SUCCESS)
		return e;
	k->at = r.begin = at;
	k->shown = true;
	e = map(m, &r, id);
	return e == CUDA_SUCCESS ? open_up(m, &r) : e;
}

static CUresult retain(struct move *m, uint64_t at, uint64_t *ret_id)
{
	struct link_answer answer;
	CUresult r = move_request(m, CUDA_CALL_cuMemRetainAllocationHandle, move_context_id(m->a_context), &at,
				  sizeof(at), &answer);

	*ret_id = 0;
	if (r == CUDA_SUCCESS && answer.bytes >= sizeof(*ret_id))
		memcpy(ret_id, answer.body, sizeof(*ret_id));
	link_done(&answer);
	return r;
}

static uint64_t any_at(const struct move *m, const struct physical *p)
{
	for (size_t i = 0; i < m->ranges; i++)
		if (maps(&m->range[i], p))
			return m->range[i].begin;
	return 0;
}

/* The program has no handle: by one of ours, for a moment. */
static CUresult show_nameless(struct move *m, struct move_mapped *k)
{
	uint64_t id;
	CUresult r = retain(m, any_at(m, k->physical), &id);

	if (r == CUDA_SUCCESS)
		r = show_as(m, k, id);
	return r == CUDA_SUCCESS ? release(m, id) : r;
}

static CUresult show_all(struct move *m)
{
	CUresult r = CUDA_SUCCESS;

	move_enter(m->a_context);
	for (size_t i = 0; r == CUDA_SUCCESS && i < m->mapped_count; i++) {
		struct move_mapped *k = &m->mapped[i];
		const uint64_t id = id_of(m, k->physical);

		if (!k->at)
			r = id ? show_as(m, k, id) : show_nameless(m, k);
	}
	return r == CUDA_SUCCESS ? move_caught_up(m) : r;
}

bool move_mapped_show(struct move *m)
{
	return show_all(m) == CUDA_SUCCESS || move_stays(m, WORKER_STAY_FAULT, 0);
}

CUresult move_mapped_hide(struct move *m)
{
	CUresult r = CUDA_SUCCESS;

	for (size_t i = 0; i < m->mapped_count; i++) {
		struct move_mapped *k = &m->mapped[i];

		if (!k->shown)
			continue;
		client_plain_cuMemUnmap(k->at, k->physical->bytes);
		if (r == CUDA_SUCCESS)
			r = client_plain_cuMemAddressFree(k->at, k->physical->bytes);
		k->shown = false;
		k->at = 0;
	}
	return r;
}

/* ---- again ---- */

/* The worker had named it when the program asked for a handle of what is mapped: it does so again. */
static CUresult name(struct move *m, uint64_t at, uint64_t id)
{
	CUresult r = move_want(m, &id, 1);
	uint64_t is;

	if (r == CUDA_SUCCESS)
		r = move_caught_up(m);
	if (r == CUDA_SUCCESS)
		r = retain(m, at, &is);
	return r == CUDA_SUCCESS && is != id ? CUDA_ERROR_INVALID_HANDLE : r;
}

/* Under a name for a moment: the program has no handle of it, or one that the worker has named. */
static CUresult make_nameless(struct move *m, struct move_mapped *k, uint64_t id)
{
	uint64_t passing = 0;
	const uint64_t handle = handles_add(&m->session->handles, KIND_MEMORY_HANDLE, 0, 0, &passing);
	CUresult r = handle ? create(m, k->physical, passing) : CUDA_ERROR_OUT_OF_MEMORY;

	if (r == CUDA_SUCCESS)
		r = map_all(m, k->physical, passing);
	if (r == CUDA_SUCCESS && !k->at)
		r = show_as(m, k, passing);
	if (r == CUDA_SUCCESS)
		r = release(m, passing);
	if (r == CUDA_SUCCESS)
		r = move_caught_up(m);
	if (handle)
		handles_drop(&m->session->handles, handle);
	return r == CUDA_SUCCESS && id ? name(m, k->at, id) : r;
}

static CUresult make(struct move *m, struct move_mapped *k)
{
	const uint64_t id = id_of(m, k->physical);
	CUresult r;

	if (!id || id & CALL_ID_WORKER)
		return make_nameless(m, k, id);
	r = create(m, k->physical, id);
	return r == CUDA_SUCCESS ? map_all(m, k->physical, id) : r;
}

/* What a worker that could not take it up has shown went with it. */
static void forget_shown(struct move *m)
{
	for (size_t i = 0; i < m->mapped_count; i++)
		if (m->mapped[i].shown) {
			m->mapped[i].shown = false;
			m->mapped[i].at = 0;
		}
}

CUresult move_mapped_in(struct move *m)
{
	CUresult r = CUDA_SUCCESS;

	forget_shown(m);
	for (size_t i = 0; r == CUDA_SUCCESS && i < m->ranges; i++)
		if (m->range[i].kind == RANGE_RESERVED)
			r = reserve(m, &m->range[i]);
	for (size_t i = 0; r == CUDA_SUCCESS && i < m->mapped_count; i++)
		r = make(m, &m->mapped[i]);
	if (r == CUDA_SUCCESS)
		r = move_caught_up(m);
	return r == CUDA_SUCCESS ? show_all(m) : r;
}

void move_mapped_free(struct move *m)
{
	free(m->mapped);
	m->mapped = NULL;
	m->mapped_count = 0;
}
