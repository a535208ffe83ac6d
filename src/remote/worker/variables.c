/*
 * variables.c: see variables.h. The names come from the image, the places from the driver: what it does not know by a
 * name that the image has cannot be copied, and so keeps the session where it is. What lies in constant memory no
 * kernel can write, and is as the image has it, unless the program has asked for its address: then it names it.
 */
#include "remote/worker/variables.h"

#include "remote/image.h"
#include "remote/move.h"
#include "remote/worker/images.h"
#include "remote/worker/moved.h"
#include "remote/worker/session.h"
#include "remote/worker/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_container(uint64_t id)
{
	return id >> 56 == KIND_MODULE || id >> 56 == KIND_LIBRARY;
}

static CUresult find(struct work *work, uint64_t id, void *owner, const char *name, CUdeviceptr *ret, size_t *ret_bytes)
{
	return id >> 56 == KIND_MODULE ? work->driver->cuModuleGetGlobal_v2(ret, ret_bytes, owner, name)
				       : work->driver->cuLibraryGetGlobal(ret, ret_bytes, owner, name);
}

/* ---- which there are ---- */

/*
 * A driver takes one entry of a fat binary, and knows all variables of that one by their names. So the entries that
 * have a name which it does not know are not the one; of each member one has to be left.
 */
struct listing {
	struct work *work;
	uint64_t id;
	void *owner;
	bool *is_there; /* of each member */
	struct listed {
		CUdeviceptr at;
		uint64_t bytes;
	} * listed;
	size_t count, room;
	CUresult result;
};

/* Where the driver has put a section of machine code: the place of one whose name nobody else has. */
static bool base_of(const struct listing *l, const struct symbols *s, uint32_t section, CUdeviceptr *ret)
{
	CUdeviceptr at;
	size_t size;

	for (size_t i = 0; section && i < s->count; i++) {
		const struct symbol *symbol = &s->symbol[i];

		if (symbol->section != section || symbol->shared ||
		    find(l->work, l->id, l->owner, symbol->name, &at, &size) != CUDA_SUCCESS || size != symbol->bytes)
			continue;
		*ret = at - symbol->at;
		return true;
	}
	return false;
}

/* The address rests on what the image says: nothing but the device's memory is looked at. */
static bool is_device(struct work *work, CUdeviceptr at)
{
	CUmemorytype type = 0;

	return work->driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) == CUDA_SUCCESS &&
	       type == CU_MEMORYTYPE_DEVICE;
}

/* Whether memory of the device holds what the image has for it. */
static bool is_initial(struct work *work, CUdeviceptr at, const struct symbol *symbol)
{
	struct rooms *rooms = &work->worker->rooms;
	uint8_t *room = symbol->bytes && is_device(work, at) && is_device(work, at + symbol->bytes - 1)
				? rooms_take(rooms)
				: NULL;
	bool same = room;

	for (uint64_t done = 0, n; same && done < symbol->bytes; done += n) {
		n = symbol->bytes - done < rooms->room_bytes ? symbol->bytes - done : rooms->room_bytes;
		same = work->driver->cuMemcpyDtoH_v2(room, at + done, n) == CUDA_SUCCESS;
		for (uint64_t i = 0; same && i < n; i++)
			same = room[i] == (symbol->initial ? symbol->initial[done + i] : 0);
	}
	if (room)
		rooms_give(rooms, room);
	return same;
}

/* As the client is to hear it; a name "": it holds what the image has, and nothing of it is to be kept. */
static void list(struct listing *l, CUdeviceptr at, uint64_t bytes, const char *name)
{
	const size_t room = l->room ? 2 * l->room : 64;
	struct listed *more;

	for (size_t i = 0; i < l->count; i++)
		if (l->listed[i].at == at && l->listed[i].bytes == bytes)
			return;
	if (l->count == l->room) {
		more = realloc(l->listed, room * sizeof(*more));
		if (!more) {
			l->result = CUDA_ERROR_NOT_SUPPORTED;
			return;
		}
		l->listed = more;
		l->room = room;
	}
	l->listed[l->count++] = (struct listed){ at, bytes };
	remote_put(&l->work->out, &at, sizeof(at));
	remote_put(&l->work->out, &bytes, sizeof(bytes));
	remote_put_string(&l->work->out, name);
	if (l->work->out.bad)
		l->result = CUDA_ERROR_NOT_SUPPORTED;
}

/* One that the driver does not tell from others by its name. False: it may hold something else than the image says. */
static bool list_unnamed(struct listing *l, const struct symbols *s, const struct symbol *symbol)
{
	CUdeviceptr base;

	if (symbol->section && !symbol->bytes)
		return true;
	if (!base_of(l, s, symbol->section, &base) || !is_initial(l->work, base + symbol->at, symbol))
		return false;
	list(l, base + symbol->at, symbol->bytes, "");
	return true;
}

/* False: the driver does not know it. */
static bool list_one(struct listing *l, const struct symbols *s, const struct symbol *symbol)
{
	CUdeviceptr at = 0;
	size_t size = 0;

	if (symbol->shared || find(l->work, l->id, l->owner, symbol->name, &at, &size) != CUDA_SUCCESS ||
	    (symbol->bytes && size != symbol->bytes))
		return list_unnamed(l, s, symbol);
	if (size)
		list(l, at, size, symbol->name);
	return true;
}

static void list_entry(void *arg, const struct symbols *s)
{
	struct listing *l = arg;
	const size_t count = l->count, used = l->work->out.used;
	bool taken = true;

	for (size_t i = 0; taken && l->result == CUDA_SUCCESS && i < s->count; i++)
		taken = list_one(l, s, &s->symbol[i]);
	l->is_there[s->member] |= taken;
	if (!taken) {
		l->count = count;
		l->work->out.used = used;
	}
}

static CUresult list_view(struct listing *l, const struct image_view *view)
{
	static const CUresult results[] = { [SYMBOLS_ALL] = CUDA_SUCCESS,
					    [SYMBOLS_UNKNOWN] = CUDA_ERROR_NOT_FOUND,
					    [SYMBOLS_HEAP] = CUDA_ERROR_NOT_PERMITTED };
	CUresult r;

	l->is_there = calloc(view->count + 1, sizeof(*l->is_there));
	if (!l->is_there)
		return CUDA_ERROR_NOT_SUPPORTED;
	r = results[symbols_read(view, list_entry, l)];
	for (uint32_t i = 0; r == CUDA_SUCCESS && i < view->count; i++)
		r = l->is_there[i] ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
	free(l->is_there);
	free(l->listed);
	return l->result == CUDA_SUCCESS ? r : l->result;
}

static CUresult list_all(struct listing *l, const struct move_variables *m)
{
	struct image *image = images_take(m->hash, m->whole);
	struct image_view view;
	CUresult r = CUDA_ERROR_NOT_FOUND;

	if (!image)
		return r;
	if (image_view_init(&view, image_data(image), m->whole)) {
		r = list_view(l, &view);
		image_view_deinit(&view);
	}
	images_give(image);
	return r;
}

int variables_list(struct work *work)
{
	struct listing l = { .work = work };
	struct move_variables m;
	const size_t begin = work->out.used;
	bool known;

	remote_get(&work->in, &m, sizeof(m));
	if (work->in.bad || work->in.used != work->in.size || !is_container(m.owner))
		return -EPROTO;
	l.id = m.owner;
	l.owner = worker_find(work, (enum remote_kind)(m.owner >> 56), m.owner, &known);
	work->created = true;
	if (!l.owner)
		return 0;
	work->result = (int32_t)list_all(&l, &m);
	if (work->result != CUDA_SUCCESS) {
		work->out.used = begin;
		work->out.bad = false;
	}
	return 0;
}

/* ---- what is in them ---- */

struct part {
	struct move_variable m;
	CUdeviceptr at;
};

/* 0: found, or work->result says why not. */
static int part_read(struct work *work, struct part *p)
{
	const char *name;
	size_t size = 0;
	void *owner;
	bool known;

	remote_get(&work->in, &p->m, sizeof(p->m));
	name = remote_take_string(&work->in);
	if (work->in.bad || !is_container(p->m.owner) || !p->m.bytes || p->m.bytes > MOVE_VARIABLE_BYTES)
		return -EPROTO;
	work->created = true;
	owner = worker_find(work, (enum remote_kind)(p->m.owner >> 56), p->m.owner, &known);
	if (!owner)
		return 0;
	work->result = (int32_t)find(work, p->m.owner, owner, name, &p->at, &size);
	if (work->result == CUDA_SUCCESS && (p->m.at > size || p->m.bytes > size - p->m.at))
		work->result = CUDA_ERROR_INVALID_VALUE;
	return 0;
}

/* By a room, as much as it holds at a time: the driver gets no address of a message. */
static void copy(struct work *work, const struct part *p, uint8_t *out, const uint8_t *in)
{
	struct rooms *rooms = &work->worker->rooms;
	void *room = rooms_take(rooms);

	if (!room)
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
	for (uint64_t done = 0, n; work->result == CUDA_SUCCESS && done < p->m.bytes; done += n) {
		const CUdeviceptr at = p->at + p->m.at + done;

		n = p->m.bytes - done < rooms->room_bytes ? p->m.bytes - done : rooms->room_bytes;
		if (in)
			memcpy(room, in + done, n);
		work->result = (int32_t)(in ? work->driver->cuMemcpyHtoD_v2(at, room, n)
					    : work->driver->cuMemcpyDtoH_v2(room, at, n));
		if (out && work->result == CUDA_SUCCESS)
			memcpy(out + done, room, n);
	}
	if (room)
		rooms_give(rooms, room);
}

int variables_out(struct work *work)
{
	struct part p = { .at = 0 };
	uint8_t *out;
	int r = part_read(work, &p);

	if (r || work->in.used != work->in.size)
		return r ? r : -EPROTO;
	if (work->result != CUDA_SUCCESS || !p.at)
		return 0;
	out = remote_reserve(&work->out, p.m.bytes);
	if (!out)
		return -EMSGSIZE;
	copy(work, &p, out, NULL);
	return 0;
}

int variables_in(struct work *work)
{
	struct part p = { .at = 0 };
	const void *in;
	int r = part_read(work, &p);

	if (r)
		return r;
	in = remote_take(&work->in, p.m.bytes);
	if (!in || work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	if (work->result == CUDA_SUCCESS && p.at)
		copy(work, &p, NULL, in);
	return 0;
}

/* ---- where they are ---- */

int variables_at(struct work *work)
{
	struct move_variable m;
	CUdeviceptr at = 0;
	const char *name;
	size_t size = 0;
	void *owner;
	bool known;

	remote_get(&work->in, &m, sizeof(m));
	name = remote_take_string(&work->in);
	if (work->in.bad || work->in.used != work->in.size || !is_container(m.owner) || m.at + m.bytes < m.at)
		return -EPROTO;
	work->created = true;
	owner = worker_find(work, (enum remote_kind)(m.owner >> 56), m.owner, &known);
	if (!owner)
		return 0;
	work->result = (int32_t)find(work, m.owner, owner, name, &at, &size);
	if (work->result == CUDA_SUCCESS && size != m.bytes)
		work->result = CUDA_ERROR_INVALID_VALUE;
	if (work->result != CUDA_SUCCESS || !size)
		return 0;
	if (!worker_range(work, at, size))
		worker_range_add(work, at, size, m.owner);
	if (at != m.at && moved_add(m.at, size, at))
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
	return 0;
}
