/*
 * procs.c: cuGetProcAddress. The driver is asked first, so that its answers to unknown names, too old versions and odd
 * flags are its own; then the address of a call that we treat is replaced by our body of the same variant.
 */
#include "base/fnv.h"
#include "base/setting.h"
#include "cuda_procs.h"
#include "core/attach.h"
#include "core/log.h"
#include "core/shape.h"
#include "shim/start.h"

#include <stdatomic.h>
#include <string.h>

#define KNOWN_VERSION 13050 /* of api/cuda.toml: variants introduced later are unknown here */

/* What the name means in the API, whatever it is called here (core/shape.h). */
static int look_up(const char *name, int version, uint64_t flags, enum cuda_call *ret)
{
	char text[SHAPE_NAME_BYTES];

	return cuda_proc_find(shape_plain(name, text), version, flags, ret);
}

/* The newest variant that the driver has as well. False: none. */
static bool find(const char *name, int version, uint64_t flags, enum cuda_call *ret)
{
	if (look_up(name, version < KNOWN_VERSION ? version : KNOWN_VERSION, flags, ret) != PROC_FOUND)
		return false;
	while (shim_missing(*ret)) {
		size_t row = 0;

		while (row < cuda_proc_count && cuda_procs[row].call != (uint32_t)*ret)
			row++;
		if (row == cuda_proc_count || cuda_procs[row].since <= 0 ||
		    look_up(name, cuda_procs[row].since - 1, flags, ret) != PROC_FOUND)
			return false;
	}
	return true;
}

/* A line for each name, for names beyond the first 64 of different hashes perhaps none. */
static bool tell_once(const char *name)
{
	static _Atomic uint64_t told;
	const uint64_t bit = UINT64_C(1) << (fnv_hash(name, strlen(name)) & 63);

	return !(atomic_fetch_or_explicit(&told, bit, memory_order_relaxed) & bit);
}

/* The version that introduced a call; 0: none is known. */
static int since(enum cuda_call call)
{
	for (size_t row = 0; row < cuda_proc_count; row++)
		if (cuda_procs[row].call == (uint32_t)call)
			return cuda_procs[row].since;
	return 0;
}

/* The name means one call in all versions of a library of another shape. */
static bool find_sole(const char *name, uint64_t flags, enum cuda_call *ret)
{
	enum cuda_call older;

	return look_up(name, KNOWN_VERSION, flags, ret) == PROC_FOUND &&
	       (look_up(name, since(*ret) - 1, flags, &older) != PROC_FOUND || since(older) < shape.first);
}

/*
 * A library of another shape counts versions in its own way: which of several calls of that name it gave is told by
 * the address of its export alone. Where that does not tell, programs get none of them, rather than one that nobody
 * meters, or another's parameters. NULL: none.
 */
static void *answer_shape(const char *name, uint64_t flags, void *given)
{
	unsigned int i = 0;
	enum cuda_call call;
	void *body;

	while (i < CUDA_CALL_COUNT && ((void **)&shim_real)[i] != given)
		i++;
	call = (enum cuda_call)i;
	if (i == CUDA_CALL_COUNT && !find_sole(name, flags, &call)) {
		attach_unknown(name, true);
		if (tell_once(name))
			log_line("%s: which call the library gave is not known, so that it cannot be metered: it is "
				 "refused",
				 name);
		return NULL;
	}
	body = start_body(call);
	return body ? body : given;
}

/* `mete run --strict`: what cannot be metered is refused. */
static bool is_strict(void)
{
	const char *word = setting_get("METE_STRICT");

	return word && !strcmp(word, "1");
}

/*
 * What the program gets for what the driver gave; NULL: refused. `known`: the driver's answer for KNOWN_VERSION. A
 * variant of a metered call that is newer than this release must not pass: it could take memory or start work that
 * nobody counts. The newest that is known takes its place.
 */
static void *answer(const char *name, int version, uint64_t flags, void *given, void *known)
{
	enum cuda_call call;
	void *body;

	if (shape_refuses(name))
		return NULL;
	if (shape.behind)
		return answer_shape(name, flags, given);
	if (!find(name, version, flags, &call)) {
		bool refused = is_strict();

		attach_unknown(name, true);
		if (tell_once(name))
			log_line("%s is unknown to this release and is not metered%s; install a newer mete", name,
				 refused ? ": --strict refuses it" : "");
		return refused ? NULL : given;
	}
	body = start_body(call);
	if (!body || version <= KNOWN_VERSION || known == given)
		return body ? body : given;
	if (tell_once(name))
		log_line("%s of version %d is unknown to this release: %s; install a newer mete", name, version,
			 is_strict() ? "--strict refuses it" : "the program gets the newest one that is known");
	return is_strict() ? NULL : body;
}

/* The driver has not given it: of no known name either, which a program may need of a newer driver. */
static void missed(const char *name)
{
	enum cuda_call call;

	if (name && !strncmp(name, shape.prefix, strlen(shape.prefix)) &&
	    look_up(name, KNOWN_VERSION, 0, &call) == PROC_NOT_FOUND)
		attach_unknown(name, false);
}

CUresult shim_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
				  CUdriverProcAddressQueryResult *symbolStatus)
{
	CUresult r = shim_real.cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, symbolStatus);
	void *known = NULL;

	if (r != CUDA_SUCCESS || !symbol || !pfn || !*pfn) {
		missed(symbol);
		return r;
	}
	if (cudaVersion > KNOWN_VERSION)
		shim_real.cuGetProcAddress_v2(symbol, &known, KNOWN_VERSION, flags, NULL);
	*pfn = answer(symbol, cudaVersion, flags, *pfn, known);
	if (!*pfn && symbolStatus)
		*symbolStatus = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return r;
}

CUresult shim_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	CUresult r = shim_real.cuGetProcAddress(symbol, pfn, cudaVersion, flags);
	void *known = NULL;

	if (r != CUDA_SUCCESS || !symbol || !pfn || !*pfn) {
		missed(symbol);
		return r;
	}
	if (cudaVersion > KNOWN_VERSION)
		shim_real.cuGetProcAddress(symbol, &known, KNOWN_VERSION, flags);
	*pfn = answer(symbol, cudaVersion, flags, *pfn, known);
	return *pfn ? r : CUDA_ERROR_NOT_FOUND;
}
