/* functions.c: see functions.h. */
#include "remote/client/functions.h"

#include "remote/client/context.h"
#include "remote/client/globals.h"
#include "remote/client/ranges.h"
#include "remote/client/thread.h"
#include "remote/client/twins.h"
#include "remote/client/unified.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER; /* records of handles that the worker named by itself */

/* ---- records ---- */

static unsigned int bucket_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return (h ^ h >> 16) % CODE_BUCKETS;
}

static void function_free(struct function *f)
{
	if (!f)
		return;
	free(atomic_load(&f->legacy));
	free(f);
}

static void function_end(struct grave *grave)
{
	function_free((struct function *)grave);
}

/* A launch by another thread may be reading the record. */
static void function_gone(void *data)
{
	struct function *f = data;

	grave_bury(&f->grave, function_end);
}

/* What was told of it, copied into one piece of memory. */
static struct function *function_new(const struct code_told *told, const char *name, const struct code_param *param,
				     const struct code_attributes *attribute)
{
	uint32_t params = told->params == CODE_COUNT_UNKNOWN ? 0 : told->params;
	size_t name_bytes = strlen(name) + 1, param_bytes = params * sizeof(*param);
	size_t attribute_bytes = told->devices * sizeof(*attribute);
	struct function *f = calloc(1, sizeof(*f) + param_bytes + attribute_bytes + name_bytes);
	uint8_t *at = (uint8_t *)(f + 1);

	if (!f)
		return NULL;
	f->id = told->id;
	f->layout = told->params != CODE_COUNT_UNKNOWN;
	f->params = params;
	f->param = memcpy(at, param, param_bytes);
	f->devices = told->devices;
	f->attribute = memcpy(at + param_bytes, attribute, attribute_bytes);
	f->name = memcpy(at + param_bytes + attribute_bytes, name, name_bytes);
	for (uint32_t i = 0; i < params; i++)
		if (param[i].offset + param[i].bytes > f->param_bytes)
			f->param_bytes = param[i].offset + param[i].bytes;
	return f;
}

static bool params_good(const struct code_param *param, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (param[i].bytes > CODE_PARAM_BYTES_MOST || param[i].offset > CODE_PARAM_BYTES_MOST - param[i].bytes)
			return false;
	return true;
}

/* Reads one function; NULL: malformed, or no memory. */
static struct function *function_read(struct client_call *c)
{
	const struct code_attributes *attribute;
	const struct code_param *param;
	struct code_told told;
	const char *name;
	uint32_t params;

	remote_get(&c->in, &told, sizeof(told));
	name = remote_take_string(&c->in);
	params = told.params == CODE_COUNT_UNKNOWN ? 0 : told.params;
	if (c->in.bad || params > CODE_PARAMS_MOST || told.devices > CODE_DEVICES_MOST)
		return NULL;
	param = remote_take(&c->in, params * sizeof(*param));
	attribute = remote_take(&c->in, told.devices * sizeof(*attribute));
	if (c->in.bad || !params_good(param, params))
		return NULL;
	return function_new(&told, name, param, attribute);
}

/* The next function of the answer, with its handle; one that is known already is given instead. */
static struct function *function_meet(struct client_call *c, const void *owner)
{
	struct function *f = function_read(c), *old;

	if (!f)
		return NULL;
	f->session = c->session;
	f->kind = (enum remote_kind)(f->id >> 56);
	f->handle = f->kind == KIND_FUNCTION || f->kind == KIND_KERNEL ? client_meet(c, f->kind, owner, f->id) : NULL;
	if (!f->handle) {
		free(f);
		return NULL;
	}
	pthread_mutex_lock(&making);
	old = client_kept(f->kind, f->handle);
	if (!old)
		client_keep(f->handle, f, function_gone);
	pthread_mutex_unlock(&making);
	if (old)
		free(f);
	return old ? old : f;
}

static struct function *code_find(struct code *code, const char *name)
{
	struct function *f = atomic_load_explicit(&code->bucket[bucket_of(name)], memory_order_acquire); /* code_add */

	while (f && strcmp(f->name, name))
		f = f->next;
	return f;
}

static void code_add(struct code *code, struct function *f)
{
	_Atomic(struct function *) *bucket = &code->bucket[bucket_of(f->name)];

	pthread_mutex_lock(&code->lock);
	if (!f->code) {
		f->code = code;
		f->next = atomic_load_explicit(bucket, memory_order_relaxed);
		atomic_store_explicit(bucket, f, memory_order_release); /* code_find */
		atomic_fetch_add(&code->told, 1);
	}
	pthread_mutex_unlock(&code->lock);
}

/* ---- modules and libraries ---- */

static void code_end(struct grave *grave)
{
	struct code *code = (struct code *)grave;

	globals_free(atomic_load(&code->globals));
	twins_free(code->twins);
	pthread_mutex_destroy(&code->lock);
	free(code);
}

static void code_gone(void *data)
{
	struct code *code = data;

	unified_drop_owner((uint64_t)(uintptr_t)code->handle);
	ranges_drop_owner((uint64_t)(uintptr_t)code->handle);
	grave_bury(&code->grave, code_end);
}

struct code *code_new(struct session *session, enum remote_kind kind, void *handle, uint64_t id)
{
	struct code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	pthread_mutex_init(&code->lock, NULL);
	code->session = session;
	code->id = id;
	code->handle = handle;
	code->kind = kind;
	code->count = CODE_COUNT_UNKNOWN;
	client_keep(handle, code, code_gone);
	return code;
}

struct code *code_use(struct client_call *c, enum remote_kind kind, const void *handle)
{
	uint64_t id = client_use_first(c, kind, handle);
	struct code *code;

	if (c->result != CUDA_SUCCESS)
		return NULL;
	if (!id) {
		c->result = CUDA_ERROR_INVALID_HANDLE;
		return NULL;
	}
	code = client_kept(kind, handle);
	if (code)
		return code;
	pthread_mutex_lock(&making);
	code = client_kept(kind, handle);
	if (!code)
		code = code_new(c->session, kind, (void *)(uintptr_t)handle, id);
	pthread_mutex_unlock(&making);
	if (!code)
		c->result = CUDA_ERROR_OUT_OF_MEMORY;
	return code;
}

bool code_learn(struct client_call *c, struct code *code, const struct code_loaded *loaded)
{
	for (uint32_t i = 0; i < loaded->told; i++) {
		struct function *f = function_meet(c, code->handle);

		if (!f)
			return false;
		code_add(code, f);
	}
	atomic_store(&code->count, loaded->count);
	if (loaded->variables)
		atomic_store(&code->variables, true);
	return c->in.used == c->in.size;
}

/* Begins a request about an object. Value: it is under way, and its answer a success. */
static bool ask(struct client_call *c, struct session *session, enum code_call call, const struct code_ask *what,
		const char *name)
{
	client_request(c, (uint16_t)call);
	c->session = session;
	if (!client_begin_room(c, true, sizeof(*what) + 16 + CODE_NAME_MOST))
		return false;
	remote_put(&c->out, what, sizeof(*what));
	if (name)
		remote_put_string(&c->out, name);
	client_send(c);
	return c->result == CUDA_SUCCESS;
}

/* Asks for one function. `owner`: what its handle goes away with. */
static struct function *function_ask(struct client_call *c, struct session *session, const struct code_ask *what,
				     const char *name, const void *owner)
{
	struct function *f = NULL;
	struct client_call asking;

	if (ask(&asking, session, CALL_CODE_TELL, what, name)) {
		f = function_meet(&asking, owner);
		if (!f)
			asking.result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	c->result = client_end(&asking);
	return c->result == CUDA_SUCCESS ? f : NULL;
}

bool code_count(struct client_call *c, struct code *code)
{
	struct code_ask what = { .owner = code->id };
	struct code_loaded loaded;
	struct client_call asking;

	if (atomic_load(&code->count) != CODE_COUNT_UNKNOWN)
		return true;
	if (ask(&asking, code->session, CALL_CODE_LIST, &what, NULL)) {
		remote_get(&asking.in, &loaded, sizeof(loaded));
		if (!code_learn(&asking, code, &loaded))
			asking.result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	c->result = client_end(&asking);
	if (c->result == CUDA_SUCCESS && atomic_load(&code->count) == CODE_COUNT_UNKNOWN)
		c->result = CUDA_ERROR_NOT_SUPPORTED; /* a driver that cannot tell */
	return c->result == CUDA_SUCCESS;
}

struct function *code_function(struct client_call *c, struct code *code, const char *name)
{
	struct code_ask what = { .owner = code->id };
	struct function *f = code_find(code, name);

	if (f)
		return f;
	if (atomic_load(&code->told) == atomic_load(&code->count) || strlen(name) >= CODE_NAME_MOST - 1) {
		c->result = CUDA_ERROR_NOT_FOUND;
		return NULL;
	}
	f = function_ask(c, code->session, &what, name, code->handle);
	if (f)
		code_add(code, f);
	return f;
}

/* The order is the driver's: it has to be asked, unless there is only one. */
CUresult code_enumerate(struct client_call *c, struct code *code, void **list, unsigned int most)
{
	struct code_ask what = { .owner = code->id };

	if (!code_count(c, code))
		return c->result;
	while (what.from < most && what.from < atomic_load(&code->count)) {
		struct code_loaded loaded = { 0 };
		struct client_call asking;

		if (ask(&asking, code->session, CALL_CODE_LIST, &what, NULL)) {
			remote_get(&asking.in, &loaded, sizeof(loaded));
			for (uint32_t i = 0; i < loaded.told; i++) {
				struct function *f = function_meet(&asking, code->handle);

				if (!f) {
					asking.result = CUDA_ERROR_OUT_OF_MEMORY;
					break;
				}
				code_add(code, f);
				if (what.from < most)
					list[what.from++] = f->handle;
			}
			if (!loaded.told)
				asking.result = CUDA_ERROR_OUT_OF_MEMORY; /* not even one could be told */
		}
		c->result = client_end(&asking);
		if (c->result != CUDA_SUCCESS)
			break;
	}
	return c->result;
}

/* ---- functions by handle ---- */

static struct function *use(struct client_call *c, enum remote_kind kind, struct function *f, const void *handle)
{
	struct code_ask what = { .itself = 1 };

	if (f) {
		if (!c->session)
			c->session = f->session;
		if (c->session == f->session)
			return f;
		c->result = CUDA_ERROR_INVALID_HANDLE;
		return NULL;
	}
	what.owner = client_use(c, kind, handle);
	if (c->result == CUDA_SUCCESS && !what.owner)
		c->result = CUDA_ERROR_INVALID_HANDLE;
	return c->result == CUDA_SUCCESS ? function_ask(c, c->session, &what, "", NULL) : NULL;
}

struct function *function_use(struct client_call *c, const void *handle)
{
	struct function *f = client_kept(KIND_FUNCTION, handle);

	if (!f) {
		handle = twin_here(c, handle);
		f = client_kept(KIND_KERNEL, handle);
	}
	return c->result == CUDA_SUCCESS ? use(c, KIND_FUNCTION, f, handle) : NULL;
}

struct function *kernel_use(struct client_call *c, const void *handle)
{
	if (c->session)
		handle = twin_of(c, c->session, handle);
	return c->result == CUDA_SUCCESS ? use(c, KIND_KERNEL, client_kept(KIND_KERNEL, handle), handle) : NULL;
}

static struct function *kernel_function_find(struct function *kernel, uint64_t context)
{
	struct function *f = atomic_load_explicit(&kernel->functions, memory_order_acquire); /* kernel_function */

	while (f && f->context != context)
		f = f->next;
	return f;
}

struct function *kernel_function(struct client_call *c, struct function *kernel)
{
	struct code_ask what = { .owner = 0 };
	struct context *context;
	struct function *f;

	c->result = context_current(thread_get(), &context);
	if (c->result != CUDA_SUCCESS)
		return NULL;
	if (kernel->session != context->session) {
		kernel = client_kept(KIND_KERNEL, twin_of(c, context->session, kernel->handle));
		if (!kernel)
			return NULL;
	}
	what.owner = kernel->id;
	f = kernel_function_find(kernel, context->id);
	if (f)
		return f;
	f = function_ask(c, kernel->session, &what, "", kernel->handle);
	if (!f)
		return NULL;
	pthread_mutex_lock(&making);
	if (!f->kernel) {
		f->kernel = kernel;
		f->code = kernel->code;
		f->context = context->id;
		f->next = atomic_load_explicit(&kernel->functions, memory_order_relaxed);
		atomic_store_explicit(&kernel->functions, f, memory_order_release); /* kernel_function_find */
	}
	pthread_mutex_unlock(&making);
	return f;
}

/* ---- attributes ---- */

/* What was set has made them void. */
static void attributes_ask(struct client_call *c, struct function *f)
{
	struct code_ask what = { .owner = f->id, .itself = 1 };
	struct function *now = NULL;
	struct client_call asking;

	if (ask(&asking, f->session, CALL_CODE_TELL, &what, ""))
		now = function_read(&asking);
	c->result = client_end(&asking);
	for (uint32_t d = 0; now && d < now->devices && d < f->devices; d++) {
		for (unsigned int a = 0; a < CODE_ATTRIBUTES; a++)
			__atomic_store_n(&f->attribute[d].value[a], now->attribute[d].value[a], __ATOMIC_RELAXED);
		__atomic_store_n(&f->attribute[d].known, now->attribute[d].known, __ATOMIC_RELEASE);
	}
	free(now);
}

static struct code_attributes *attribute_known(struct function *f, int device, CUfunction_attribute attribute)
{
	struct code_attributes *a = &f->attribute[device];

	return __atomic_load_n(&a->known, __ATOMIC_ACQUIRE) & 1u << attribute ? a : NULL;
}

struct code_attributes *function_attribute(struct client_call *c, struct function *f, int device,
					   CUfunction_attribute attribute)
{
	struct code_attributes *a;

	if (f->kind == KIND_FUNCTION)
		device = 0;
	if ((unsigned int)attribute >= CODE_ATTRIBUTES || device < 0 || (uint32_t)device >= f->devices)
		return NULL;
	a = attribute_known(f, device, attribute);
	if (a || __atomic_load_n(&f->attribute[device].known, __ATOMIC_ACQUIRE))
		return a;
	attributes_ask(c, f);
	return attribute_known(f, device, attribute);
}
