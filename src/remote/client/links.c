/*
 * links.c: linking: what is added goes to the worker as images do; the linked image comes back as a whole and is kept
 * with the link.
 */
#include "remote/client/images.h"
#include "remote/client/jit.h"

#include "cuda_remote.h"

#include <stdlib.h>
#include <string.h>

/* Kept with the handle. */
struct link_state {
	struct jit jit; /* of the whole link: the program's buffers */
	void *image; /* owned */
};

static void state_gone(void *data)
{
	struct link_state *s = data;

	free(s->image);
	free(s);
}

static bool step_begin(struct client_call *c, const struct code_link *head, const char *name, const struct jit *jit)
{
	if (!client_begin_room(c, true, sizeof(*head) + strlen(name) + 32 + (jit ? jit_room(jit) : 0)))
		return false;
	remote_put(&c->out, head, sizeof(*head));
	remote_put_string(&c->out, name);
	if (jit)
		jit_put(c, jit);
	client_send(c);
	return c->result == CUDA_SUCCESS;
}

/* The answer to a step; `jit`: whose options it tells about. *ret_missing: what was to be added is not there. */
static void step_end(struct client_call *c, struct jit *jit, struct code_loaded *ret)
{
	remote_get(&c->in, ret, sizeof(*ret));
	if (c->in.bad || ret->missing)
		return;
	if (ret->options != jit->sent_count || !jit_take(c, jit, ret->logs))
		c->result = CLIENT_LOST;
	else
		c->result = (CUresult)ret->result;
}

CUresult client_cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
				CUlinkState *stateOut)
{
	struct code_link head = { .step = CODE_LINK_CREATE };
	struct link_state *s = calloc(1, sizeof(*s));
	struct code_loaded loaded;
	struct client_call c;
	void *handle = NULL;

	client_call(&c, CUDA_CALL_cuLinkCreate_v2);
	c.call = CALL_CODE_LINK;
	client_use_current(&c);
	if (c.result == CUDA_SUCCESS && !s)
		c.result = CUDA_ERROR_OUT_OF_MEMORY;
	if (c.result == CUDA_SUCCESS) {
		s->jit = (struct jit){ .count = numOptions, .option = options, .value = optionValues };
		c.result = stateOut ? jit_read(&s->jit) : CUDA_ERROR_INVALID_VALUE;
	}
	if (c.result == CUDA_SUCCESS)
		handle = client_mint(&c, KIND_LINK, NULL, &head.id);
	head.options = s ? s->jit.sent_count : 0;
	if (handle && step_begin(&c, &head, "", &s->jit))
		step_end(&c, &s->jit, &loaded);
	if (client_end(&c) == CUDA_SUCCESS) {
		client_keep(handle, s, state_gone);
		*stateOut = handle;
	} else {
		if (handle)
			client_drop(handle);
		free(s);
	}
	return c.result;
}

CUresult client_cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues, CUlinkState *stateOut)
{
	return client_cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

static struct link_state *state_use(struct client_call *c, enum cuda_call call, CUlinkState state, uint64_t *ret_id)
{
	struct link_state *s;

	client_call(c, call);
	c->call = CALL_CODE_LINK;
	*ret_id = client_use(c, KIND_LINK, state);
	s = client_kept(KIND_LINK, state);
	if (c->result == CUDA_SUCCESS && !s)
		c->result = CUDA_ERROR_INVALID_HANDLE;
	return c->result == CUDA_SUCCESS ? s : NULL;
}

static CUresult add(CUlinkState state, CUjitInputType type, struct image_source *source, const char *name,
		    struct jit *jit)
{
	struct code_link head = { .step = CODE_LINK_ADD, .type = (uint32_t)type };
	struct code_loaded loaded = { .missing = 1 };
	struct client_call c;

	for (unsigned int attempt = 0; loaded.missing && attempt < 2; attempt++) {
		struct link_state *s = state_use(&c, CUDA_CALL_cuLinkAddData_v2, state, &head.id);

		if (s && (!source->image || !source->bound || s->image))
			c.result = CUDA_ERROR_INVALID_VALUE;
		if (c.result == CUDA_SUCCESS && !attempt)
			c.result = jit_read(jit);
		if (c.result == CUDA_SUCCESS && !images_name(c.session, source))
			c.result = CUDA_ERROR_INVALID_VALUE;
		if (c.result == CUDA_SUCCESS)
			c.result = images_send(c.session, source, attempt);
		memcpy(head.hash, source->hash, sizeof(head.hash));
		head.whole = source->whole;
		head.options = jit->sent_count;
		if (step_begin(&c, &head, name ? name : "", jit))
			step_end(&c, jit, &loaded);
		if (client_end(&c) != CUDA_SUCCESS)
			return c.result;
	}
	return loaded.missing ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult client_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
				 unsigned int numOptions, CUjit_option *options, void **optionValues)
{
	struct image_source source = { .image = data, .bound = size, .plain = true };
	struct jit jit = { .count = numOptions, .option = options, .value = optionValues };

	return add(state, type, &source, name, &jit);
}

CUresult client_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
			      unsigned int numOptions, CUjit_option *options, void **optionValues)
{
	return client_cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

CUresult client_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned int numOptions,
				 CUjit_option *options, void **optionValues)
{
	struct image_source source = { .plain = true };
	struct jit jit = { .count = numOptions, .option = options, .value = optionValues };
	struct client_call c;
	uint64_t id;
	void *file;
	CUresult r;

	state_use(&c, CUDA_CALL_cuLinkAddFile_v2, state, &id);
	if (c.result == CUDA_SUCCESS && !path)
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (client_end(&c) != CUDA_SUCCESS)
		return c.result;
	r = images_file(path, &source, &file);
	if (r != CUDA_SUCCESS)
		return r;
	source.bound -= type == CU_JIT_INPUT_PTX ? 0 : 1; /* text goes with its NUL */
	r = add(state, type, &source, path, &jit);
	free(file);
	return r;
}

CUresult client_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned int numOptions,
			      CUjit_option *options, void **optionValues)
{
	return client_cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

/* ---- what comes out ---- */

static CUresult image_read(CUlinkState state, uint64_t bytes, uint8_t *to)
{
	struct code_link head = { .at = 0 };
	struct client_call c;

	while (head.at < bytes) {
		const void *piece;
		size_t size = 0;

		state_use(&c, CUDA_CALL_cuLinkComplete, state, &head.id);
		c.call = CALL_CODE_LINK_READ;
		if (client_begin(&c, true)) {
			remote_put(&c.out, &head, sizeof(head));
			client_send(&c);
		}
		if (c.result == CUDA_SUCCESS) {
			size = c.in.size - c.in.used;
			if (size > bytes - head.at)
				size = bytes - head.at;
			piece = remote_take(&c.in, size);
			if (piece && size)
				memcpy(to + head.at, piece, size);
			else
				c.result = CLIENT_LOST;
		}
		if (client_end(&c) != CUDA_SUCCESS)
			return c.result;
		head.at += size;
	}
	return CUDA_SUCCESS;
}

CUresult client_cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
	struct code_link head = { .step = CODE_LINK_COMPLETE };
	struct code_loaded loaded = { 0 };
	struct client_call c;
	struct link_state *s = state_use(&c, CUDA_CALL_cuLinkComplete, state, &head.id);
	CUresult r;

	if (s && (!cubinOut || s->image))
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result == CUDA_SUCCESS && step_begin(&c, &head, "", NULL))
		step_end(&c, &s->jit, &loaded);
	if (client_end(&c) != CUDA_SUCCESS)
		return c.result;
	s->image = loaded.bytes && loaded.bytes <= CODE_IMAGE_MOST ? malloc(loaded.bytes) : NULL;
	if (!s->image)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = image_read(state, loaded.bytes, s->image);
	if (r != CUDA_SUCCESS)
		return r;
	*cubinOut = s->image;
	if (sizeOut)
		*sizeOut = loaded.bytes;
	return CUDA_SUCCESS;
}
