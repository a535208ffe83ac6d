/*
 * loads.c: loading modules and libraries. See remote/code.h.
 *
 * What the program gets from a failed load (the logs) travels like what it gets from a good one: the reply is a
 * success, and the call's result stands in it.
 */
#include "remote/image.h"
#include "remote/worker/functions.h"
#include "remote/worker/images.h"
#include "remote/worker/jit.h"
#include "shim/image.h"

#include "cuda_remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct load {
	struct code_load head;
	bool library;
	struct jit jit;
	void *handle;
	CUresult result;
	bool variables;
};

static void load_image(struct work *work, struct load *l, struct image *image)
{
	struct image_view view;
	struct image_need need;

	if (!image_view_init(&view, image_data(image), l->head.whole)) {
		l->result = CUDA_ERROR_INVALID_IMAGE;
		return;
	}
	if (l->library)
		l->result = work->driver->cuLibraryLoadData((CUlibrary *)&l->handle, view.image, l->jit.option,
							    l->jit.value, l->jit.options, NULL, NULL, 0);
	else if (l->jit.options)
		l->result = work->driver->cuModuleLoadDataEx((CUmodule *)&l->handle, view.image, l->jit.options,
							     l->jit.option, l->jit.value);
	else
		l->result = work->driver->cuModuleLoadData((CUmodule *)&l->handle, view.image);
	image_read(view.image, &need);
	l->variables = !need.known || need.most_units;
	image_view_deinit(&view);
}

static void unload(struct work *work, struct load *l)
{
	if (l->library)
		work->driver->cuLibraryUnload(l->handle);
	else
		work->driver->cuModuleUnload(l->handle);
}

static int answer(struct work *work, const struct load *l)
{
	struct code_loaded loaded = { .result = l->result, .options = l->jit.options }, *head;

	loaded.logs = jit_logs(&l->jit);
	head = remote_reserve(&work->out, sizeof(*head));
	jit_write(work, &l->jit);
	if (work->out.bad)
		return -EPROTO; /* no room for logs of this size: the client does not ask for that much */
	if (l->result == CUDA_SUCCESS)
		functions_list(work, l->head.id, l->handle, 0, &loaded);
	loaded.variables = l->variables;
	*head = loaded;
	return 0;
}

static int load_whole(struct work *work, struct load *l, struct image *image)
{
	enum remote_kind kind = l->library ? KIND_LIBRARY : KIND_MODULE;
	int r;

	worker_yield(work); /* translating may take long */
	load_image(work, l, image);
	if (l->result == CUDA_SUCCESS) {
		r = worker_add(work, kind, l->head.id, l->handle, l->library ? 0 : work->head.context);
		if (r)
			unload(work, l);
		if (r == -EPROTO)
			return r;
		if (r)
			l->result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return answer(work, l);
}

static int load(struct work *work, bool library)
{
	static const struct code_loaded missing = { .missing = 1 };
	struct load l = { .library = library };
	struct image *image;
	int r;

	remote_get(&work->in, &l.head, sizeof(l.head));
	if (work->in.bad || l.head.library_options)
		return -EPROTO;
	r = jit_read(work, &l.jit, l.head.options);
	if (!r && work->in.used != work->in.size)
		r = -EPROTO;
	if (!r) {
		image = images_take(l.head.hash, l.head.whole);
		if (image) {
			r = load_whole(work, &l, image);
			images_give(image);
		} else {
			remote_put(&work->out, &missing, sizeof(missing));
		}
	}
	jit_deinit(&l.jit);
	return r;
}

int worker_cuModuleLoadDataEx(struct work *work)
{
	return load(work, false);
}

int worker_cuLibraryLoadData(struct work *work)
{
	return load(work, true);
}
