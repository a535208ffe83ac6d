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
#include "shim/image.h"

#include <errno.h>
#include <string.h>

#define NAME_MOST 4096u

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

struct listing {
	struct work *work;
	uint64_t id;
	void *owner;
	CUresult result;
};

static void list_one(void *arg, const char *name, size_t length)
{
	struct listing *l = arg;
	char text[NAME_MOST];
	CUdeviceptr at = 0;
	uint64_t bytes;
	size_t size = 0;

	if (l->result != CUDA_SUCCESS)
		return;
	if (length >= sizeof(text)) {
		l->result = CUDA_ERROR_NOT_FOUND;
		return;
	}
	memcpy(text, name, length);
	text[length] = 0;
	l->result = find(l->work, l->id, l->owner, text, &at, &size);
	if (l->result != CUDA_SUCCESS) {
		l->result = CUDA_ERROR_NOT_FOUND;
		return;
	}
	remote_put(&l->work->out, &at, sizeof(at));
	bytes = size;
	remote_put(&l->work->out, &bytes, sizeof(bytes));
	remote_put_string(&l->work->out, text);
	if (l->work->out.bad)
		l->result = CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult list_all(struct listing *l, const struct move_variables *m)
{
	struct image *image = images_take(m->hash, m->whole);
	struct image_view view;
	bool known;

	if (!image)
		return CUDA_ERROR_NOT_FOUND;
	if (!image_view_init(&view, image_data(image), m->whole)) {
		images_give(image);
		return CUDA_ERROR_NOT_FOUND;
	}
	known = image_variables(view.image, list_one, l);
	image_view_deinit(&view);
	images_give(image);
	return l->result == CUDA_SUCCESS && !known ? CUDA_ERROR_NOT_FOUND : l->result;
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
