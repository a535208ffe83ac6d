/*
 * ending_test.c: an object ends while another of the client's threads has a request under way that is about it. Here
 * the other thread's request is executed at the instant at which the first one gives the executor's role away, or asks
 * the driver something.
 */
#include "base/tap.h"
#include "cuda_remote.h"
#include "remote/code.h"
#include "remote/worker/code.h"
#include "remote/worker/session.h"

#include <malloc.h>
#include <string.h>

#define MODULE CALL_ID(KIND_MODULE, 1, 3)
#define LIBRARY CALL_ID(KIND_LIBRARY, 1, 4)
#define PARAMS 4

static struct worker worker;
static struct ids_reader reader, other_reader;
static void (*meanwhile)(void);
static int unloads;

static void now(void)
{
	void (*what)(void) = meanwhile;

	meanwhile = NULL;
	if (what)
		what();
}

/* ---- the driver ---- */

static CUresult unload(CUmodule module)
{
	unloads++;
	return CUDA_SUCCESS;
}

static CUresult library_unload(CUlibrary library)
{
	return CUDA_SUCCESS;
}

static CUresult kernel_get(CUkernel *ret, CUlibrary library, const char *name)
{
	*ret = (CUkernel)&unloads;
	return CUDA_SUCCESS;
}

static CUresult param_info(CUkernel f, size_t index, size_t *ret_offset, size_t *ret_bytes)
{
	*ret_offset = 8 * index;
	*ret_bytes = 8;
	return index < PARAMS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult attribute_get(int *ret, CUfunction_attribute a, CUkernel f, CUdevice device)
{
	*ret = 0;
	return CUDA_SUCCESS;
}

static CUresult device_count(int *ret)
{
	*ret = 1;
	now();
	return CUDA_SUCCESS;
}

static const struct cuda_table driver = { .cuModuleUnload = unload,
					  .cuLibraryUnload = library_unload,
					  .cuLibraryGetKernel = kernel_get,
					  .cuKernelGetParamInfo = param_info,
					  .cuKernelGetAttribute = attribute_get,
					  .cuDeviceGetCount = device_count };

void __wrap_worker_yield(struct work *work);
void __wrap_worker_yield(struct work *work)
{
	if (work->reader)
		ids_read_end(&worker.ids, work->reader);
	now();
}

/* ---- requests ---- */

/* By another thread. */
static int32_t end(worker_handler handler, uint64_t id)
{
	static _Alignas(8) uint8_t nothing[64];
	struct work work = { .worker = &worker,
			     .driver = &driver,
			     .head = { .ticket = 1, .thread = 2 },
			     .in = { .data = (const uint8_t *)&id, .size = sizeof(id) },
			     .out = { .data = nothing, .capacity = sizeof(nothing) },
			     .reader = &other_reader };

	is(handler(&work), 0);
	ids_read_end(&worker.ids, &other_reader);
	return work.result;
}

static void end_module(void)
{
	is(end(worker_cuModuleUnload, MODULE), CUDA_SUCCESS);
}

static void end_library(void)
{
	is(end(worker_cuLibraryUnload, LIBRARY), CUDA_SUCCESS);
}

static void test_twice(void)
{
	is(ids_add(&worker.ids, KIND_MODULE, MODULE, &unloads, 0), 0);
	meanwhile = end_module;
	is(end(worker_cuModuleUnload, MODULE), CUDA_ERROR_INVALID_HANDLE);
	is(unloads, 1); /* the handle may be another module's by now */
}

static void end_and_make(void)
{
	end_module();
	is(ids_add(&worker.ids, KIND_MODULE, MODULE, &reader, 0), 0);
}

/* A client that gives an id again is not asked which of the two it meant: what the first one named has ended. */
static void test_given_again(void)
{
	int before = unloads;

	is(ids_add(&worker.ids, KIND_MODULE, MODULE, &unloads, 0), 0);
	meanwhile = end_and_make;
	is(end(worker_cuModuleUnload, MODULE), CUDA_ERROR_INVALID_HANDLE);
	is(unloads, before + 1);
	ok(ids_find(&worker.ids, KIND_MODULE, MODULE));
	ids_remove(&worker.ids, MODULE);
}

static void tell(int wanted_params)
{
	static _Alignas(8) uint8_t out[4096];
	struct {
		struct code_ask ask;
		uint64_t size;
		char name[8];
	} body = { .ask = { .owner = LIBRARY }, .size = 2, .name = "f" };
	struct code_told told;
	struct work work = { .worker = &worker,
			     .driver = &driver,
			     .head = { .ticket = 1, .thread = 1 },
			     .in = { .data = (const uint8_t *)&body, .size = sizeof(body) },
			     .out = { .data = out, .capacity = sizeof(out) },
			     .reader = &reader };

	is(worker_code_tell(&work), 0);
	is(work.result, CUDA_SUCCESS);
	memcpy(&told, out, sizeof(told));
	is(told.params, wanted_params);
	is(work.out.used, sizeof(told) + 16 + PARAMS * sizeof(struct code_param) + sizeof(struct code_attributes));
	ids_read_end(&worker.ids, &reader);
}

/* What is known of a kernel goes with its library, and is there for who is reading it. */
static void test_known(void)
{
	is(ids_add(&worker.ids, KIND_LIBRARY, LIBRARY, &unloads, 0), 0);
	tell(PARAMS);
	meanwhile = end_library;
	tell(PARAMS);
	ok(!meanwhile && !worker.ids.retired);
}

int main(void)
{
	tap_begin();
	mallopt(M_PERTURB, 0x5a);
	worker.driver = &driver;
	is(ids_init(&worker.ids, NULL, NULL), 0);
	ids_reader_init(&worker.ids, &reader);
	ids_reader_init(&worker.ids, &other_reader);
	test_twice();
	test_given_again();
	test_known();
	ids_deinit(&worker.ids);
	return tap_end();
}
