/*
 * kind.h: kinds of objects that ids of a remote session name; the same on both sides.
 *
 * The words are those of the spec ([handle] and [kind] of api/cuda.toml). Texture and surface objects and memory
 * handles are numbers in the API but objects of the driver all the same, and named by ids like the rest.
 */
#pragma once

#include <stdbool.h>

enum remote_kind {
	KIND_NONE,
	KIND_CONTEXT,
	KIND_MODULE,
	KIND_FUNCTION,
	KIND_LIBRARY,
	KIND_KERNEL,
	KIND_ARRAY,
	KIND_MIPMAPPED_ARRAY,
	KIND_TEXTURE_REFERENCE,
	KIND_SURFACE_REFERENCE,
	KIND_TEXTURE_OBJECT,
	KIND_SURFACE_OBJECT,
	KIND_EVENT,
	KIND_STREAM,
	KIND_GRAPH,
	KIND_GRAPH_NODE,
	KIND_GRAPH_EXEC,
	KIND_MEMORY_POOL,
	KIND_MEMORY_HANDLE,
	KIND_USER_OBJECT,
	KIND_GREEN_CONTEXT,
	KIND_LINK,
	KIND_RESOURCE_DESCRIPTION,
	KIND_GRAPH_CONDITION,
	KIND_FORWARDED, /* a handle of a forwarded library */
	KIND_COUNT
};

/* Ids of streams that need not be created. */
#define ID_STREAM_LEGACY UINT64_C(1)
#define ID_STREAM_PER_THREAD UINT64_C(2) /* of the request's thread, in its current context */

/* True for objects that end with the context that was current at their creation; both sides drop them then. */
static inline bool kind_of_context(enum remote_kind kind)
{
	switch (kind) {
	case KIND_MODULE:
	case KIND_ARRAY:
	case KIND_MIPMAPPED_ARRAY:
	case KIND_TEXTURE_REFERENCE:
	case KIND_EVENT:
	case KIND_STREAM:
	case KIND_LINK:
		return true;
	default:
		return false;
	}
}
