/* link.c: see link.h. */
#include "softdev/link.h"

#include "base/cleanup.h"
#include "softdev/image/image.h"
#include "softdev/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_HEAD 80u /* 64 bytes and the name */
#define NAME_BYTES 16u

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

static CUresult link_add_image(struct link *l, const void *data, size_t bytes)
{
	const struct segment_config *d = driver.device[0].config;
	struct image_ptx ptx = { 0 };
	char why[512] = "";
	CUresult e = CUDA_SUCCESS;

	if (image_find_ptx_bounded(data, bytes, d->cc_major * 10 + d->cc_minor, &ptx, why, sizeof(why))) {
		jit_report(&l->jit, why, NULL);
		log_line("link: %s", why);
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	for (size_t i = 0; !e && i < ptx.count; i++)
		e = link_add_text(l, ptx.text[i].text, ptx.text[i].bytes);
	image_ptx_deinit(&ptx);
	return e;
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
	case CU_JIT_INPUT_OBJECT:
	case CU_JIT_INPUT_LIBRARY:
		return link_add_image(l, data, bytes);
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

/* ---- the image: fields as in facts about fat binaries, written byte by byte ---- */

static void put(unsigned char *p, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (unsigned char)(value >> 8 * i);
}

static size_t padded(size_t bytes)
{
	return (bytes + 8) / 8 * 8; /* with a NUL at least */
}

static void entry_write(unsigned char *p, const struct ptx_text *t, size_t index, const struct segment_config *d)
{
	put(p, 2, 1); /* PTX */
	put(p + 2, 2, 0x101);
	put(p + 4, 4, ENTRY_HEAD);
	put(p + 8, 8, padded(t->bytes));
	put(p + 28, 4, d->cc_major * 10 + d->cc_minor);
	put(p + 32, 4, 64);
	put(p + 36, 4, (uint64_t)snprintf((char *)p + 64, NAME_BYTES, "linked %u", (unsigned)index));
	put(p + 40, 8, 0x11); /* 64 bit, linux */
	memcpy(p + ENTRY_HEAD, t->text, t->bytes);
}

static void *image_make(const struct source *s, size_t *ret_bytes)
{
	size_t bytes = 16, at = 16;
	unsigned char *p;

	for (size_t i = 0; i < s->count; i++)
		bytes += ENTRY_HEAD + padded(s->text[i].bytes);
	p = calloc(1, bytes);
	if (!p)
		return NULL;
	put(p, 4, 0xba55ed50u);
	put(p + 4, 2, 1);
	put(p + 6, 2, 16);
	put(p + 8, 8, bytes - 16);
	for (size_t i = 0; i < s->count; i++) {
		entry_write(p + at, &s->text[i], i, driver.device[0].config);
		at += ENTRY_HEAD + padded(s->text[i].bytes);
	}
	*ret_bytes = bytes;
	return p;
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
