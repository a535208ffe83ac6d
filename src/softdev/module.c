/*
 * module.c: see module.h. Loading, and the calls on modules.
 *
 * Order: module_ending, module_life, module_mutex, then what range_new() takes. The engine is called without a lock.
 */
#include "softdev/module.h"

#include "base/cleanup.h"
#include "base/holder.h"
#include "softdev/image/image.h"
#include "softdev/check.h"
#include "softdev/jit.h"
#include "softdev/log.h"
#include "softdev/stream.h"
#include "softdev/texture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MOST (INT64_C(1) << 31)

pthread_mutex_t module_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t module_ending = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t module_life = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

/* ---- images ---- */

static uint32_t device_arch(void)
{
	const struct segment_config *c = driver.device[0].config; /* all devices of a segment are of one kind */

	return c->cc_major * 10 + c->cc_minor;
}

void source_deinit(struct source *s)
{
	for (size_t i = 0; i < s->count; i++)
		free((void *)(uintptr_t)s->text[i].text);
	free(s->text);
	memset(s, 0, sizeof(*s));
}

static bool source_copy(const struct image_ptx *ptx, struct source *ret)
{
	struct source s = { .text = calloc(ptx->count + 1, sizeof(*s.text)), .max_registers = ret->max_registers };

	if (!s.text)
		return false;
	for (; s.count < ptx->count; s.count++) {
		const struct image_text *t = &ptx->text[s.count];
		char *copy = malloc(t->bytes + 1);

		if (!copy) {
			source_deinit(&s);
			return false;
		}
		memcpy(copy, t->text, t->bytes);
		copy[t->bytes] = 0;
		s.text[s.count] = (struct ptx_text){ copy, t->bytes };
	}
	*ret = s;
	return true;
}

static CUresult image_error(int outcome)
{
	switch (outcome) {
	case IMAGE_NO_PTX:
	case IMAGE_TOO_NEW:
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	case IMAGE_INVALID:
		return CUDA_ERROR_INVALID_IMAGE;
	default:
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
}

static CUresult ptx_error(int outcome)
{
	switch (outcome) {
	case PTX_OK:
		return CUDA_SUCCESS;
	case PTX_INVALID:
	case PTX_TOO_NEW_TARGET:
	case PTX_UNRESOLVED:
		return CUDA_ERROR_INVALID_PTX;
	case PTX_TOO_NEW_VERSION:
		return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
	default:
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
}

CUresult source_decode(const struct source *s, struct ptx_module **ret, char *log, size_t log_bytes)
{
	struct ptx_options options = { .arch = device_arch(),
				       .max_registers = s->max_registers,
				       .compile = (enum ptx_compile)driver.compile };

	return ptx_error(ptx_module_load(s->text, s->count, &options, ret, log, log_bytes));
}

/*
 * Why an image was refused, and which file holds it. A library of others may hold hundreds that are machine code only:
 * that is said once of each. Of the program's own it is said each time.
 */
static void say_refused(const void *image, int r, const char *why)
{
	struct holder h;

	if (!holder_of(image, &h))
		log_line("module: %s", why);
	else if (r != IMAGE_NO_PTX || h.is_program || holder_first(&h))
		log_line("module: %s: %s", h.name, why);
}

CUresult source_load(const void *image, size_t bytes, struct source *ret, struct ptx_module **ret_module, char *log,
		     size_t log_bytes)
{
	struct image_ptx ptx = { 0 };
	struct source s = { .max_registers = ret->max_registers };
	CUresult e;
	int r;

	log[0] = 0;
	r = bytes ? image_find_ptx_bounded(image, bytes, device_arch(), &ptx, log, log_bytes)
		  : image_find_ptx(image, device_arch(), &ptx, log, log_bytes);
	if (r) {
		say_refused(image, r, log[0] ? log : "no memory for the image");
		return image_error(r);
	}
	e = source_copy(&ptx, &s) ? source_decode(&s, ret_module, log, log_bytes) : CUDA_ERROR_OUT_OF_MEMORY;
	image_ptx_deinit(&ptx);
	if (e) {
		log_line("module: %s", log[0] ? log : "no memory for the PTX text");
		source_deinit(&s);
		return e;
	}
	*ret = s;
	return CUDA_SUCCESS;
}

/* A whole file with a NUL after it. */
CUresult image_read_file(const char *path, char **ret, size_t *ret_bytes)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *p = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return CUDA_ERROR_FILE_NOT_FOUND;
	if (!st.st_size || st.st_size > FILE_MOST)
		return CUDA_ERROR_INVALID_IMAGE;
	p = calloc(1, (size_t)st.st_size + 1);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t at = 0; at < (size_t)st.st_size; at += (size_t)n) {
		n = read(fd, p + at, (size_t)st.st_size - at);
		if (n <= 0)
			return CUDA_ERROR_FILE_NOT_FOUND;
	}
	*ret_bytes = (size_t)st.st_size;
	*ret = steal_ptr(p);
	return CUDA_SUCCESS;
}

/* ---- modules ---- */

static CUresult module_variables(struct module *m)
{
	size_t count = ptx_module_variable_count(m->ptx);
	_cleanup_free_ uint64_t *address = calloc(count + 1, sizeof(*address));

	m->variable = calloc(count + 1, sizeof(*m->variable));
	m->reference = calloc(count + 1, sizeof(*m->reference));
	if (!address || !m->variable || !m->reference)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < count; i++) {
		const struct ptx_variable *v = ptx_module_variable_at(m->ptx, i);
		const bool reference = v->space >= PTX_TEXREF;
		CUresult e = reference ? texref_new(m->context, v, &m->reference[i])
				       : range_new(m->context->device, m->context, RANGE_VARIABLE,
						   v->bytes ? v->bytes : 1, &m->variable[i]);

		if (e)
			return e;
		if (reference) {
			address[i] = (uintptr_t)m->reference[i];
			continue;
		}
		m->variable[i]->flags = v->managed;
		m->variable[i]->read_only = v->space == PTX_CONST;
		m->variable[i]->name = v->name;
		address[i] = m->variable[i]->begin;
	}
	return ptx_module_bind(m->ptx, address) ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS;
}

static uint64_t variables_bytes(const struct ptx_module *ptx)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < ptx_module_variable_count(ptx); i++) {
		const struct ptx_variable *v = ptx_module_variable_at(ptx, i);

		if (v->space < PTX_TEXREF)
			bytes += ((v->bytes ? v->bytes : 1) + SEGMENT_UNIT_BYTES - 1) / SEGMENT_UNIT_BYTES *
				 SEGMENT_UNIT_BYTES;
	}
	return bytes;
}

uint64_t module_need_bytes(const void *handle)
{
	const struct module *m = handle_find(HANDLE_MODULE, handle);
	const struct library *l = handle_find(HANDLE_LIBRARY, handle);

	return m ? variables_bytes(m->ptx) : l ? variables_bytes(l->first) : 0;
}

static void module_drop(struct module *m)
{
	size_t count = ptx_module_variable_count(m->ptx);

	for (size_t i = 0; m->variable && i < count; i++)
		range_free(m->variable[i]);
	for (size_t i = 0; m->reference && i < count; i++)
		if (m->reference[i])
			handle_free(m->reference[i]);
	free(m->reference);
	free(m->variable);
	ptx_module_free(m->ptx);
	source_deinit(&m->source);
}

void module_free(struct module *m)
{
	module_drop(m);
	pthread_rwlock_wrlock(
		&module_life); /* their places are others' only after the calls that have looked at them */
	while (m->functions) {
		struct function *f = m->functions;

		m->functions = f->next;
		handle_free(f);
	}
	handle_free(m);
	pthread_rwlock_unlock(&module_life);
}

CUresult module_new(struct context *c, struct ptx_module *ptx, struct library *library, struct module **ret)
{
	struct module *m = handle_begin(HANDLE_MODULE);
	CUresult e;

	if (!m) {
		ptx_module_free(ptx);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m->context = c;
	m->library = library;
	m->ptx = ptx;
	e = module_variables(m);
	if (e) {
		module_drop(m);
		handle_free(m);
		return e;
	}
	handle_publish(m);
	*ret = m;
	return e;
}

static void module_end(void *object, void *context)
{
	struct module *m = object;

	if (m->context != context || !handle_retire(m))
		return;
	if (m->library)
		library_forget(m);
	module_free(m);
}

void module_free_all(struct context *c)
{
	pthread_mutex_lock(&module_ending);
	handle_each(HANDLE_MODULE, module_end, c);
	pthread_mutex_unlock(&module_ending);
}

static CUresult module_find(CUmodule h, struct module **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	*ret = handle_find(HANDLE_MODULE, h);
	if (*ret && ((*ret)->leaving || (*ret)->context->closing))
		*ret = NULL;
	return *ret ? (CUresult)(*ret)->context->sticky : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult context_to_load_in(struct context **ret)
{
	MODULES_STAY;

	return context_current(ret);
}

/* In the context in which loading began, which may have ended meanwhile. Takes over what was decoded. */
static CUresult module_here(const struct context *c, struct ptx_module *ptx, struct module **ret)
{
	MODULES_STAY;
	struct context *now;
	CUresult e = context_current(&now);

	if (!e && now != c)
		e = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (e)
		ptx_module_free(ptx);
	return e ? e : module_new(now, ptx, NULL, ret);
}

static CUresult module_load(CUmodule *ret, const void *image, size_t bytes, const struct jit *j)
{
	struct source source = { .max_registers = j ? j->max_registers : 0 };
	struct ptx_module *ptx;
	struct module *m = NULL;
	struct context *c;
	char log[1024];
	CUresult e = context_to_load_in(&c);

	if (e)
		return e;
	if (!ret || !image)
		return CUDA_ERROR_INVALID_VALUE;
	e = source_load(image, bytes, &source, &ptx, log, sizeof(log));
	if (j)
		jit_report(j, e ? log : "", e ? NULL : ptx);
	if (e)
		return e;
	e = module_here(c, ptx, &m);
	if (!e && check_reports()) {
		m->source = source; /* reports show its instructions */
		memset(&source, 0, sizeof(source));
	}
	source_deinit(&source);
	if (!e)
		*ret = (CUmodule)m;
	return e;
}

CUresult soft_cuModuleLoadData(CUmodule *ret, const void *image)
{
	return module_load(ret, image, 0, NULL);
}

CUresult soft_cuModuleLoadDataEx(CUmodule *ret, const void *image, unsigned count, CUjit_option *option, void **value)
{
	struct jit j;
	CUresult e = jit_read(count, option, value, &j);

	return e ? e : module_load(ret, image, 0, &j);
}

CUresult soft_cuModuleLoadFatBinary(CUmodule *ret, const void *image)
{
	return module_load(ret, image, 0, NULL);
}

CUresult soft_cuModuleLoad(CUmodule *ret, const char *path)
{
	_cleanup_free_ char *image = NULL;
	struct context *c;
	size_t bytes;
	CUresult e = context_to_load_in(&c);

	if (e)
		return e;
	if (!ret || !path)
		return CUDA_ERROR_INVALID_VALUE;
	e = image_read_file(path, &image, &bytes);
	return e ? e : module_load(ret, image, bytes, NULL);
}

/* From here on no call finds it, nor its functions. */
static CUresult module_leaves(CUmodule h, struct module **ret)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (!e)
		e = module_find(h, ret);
	if (!e && (*ret)->library)
		e = CUDA_ERROR_INVALID_HANDLE;
	if (!e)
		(*ret)->leaving = true;
	return e;
}

CUresult soft_cuModuleUnload(CUmodule h)
{
	struct device *device = NULL;
	uint64_t generation = 0;
	struct module *m;
	bool asked = false;
	CUresult e;

	pthread_rwlock_wrlock(&module_life);
	e = module_leaves(h, &m);
	if (!e) {
		device = m->context->device;
		generation = m->head.generation;
		asked = m->asked;
	}
	pthread_rwlock_unlock(&module_life);
	if (e)
		return e;
	/* Waits for no work that cannot be using it: the shim measures images by loading and unloading them. */
	if (asked)
		stream_wait_device(device);
	pthread_mutex_lock(&module_ending);
	if (m->head.generation == generation && m->head.live) { /* else its context has taken it along */
		if (asked)
			stream_drain_context(m->context); /* one that ends is no device's any more */
		handle_retire(m);
		module_free(m);
	}
	pthread_mutex_unlock(&module_ending);
	return e;
}

CUresult soft_cuModuleGetLoadingMode(CUmoduleLoadingMode *ret)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = CU_MODULE_EAGER_LOADING;
	return CUDA_SUCCESS;
}

/* ---- what is in a module ---- */

CUresult module_function(struct module *m, const char *name, struct function **ret)
{
	const struct ptx_kernel *k = ptx_module_kernel_find(m->ptx, name);
	struct function *f;

	if (!k)
		return CUDA_ERROR_NOT_FOUND;
	atomic_store(&m->asked, true);
	pthread_mutex_lock(&module_mutex);
	for (f = m->functions; f && f->kernel != k; f = f->next)
		;
	if (!f && (f = handle_begin(HANDLE_FUNCTION))) {
		f->module = m;
		f->kernel = k;
		f->settings = FUNCTION_SETTINGS_NONE;
		atomic_store(&f->loaded, false);
		f->next = m->functions;
		m->functions = f;
		handle_publish(f);
	}
	pthread_mutex_unlock(&module_mutex);
	*ret = f;
	return f ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult soft_cuModuleGetFunction(CUfunction *ret, CUmodule h, const char *name)
{
	MODULES_STAY;
	struct function *f;
	struct module *m;
	CUresult e = module_find(h, &m);

	if (e)
		return e;
	if (!ret || !name || !name[0])
		return CUDA_ERROR_INVALID_VALUE;
	e = module_function(m, name, &f);
	if (e)
		return e;
	atomic_store(&f->loaded, true);
	*ret = (CUfunction)f;
	return CUDA_SUCCESS;
}

CUresult soft_cuModuleGetFunctionCount(unsigned *ret, CUmodule h)
{
	MODULES_STAY;
	struct module *m;
	CUresult e = module_find(h, &m);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (unsigned)ptx_module_kernel_count(m->ptx);
	return CUDA_SUCCESS;
}

CUresult soft_cuModuleEnumerateFunctions(CUfunction *ret, unsigned count, CUmodule h)
{
	MODULES_STAY;
	struct function *f;
	struct module *m;
	CUresult e = module_find(h, &m);

	if (e)
		return e;
	if (!ret || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; !e && i < count && i < ptx_module_kernel_count(m->ptx); i++) {
		e = module_function(m, ptx_module_kernel_at(m->ptx, i)->name, &f);
		if (!e)
			ret[i] = (CUfunction)f;
	}
	return e;
}

CUresult module_global(struct module *m, const char *name, CUdeviceptr *ret, size_t *ret_bytes, bool managed)
{
	const struct ptx_variable *v = ptx_module_variable_find(m->ptx, name);

	/* Found without .visible as well: compilers leave it away in whole-program mode, and programs look them up. */
	if (!v || v->space >= PTX_TEXREF || (managed && !v->managed))
		return CUDA_ERROR_NOT_FOUND;
	atomic_store(&m->asked, true);
	if (ret)
		*ret = v->address;
	if (ret_bytes)
		*ret_bytes = v->bytes;
	return CUDA_SUCCESS;
}

CUresult soft_cuModuleGetGlobal_v2(CUdeviceptr *ret, size_t *ret_bytes, CUmodule h, const char *name)
{
	MODULES_STAY;
	struct module *m;
	CUresult e = module_find(h, &m);

	if (e)
		return e;
	if (!name || !name[0] || (!ret && !ret_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return module_global(m, name, ret, ret_bytes, false);
}
