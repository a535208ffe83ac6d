/*
 * handle.h: the objects behind the driver's handles.
 *
 * A handle is the address of an object in its type's slab. Slabs lie in reserved address space and are never given
 * back, so any value that a program passes can be checked without touching memory that is not ours, and a freed
 * object's memory is only ever reused for the same type. Objects begin with a struct handle; `generation` grows with
 * every use of the place, so that internal references can tell an object from its successor.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum handle_type {
	HANDLE_CONTEXT,
	HANDLE_STREAM,
	HANDLE_EVENT,
	HANDLE_MEMPOOL,
	HANDLE_ALLOCATION, /* VMM */
	HANDLE_ARRAY,
	HANDLE_MIPMAP,
	HANDLE_TEXTURE,
	HANDLE_SURFACE,
	HANDLE_TEXREF,
	HANDLE_MODULE,
	HANDLE_FUNCTION,
	HANDLE_LIBRARY,
	HANDLE_KERNEL,
	HANDLE_LINK,
	HANDLE_GRAPH,
	HANDLE_NODE,
	HANDLE_EXEC,
	HANDLE_USER_OBJECT,
	HANDLE_TYPES
};

struct handle {
	_Atomic uint32_t live;	     /* 1 between handle_new() and handle_retire() */
	uint32_t type;		     /* enum handle_type */
	_Atomic uint64_t generation; /* another one for each object that has had this place */
	struct handle *next_free;
	const void *owner; /* the object ends with it; guarded by the slab's lock */
};

/* Creates a zeroed object. NULL: no memory or too many. */
void *handle_new(enum handle_type type);
/* The same, of an owner: handle_end_all(). */
void *handle_new_of(enum handle_type type, const void *owner);
/* The same, but no lookup finds it before handle_publish(), not even with the handle of its predecessor. */
void *handle_begin(enum handle_type type);
void handle_publish(void *object);
/* The object, or NULL for anything that is not a live handle of this type. */
void *handle_find(enum handle_type type, const void *h);
/* Programs can no longer name it; the object remains until handle_free(). False: another thread retired it first. */
bool handle_retire(void *object);
void handle_free(void *object);
/*
 * Retires all objects of the owner, and calls f for each, which frees it. Objects created and ended meanwhile are not
 * affected.
 */
void handle_end_all(enum handle_type type, const void *owner, void (*f)(void *object));
/* Calls f for each live object of the type; f may retire and free it. */
void handle_each(enum handle_type type, void (*f)(void *object, void *arg), void *arg);
