/*
 * onednn.c: oneDNN by the name that METE_ONEDNN gives, or libdnnl.so.3 or libdnnl.so.2.
 *
 * The two versions describe an operation differently: 3 makes it at once and keeps its descriptions of memory to
 * itself; 2 fills a structure first. Only pointers to structures of 2 are handed on, so that their room is all that
 * must be known of them. oneDNN chooses the layouts in which it is fast; what lies otherwise in memory is reordered,
 * which is how its documentation has programs do it.
 *
 * The device's threads divide the work among themselves. oneDNN's own threads are OpenMP's, whose number each calling
 * thread has for itself: it is one.
 *
 * Facts: oneDNN 2.6 and 3.5, dnnl.h and dnnl_types.h (numbers of kinds, queries and arguments).
 */
#include "libs/cudnn/onednn.h"

#include "libs/common/library.h"

#include "softdev/log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* PyTorch exports oneDNN's names of a version of its own. Sanitizers refuse the flag. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_NAMES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_NAMES 0
#endif
#endif
#ifndef OWN_NAMES
#define OWN_NAMES RTLD_DEEPBIND
#endif

#define MD_ROOM 1024   /* bytes; 696 in version 2.6 */
#define CONV_ROOM 8192 /* 5976 in version 2.6 */
#define DIMS_MOST 12
#define CPU 1
#define BF16 2
#define F32 3
#define FORWARD 96 /* inference */
#define BACKWARD_DATA 160
#define BACKWARD_WEIGHTS 192
#define DIRECT 1
#define QUERY_NAME 8
#define QUERY_SRC 129
#define QUERY_DIFF_SRC 130
#define QUERY_WEIGHTS 131
#define QUERY_DIFF_WEIGHTS 132
#define QUERY_DST 133
#define QUERY_DIFF_DST 134
#define ARG_SRC 1
#define ARG_DST 17
#define ARG_WEIGHTS 33
#define ARG_DIFF 128

typedef const void *md; /* a description of memory */
typedef void *object;
struct argument {
	int number;
	object memory;
};

/* What both versions have, and what only one has. */
static struct {
	bool good;
	int version;
	int (*engine_create)(object *, int, size_t);
	int (*stream_create)(object *, object, unsigned int);
	int (*stream_wait)(object);
	int (*primitive_create)(object *, object);
	int (*primitive_execute)(object, object, int, const struct argument *);
	int (*primitive_destroy)(object);
	int (*primitive_desc_destroy)(object);
	md (*primitive_desc_query_md)(object, int, int);
	int (*primitive_desc_query)(object, int, int, void *);
	int (*memory_create)(object *, md, object, void *);
	int (*memory_set_data_handle)(object, void *);
	int (*memory_destroy)(object);
	size_t (*memory_desc_get_size)(md);
	int (*memory_desc_equal)(md, md);
	int (*reorder)(object *, md, object, md, object, object);
	int (*sgemm)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t,
		     float, float *, int64_t);
	/* 2 */
	int (*memory_desc_init_by_strides)(void *, int, const int64_t *, int, const int64_t *);
	int (*memory_desc_init_by_tag)(void *, int, const int64_t *, int, int);
	int (*forward_2)(void *, int, int, md, md, md, md, const int64_t *, const int64_t *, const int64_t *,
			 const int64_t *);
	int (*data_2)(void *, int, md, md, md, const int64_t *, const int64_t *, const int64_t *, const int64_t *);
	int (*weights_2)(void *, int, md, md, md, md, const int64_t *, const int64_t *, const int64_t *,
			 const int64_t *);
	int (*matmul_2)(void *, md, md, md, md);
	int (*primitive_desc_create)(object *, const void *, object, object, object);
	/* 3 */
	int (*memory_desc_create_with_strides)(object *, int, const int64_t *, int, const int64_t *);
	int (*memory_desc_create_with_tag)(object *, int, const int64_t *, int, int);
	int (*memory_desc_destroy)(object);
	int (*forward_3)(object *, object, int, int, md, md, md, md, const int64_t *, const int64_t *, const int64_t *,
			 const int64_t *, object);
	int (*data_3)(object *, object, int, md, md, md, const int64_t *, const int64_t *, const int64_t *,
		      const int64_t *, object, object);
	int (*weights_3)(object *, object, int, md, md, md, md, const int64_t *, const int64_t *, const int64_t *,
			 const int64_t *, object, object);
	int (*matmul_3)(object *, object, md, md, md, md, object);
	void (*set_threads)(int);
	object engine;
} dnnl;

#define COMMON 0
#define TAG_ANY 1

static const struct {
	const char *symbol;
	void *where;
	int version; /* COMMON, 2 or 3 */
} symbols[] = {
	{ "dnnl_engine_create", &dnnl.engine_create, COMMON },
	{ "dnnl_stream_create", &dnnl.stream_create, COMMON },
	{ "dnnl_stream_wait", &dnnl.stream_wait, COMMON },
	{ "dnnl_primitive_create", &dnnl.primitive_create, COMMON },
	{ "dnnl_primitive_execute", &dnnl.primitive_execute, COMMON },
	{ "dnnl_primitive_destroy", &dnnl.primitive_destroy, COMMON },
	{ "dnnl_primitive_desc_destroy", &dnnl.primitive_desc_destroy, COMMON },
	{ "dnnl_primitive_desc_query_md", &dnnl.primitive_desc_query_md, COMMON },
	{ "dnnl_primitive_desc_query", &dnnl.primitive_desc_query, COMMON },
	{ "dnnl_memory_create", &dnnl.memory_create, COMMON },
	{ "dnnl_memory_set_data_handle", &dnnl.memory_set_data_handle, COMMON },
	{ "dnnl_memory_destroy", &dnnl.memory_destroy, COMMON },
	{ "dnnl_memory_desc_get_size", &dnnl.memory_desc_get_size, COMMON },
	{ "dnnl_memory_desc_equal", &dnnl.memory_desc_equal, COMMON },
	{ "dnnl_reorder_primitive_desc_create", &dnnl.reorder, COMMON },
	{ "dnnl_sgemm", &dnnl.sgemm, COMMON },
	{ "dnnl_memory_desc_init_by_strides", &dnnl.memory_desc_init_by_strides, 2 },
	{ "dnnl_memory_desc_init_by_tag", &dnnl.memory_desc_init_by_tag, 2 },
	{ "dnnl_dilated_convolution_forward_desc_init", &dnnl.forward_2, 2 },
	{ "dnnl_dilated_convolution_backward_data_desc_init", &dnnl.data_2, 2 },
	{ "dnnl_dilated_convolution_backward_weights_desc_init", &dnnl.weights_2, 2 },
	{ "dnnl_matmul_desc_init", &dnnl.matmul_2, 2 },
	{ "dnnl_primitive_desc_create", &dnnl.primitive_desc_create, 2 },
	{ "dnnl_memory_desc_create_with_strides", &dnnl.memory_desc_create_with_strides, 3 },
	{ "dnnl_memory_desc_create_with_tag", &dnnl.memory_desc_create_with_tag, 3 },
	{ "dnnl_memory_desc_destroy", &dnnl.memory_desc_destroy, 3 },
	{ "dnnl_convolution_forward_primitive_desc_create", &dnnl.forward_3, 3 },
	{ "dnnl_convolution_backward_data_primitive_desc_create", &dnnl.data_3, 3 },
	{ "dnnl_convolution_backward_weights_primitive_desc_create", &dnnl.weights_3, 3 },
	{ "dnnl_matmul_primitive_desc_create", &dnnl.matmul_3, 3 },
};

/* Two shapes are equal if their bytes are. */
struct shape {
	int64_t is_product;
	union {
		struct onednn_conv conv;
		struct onednn_product product;
	};
};

/* One shape, prepared: the operation, and what brings its three memories into oneDNN's layouts and back. */
struct part {
	object plain, own, reorder; /* memories; own is NULL where the layout is the program's already */
	void *room;
};

struct prepared {
	struct shape shape;
	int direction;
	object primitive;
	bool refused;	       /* oneDNN does not support it well */
	struct part part[3];   /* x, w, y, or A, B, C */
	size_t bytes;	       /* of their rooms */
	uint64_t used, number; /* number: of the product whose B is in its part; 0: none */
};

/*
 * The rooms are the host's memory, which no quota counts: all threads together keep KEPT_MOST bytes of them, and hold
 * HELD_MOST while they compute. A convolution that would need more is the device's own loops' to compute.
 */
#define PREPARED_MOST 32
#define KEPT_MOST (UINT64_C(256) << 20)
#define HELD_MOST (UINT64_C(1) << 30)

static _Atomic uint64_t held;

struct thread {
	object stream;
	uint64_t clock;
	struct prepared *prepared[PREPARED_MOST];
	struct prepared *last;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool have_key;

static void prepared_free(struct prepared *p)
{
	if (!p)
		return;
	for (int i = 0; i < 3; i++) {
		dnnl.memory_destroy(p->part[i].plain);
		dnnl.memory_destroy(p->part[i].own);
		dnnl.primitive_destroy(p->part[i].reorder);
		free(p->part[i].room);
	}
	dnnl.primitive_destroy(p->primitive);
	atomic_fetch_sub_explicit(&held, p->bytes, memory_order_relaxed);
	free(p);
}

static void thread_free(void *given)
{
	struct thread *t = given;

	for (int i = 0; i < PREPARED_MOST; i++)
		prepared_free(t->prepared[i]);
	free(t);
}

static void *open_named(const char *name)
{
	sigset_t all, before;
	void *library;

	/* threads that it makes at once get no signals of the program's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL | OWN_NAMES);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return library;
}

static bool find_symbols(void *library)
{
	dnnl.version = dlsym(library, "dnnl_memory_desc_create_with_strides") ? 3 : 2;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *f = dlsym(library, symbols[i].symbol);

		if (!f && (symbols[i].version == COMMON || symbols[i].version == dnnl.version))
			return false;
		memcpy(symbols[i].where, &f, sizeof(f));
	}
	dnnl.set_threads = (void (*)(int))dlsym(library, "omp_set_num_threads");
	return true;
}

static void open_once(void)
{
	static const char *const names[] = { "libdnnl.so.3", "libdnnl.so.2" };
	const char *named = secure_getenv("METE_ONEDNN");
	void *library = NULL;

	if (named && *named)
		library = open_named(named);
	for (size_t i = 0; !(named && *named) && !library && i < sizeof(names) / sizeof(*names); i++)
		library = open_named(names[i]);
	if (!library) {
		if (named && *named) /* without it the library's own loops compute, and nothing fails */
			log_line("cuDNN on the software device: METE_ONEDNN=%s: %s: convolutions will be several times "
				 "slower; name a libdnnl.so.3 or libdnnl.so.2, or unset it",
				 named, dlerror());
		return;
	}
	dnnl.good = find_symbols(library) && !dnnl.engine_create(&dnnl.engine, CPU, 0) &&
		    !pthread_key_create(&key, thread_free);
	have_key = dnnl.good;
	if (!dnnl.good && named && *named)
		log_line("cuDNN on the software device: METE_ONEDNN=%s is of no version that is known: convolutions "
			 "will be several times slower; name a libdnnl.so.3 or libdnnl.so.2, or unset it",
			 named);
}

bool onednn_open(void)
{
	pthread_once(&once, open_once);
	return dnnl.good;
}

void library_open(void)
{
	onednn_open();
}

static struct thread *thread_get(void)
{
	struct thread *t;

	if (!onednn_open() || !have_key)
		return NULL;
	t = pthread_getspecific(key);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t || dnnl.stream_create(&t->stream, dnnl.engine, 1) || pthread_setspecific(key, t)) {
		free(t);
		return NULL;
	}
	if (dnnl.set_threads)
		dnnl.set_threads(1);
	return t;
}

bool onednn_gemm(bool turned_a, bool turned_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
		 int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	return thread_get() &&
	       !dnnl.sgemm(turned_a ? 'T' : 'N', turned_b ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* ---- preparing ---- */

/* Room of version 2 for a description; version 3 keeps it to itself. */
struct description {
	_Alignas(16) char room[MD_ROOM];
	object made;
	md at;
};

/* `stride` NULL: oneDNN chooses. */
static bool describe(struct description *d, int type, int dims, const int64_t *size, const int64_t *stride)
{
	d->at = d->room;
	if (dnnl.version == 2)
		return !(stride ? dnnl.memory_desc_init_by_strides(d->room, dims, size, type, stride)
				: dnnl.memory_desc_init_by_tag(d->room, dims, size, type, TAG_ANY));
	if (stride ? dnnl.memory_desc_create_with_strides(&d->made, dims, size, type, stride)
		   : dnnl.memory_desc_create_with_tag(&d->made, dims, size, type, TAG_ANY))
		return false;
	d->at = d->made;
	return true;
}

static void forget(struct description *d)
{
	if (d->made)
		dnnl.memory_desc_destroy(d->made);
	d->made = NULL;
}

/* Sizes and strides of x, w and y as oneDNN counts them. */
struct layout {
	int dims[3];
	int64_t size[3][DIMS_MOST], stride[3][DIMS_MOST];
};

static void layout_of(const struct onednn_conv *c, struct layout *l)
{
	int s = (int)c->spatial, first = ONEDNN_SPATIAL - s, grouped = c->groups > 1;
	int64_t out = c->out_channels / c->groups, in = c->in_channels / c->groups;

	l->dims[0] = l->dims[2] = 2 + s;
	l->dims[1] = 2 + s + grouped;
	l->size[0][0] = l->size[2][0] = c->images;
	l->size[0][1] = c->in_channels;
	l->size[2][1] = c->out_channels;
	l->size[1][0] = c->groups;
	l->size[1][grouped] = out;
	l->size[1][grouped + 1] = in;
	for (int i = 0; i < 2; i++) {
		l->stride[0][i] = c->x_stride[i];
		l->stride[2][i] = c->y_stride[i];
	}
	l->stride[1][0] = out * c->w_stride[0];
	l->stride[1][grouped] = c->w_stride[0];
	l->stride[1][grouped + 1] = c->w_stride[1];
	for (int i = 0; i < s; i++) {
		l->size[0][2 + i] = c->in[first + i];
		l->size[1][grouped + 2 + i] = c->window[first + i];
		l->size[2][2 + i] = c->out[first + i];
		l->stride[0][2 + i] = c->x_stride[2 + first + i];
		l->stride[1][grouped + 2 + i] = c->w_stride[2 + first + i];
		l->stride[2][2 + i] = c->y_stride[2 + first + i];
	}
}

static object convolution(const struct onednn_conv *c, md any[3], object hint)
{
	int first = ONEDNN_SPATIAL - (int)c->spatial;
	int64_t after[ONEDNN_SPATIAL], more[ONEDNN_SPATIAL];
	const int64_t *stride = c->stride + first, *dilation = more + first, *before = c->pad + first,
		      *behind = after + first;
	_Alignas(16) char room[CONV_ROOM];
	object made = NULL;
	int e;

	for (int i = 0; i < ONEDNN_SPATIAL; i++) {
		more[i] = c->dilation[i] - 1;
		after[i] =
			(c->out[i] - 1) * c->stride[i] + (c->window[i] - 1) * c->dilation[i] + 1 - c->in[i] - c->pad[i];
	}
	if (dnnl.version == 2) {
		if (c->direction == ONEDNN_FORWARD)
			e = dnnl.forward_2(room, FORWARD, DIRECT, any[0], any[1], NULL, any[2], stride, dilation,
					   before, behind);
		else if (c->direction == ONEDNN_DATA)
			e = dnnl.data_2(room, DIRECT, any[0], any[1], any[2], stride, dilation, before, behind);
		else
			e = dnnl.weights_2(room, DIRECT, any[0], any[1], NULL, any[2], stride, dilation, before,
					   behind);
		return e || dnnl.primitive_desc_create(&made, room, NULL, dnnl.engine, hint) ? NULL : made;
	}
	if (c->direction == ONEDNN_FORWARD)
		e = dnnl.forward_3(&made, dnnl.engine, FORWARD, DIRECT, any[0], any[1], NULL, any[2], stride, dilation,
				   before, behind, NULL);
	else if (c->direction == ONEDNN_DATA)
		e = dnnl.data_3(&made, dnnl.engine, DIRECT, any[0], any[1], any[2], stride, dilation, before, behind,
				hint, NULL);
	else
		e = dnnl.weights_3(&made, dnnl.engine, DIRECT, any[0], any[1], NULL, any[2], stride, dilation, before,
				   behind, hint, NULL);
	return e ? NULL : made;
}

static bool room_take(struct prepared *of, size_t bytes)
{
	uint64_t before = atomic_fetch_add_explicit(&held, bytes, memory_order_relaxed);

	of->bytes += bytes;
	return bytes <= HELD_MOST && before <= HELD_MOST - bytes;
}

/* The memory of one operand, and how it comes to oneDNN's layout or from it. */
static bool part_prepare(struct prepared *of, int which, md plain, md own, bool result)
{
	struct part *p = &of->part[which];
	object desc = NULL;
	size_t bytes = (dnnl.memory_desc_get_size(own) + 63) & ~(size_t)63;

	if (dnnl.memory_create(&p->plain, plain, dnnl.engine, NULL))
		return false;
	if (dnnl.memory_desc_equal(plain, own))
		return true;
	if (!room_take(of, bytes))
		return false;
	p->room = aligned_alloc(64, bytes);
	if (!p->room || dnnl.memory_create(&p->own, own, dnnl.engine, p->room) ||
	    dnnl.reorder(&desc, result ? own : plain, dnnl.engine, result ? plain : own, dnnl.engine, NULL))
		return false;
	if (dnnl.primitive_create(&p->reorder, desc))
		p->reorder = NULL;
	dnnl.primitive_desc_destroy(desc);
	return p->reorder;
}

static const int queries[3][3] = {
	[ONEDNN_FORWARD] = { QUERY_SRC, QUERY_WEIGHTS, QUERY_DST },
	[ONEDNN_DATA] = { QUERY_DIFF_SRC, QUERY_WEIGHTS, QUERY_DIFF_DST },
	[ONEDNN_FILTER] = { QUERY_SRC, QUERY_DIFF_WEIGHTS, QUERY_DIFF_DST },
};

/* Which of x, w and y is the result. */
static const int results[3] = { [ONEDNN_FORWARD] = 2, [ONEDNN_DATA] = 0, [ONEDNN_FILTER] = 1 };

/* Makes the operation and its memories. */
static bool parts_prepare(struct prepared *p, object desc, const struct description plain[3])
{
	bool good = !dnnl.primitive_create(&p->primitive, desc);

	for (int i = 0; good && i < 3; i++)
		good = part_prepare(p, i, plain[i].at, dnnl.primitive_desc_query_md(desc, queries[p->direction][i], 0),
				    i == results[p->direction]);
	return good;
}

static bool prepare_conv(struct prepared *p, struct description plain[3], struct description any[3])
{
	const struct onednn_conv *shape = &p->shape.conv;
	struct onednn_conv forward = *shape;
	md list[3];
	struct layout l = { 0 };
	object hint = NULL, desc;
	bool good;

	layout_of(shape, &l);
	for (int i = 0; i < 3; i++) {
		if (!describe(&plain[i], F32, l.dims[i], l.size[i], l.stride[i]) ||
		    !describe(&any[i], F32, l.dims[i], l.size[i], NULL))
			return false;
		list[i] = any[i].at;
	}
	forward.direction = ONEDNN_FORWARD;
	if (shape->direction != ONEDNN_FORWARD) {
		hint = convolution(&forward, list, NULL);
		if (!hint)
			return false;
	}
	desc = convolution(shape, list, hint);
	good = desc && parts_prepare(p, desc, plain);
	if (hint)
		dnnl.primitive_desc_destroy(hint);
	if (desc)
		dnnl.primitive_desc_destroy(desc);
	return good;
}

/* What oneDNN would compute by its loops for any shape, the library's own loops compute as well. */
static bool is_reference(object desc)
{
	const char *name = NULL;

	return !dnnl.primitive_desc_query(desc, QUERY_NAME, 0, &name) && name && !strncmp(name, "ref", 3);
}

static object product_of(md a, md b, md c)
{
	_Alignas(16) char room[CONV_ROOM];
	object made = NULL;

	if (dnnl.version == 3)
		return dnnl.matmul_3(&made, dnnl.engine, a, b, NULL, c, NULL) ? NULL : made;
	return dnnl.matmul_2(room, a, b, NULL, c) || dnnl.primitive_desc_create(&made, room, NULL, dnnl.engine, NULL)
		       ? NULL
		       : made;
}

/* Only B is brought into another layout: it may be used more than once. */
static bool prepare_product(struct prepared *p, struct description plain[3], struct description any[3])
{
	const struct onednn_product *s = &p->shape.product;
	int type = s->bfloat ? BF16 : F32;
	const int64_t a[] = { s->rows, s->inner }, b[] = { s->inner, s->columns }, c[] = { s->rows, s->columns };
	object desc;
	bool good;

	if (!describe(&plain[0], type, 2, a, s->a_stride) || !describe(&plain[1], type, 2, b, s->b_stride) ||
	    !describe(&any[1], type, 2, b, NULL) || !describe(&plain[2], s->bfloat_c ? BF16 : F32, 2, c, s->c_stride))
		return false;
	desc = product_of(plain[0].at, any[1].at, plain[2].at);
	p->refused = !desc || is_reference(desc);
	good = !p->refused && parts_prepare(p, desc, plain);
	if (desc)
		dnnl.primitive_desc_destroy(desc);
	return good;
}

static void place_free(struct thread *t, int i)
{
	if (t->last == t->prepared[i])
		t->last = NULL;
	prepared_free(t->prepared[i]);
	t->prepared[i] = NULL;
}

/* Those of this thread that have been used longest ago go, until no more than `bytes` are held. */
static void make_room(struct thread *t, uint64_t bytes, const struct prepared *but)
{
	while (atomic_load_explicit(&held, memory_order_relaxed) > bytes) {
		int oldest = -1;

		for (int i = 0; i < PREPARED_MOST; i++)
			if (t->prepared[i] && t->prepared[i] != but && t->prepared[i]->bytes &&
			    (oldest < 0 || t->prepared[i]->used < t->prepared[oldest]->used))
				oldest = i;
		if (oldest < 0)
			return;
		place_free(t, oldest);
	}
}

/* What is held beyond what may be kept goes: of others first. */
static void keep_less(struct thread *t, struct prepared *p)
{
	make_room(t, KEPT_MOST, p);
	make_room(t, KEPT_MOST, NULL);
}

/* NULL: oneDNN does not support it. */
static struct prepared *prepared_get(struct thread *t, const struct shape *shape)
{
	struct description *room = NULL;
	struct prepared *p;
	int oldest = 0;
	bool good;

	for (int i = 0; i < PREPARED_MOST; i++) {
		p = t->prepared[i];
		if (p && !memcmp(&p->shape, shape, sizeof(*shape)))
			return p->refused ? NULL : p;
		if (!p || (t->prepared[oldest] && p->used < t->prepared[oldest]->used))
			oldest = i;
	}
	p = calloc(1, sizeof(*p));
	room = calloc(6, sizeof(*room));
	if (!p || !room) {
		free(p);
		free(room);
		return NULL;
	}
	p->shape = *shape;
	p->direction = shape->is_product ? ONEDNN_FORWARD : (int)shape->conv.direction;
	p->used = ++t->clock;
	good = shape->is_product ? prepare_product(p, room, room + 3) : prepare_conv(p, room, room + 3);
	for (int i = 0; i < 6; i++)
		forget(&room[i]);
	free(room);
	if (!good && !p->refused) {
		prepared_free(p);
		return NULL;
	}
	place_free(t, oldest);
	t->prepared[oldest] = p;
	return good ? p : NULL;
}

/* ---- executing ---- */

static bool bring(struct thread *t, const struct part *p, bool back)
{
	struct argument list[2] = { { ARG_SRC, back ? p->own : p->plain }, { ARG_DST, back ? p->plain : p->own } };

	return !p->reorder || !dnnl.primitive_execute(p->reorder, t->stream, 2, list);
}

/* `same`: the second memory is as it was in the previous call. */
static bool execute(struct thread *t, struct prepared *p, const void *const data[3], bool same)
{
	static const int numbers[3] = { ARG_SRC, ARG_WEIGHTS, ARG_DST };
	int result = results[p->direction];
	struct argument list[3];

	p->used = ++t->clock;
	for (int i = 0; i < 3; i++) {
		bool gradient = i == result ? p->direction != ONEDNN_FORWARD : i == 2 && p->direction != ONEDNN_FORWARD;

		dnnl.memory_set_data_handle(p->part[i].plain, (void *)(uintptr_t)data[i]);
		list[i] = (struct argument){ numbers[i] + (gradient ? ARG_DIFF : 0),
					     p->part[i].own ? p->part[i].own : p->part[i].plain };
		if (i != result && !(i == 1 && same) && !bring(t, &p->part[i], false))
			return false;
	}
	t->last = p;
	return !dnnl.primitive_execute(p->primitive, t->stream, 3, list) && bring(t, &p->part[result], true) &&
	       !dnnl.stream_wait(t->stream);
}

bool onednn_conv(const struct onednn_conv *shape, const float *x, const float *w, const float *y, bool same_filter)
{
	const void *data[3] = { x, w, y };
	struct thread *t = thread_get();
	struct prepared *p;
	struct shape wanted;
	bool good;

	memset(&wanted, 0, sizeof(wanted));
	wanted.conv = *shape;
	p = t ? prepared_get(t, &wanted) : NULL;
	good = p && execute(t, p, data, same_filter && t->last == p);
	if (p)
		keep_less(t, p);
	return good;
}

bool onednn_has_bfloat(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("avx512bf16");
#else
	return false;
#endif
}

bool onednn_product(const struct onednn_product *shape, uint64_t number, const void *a, const void *b, void *c)
{
	const void *data[3] = { a, b, c };
	struct thread *t = thread_get();
	struct prepared *p;
	struct shape wanted;
	bool good;

	memset(&wanted, 0, sizeof(wanted));
	wanted.is_product = 1;
	wanted.product = *shape;
	p = t ? prepared_get(t, &wanted) : NULL;
	if (!p)
		return false;
	good = execute(t, p, data, number && p->number == number);
	p->number = good ? number : 0;
	keep_less(t, p);
	return good;
}
