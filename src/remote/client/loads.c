/*
 * loads.c: modules and libraries come. See remote/code.h.
 *
 * A library belongs to no context. With several workers it is loaded by that of the current context, or by the first;
 * by others when it is used there (twins.h).
 */
#include "remote/client/loads.h"

#include "base/holder.h"
#include "core/log.h"
#include "remote/client/context.h"
#include "remote/client/functions.h"
#include "remote/client/images.h"
#include "remote/client/jit.h"
#include "remote/client/start.h"
#include "remote/client/thread.h"
#include "remote/client/twins.h"

#include "cuda_remote.h"

#include <stdlib.h>
#include <string.h>

struct load {
	struct image_source source;
	struct jit jit;
};

static bool results_take(struct client_call *c, struct load *l, struct code_loaded *ret)
{
	remote_get(&c->in, ret, sizeof(*ret));
	if (c->in.bad || ret->missing)
		return !c->in.bad;
	return ret->options == l->jit.sent_count && jit_take(c, &l->jit, ret->logs);
}

/* ---- one load ---- */

/* Sends the request with `id` and takes the answer. *ret_missing: the worker has no such image. */
static void load_ask(struct client_call *c, struct load *l, uint64_t id, struct code *code, bool *ret_missing)
{
	struct code_load head = { .id = id, .whole = l->source.whole, .options = l->jit.sent_count };
	struct code_loaded loaded;

	memcpy(head.hash, l->source.hash, sizeof(head.hash));
	if (!client_begin_room(c, true, sizeof(head) + jit_room(&l->jit) + 2 * CALL_ALIGN))
		return;
	remote_put(&c->out, &head, sizeof(head));
	jit_put(c, &l->jit);
	client_send(c);
	if (c->result != CUDA_SUCCESS)
		return;
	if (!results_take(c, l, &loaded)) {
		c->result = CLIENT_LOST;
		return;
	}
	*ret_missing = loaded.missing;
	if (loaded.missing)
		return;
	c->result = (CUresult)loaded.result;
	if (c->result == CUDA_SUCCESS && !code_learn(c, code, &loaded))
		c->result = CUDA_ERROR_OUT_OF_MEMORY;
}

/*
 * The device there has no use for the image: the worker's driver knows why, and the program is told which file holds
 * it. A library of others may hold hundreds of such images: that is said once of each.
 */
static void say_refused(const void *image)
{
	static const char why[] =
		"the image has no code for the device of the worker; `mete doctor --program` says what "
		"there is, and what that device takes";
	struct holder h;

	if (!holder_of(image, &h))
		log_line("module: %s", why);
	else if (h.is_program || holder_first(&h))
		log_line("module: %s: %s", h.name, why);
}

/* Loads into the chosen session. `owner`: the context that it goes away with. */
static CUresult load_into(struct session *session, enum remote_kind kind, struct load *l, const void *owner, void **ret)
{
	enum cuda_call call = kind == KIND_MODULE ? CUDA_CALL_cuModuleLoadDataEx : CUDA_CALL_cuLibraryLoadData;
	bool missing = true;

	for (unsigned int attempt = 0; missing && attempt < 2; attempt++) {
		struct client_call c;
		CUresult r = images_send(session, &l->source, attempt);
		struct code *code;
		void *handle;
		uint64_t id;

		if (r != CUDA_SUCCESS)
			return r;
		client_call(&c, call);
		c.session = session;
		handle = client_mint(&c, kind, owner, &id);
		if (handle) {
			code = code_new(session, kind, handle, id);
			if (code)
				load_ask(&c, l, id, code, &missing);
			else
				c.result = CUDA_ERROR_OUT_OF_MEMORY;
		}
		r = client_end(&c);
		if (handle && (r != CUDA_SUCCESS || missing))
			client_drop(handle);
		if (r == CUDA_ERROR_NO_BINARY_FOR_GPU)
			say_refused(l->source.image);
		if (r != CUDA_SUCCESS)
			return r;
		*ret = handle;
	}
	return missing ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult current(struct context **ret)
{
	CUresult r = start_ready();

	return r == CUDA_SUCCESS ? context_current(thread_get(), ret) : r;
}

static CUresult load_module(CUmodule *ret, struct load *l)
{
	struct context *context;
	CUresult r = current(&context);
	void *module;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret || !l->source.image)
		return CUDA_ERROR_INVALID_VALUE;
	r = jit_read(&l->jit);
	if (r != CUDA_SUCCESS)
		return r;
	if (!images_name(context->session, &l->source))
		return CUDA_ERROR_INVALID_IMAGE;
	r = load_into(context->session, KIND_MODULE, l, (const void *)(uintptr_t)context->handle, &module);
	if (r == CUDA_SUCCESS)
		*ret = module;
	return r;
}

/* ---- calls ---- */

CUresult client_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions, CUjit_option *options,
				   void **optionValues)
{
	struct load l = { .source = { .image = image, .bound = SIZE_MAX },
			  .jit = { .count = numOptions, .option = options, .value = optionValues } };

	return load_module(module, &l);
}

CUresult client_cuModuleLoadData(CUmodule *module, const void *image)
{
	return client_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult client_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
	return client_cuModuleLoadDataEx(module, fatCubin, 0, NULL, NULL);
}

CUresult client_cuModuleLoad(CUmodule *module, const char *fname)
{
	struct load l = { .jit.count = 0 };
	struct context *context;
	CUresult r = current(&context);
	void *file;

	if (r != CUDA_SUCCESS)
		return r;
	if (!module || !fname)
		return CUDA_ERROR_INVALID_VALUE;
	r = images_file(fname, &l.source, &file);
	if (r == CUDA_SUCCESS)
		r = load_module(module, &l);
	free(file);
	return r;
}

/* Whose worker a library is loaded by. */
static CUresult session_pick(struct session **ret)
{
	struct context *context;
	CUresult r = start_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (context_current(thread_get(), &context) == CUDA_SUCCESS)
		*ret = context->session;
	else if (session_count)
		*ret = sessions[0];
	else
		return CUDA_ERROR_NO_DEVICE;
	return CUDA_SUCCESS;
}

static CUresult load_library(CUlibrary *ret, struct load *l, CUlibraryOption *option, unsigned int option_count)
{
	struct session *session;
	CUresult r = session_pick(&session);
	void *library;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret || !l->source.image || (option_count && !option))
		return CUDA_ERROR_INVALID_VALUE;
	/* Where the host's function table lies means nothing to the worker, and that the image stays is a hint. */
	for (unsigned int i = 0; i < option_count; i++)
		if ((unsigned int)option[i] >= CU_LIBRARY_NUM_OPTIONS)
			return CUDA_ERROR_INVALID_VALUE;
	r = jit_read(&l->jit);
	if (r != CUDA_SUCCESS)
		return r;
	if (!images_name(session, &l->source))
		return CUDA_ERROR_INVALID_IMAGE;
	r = load_into(session, KIND_LIBRARY, l, CLIENT_ALONE, &library);
	if (r != CUDA_SUCCESS)
		return r;
	twins_keep(client_kept(KIND_LIBRARY, library), l->source.image, l->source.bound);
	*ret = library;
	return CUDA_SUCCESS;
}

CUresult load_bundle(struct session *session, const void *bundle, size_t bytes, void **ret)
{
	struct load l = { .source = { .image = bundle, .bound = bytes, .plain = true } };

	if (!images_name(session, &l.source))
		return CUDA_ERROR_INVALID_IMAGE;
	return load_into(session, KIND_LIBRARY, &l, CLIENT_ALONE, ret);
}

CUresult client_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
				  void **jitOptionsValues, unsigned int numJitOptions, CUlibraryOption *libraryOptions,
				  void **libraryOptionValues, unsigned int numLibraryOptions)
{
	struct load l = { .source = { .image = code, .bound = SIZE_MAX },
			  .jit = { .count = numJitOptions, .option = jitOptions, .value = jitOptionsValues } };

	return load_library(library, &l, libraryOptions, numLibraryOptions);
}

CUresult client_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
				      void **jitOptionsValues, unsigned int numJitOptions,
				      CUlibraryOption *libraryOptions, void **libraryOptionValues,
				      unsigned int numLibraryOptions)
{
	struct load l = { .jit = { .count = numJitOptions, .option = jitOptions, .value = jitOptionsValues } };
	struct session *session;
	CUresult r = session_pick(&session);
	void *file;

	if (r != CUDA_SUCCESS)
		return r;
	if (!fileName)
		return CUDA_ERROR_INVALID_VALUE;
	r = images_file(fileName, &l.source, &file);
	if (r == CUDA_SUCCESS)
		r = load_library(library, &l, libraryOptions, numLibraryOptions);
	free(file);
	return r;
}
