/* link.c: see link.h. */
#include "softdev/link.h"

#include "base/cleanup.h"
#include "softdev/image/object.h"
#include "softdev/image/write.h"
#include "softdev/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUresult link_find(CUlinkState h, struct link **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	*ret = handle_find(HANDLE_LINK, h);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult soft_cuLinkCreate_v2(unsigned count, CUjit_option *option, void **value, CUlinkState *ret)
{
	struct context *c;
	struct link *l;
	struct jit j;
	CUresult e = context_current(&c);

	if (e)
		return e;
	e = ret ? jit_read(count, option, value, &j) : CUDA_ERROR_INVALID_VALUE;
	if (e)
		return e;
	l = handle_new(HANDLE_LINK);
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l->jit = j;
	l->source.max_registers = j.max_registers;
	*ret = (CUlinkState)l;
	return CUDA_SUCCESS;
}

CUresult soft_cuLinkCreate(unsigned count, CUjit_option *option, void **value, CUlinkState *ret)
{
	return soft_cuLinkCreate_v2(count, option, value, ret);
}

static CUresult link_add_text(struct link *l, const char *text, size_t bytes)
{
	struct ptx_text *more = reallocarray(l->source.text, l->source.count + 1, sizeof(*more));
	char *copy;

	if (!more)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l->source.text = more;
	copy = calloc(1, bytes + 1);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(copy, text, bytes);
	more[l->source.count++] = (struct ptx_text){ copy, strlen(copy) };
	return CUDA_SUCCESS;
}

struct adding {
	struct link *link;
	bool library; /* a member without PTX adds nothing and spoils nothing */
	CUresult error;
};

static int link_add_piece(void *ctx, const void *data, size_t bytes)
{
	const struct segment_config *d = driver.device[0].config;
	struct adding *a = ctx;
	struct image_ptx ptx = { 0 };
	char why[512] = "";
	int r = image_find_ptx_bounded(data, bytes, d->cc_major * 10 + d->cc_minor, &ptx, why, sizeof(why));

	if (r == IMAGE_NO_PTX && a->library)
		return 0;
	if (r) {
		jit_report(&a->link->jit, why, NULL);
		log_line("link: %s", why);
		a->error = CUDA_ERROR_NO_BINARY_FOR_GPU;
		return 1;
	}
	for (size_t i = 0; !a->error && i < ptx.count; i++)
		a->error = link_add_text(a->link, ptx.text[i].text, ptx.text[i].bytes);
	image_ptx_deinit(&ptx);
	return a->error ? 1 : 0;
}

static CUresult link_add_image(struct link *l, const void *data, size_t bytes, bool library)
{
	struct adding a = { .link = l, .library = library };
	int r = library ? object_each(data, bytes, link_add_piece, &a) : link_add_piece(&a, data, bytes);

	return a.error ? a.error : r ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
}

CUresult soft_cuLinkAddData_v2(CUlinkState h, CUjitInputType type, void *data, size_t bytes, const char *name,
			       unsigned count, CUjit_option *option, void **value)
{
	struct link *l;
	struct jit j;
	CUresult e = link_find(h, &l);

	if (!e)
		e = jit_read(count, option, value, &j);
	if (e)
		return e;
	if (!data || !bytes || l->image)
		return CUDA_ERROR_INVALID_VALUE;
	switch (type) {
	case CU_JIT_INPUT_PTX:
		return link_add_text(l, data, bytes);
	case CU_JIT_INPUT_CUBIN:
	case CU_JIT_INPUT_FATBINARY:
		return link_add_image(l, data, bytes, false);
	case CU_JIT_INPUT_OBJECT:
	case CU_JIT_INPUT_LIBRARY:
		return link_add_image(l, data, bytes, true);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult soft_cuLinkAddData(CUlinkState h, CUjitInputType type, void *data, size_t bytes, const char *name,
			    unsigned count, CUjit_option *option, void **value)
{
	return soft_cuLinkAddData_v2(h, type, data, bytes, name, count, option, value);
}

CUresult soft_cuLinkAddFile_v2(CUlinkState h, CUjitInputType type, const char *path, unsigned count,
			       CUjit_option *option, void **value)
{
	_cleanup_free_ char *data = NULL;
	struct link *l;
	size_t bytes;
	CUresult e = link_find(h, &l);

	if (e)
		return e;
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	e = image_read_file(path, &data, &bytes);
	return e ? e : soft_cuLinkAddData_v2(h, type, data, bytes, path, count, option, value);
}

CUresult soft_cuLinkAddFile(CUlinkState h, CUjitInputType type, const char *path, unsigned count, CUjit_option *option,
			    void **value)
{
	return soft_cuLinkAddFile_v2(h, type, path, count, option, value);
}

static void *image_make(const struct source *s, size_t *ret_bytes)
{
	const struct segment_config *d = driver.device[0].config;
	struct image_text *text = calloc(s->count, sizeof(*text));
	void *image = NULL;

	for (size_t i = 0; text && i < s->count; i++)
		text[i] = (struct image_text){ .text = s->text[i].text, .bytes = s->text[i].bytes };
	if (text)
		image = image_write(text, s->count, d->cc_major * 10 + d->cc_minor, s->max_registers, ret_bytes);
	free(text);
	return image;
}

CUresult soft_cuLinkComplete(CUlinkState h, void **ret, size_t *ret_bytes)
{
	struct ptx_module *ptx;
	struct link *l;
	char log[1024] = "";
	size_t bytes;
	CUresult e = link_find(h, &l);

	if (e)
		return e;
	if (!ret || l->image || !l->source.count)
		return CUDA_ERROR_INVALID_VALUE;
	e = source_decode(&l->source, &ptx, log, sizeof(log));
	jit_report(&l->jit, e ? log : "", e ? NULL : ptx);
	if (e) {
		log_line("link: %s", log);
		return e;
	}
	ptx_module_free(ptx);
	l->image = image_make(&l->source, &bytes);
	if (!l->image)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret = l->image;
	if (ret_bytes)
		*ret_bytes = bytes;
	return CUDA_SUCCESS;
}

CUresult soft_cuLinkDestroy(CUlinkState h)
{
	struct link *l;
	CUresult e = link_find(h, &l);

	if (e)
		return e;
	if (!handle_retire(l))
		return CUDA_ERROR_INVALID_HANDLE;
	source_deinit(&l->source);
	free(l->image);
	handle_free(l);
	return CUDA_SUCCESS;
}
