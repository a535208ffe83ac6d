/*
 * texture.h: texture and surface objects, and the references of modules.
 *
 * What a kernel reads through is described once, when the object is made (or, of a reference, changed), and looked up
 * when a kernel first uses the handle. An object whose array has been destroyed, or whose memory has been freed, is
 * found no more. Changing a reference or destroying anything waits for the work in flight, which keeps what it was
 * launched with.
 */
#pragma once

#include "softdev/context.h"
#include "softdev/handle.h"
#include "softdev/ptx/ptx.h"

/* The description through which kernels read. */
struct texture_view {
	struct ptx_texture seen;
	struct handle *source; /* an array or mipmapped array; NULL: memory */
	enum handle_type source_type;
	uint64_t source_generation;
	uint64_t bytes; /* of the memory */
};

/* HANDLE_TEXTURE and HANDLE_SURFACE */
struct texture {
	struct handle head;
	struct context *context;
	uint32_t number; /* its number for kernels and the API */
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC sampling;
	CUDA_RESOURCE_VIEW_DESC area;
	bool has_area;
	struct texture_view view;
};

/* HANDLE_TEXREF: of a module, or made by cuTexRefCreate(). */
struct texref {
	struct handle head;
	struct context *context;
	enum ptx_variable_space kind;
	bool created;
	bool bound;  /* `resource` is valid */
	bool usable; /* `view` is valid */
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC sampling;
	CUarray_format format;
	unsigned channels;
	struct texture_view view;
};

CUresult texture_view_make(struct context *c, const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *s,
			   const CUDA_RESOURCE_VIEW_DESC *area, struct texture_view *ret);
CUresult surface_view_make(const CUDA_RESOURCE_DESC *r, struct texture_view *ret);
/* struct ptx_textures.find; the argument is the context. */
const struct ptx_texture *texture_find(void *context, uint64_t handle, enum ptx_texture_use use);
/* The reference that a variable of a module is. */
CUresult texref_new(struct context *c, const struct ptx_variable *v, struct texref **ret);
/* Frees all objects of the context, including references of modules. */
void texture_free_all(struct context *c);
