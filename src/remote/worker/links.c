/*
 * links.c: linking. The driver writes into logs and values of a link's options as long as the link lives: they are kept
 * with its id.
 */
#include "remote/worker/code.h"
#include "remote/worker/images.h"
#include "remote/worker/jit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct link {
	struct jit jit;
	void *image; /* the driver's, when it is complete */
	size_t bytes;
};

static void link_gone(void *data)
{
	struct link *l = data;

	jit_deinit(&l->jit);
	free(l);
}

static CUresult create(struct work *work, const struct code_link *head, struct link *l, int *ret)
{
	CUlinkState state = NULL;
	CUresult r;

	*ret = 0;
	r = work->driver->cuLinkCreate_v2(l->jit.options, l->jit.option, l->jit.value, &state);
	if (r != CUDA_SUCCESS)
		return r;
	*ret = worker_add(work, KIND_LINK, head->id, state, work->head.context);
	if (!*ret) {
		worker_keep(work, head->id, l, link_gone);
		return CUDA_SUCCESS;
	}
	work->driver->cuLinkDestroy(state);
	if (*ret != -EPROTO)
		*ret = 0;
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Value: whether the data is here. */
static bool add(struct work *work, const struct code_link *head, CUlinkState state, const char *name, struct jit *jit,
		CUresult *ret)
{
	struct image *data = images_take(head->hash, head->whole);

	if (!data)
		return false;
	*ret = work->driver->cuLinkAddData_v2(state, (CUjitInputType)head->type, (void *)(uintptr_t)image_data(data),
					      head->whole, name, jit->options, jit->option, jit->value);
	images_give(data);
	return true;
}

static void answer(struct work *work, const struct jit *jit, const struct link *l, CUresult result, bool missing)
{
	struct code_loaded loaded = { .result = (int32_t)result, .missing = missing, .options = jit->options };

	loaded.logs = jit_logs(jit);
	loaded.bytes = l ? l->bytes : 0;
	remote_put(&work->out, &loaded, sizeof(loaded));
	jit_write(work, jit);
}

static int create_link(struct work *work, const struct code_link *head, const char *name)
{
	struct link *l = calloc(1, sizeof(*l));
	CUresult result = CUDA_SUCCESS;
	int r;

	if (!l)
		return -EMSGSIZE;
	r = jit_read(work, &l->jit, head->options);
	if (!r && work->in.used != work->in.size)
		r = -EPROTO;
	if (!r)
		result = create(work, head, l, &r);
	if (!r)
		answer(work, &l->jit, l, result, false);
	if (r || result != CUDA_SUCCESS)
		link_gone(l);
	return r;
}

static int step(struct work *work, const struct code_link *head, const char *name)
{
	struct link *l = worker_kept(work, KIND_LINK, head->id);
	CUresult result = CUDA_SUCCESS;
	struct jit jit = { 0 };
	CUlinkState state;
	bool known, here = true;
	int r = jit_read(work, &jit, head->options);

	if (!r && work->in.used != work->in.size)
		r = -EPROTO;
	state = worker_find(work, KIND_LINK, head->id, &known);
	if (!state || !l)
		work->result = CUDA_ERROR_INVALID_HANDLE;
	if (!r && work->result == CUDA_SUCCESS) {
		if (head->step == CODE_LINK_ADD)
			here = add(work, head, state, name, &jit, &result);
		else
			result = work->driver->cuLinkComplete(state, &l->image, &l->bytes);
		answer(work, head->step == CODE_LINK_ADD ? &jit : &l->jit, l, result, !here);
	}
	jit_deinit(&jit);
	return r;
}

int worker_code_link(struct work *work)
{
	struct code_link head;
	const char *name;

	remote_get(&work->in, &head, sizeof(head));
	name = remote_take_string(&work->in);
	if (work->in.bad || head.step > CODE_LINK_COMPLETE)
		return -EPROTO;
	return head.step == CODE_LINK_CREATE ? create_link(work, &head, name) : step(work, &head, name);
}

int worker_code_link_read(struct work *work)
{
	struct code_link head;
	struct link *l;
	size_t room;

	remote_get(&work->in, &head, sizeof(head));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	l = worker_kept(work, KIND_LINK, head.id);
	if (!l || !l->image || head.at >= l->bytes) {
		work->result = CUDA_ERROR_INVALID_VALUE;
		return 0;
	}
	room = work->out.capacity - work->out.used - CALL_ALIGN;
	if (room > CODE_PIECE_BYTES)
		room = CODE_PIECE_BYTES;
	if (room > l->bytes - head.at)
		room = l->bytes - head.at;
	remote_put(&work->out, (const char *)l->image + head.at, room);
	return 0;
}
