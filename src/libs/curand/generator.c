/*
 * generator.c: cuRAND's calls.
 *
 * What a generator is set to takes effect with its next numbers, when its states are seeded. Statuses as cuRAND
 * documents them: a setting that a type has not: TYPE_ERROR; a count that does not fit: LENGTH_NOT_MULTIPLE.
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
	uint64_t seed, offset, done; /* done: numbers since the offset was set, of functions of a position */
	uint32_t dimensions;
	bool seeded;
	uint32_t first;	 /* the subsequence whose turn it is */
	uint64_t states; /* address; 0: none yet */
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

static void states_free(struct curandGenerator_st *g)
{
	CUcontext popped;

	if (!g->driver) {
		free((void *)(uintptr_t)g->states);
	} else if (g->states && !g->driver->push(g->context)) {
		g->driver->free(g->states);
		g->driver->pop(&popped);
	}
	g->states = 0;
	g->states_count = 0;
}

curandStatus_t soft_curandDestroyGenerator(curandGenerator_t generator)
{
	if (!is_good(generator))
		return CURAND_STATUS_NOT_INITIALIZED;
	generator->magic = 0;
	states_free(generator);
	free(generator);
	return CURAND_STATUS_SUCCESS;
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
	generator->done = 0;
	generator->seeded = false;
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t soft_curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset)
{
	if (!is_good(generator))
		return CURAND_STATUS_NOT_INITIALIZED;
	generator->offset = offset;
	generator->done = 0;
	generator->seeded = false;
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
	generator->seeded = false;
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

static struct rand_work work_of(const struct curandGenerator_st *g)
{
	return (struct rand_work){ .type = g->type,
				   .seed = g->seed,
				   .offset = g->offset,
				   .done = g->done,
				   .states = g->states,
				   .sequences = rand_sequences(g->type, g->order),
				   .first = g->first,
				   .seeded = g->order == CURAND_ORDERING_PSEUDO_SEEDED,
				   .dimensions = g->dimensions };
}

static curandStatus_t launch(struct curandGenerator_st *g, const struct rand_work *w, uint32_t blocks)
{
	union {
		struct rand_work w;
		uint8_t bytes[DEVICE_PARAM_BYTES];
	} u;

	memset(&u, 0, sizeof(u));
	u.w = *w;
	return status_of(library_launch(g->driver, g->context, w->kernel, blocks, (CUstream)g->stream, &u));
}

static curandStatus_t states_get(struct curandGenerator_st *g, uint32_t count)
{
	size_t bytes = count * sizeof(struct rand_state);
	CUcontext popped;
	CUdeviceptr at = 0;
	CUresult e;

	if (g->states_count == count)
		return CURAND_STATUS_SUCCESS;
	states_free(g);
	if (!g->driver) {
		at = (uintptr_t)malloc(bytes);
		e = at ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	} else {
		e = g->driver->push(g->context);
		if (!e) {
			e = g->driver->alloc(&at, bytes);
			g->driver->pop(&popped);
		}
	}
	if (e)
		return status_of(e);
	g->states = at;
	g->states_count = count;
	return CURAND_STATUS_SUCCESS;
}

static curandStatus_t seed(struct curandGenerator_st *g)
{
	uint32_t count = rand_sequences(g->type, g->order);
	struct rand_work w;
	curandStatus_t status;

	if (g->seeded)
		return CURAND_STATUS_SUCCESS;
	status = count ? states_get(g, count) : CURAND_STATUS_SUCCESS;
	if (status || !count) {
		g->seeded = !status;
		return status;
	}
	w = work_of(g);
	w.kernel = RAND_KERNEL_SEED;
	w.count = count;
	if (g->driver)
		status = launch(g, &w, library_blocks(count, 64));
	else
		rand_seed(&w, (struct rand_state *)(uintptr_t)g->states, 0, count);
	g->first = (uint32_t)(g->offset % count);
	g->seeded = !status;
	return status;
}

curandStatus_t soft_curandGenerateSeeds(curandGenerator_t generator)
{
	return is_good(generator) ? seed(generator) : CURAND_STATUS_NOT_INITIALIZED;
}

/* What is left in the program's memory, by the caller's thread. */
static void run_here(const struct rand_work *w, int64_t parts)
{
	if (w->sequences)
		rand_sequences_run(w, (struct rand_state *)(uintptr_t)w->states, (void *)(uintptr_t)w->to, 0, parts,
				   NULL);
	else
		rand_positions_run(w, (void *)(uintptr_t)w->to, 0, parts, NULL);
}

static bool is_normal(enum rand_output output)
{
	return output >= RAND_NORMAL && output <= RAND_LOG_NORMAL_DOUBLE;
}

static curandStatus_t generate(curandGenerator_t g, enum rand_output output, void *to, size_t count, double mean,
			       double deviation)
{
	struct rand_work w;
	curandStatus_t status;
	int64_t units, parts;

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
	status = seed(g);
	if (status)
		return status;
	w = work_of(g);
	w.kernel = RAND_KERNEL_GENERATE;
	w.output = output;
	w.to = (uintptr_t)to;
	w.count = (int64_t)count;
	w.mean = mean;
	w.deviation = deviation;
	units = w.count / rand_unit(&w);
	parts = !w.sequences ? w.count : units < w.sequences ? units : w.sequences;
	if (g->driver)
		status = launch(g, &w, library_blocks(parts, 1 + w.count / parts * 16));
	else
		run_here(&w, parts);
	if (w.sequences)
		g->first = (uint32_t)((g->first + (uint64_t)units) % w.sequences);
	else
		g->done += count / g->dimensions;
	return status;
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
