/* handle.c: see handle.h. */
#include "softdev/handle.h"

#include "softdev/array.h"
#include "softdev/context.h"
#include "softdev/event.h"
#include "softdev/graph.h"
#include "softdev/link.h"
#include "softdev/mempool.h"
#include "softdev/module.h"
#include "softdev/stream.h"
#include "softdev/texture.h"
#include "softdev/vmm.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define slab_root(at, bytes) __lsan_register_root_region(at, bytes)
#else
#define slab_root(at, bytes) ((void)0)
#endif

#define SLAB_OBJECTS (1u << 20)
#define SLAB_ROOT 256u /* objects that are made known to the leak check at a time: what they point to is not lost */

struct slab {
	size_t stride;
	/* mutex: guards the fields below; base and used are read without it */
	pthread_mutex_t mutex;
	_Atomic uintptr_t base;
	_Atomic uint32_t used;
	struct handle *free;
};

#define SLAB(type)                                                                                                     \
	{                                                                                                              \
		.stride = (sizeof(type) + 63) & ~(size_t)63, .mutex = PTHREAD_MUTEX_INITIALIZER                        \
	}

static struct slab slabs[HANDLE_TYPES] = {
	[HANDLE_CONTEXT] = SLAB(struct context),
	[HANDLE_STREAM] = SLAB(struct stream),
	[HANDLE_EVENT] = SLAB(struct event),
	[HANDLE_MEMPOOL] = SLAB(struct mempool),
	[HANDLE_ALLOCATION] = SLAB(struct allocation),
	[HANDLE_ARRAY] = SLAB(struct array),
	[HANDLE_MIPMAP] = SLAB(struct mipmap),
	[HANDLE_TEXTURE] = SLAB(struct texture),
	[HANDLE_SURFACE] = SLAB(struct texture),
	[HANDLE_TEXREF] = SLAB(struct texref),
	[HANDLE_MODULE] = SLAB(struct module),
	[HANDLE_FUNCTION] = SLAB(struct function),
	[HANDLE_LIBRARY] = SLAB(struct library),
	[HANDLE_KERNEL] = SLAB(struct kernel),
	[HANDLE_LINK] = SLAB(struct link),
	[HANDLE_GRAPH] = SLAB(struct graph),
	[HANDLE_NODE] = SLAB(struct node),
	[HANDLE_EXEC] = SLAB(struct exec),
	[HANDLE_USER_OBJECT] = SLAB(struct user_object),
};

static bool slab_reserve_locked(struct slab *s)
{
	void *m;

	if (s->base)
		return true;
	m = mmap(NULL, s->stride * SLAB_OBJECTS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	if (m == MAP_FAILED)
		return false;
	s->base = (uintptr_t)m;
	return true;
}

static void *begin(enum handle_type type, const void *owner)
{
	struct slab *s = &slabs[type];
	struct handle *h = NULL;

	pthread_mutex_lock(&s->mutex);
	if (s->free) {
		h = s->free;
		s->free = h->next_free;
	} else if (slab_reserve_locked(s) && s->used < SLAB_OBJECTS) {
		h = (struct handle *)(s->base + s->stride * s->used);
		if (s->used % SLAB_ROOT == 0)
			slab_root(h, s->stride * SLAB_ROOT);
		s->used++;
	}
	if (h)
		h->owner = owner;
	pthread_mutex_unlock(&s->mutex);
	if (!h)
		return NULL;
	/* Whoever still names the object that was here before looks at the generation first. */
	h->generation++;
	memset(h + 1, 0, s->stride - sizeof(*h));
	h->type = type;
	h->next_free = NULL;
	return h;
}

void *handle_begin(enum handle_type type)
{
	return begin(type, NULL);
}

void handle_publish(void *object)
{
	struct handle *h = object;

	atomic_store_explicit(&h->live, 1, memory_order_release); /* pairs with the acquire in handle_find() */
}

void *handle_new_of(enum handle_type type, const void *owner)
{
	void *object = begin(type, owner);

	if (object)
		handle_publish(object);
	return object;
}

void *handle_new(enum handle_type type)
{
	return handle_new_of(type, NULL);
}

void *handle_find(enum handle_type type, const void *p)
{
	struct slab *s = &slabs[type];
	uintptr_t base = s->base, at = (uintptr_t)p;
	struct handle *h;

	if (!base || at < base || at - base >= s->stride * s->used || (at - base) % s->stride)
		return NULL;
	h = (struct handle *)at;
	return atomic_load_explicit(&h->live, memory_order_acquire) ? h : NULL;
}

bool handle_retire(void *object)
{
	struct handle *h = object;
	uint32_t one = 1;

	return atomic_compare_exchange_strong(&h->live, &one, 0);
}

void handle_free(void *object)
{
	struct handle *h = object;
	struct slab *s = &slabs[h->type];

	atomic_store(&h->live, 0);
	pthread_mutex_lock(&s->mutex);
	h->next_free = s->free;
	s->free = h;
	pthread_mutex_unlock(&s->mutex);
}

/* With the lock its place cannot become another's in between. */
static bool retire_of(struct slab *s, struct handle *h, const void *owner)
{
	bool retired;

	pthread_mutex_lock(&s->mutex);
	retired = h->owner == owner && handle_retire(h);
	pthread_mutex_unlock(&s->mutex);
	return retired;
}

void handle_end_all(enum handle_type type, const void *owner, void (*f)(void *object))
{
	struct slab *s = &slabs[type];

	for (uint32_t i = 0; i < s->used; i++) {
		struct handle *h = (struct handle *)(s->base + s->stride * i);

		if (atomic_load_explicit(&h->live, memory_order_acquire) && retire_of(s, h, owner))
			f(h);
	}
}

void handle_each(enum handle_type type, void (*f)(void *object, void *arg), void *arg)
{
	struct slab *s = &slabs[type];

	for (uint32_t i = 0; i < s->used; i++) {
		struct handle *h = (struct handle *)(s->base + s->stride * i);

		if (atomic_load_explicit(&h->live, memory_order_acquire))
			f(h, arg);
	}
}
