/*
 * libraries_test.c: two calls at once that are about one object of a library which is not made for that; and what a
 * library goes on to use for an object although it has ended: its stream, its context.
 */
#include "base/tap.h"
#include "cusolver_table.h"
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
	struct forward_work w = { .work = &work,
				  .library = library,
				  .function = (void *)nothing,
				  .named = named,
				  .ends = ends,
				  .used = { other },
				  .used_count = !!other };
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

/* cuRAND's and cuSOLVER's headers cannot be read by one file. */
static unsigned int number_of(const struct forward_served *library, const char *name)
{
	unsigned int i = 0;

	while (strcmp(library->names[i], name))
		i++;
	return i;
}

static int create(void **ret, int type)
{
	*ret = &seeded;
	return 0;
}

static int set_stream(void *generator, CUstream stream)
{
	told = stream;
	return 0;
}

static int seeds(void *generator)
{
	seeded++;
	return 0;
}

static bool waits; /* the next requests do */

/* Of a library: the call's number, the object that it is about, arguments. */
static int32_t ask(uint16_t library, const uint64_t *body, size_t bytes)
{
	static _Alignas(8) uint8_t out[64];
	struct work work = { .worker = &worker,
			     .head = { .call = library,
				       .flags = waits ? CALL_WAITS : 0,
				       .thread = 1,
				       .context = CONTEXT },
			     .in = { .data = (const uint8_t *)body, .size = bytes },
			     .out = { .data = out, .capacity = sizeof(out) } };

	is(worker_other_library(&work), 0);
	return work.result;
}

static int32_t call(const char *name, uint64_t object, uint64_t first, uint64_t second, unsigned int arguments)
{
	uint64_t body[] = { number_of(&curand_served, name), object, first, second };

	return ask(FORWARD_NUMBER_CURAND, body, (2 + arguments) * sizeof(body[0]));
}

static void test_ended(void)
{
	void *stream = &told;

	curand_served.functions[number_of(&curand_served, "curandCreateGenerator")] = (void *)create;
	curand_served.functions[number_of(&curand_served, "curandSetStream")] = (void *)set_stream;
	curand_served.functions[number_of(&curand_served, "curandGenerateSeeds")] = (void *)seeds;
	is(ids_init(&worker.ids, NULL, NULL), 0);
	is(ids_add(&worker.ids, KIND_CONTEXT, CONTEXT, &worker, 0), 0);
	is(ids_add(&worker.ids, KIND_STREAM, STREAM, stream, CONTEXT), 0);
	is(call("curandCreateGenerator", 0, GENERATOR, 100, 2), CUDA_SUCCESS);
	is(call("curandSetStream", GENERATOR, STREAM, 0, 1), CUDA_SUCCESS);
	is(call("curandGenerateSeeds", GENERATOR, 0, 0, 0), CUDA_SUCCESS);
	ok(told == stream && seeded == 1);
	ids_remove(&worker.ids, STREAM);
	is(call("curandGenerateSeeds", GENERATOR, 0, 0, 0), CUDA_SUCCESS);
	tap_ok(!told && seeded == 2, "a stream that has ended is not the library's any more");
	ids_remove(&worker.ids, CONTEXT);
	is(call("curandGenerateSeeds", GENERATOR, 0, 0, 0), CUDA_ERROR_INVALID_HANDLE);
	tap_ok(seeded == 2, "what was made in a context that has ended is no object any more");
	ids_deinit(&worker.ids);
}

/* ---- what a library writes in this process ---- */

#define HANDLE CALL_ID(KIND_FORWARDED, 1, 4)
#define NEEDED 4096u

extern const struct forward_served cusolver_served;
static int factored;

static cusolverStatus_t solver_create(cusolverDnHandle_t *ret)
{
	*ret = (cusolverDnHandle_t)&factored;
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t needs(cusolverDnHandle_t h, cusolverDnParams_t p, int64_t m, int64_t n, cudaDataType a,
			      const void *A, int64_t lda, cudaDataType t, const void *tau, cudaDataType c,
			      size_t *ret_device, size_t *ret_host)
{
	*ret_device = 0;
	*ret_host = NEEDED;
	return CUSOLVER_STATUS_SUCCESS;
}

/* As a library that relies on what it has said. */
static cusolverStatus_t factor(cusolverDnHandle_t h, cusolverDnParams_t p, int64_t m, int64_t n, cudaDataType a,
			       void *A, int64_t lda, cudaDataType t, void *tau, cudaDataType c, void *device,
			       size_t device_bytes, void *host, size_t host_bytes, int *info)
{
	factored++;
	memset(host, 0, host_bytes);
	return CUSOLVER_STATUS_SUCCESS;
}

static void test_workspace(void)
{
	uint64_t made[] = { CUSOLVER_CALL_cusolverDnCreate, 0, HANDLE };
	uint64_t body[15] = { CUSOLVER_CALL_cusolverDnXgeqrf, HANDLE };
	enum { HOST_BYTES = 13 };

	cusolver_served.functions[CUSOLVER_CALL_cusolverDnCreate] = (void *)solver_create;
	cusolver_served.functions[CUSOLVER_CALL_cusolverDnXgeqrf] = (void *)factor;
	cusolver_served.functions[CUSOLVER_CALL_cusolverDnXgeqrf_bufferSize] = (void *)needs;
	is(ids_init(&worker.ids, NULL, NULL), 0);
	is(ids_add(&worker.ids, KIND_CONTEXT, CONTEXT, &worker, 0), 0);
	is(ask(FORWARD_NUMBER_CUSOLVER, made, sizeof(made)), CUDA_SUCCESS);
	body[HOST_BYTES] = 1;
	is(ask(FORWARD_NUMBER_CUSOLVER, body, sizeof(body)), CUDA_ERROR_INVALID_VALUE);
	tap_ok(!factored, "a library is given no less memory of the worker's than it writes");
	body[HOST_BYTES] = NEEDED;
	is(ask(FORWARD_NUMBER_CUSOLVER, body, sizeof(body)), CUDA_SUCCESS);
	is(factored, 1);
	ids_deinit(&worker.ids);
}

/* ---- a question beside other threads' calls ---- */

static unsigned int in_question; /* calls that wait in the library with the handle, as another thread's would find */

static cusolverStatus_t size_of(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, float *A, int lda, int *ret)
{
	struct id_entry *e = ids_find(&worker.ids, KIND_FORWARDED, HANDLE);

	in_question = ((const struct forward_named *)e->kept)->busy;
	*ret = 16;
	return CUSOLVER_STATUS_SUCCESS;
}

/* A client waits for the size of a workspace; what another thread asks of the same handle is not refused meanwhile. */
static void test_question(void)
{
	uint64_t made[] = { CUSOLVER_CALL_cusolverDnCreate, 0, HANDLE };
	uint64_t body[] = { CUSOLVER_CALL_cusolverDnSpotrf_bufferSize, HANDLE, 0, 4, 0, 4 };

	cusolver_served.functions[CUSOLVER_CALL_cusolverDnSpotrf_bufferSize] = (void *)size_of;
	is(ids_init(&worker.ids, NULL, NULL), 0);
	is(ids_add(&worker.ids, KIND_CONTEXT, CONTEXT, &worker, 0), 0);
	is(ask(FORWARD_NUMBER_CUSOLVER, made, sizeof(made)), CUDA_SUCCESS);
	in_question = 77;
	waits = true;
	is(ask(FORWARD_NUMBER_CUSOLVER, body, sizeof(body)), CUDA_SUCCESS);
	waits = false;
	is(in_question, 0);
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
	test_workspace();
	test_question();
	return tap_end();
}
