/*
 * libraries_test.c: two calls at once that are about one object of a library which is not made for that; and what a
 * library goes on to use for an object although it has ended: its stream, its context.
 */
#include "base/tap.h"
#include "curand_table.h"
#include "remote/libs/serve.h"
#include "remote/worker/session.h"

static int nothing(void)
{
	return 0;
}

/* Whether a call about the object is let through to the library, in which `other` is as well. */
static bool passes_with(const struct forward_served *library, struct forward_named *named, struct forward_named *other,
			bool ends)
{
	struct work work = { .head.flags = 0 };
	struct forward_work w = {
		.work = &work,
		.library = library,
		.function = (void *)nothing,
		.named = named,
		.ends = ends,
		.used = { other },
		.used_count = !!other
	};
	bool passed = forward_ready(&w);

	if (!passed)
		tap_ok(!forward_refuse(&w) && w.status == library->status.invalid,
		       "it is refused in the library's words");
	return passed;
}

static bool passes(const struct forward_served *library, struct forward_named *named, bool ends)
{
	return passes_with(library, named, NULL, ends);
}

static void *functions[1];

/* ---- what has ended ---- */

#define CONTEXT CALL_ID(KIND_CONTEXT, 1, 1)
#define STREAM CALL_ID(KIND_STREAM, 1, 2)
#define GENERATOR CALL_ID(KIND_FORWARDED, 1, 3)

extern const struct forward_served curand_served;
static struct worker worker;
static CUstream told; /* the stream that the library has */
static int seeded;

static curandStatus_t create(curandGenerator_t *ret, curandRngType_t type)
{
	*ret = (curandGenerator_t)&seeded;
	return CURAND_STATUS_SUCCESS;
}

static curandStatus_t set_stream(curandGenerator_t g, cudaStream_t stream)
{
	told = (CUstream)stream;
	return CURAND_STATUS_SUCCESS;
}

static curandStatus_t seeds(curandGenerator_t g)
{
	seeded++;
	return CURAND_STATUS_SUCCESS;
}

/* Of the library, about the object. */
static int32_t call(enum curand_call number, uint64_t object, uint64_t first, uint64_t second, unsigned int arguments)
{
	static _Alignas(8) uint8_t out[64];
	uint64_t body[] = { number, object, first, second };
	struct work work = { .worker = &worker,
			     .head = { .call = FORWARD_NUMBER_CURAND, .thread = 1, .context = CONTEXT },
			     .in = { .data = (const uint8_t *)body, .size = (2 + arguments) * sizeof(body[0]) },
			     .out = { .data = out, .capacity = sizeof(out) } };

	is(worker_other_library(&work), 0);
	return work.result;
}

static void test_ended(void)
{
	void *stream = &told;

	curand_served.functions[CURAND_CALL_curandCreateGenerator] = (void *)create;
	curand_served.functions[CURAND_CALL_curandSetStream] = (void *)set_stream;
	curand_served.functions[CURAND_CALL_curandGenerateSeeds] = (void *)seeds;
	is(ids_init(&worker.ids, NULL, NULL), 0);
	is(ids_add(&worker.ids, KIND_CONTEXT, CONTEXT, &worker, 0), 0);
	is(ids_add(&worker.ids, KIND_STREAM, STREAM, stream, CONTEXT), 0);
	is(call(CURAND_CALL_curandCreateGenerator, 0, GENERATOR, CURAND_RNG_PSEUDO_DEFAULT, 2), CUDA_SUCCESS);
	is(call(CURAND_CALL_curandSetStream, GENERATOR, STREAM, 0, 1), CUDA_SUCCESS);
	is(call(CURAND_CALL_curandGenerateSeeds, GENERATOR, 0, 0, 0), CUDA_SUCCESS);
	ok(told == stream && seeded == 1);
	ids_remove(&worker.ids, STREAM);
	is(call(CURAND_CALL_curandGenerateSeeds, GENERATOR, 0, 0, 0), CUDA_SUCCESS);
	tap_ok(!told && seeded == 2, "a stream that has ended is not the library's any more");
	ids_remove(&worker.ids, CONTEXT);
	is(call(CURAND_CALL_curandGenerateSeeds, GENERATOR, 0, 0, 0), CUDA_ERROR_INVALID_HANDLE);
	tap_ok(seeded == 2, "what was made in a context that has ended is no object any more");
	ids_deinit(&worker.ids);
}

int main(void)
{
	static const struct forward_served alone = {
		.title = "a library", .functions = functions, .status = { 1, 2, 3, 4, 5, 6 }, .alone = true
	};
	static const struct forward_served shared = { .title = "another",
						      .functions = functions,
						      .status = { 1, 2, 3, 4, 5, 6 } };
	struct forward_named named = { .library = &alone }, other = named;

	tap_begin();
	tap_ok(passes(&alone, &named, false), "a call about an object passes");
	named.busy = 1;
	tap_ok(!passes(&alone, &named, false), "beside one that waits in the library it does not");
	tap_ok(!passes(&alone, &named, true), "nor does the object's end");
	tap_ok(passes(&shared, &named, false), "in a library that is made for it, it does");
	tap_ok(!passes(&shared, &named, true), "but not the object's end");
	named.busy = 0;
	tap_ok(passes(&alone, &named, false), "afterwards it passes again");
	other.busy = 1;
	tap_ok(!passes_with(&alone, &named, &other, false),
	       "beside one that waits with another object of the call not");
	tap_ok(passes_with(&shared, &named, &other, false), "where the library is made for it, it passes");
	test_ended();
	return tap_end();
}
