/*
 * generator.c: cuRAND's calls.
 *
 * What a generator is set to takes effect with its next numbers, when it is seeded. The launches of a graph are not
 * seen here, so that a generator with captured calls is seeded as soon as it is set. Statuses as cuRAND documents them:
 * a setting that a type has not: TYPE_ERROR; a count that does not fit: LENGTH_NOT_MULTIPLE.
 */
#include "libs/curand/rand.h"

#include "softdev/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC UINT64_C(0x6d6574652d726e64)
#define QUASI CURAND_RNG_QUASI_DEFAULT

#define VERSION_MAJOR 10
#define VERSION_MINOR 4
#define VERSION_PATCH 0

static const char *const kernels[] = { [RAND_KERNEL_SEED] = "curand_seed", [RAND_KERNEL_GENERATE] = "curand_generate" };

struct curandGenerator_st {
	uint64_t magic;
	const struct device_driver *driver; /* NULL: it works in the program's memory */
	CUcontext context;
	cudaStream_t stream;
	curandRngType_t type;
	curandOrdering_t order;
	uint64_t seed, offset;
	uint32_t dimensions;
	pthread_mutex_t mutex; /* calls about one generator follow each other */
	/* mutex guards the following */
	enum {
		UNSEEDED,
		SEEDED_BY_GRAPH, /* once a graph is launched, or not yet */
		SEEDED
	} seeded;
	uint64_t setting;    /* counts what it has been set to */
	bool set_in_capture; /* the last time; it is seeded in the graph then */
	bool captured;	     /* a graph may lead to the place */
	uint64_t place;	     /* address of a struct rand_place and the states behind it; 0: none yet */
	uint64_t id;	     /* of the place; each has its own */
	uint32_t states_count;
};

static const struct device_driver *driver_open(void)
{
	return device_open(RAND_TITLE, kernels, RAND_KERNELS, rand_run);
}

static curandStatus_t status_of(CUresult e)
{
	switch (e) {
	case CUDA_SUCCESS:
		return CURAND_STATUS_SUCCESS;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return CURAND_STATUS_ALLOCATION_FAILED;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_NO_DEVICE:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return CURAND_STATUS_INITIALIZATION_FAILED;
	case CUDA_ERROR_ILLEGAL_ADDRESS:
		return CURAND_STATUS_PREEXISTING_FAILURE;
	default:
		return CURAND_STATUS_LAUNCH_FAILURE;
	}
}

void soft_unsupported(enum curand_call call)
{
	library_refused(RAND_TITLE, curand_call_name[call]);
}

static bool is_good(curandGenerator_t g)
{
	return g && !((uintptr_t)g % _Alignof(struct curandGenerator_st)) && g->magic == MAGIC;
}

static bool is_quasi(const struct curandGenerator_st *g)
{
	return g->type > QUASI;
}

static bool is_wide(const struct curandGenerator_st *g)
{
	return g->type == CURAND_RNG_QUASI_SOBOL64;
}

/* ---- generators ---- */

static bool type_find(curandRngType_t asked, curandRngType_t *ret)
{
	static const curandRngType_t types[] = { CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A,
						 CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_QUASI_SOBOL32,
						 CURAND_RNG_QUASI_SOBOL64 };

	*ret = asked == CURAND_RNG_PSEUDO_DEFAULT  ? CURAND_RNG_PSEUDO_XORWOW
	       : asked == CURAND_RNG_QUASI_DEFAULT ? CURAND_RNG_QUASI_SOBOL32
						   : asked;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i] == *ret)
			return true;
	return false;
}

/* Said once for each type that there is in cuRAND and not here. */
static void type_refused(curandRngType_t type)
{
	static const struct {
		curandRngType_t type;
		const char *name;
	} names[] = { { CURAND_RNG_PSEUDO_MTGP32, "generator CURAND_RNG_PSEUDO_MTGP32" },
		      { CURAND_RNG_PSEUDO_MT19937, "generator CURAND_RNG_PSEUDO_MT19937" },
		      { CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, "generator CURAND_RNG_QUASI_SCRAMBLED_SOBOL32" },
		      { CURAND_RNG_QUASI_SCRAMBLED_SOBOL64, "generator CURAND_RNG_QUASI_SCRAMBLED_SOBOL64" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].type == type)
			library_refused(RAND_TITLE, names[i].name);
}

static curandStatus_t create(curandGenerator_t *generator, curandRngType_t type, const struct device_driver *driver)
{
	struct curandGenerator_st *g;
	CUresult e;

	g = calloc(1, sizeof(*g));
	if (!g)
		return CURAND_STATUS_ALLOCATION_FAILED;
	if (!type_find(type, &g->type)) {
		type_refused(type);
		free(g);
		return CURAND_STATUS_TYPE_ERROR;
	}
	g->order = is_quasi(g) ? CURAND_ORDERING_QUASI_DEFAULT : CURAND_ORDERING_PSEUDO_DEFAULT;
	g->dimensions = 1;
	g->driver = driver;
	e = driver ? device_context(&g->context) : CUDA_SUCCESS;
	if (e) {
		free(g);
		return status_of(e);
	}
	pthread_mutex_init(&g->mutex, NULL);
	g->setting = 1; /* 0: of memory without a generator */
	g->magic = MAGIC;
	*generator = g;
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t soft_curandCreateGenerator(curandGenerator_t *generator, curandRngType_t rng_type)
{
	const struct device_driver *driver = driver_open();

	if (!driver)
		return CURAND_STATUS_INITIALIZATION_FAILED;
	return generator ? create(generator, rng_type, driver) : CURAND_STATUS_NOT_INITIALIZED;
}

curandStatus_t soft_curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t rng_type)
{
	return generator ? create(generator, rng_type, NULL) : CURAND_STATUS_NOT_INITIALIZED;
}

curandStatus_t soft_curandGetVersion(int *version)
{
	if (!version)
		return CURAND_STATUS_OUT_OF_RANGE;
	*version = VERSION_MAJOR * 1000 + VERSION_MINOR * 100 + VERSION_PATCH;
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t soft_curandGetProperty(libraryPropertyType type, int *value)
{
	int part = library_property(VERSION_MAJOR, VERSION_MINOR, VERSION_PATCH, (int)type);

	if (part < 0 || !value)
		return CURAND_STATUS_OUT_OF_RANGE;
	*value = part;
	return CURAND_STATUS_SUCCESS;
}

/* ---- where it is: memory and seeds ---- */

/* The generator's context, in which a capture forbids nothing. */
static CUresult context_begin(const struct curandGenerator_st *g, CUstreamCaptureMode *mode)
{
	CUresult e = g->driver->push(g->context);

	*mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	if (!e)
		g->driver->capture_mode(mode);
	return e;
}

static void context_end(const struct curandGenerator_st *g, CUstreamCaptureMode *mode)
{
	CUcontext popped;

	g->driver->capture_mode(mode);
	g->driver->pop(&popped);
}

static void place_free(struct curandGenerator_st *g)
{
	CUstreamCaptureMode mode;

	if (!g->driver) {
		free((void *)(uintptr_t)g->place);
	} else if (g->place && !context_begin(g, &mode)) {
		g->driver->free(g->place);
		context_end(g, &mode);
	}
	g->place = 0;
	g->states_count = 0;
}

static CUresult place_alloc(const struct curandGenerator_st *g, size_t bytes, uint64_t *ret)
{
	CUstreamCaptureMode mode;
	CUdeviceptr at = 0;
	CUresult e;

	if (!g->driver) {
		*ret = (uintptr_t)malloc(bytes);
		return *ret ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	e = context_begin(g, &mode);
	if (e)
		return e;
	e = g->driver->alloc(&at, bytes);
	context_end(g, &mode);
	*ret = at;
	return e;
}

/* Memory for the type and ordering, unless the generator has it already. */
static CUresult place_get(struct curandGenerator_st *g)
{
	static _Atomic uint64_t last_id;
	uint32_t count = rand_sequences(g->type, g->order);
	CUresult e;

	if (g->place && g->states_count == count)
		return CUDA_SUCCESS;
	place_free(g);
	e = place_alloc(g, sizeof(struct rand_place) + count * sizeof(struct rand_state), &g->place);
	if (e) {
		g->place = 0;
		return e;
	}
	g->id = MAGIC ^ ++last_id << 32;
	g->states_count = count;
	g->captured = false;
	return CUDA_SUCCESS;
}

static struct rand_work work_of(const struct curandGenerator_st *g)
{
	return (struct rand_work){ .type = g->type,
				   .place = g->place,
				   .id = g->id,
				   .sequences = g->states_count,
				   .dimensions = g->dimensions };
}

static CUresult launch(const struct curandGenerator_st *g, const struct rand_work *w, uint32_t blocks, CUstream stream)
{
	return library_launch(g->driver, g->context, w->kernel, blocks, stream, w, sizeof(*w));
}

/* `older`: unless a graph has done it. */
static CUresult seed_launch(const struct curandGenerator_st *g, bool older, CUstream stream)
{
	struct rand_work w = work_of(g);

	w.kernel = RAND_KERNEL_SEED;
	w.count = w.sequences ? w.sequences : w.dimensions;
	w.seeded = g->order == CURAND_ORDERING_PSEUDO_SEEDED;
	w.older = older;
	w.setting = g->setting;
	w.seed = g->seed;
	w.offset = g->offset;
	if (g->driver)
		return launch(g, &w, older ? 1 : library_blocks(w.sequences, 64), stream);
	if (w.sequences)
		rand_seed(&w, 0, w.sequences, NULL);
	rand_place_begin(&w);
	return CUDA_SUCCESS;
}

/* In a stream of its own, and waited for. */
static CUresult seed_beside(const struct curandGenerator_st *g)
{
	CUstreamCaptureMode mode;
	CUstream stream = NULL;
	CUresult e = context_begin(g, &mode), ended;

	if (e)
		return e;
	e = g->driver->stream_create(&stream, CU_STREAM_NON_BLOCKING);
	if (!e) {
		e = seed_launch(g, false, stream);
		ended = g->driver->wait(stream);
		e = e ? e : ended;
		g->driver->stream_destroy(stream);
	}
	context_end(g, &mode);
	return e;
}

static bool is_capturing(const struct curandGenerator_st *g)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return g->driver && g->stream && !g->driver->capturing((CUstream)g->stream, &status) &&
	       status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* A graph that holds the seeds begins the sequence again with each launch: it does where it was set in the capture. */
static CUresult seed_captured(struct curandGenerator_st *g)
{
	CUresult e;

	if (!g->set_in_capture && !g->captured)
		place_free(g); /* with what is still under way */
	e = place_get(g);
	if (e)
		return e;
	e = g->set_in_capture ? seed_launch(g, false, (CUstream)g->stream) : seed_beside(g);
	if (!e)
		g->seeded = g->set_in_capture ? SEEDED_BY_GRAPH : SEEDED;
	return e;
}

static CUresult seed_locked(struct curandGenerator_st *g, bool capturing)
{
	bool older = g->seeded == SEEDED_BY_GRAPH;
	CUresult e;

	if (g->seeded == SEEDED)
		return CUDA_SUCCESS;
	if (capturing && !older)
		return seed_captured(g);
	e = place_get(g);
	if (!e)
		e = seed_launch(g, older, (CUstream)g->stream);
	if (!e && !capturing)
		g->seeded = SEEDED;
	return e;
}

/* It has been set to something else. */
static void settle_locked(struct curandGenerator_st *g)
{
	CUstreamCaptureMode mode;

	g->setting++;
	g->seeded = UNSEEDED;
	g->set_in_capture = is_capturing(g);
	if (!g->captured || g->set_in_capture || context_begin(g, &mode))
		return;
	/* Waited for: a graph may be launched in any stream. What fails is tried again, and told, with the next
	 * numbers. */
	if (!seed_locked(g, false))
		g->driver->wait((CUstream)g->stream);
	context_end(g, &mode);
}

static void settle(struct curandGenerator_st *g)
{
	pthread_mutex_lock(&g->mutex);
	settle_locked(g);
	pthread_mutex_unlock(&g->mutex);
}

curandStatus_t soft_curandGenerateSeeds(curandGenerator_t generator)
{
	CUresult e;

	if (!is_good(generator))
		return CURAND_STATUS_NOT_INITIALIZED;
	pthread_mutex_lock(&generator->mutex);
	e = seed_locked(generator, is_capturing(generator));
	pthread_mutex_unlock(&generator->mutex);
	return status_of(e);
}

curandStatus_t soft_curandDestroyGenerator(curandGenerator_t generator)
{
	if (!is_good(generator))
		return CURAND_STATUS_NOT_INITIALIZED;
	generator->magic = 0;
	place_free(generator);
	pthread_mutex_destroy(&generator->mutex);
	free(generator);
	return CURAND_STATUS_SUCCESS;
}

/* ---- settings ---- */

curandStatus_t soft_curandSetStream(curandGenerator_t generator, cudaStream_t stream)
{
	if (!is_good(generator))
		return CURAND_STATUS_NOT_INITIALIZED;
	generator->stream = stream;
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t soft_curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed)
{
	if (!is_good(generator))
		return CURAND_STATUS_NOT_INITIALIZED;
	if (is_quasi(generator))
		return CURAND_STATUS_TYPE_ERROR;
	generator->seed = seed;
	settle(generator);
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t soft_curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset)
{
	if (!is_good(generator))
		return CURAND_STATUS_NOT_INITIALIZED;
	generator->offset = offset;
	settle(generator);
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t soft_curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order)
{
	if (!is_good(generator))
		return CURAND_STATUS_NOT_INITIALIZED;
	if (is_quasi(generator) ? order != CURAND_ORDERING_QUASI_DEFAULT
				: (unsigned int)order < CURAND_ORDERING_PSEUDO_BEST ||
					  (unsigned int)order > CURAND_ORDERING_PSEUDO_DYNAMIC)
		return CURAND_STATUS_OUT_OF_RANGE;
	if (order == CURAND_ORDERING_PSEUDO_SEEDED && generator->type != CURAND_RNG_PSEUDO_XORWOW)
		return CURAND_STATUS_OUT_OF_RANGE;
	generator->order = order;
	if (rand_sequences(generator->type, order))
		settle(generator);
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t soft_curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator, unsigned int num_dimensions)
{
	if (!is_good(generator))
		return CURAND_STATUS_NOT_INITIALIZED;
	if (!is_quasi(generator))
		return CURAND_STATUS_TYPE_ERROR;
	if (num_dimensions > RAND_DIMENSIONS && num_dimensions <= 20000)
		library_refused(RAND_TITLE, "a quasirandom generator of more than 1111 dimensions");
	if (!num_dimensions || num_dimensions > RAND_DIMENSIONS)
		return CURAND_STATUS_OUT_OF_RANGE;
	generator->dimensions = num_dimensions;
	return CURAND_STATUS_SUCCESS;
}

/* ---- numbers ---- */

/* What is left in the program's memory, by the caller's thread. */
static void run_here(const struct rand_work *w, int64_t parts)
{
	struct rand_place *place = rand_place(w);

	if (w->sequences)
		rand_sequences_run(w, place, 0, parts, NULL);
	else
		rand_positions_run(w, place, 0, parts, NULL);
	place->done += rand_turns(w);
}

static CUresult generate_locked(struct curandGenerator_st *g, enum rand_output output, const void *to, int64_t count,
				double mean, double deviation)
{
	bool capturing = is_capturing(g);
	CUresult e = seed_locked(g, capturing);
	struct rand_work w = work_of(g);
	int64_t units, parts;

	if (e)
		return e;
	w.kernel = RAND_KERNEL_GENERATE;
	w.output = output;
	w.to = (uintptr_t)to;
	w.count = count;
	w.mean = mean;
	w.deviation = deviation;
	units = w.count / rand_unit(&w);
	parts = !w.sequences ? w.count : units < w.sequences ? units : w.sequences;
	g->captured |= capturing;
	if (g->driver)
		return launch(g, &w, library_blocks(parts, 1 + w.count / parts * 16), (CUstream)g->stream);
	run_here(&w, parts);
	return CUDA_SUCCESS;
}

static bool is_normal(enum rand_output output)
{
	return output >= RAND_NORMAL && output <= RAND_LOG_NORMAL_DOUBLE;
}

static curandStatus_t generate(curandGenerator_t g, enum rand_output output, void *to, size_t count, double mean,
			       double deviation)
{
	CUresult e;

	if (!is_good(g))
		return CURAND_STATUS_NOT_INITIALIZED;
	if ((output == RAND_BITS && is_wide(g)) || (output == RAND_BITS64 && !is_wide(g)))
		return CURAND_STATUS_TYPE_ERROR;
	if (count > (size_t)1 << 40)
		return CURAND_STATUS_OUT_OF_RANGE;
	if (is_quasi(g) ? count % g->dimensions != 0 : is_normal(output) && count % 2)
		return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
	if (output == RAND_POISSON && !(mean > 0))
		return CURAND_STATUS_OUT_OF_RANGE;
	if (!count)
		return CURAND_STATUS_SUCCESS;
	if (!to)
		return CURAND_STATUS_OUT_OF_RANGE;
	pthread_mutex_lock(&g->mutex);
	e = generate_locked(g, output, to, (int64_t)count, mean, deviation);
	pthread_mutex_unlock(&g->mutex);
	return status_of(e);
}

#define GENERATE(name, type, output)                                                                                   \
	curandStatus_t soft_curandGenerate##name(curandGenerator_t generator, type *outputPtr, size_t num)             \
	{                                                                                                              \
		return generate(generator, output, outputPtr, num, 0, 1);                                              \
	}
GENERATE(, unsigned int, RAND_BITS)
GENERATE(LongLong, unsigned long long, RAND_BITS64)
GENERATE(Uniform, float, RAND_UNIFORM)
GENERATE(UniformDouble, double, RAND_UNIFORM_DOUBLE)

#define GENERATE_NORMAL(name, type, output)                                                                            \
	curandStatus_t soft_curandGenerate##name(curandGenerator_t generator, type *outputPtr, size_t n, type mean,    \
						 type stddev)                                                          \
	{                                                                                                              \
		return generate(generator, output, outputPtr, n, (double)mean, (double)stddev);                        \
	}
GENERATE_NORMAL(Normal, float, RAND_NORMAL)
GENERATE_NORMAL(NormalDouble, double, RAND_NORMAL_DOUBLE)
GENERATE_NORMAL(LogNormal, float, RAND_LOG_NORMAL)
GENERATE_NORMAL(LogNormalDouble, double, RAND_LOG_NORMAL_DOUBLE)

curandStatus_t soft_curandGeneratePoisson(curandGenerator_t generator, unsigned int *outputPtr, size_t n, double lambda)
{
	return generate(generator, RAND_POISSON, outputPtr, n, lambda, 0);
}

curandStatus_t soft_curandGeneratePoissonMethod(curandGenerator_t generator, unsigned int *outputPtr, size_t n,
						double lambda, curandMethod_t method)
{
	return generate(generator, RAND_POISSON, outputPtr, n, lambda, 0);
}

/* ---- what a program's own kernels take ---- */

static uint32_t (*vectors32)[32];
static uint64_t (*vectors64)[64];
static pthread_once_t vectors_once = PTHREAD_ONCE_INIT;

/* As many dimensions as cuRAND's tables have; those without numbers are 0. */
static void vectors_make(void)
{
	vectors32 = calloc(20000, sizeof(*vectors32));
	vectors64 = calloc(20000, sizeof(*vectors64));
	for (uint32_t i = 0; vectors32 && vectors64 && i < RAND_DIMENSIONS; i++) {
		sobol_directions32(i, vectors32[i]);
		sobol_directions64(i, vectors64[i]);
	}
}

static curandStatus_t vectors_get(void *ret, const void *vectors, curandDirectionVectorSet_t set,
				  curandDirectionVectorSet_t wanted)
{
	if (!ret || set != wanted) {
		if (set == wanted + 1)
			library_refused(RAND_TITLE, "scrambled direction vectors");
		return CURAND_STATUS_OUT_OF_RANGE;
	}
	if (!vectors)
		return CURAND_STATUS_ALLOCATION_FAILED;
	memcpy(ret, &vectors, sizeof(vectors));
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t soft_curandGetDirectionVectors32(void **vectors, curandDirectionVectorSet_t set)
{
	pthread_once(&vectors_once, vectors_make);
	return vectors_get(vectors, vectors32, set, CURAND_DIRECTION_VECTORS_32_JOEKUO6);
}

curandStatus_t soft_curandGetDirectionVectors64(void **vectors, curandDirectionVectorSet_t set)
{
	pthread_once(&vectors_once, vectors_make);
	return vectors_get(vectors, vectors64, set, CURAND_DIRECTION_VECTORS_64_JOEKUO6);
}
