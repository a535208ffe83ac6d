/*
 * move_arrays.c: what is in the arrays of a session that moves. An array is made anew by its deed (move_objects.c); its
 * bytes are copied slice by slice. The levels of a mipmapped array are arrays, which are asked for if the program has
 * not done so.
 */
#include "remote/client/move.h"

#include "cuda_remote.h"
#include "remote/client/array_shape.h"
#include "remote/client/call.h"
#include "remote/client/copy.h"

#include <stdlib.h>

#define UNBACKED (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING) /* memory is mapped into them */
#define LEVELS_MOST 32u

struct list {
	uint64_t *handle;
	size_t count, room;
	enum remote_kind kind;
};

static void add(void *arg, uint64_t handle, const struct object *o)
{
	struct list *l = arg;

	if (handle_kind(handle) != l->kind || !o->id)
		return;
	if (l->count < l->room)
		l->handle[l->count] = handle;
	l->count++;
}

/* All of a kind. False: no memory. */
static bool list_make(const struct move *m, enum remote_kind kind, struct list *l)
{
	*l = (struct list){ .kind = kind };
	handles_each(&m->session->handles, add, l);
	l->room = l->count;
	l->count = 0;
	l->handle = calloc(l->room + 1, sizeof(*l->handle));
	if (l->handle)
		handles_each(&m->session->handles, add, l);
	return l->handle;
}

/* From now on every level has a handle of its own. */
static void levels_make(uint64_t handle)
{
	CUarray level;

	move_enter(client_context((const void *)(uintptr_t)handle));
	for (unsigned int i = 0; i < LEVELS_MOST; i++)
		if (client_cuMipmappedArrayGetLevel(&level, (CUmipmappedArray)(uintptr_t)handle, i) != CUDA_SUCCESS)
			return;
}

/* False: how its elements lie is not known, or it has no memory of its own. */
static bool array_make(struct move *m, uint64_t handle)
{
	struct move_kept_array *a;
	struct array_shape shape;
	CUDA_ARRAY3D_DESCRIPTOR d;
	uint64_t slice, bytes;

	move_enter(client_context((const void *)(uintptr_t)handle));
	if (client_cuArray3DGetDescriptor_v2(&d, (CUarray)(uintptr_t)handle) != CUDA_SUCCESS || d.Flags & UNBACKED ||
	    array_shape((CUarray)(uintptr_t)handle, &shape) != CUDA_SUCCESS ||
	    __builtin_mul_overflow(shape.row_bytes, shape.height, &slice) ||
	    __builtin_mul_overflow(slice, shape.depth, &bytes) || bytes == UINT64_MAX)
		return false;
	a = malloc(sizeof(*a));
	if (!a)
		return false;
	*a = (struct move_kept_array){ .next = m->arrays,
				       .handle = handle,
				       .row_bytes = shape.row_bytes,
				       .height = shape.height,
				       .depth = shape.depth };
	m->arrays = a;
	m->aside += bytes;
	return true;
}

bool move_arrays_look(struct move *m)
{
	uint32_t strange = 0;
	struct list l;

	if (!list_make(m, KIND_MIPMAPPED_ARRAY, &l))
		return move_stays(m, WORKER_STAY_HOST, 0);
	for (size_t i = 0; i < l.room; i++)
		levels_make(l.handle[i]);
	free(l.handle);
	if (!list_make(m, KIND_ARRAY, &l))
		return move_stays(m, WORKER_STAY_HOST, 0);
	for (size_t i = 0; i < l.room; i++)
		strange += !array_make(m, l.handle[i]);
	free(l.handle);
	return !strange || move_stays(m, WORKER_STAY_ARRAY, strange);
}

/* ---- out and in ---- */

static CUresult copy_slice(const struct move_kept_array *a, size_t z, bool out)
{
	const struct copy_end here = { .type = CU_MEMORYTYPE_HOST,
				       .address = ADDRESS(a->data + z * a->row_bytes * a->height) };
	const struct copy_end there = { .type = CU_MEMORYTYPE_ARRAY, .array = (CUarray)(uintptr_t)a->handle, .z = z };
	const struct copy k = { .from = out ? there : here,
				.to = out ? here : there,
				.width = a->row_bytes,
				.height = a->height,
				.depth = 1 };

	return copy_plain(&k);
}

static CUresult copy(struct move *m, const struct move_kept_array *a, bool out)
{
	CUresult r = CUDA_SUCCESS;

	move_enter(client_context((const void *)(uintptr_t)a->handle));
	for (size_t z = 0; r == CUDA_SUCCESS && z < a->depth; z++) {
		r = copy_slice(a, z, out);
		m->done += a->row_bytes * a->height;
		if (r == CUDA_SUCCESS && !move_say(m, out ? WORKER_LEAVING : WORKER_RETURNING, false))
			r = CLIENT_LOST;
	}
	return r;
}

bool move_arrays_out(struct move *m)
{
	for (struct move_kept_array *a = m->arrays; a; a = a->next) {
		a->data = malloc(a->row_bytes * a->height * a->depth + 1);
		if (!a->data)
			return move_stays(m, WORKER_STAY_HOST, 0);
		if (copy(m, a, true) != CUDA_SUCCESS)
			return move_stays(m, WORKER_STAY_FAULT, 0);
	}
	return true;
}

CUresult move_arrays_in(struct move *m)
{
	CUresult r = CUDA_SUCCESS;

	for (const struct move_kept_array *a = m->arrays; r == CUDA_SUCCESS && a; a = a->next)
		r = copy(m, a, false);
	return r;
}

void move_arrays_free(struct move *m)
{
	while (m->arrays) {
		struct move_kept_array *a = m->arrays;

		m->arrays = a->next;
		free(a->data);
		free(a);
	}
}
