/*
 * comm.c: communicators: made, split, ended; what they tell.
 *
 * Each is made by a thread of its own, so that several of a process can be made in a group.
 */
#include "libs/nccl/nccl.h"

#include "softdev/log.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the driver ---- */

static const struct {
	const char *symbol;
	size_t offset;
} symbols[] = {
	{ "cuInit", offsetof(struct nccl_driver, init) },
	{ "cuCtxGetCurrent", offsetof(struct nccl_driver, current) },
	{ "cuCtxSetCurrent", offsetof(struct nccl_driver, set_current) },
	{ "cuCtxPushCurrent_v2", offsetof(struct nccl_driver, push) },
	{ "cuCtxPopCurrent_v2", offsetof(struct nccl_driver, pop) },
	{ "cuCtxGetDevice", offsetof(struct nccl_driver, device) },
	{ "cuDeviceGetCount", offsetof(struct nccl_driver, count) },
	{ "cuDevicePrimaryCtxRetain", offsetof(struct nccl_driver, retain) },
	{ "cuMemAlloc_v2", offsetof(struct nccl_driver, alloc) },
	{ "cuMemFree_v2", offsetof(struct nccl_driver, free) },
	{ "cuMemHostAlloc", offsetof(struct nccl_driver, host_alloc) },
	{ "cuMemFreeHost", offsetof(struct nccl_driver, host_free) },
	{ "cuDeviceGetAttribute", offsetof(struct nccl_driver, attribute) },
	{ "cuMemcpyDtoHAsync_v2", offsetof(struct nccl_driver, read) },
	{ "cuMemcpyHtoDAsync_v2", offsetof(struct nccl_driver, write) },
	{ "cuStreamCreate", offsetof(struct nccl_driver, stream_create) },
	{ "cuStreamDestroy_v2", offsetof(struct nccl_driver, stream_destroy) },
	{ "cuStreamSynchronize", offsetof(struct nccl_driver, wait) },
	{ "cuStreamIsCapturing", offsetof(struct nccl_driver, capturing) },
	{ "cuStreamWaitEvent", offsetof(struct nccl_driver, wait_event) },
	{ "cuStreamWaitValue32_v2", offsetof(struct nccl_driver, wait_value) },
	{ "cuStreamWriteValue32_v2", offsetof(struct nccl_driver, write_value) },
	{ "cuLaunchHostFunc", offsetof(struct nccl_driver, host) },
	{ "cuEventCreate", offsetof(struct nccl_driver, event_create) },
	{ "cuEventRecord", offsetof(struct nccl_driver, event_record) },
	{ "cuEventDestroy_v2", offsetof(struct nccl_driver, event_destroy) },
	{ "cuEventQuery", offsetof(struct nccl_driver, event_query) },
};

static struct nccl_driver driver;
static bool driver_good;

static void driver_find(void)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		log_line("NCCL: %s; run the program with `mete run`", dlerror());
		return;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *f = dlsym(handle, symbols[i].symbol);

		if (!f) {
			log_line("NCCL: libcuda.so.1 has no %s", symbols[i].symbol);
			return;
		}
		memcpy((char *)&driver + symbols[i].offset, &f, sizeof(f));
	}
	driver_good = !driver.init(0);
}

const struct nccl_driver *nccl_driver(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, driver_find);
	return driver_good ? &driver : NULL;
}

/* A program of the runtime's may have chosen a device that has no context yet: the runtime then makes it current. */
static CUresult context_of_thread(const struct nccl_driver *d, CUcontext *ret)
{
	int (*runtime_free)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "cudaFree");
	CUresult e = d->current(ret);

	if (e || *ret)
		return e;
	if (runtime_free)
		runtime_free(NULL);
	e = d->current(ret);
	if (!e && !*ret)
		e = d->retain(ret, 0);
	return e;
}

/* ---- errors ---- */

void soft_unsupported(enum nccl_call call)
{
	log_line("%s: not supported by mete's NCCL (docs/libraries.md lists what is)", nccl_call_name[call]);
}

struct ncclComm *nccl_comm_find(ncclComm_t comm)
{
	return comm && !((uintptr_t)comm % _Alignof(struct ncclComm)) && comm->magic == NCCL_MAGIC ? comm : NULL;
}

/* The last error of the process: of communicators that could not be made as well, which nobody has in hand. */
static struct {
	pthread_mutex_t mutex;
	char text[256];
} last_error = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void last_error_set(const char *text)
{
	pthread_mutex_lock(&last_error.mutex);
	snprintf(last_error.text, sizeof(last_error.text), "%s", text);
	pthread_mutex_unlock(&last_error.mutex);
}

/* A copy, which is the calling thread's. */
static const char *last_error_get(void)
{
	static __thread char text[sizeof(last_error.text)];

	pthread_mutex_lock(&last_error.mutex);
	memcpy(text, last_error.text, sizeof(text));
	pthread_mutex_unlock(&last_error.mutex);
	return text;
}

void nccl_fail(struct ncclComm *c, ncclResult_t result, const char *fmt, ...)
{
	bool first;
	va_list ap;

	pthread_mutex_lock(&c->mutex);
	first = !*c->error;
	if (first) {
		va_start(ap, fmt);
		vsnprintf(c->error, sizeof(c->error), fmt, ap);
		va_end(ap);
		if (!c->abort) {
			log_line("NCCL: %s", c->error);
			last_error_set(c->error);
		}
		c->state = (int)result;
	}
	pthread_cond_broadcast(&c->cond);
	pthread_mutex_unlock(&c->mutex);
}

const char *soft_ncclGetErrorString(ncclResult_t result)
{
	static const char *const texts[] = { "no error",
					     "unhandled cuda error",
					     "unhandled system error",
					     "internal error",
					     "invalid argument",
					     "invalid usage",
					     "remote process exited or there was a network error",
					     "NCCL operation in progress" };

	return (unsigned int)result < sizeof(texts) / sizeof(*texts) ? texts[result] : "unknown result code";
}

const char *soft_ncclGetLastError(ncclComm_t comm)
{
	struct ncclComm *c = nccl_comm_find(comm);

	if (!c)
		return last_error_get();
	/* written before the state is */
	return c->state != ncclSuccess && c->state != ncclInProgress ? c->error : "";
}

void soft_ncclResetDebugInit(void)
{
}

ncclResult_t soft_ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError)
{
	struct ncclComm *c = nccl_comm_find(comm);

	if (!c || !asyncError)
		return ncclInvalidArgument;
	*asyncError = (ncclResult_t)c->state;
	return ncclSuccess;
}

/* ---- made ---- */

/* Operations that the thread did not come to. */
static void ops_free(struct nccl_op *op)
{
	while (op) {
		struct nccl_op *next = op->next;

		nccl_op_free(op);
		op = next;
	}
}

static void comm_free(struct ncclComm *c)
{
	ops_free(c->first);
	for (int i = 0; c->lines && i < c->ranks; i++)
		line_free(c->lines[i], c->state != ncclSuccess || c->abort);
	free(c->lines);
	free(c->room);
	free(c->scalars);
	pthread_mutex_destroy(&c->mutex);
	pthread_cond_destroy(&c->cond);
	c->magic = 0;
	free(c);
}

static ncclResult_t device_begin(struct ncclComm *c)
{
	const struct nccl_driver *d = c->driver;
	CUresult e = d->set_current(c->context);
	int reads_late = 1;

	if (!e)
		e = d->device(&c->device);
	if (!e)
		e = d->attribute(&reads_late, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, c->device);
	c->reads_late = reads_late;
	if (!e)
		e = stage_begin(c);
	if (!e)
		e = d->alloc(&c->words, NCCL_WORDS_BYTES);
	if (!e)
		e = d->stream_create(&c->stream, CU_STREAM_NON_BLOCKING);
	/* in the order of what is written there later; a captured operation sets its word back itself */
	if (!e)
		e = d->write_value(c->stream, c->words, 0, 0);
	if (!e)
		e = d->event_create(&c->event, CU_EVENT_DISABLE_TIMING);
	if (!e)
		e = d->event_record(c->event, c->stream);
	if (e)
		nccl_fail(c, ncclUnhandledCudaError, "what a communicator needs on its device: error %d of the driver",
			  (int)e);
	return e ? ncclUnhandledCudaError : ncclSuccess;
}

static void device_end(struct ncclComm *c)
{
	CUcontext popped;

	if (c->driver->push(c->context))
		return;
	if (c->event)
		c->driver->event_destroy(c->event);
	if (c->stream)
		c->driver->stream_destroy(c->stream);
	if (c->words)
		c->driver->free(c->words);
	stage_end(c);
	c->driver->pop(&popped);
}

/*
 * Communicators that ended while functions in streams led to them and streams waited for their words. Each stays until
 * its event says that the streams have passed; one with captured operations stays for good, since a graph may be
 * launched again.
 */
static struct {
	pthread_mutex_t mutex;
	struct ncclComm *first;
} ended = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static bool streams_passed(struct ncclComm *c)
{
	CUcontext popped;
	bool on_way;
	CUresult e;

	pthread_mutex_lock(&c->mutex);
	on_way = c->on_way;
	pthread_mutex_unlock(&c->mutex);
	if (on_way || c->captured_count || c->driver->push(c->context))
		return false;
	e = c->driver->event_query(c->event);
	c->driver->pop(&popped);
	return e == CUDA_SUCCESS;
}

static void ended_add(struct ncclComm *c)
{
	pthread_mutex_lock(&ended.mutex);
	c->next_ended = ended.first;
	ended.first = c;
	pthread_mutex_unlock(&ended.mutex);
}

/* Frees those whose streams have passed. */
static void ended_sweep(void)
{
	pthread_mutex_lock(&ended.mutex);
	for (struct ncclComm **at = &ended.first; *at;) {
		struct ncclComm *c = *at;

		if (!streams_passed(c)) {
			at = &c->next_ended;
			continue;
		}
		*at = c->next_ended;
		device_end(c);
		comm_free(c);
	}
	pthread_mutex_unlock(&ended.mutex);
}

static void *initialise(void *given)
{
	struct ncclComm *c = given;
	ncclResult_t r = device_begin(c);

	if (!r)
		r = meet_all(c, &c->id);
	if (!r && pthread_create(&c->thread, NULL, nccl_thread, c)) {
		nccl_fail(c, ncclSystemError, "no thread for a communicator");
		r = ncclSystemError;
	}
	c->has_thread = !r;
	if (!r)
		c->state = ncclSuccess;
	return NULL;
}

static bool config_good(const ncclConfig_t *config)
{
	return !config || (config->magic == 0xcafebeef && config->size >= offsetof(ncclConfig_t, cgaClusterSize));
}

static bool is_blocking(const ncclConfig_t *config)
{
	return !config || config->blocking != 0; /* NCCL_CONFIG_UNDEF_INT: as without */
}

/* `context` NULL: the thread's. */
static ncclResult_t create(ncclComm_t *ret, int ranks, const ncclUniqueId *id, int rank, const ncclConfig_t *config,
			   CUcontext context)
{
	const struct nccl_driver *d = nccl_driver();
	struct ncclComm *c;
	ncclResult_t r;
	CUresult e;

	if (ret)
		*ret = NULL;
	if (!ret || !id || ranks < 1 || ranks > NCCL_RANKS_MOST || rank < 0 || rank >= ranks || !config_good(config))
		return ncclInvalidArgument;
	if (!d)
		return ncclUnhandledCudaError;
	e = context ? CUDA_SUCCESS : context_of_thread(d, &context);
	if (e)
		return ncclUnhandledCudaError;
	ended_sweep();
	c = calloc(1, sizeof(*c));
	if (!c)
		return ncclSystemError;
	*c = (struct ncclComm){ .magic = NCCL_MAGIC,
				.driver = d,
				.rank = rank,
				.ranks = ranks,
				.context = context,
				.blocking = is_blocking(config),
				.last = &c->first,
				.state = ncclInProgress,
				.id = *id };
	pthread_mutex_init(&c->mutex, NULL);
	pthread_cond_init(&c->cond, NULL);
	c->lines = calloc((size_t)ranks, sizeof(struct line *));
	if (!c->lines || pthread_create(&c->initialiser, NULL, initialise, c)) {
		comm_free(c);
		return ncclSystemError;
	}
	c->has_initialiser = true;
	*ret = c;
	r = nccl_begin(c);
	if (r && r != ncclInProgress) {
		*ret = NULL;
		device_end(c);
		comm_free(c);
	}
	return r;
}

ncclResult_t nccl_create(ncclComm_t *ret, int ranks, const ncclUniqueId *id, int rank, const ncclConfig_t *config,
			 const struct ncclComm *parent)
{
	const ncclConfig_t same = { .size = sizeof(same), .magic = 0xcafebeef, .blocking = parent->blocking };

	return create(ret, ranks, id, rank, config ? config : &same, parent->context);
}

ncclResult_t soft_ncclGetVersion(int *version)
{
	if (!version)
		return ncclInvalidArgument;
	*version = NCCL_VERSION_TOLD;
	return ncclSuccess;
}

ncclResult_t soft_ncclGetUniqueId(ncclUniqueId *uniqueId)
{
	return uniqueId ? meet_id(uniqueId) : ncclInvalidArgument;
}

ncclResult_t soft_ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank,
					 ncclConfig_t *config)
{
	return create(comm, nranks, &commId, rank, config, NULL);
}

ncclResult_t soft_ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank)
{
	return create(comm, nranks, &commId, rank, NULL, NULL);
}

/* Any of the ids would do: one meeting is enough. */
ncclResult_t soft_ncclCommInitRankScalable(ncclComm_t *newcomm, int nranks, int myrank, int nId, ncclUniqueId *commIds,
					   ncclConfig_t *config)
{
	return nId < 1 || !commIds ? ncclInvalidArgument : create(newcomm, nranks, commIds, myrank, config, NULL);
}

ncclResult_t soft_ncclCommInitAll(ncclComm_t *comm, int ndev, const int *devlist)
{
	const struct nccl_driver *d = nccl_driver();
	ncclUniqueId id;
	int count = 0;
	ncclResult_t r;

	if (!comm || ndev < 1)
		return ncclInvalidArgument;
	if (!d || d->count(&count))
		return ncclUnhandledCudaError;
	for (int i = 0; i < ndev; i++) {
		int device = devlist ? devlist[i] : i;

		if (device < 0 || device >= count)
			return ncclInvalidArgument;
		for (int k = 0; devlist && k < i; k++)
			if (devlist[k] == device)
				return ncclInvalidUsage;
	}
	r = meet_id(&id);
	if (r)
		return r;
	soft_ncclGroupStart();
	for (int i = 0; !r && i < ndev; i++) {
		CUcontext context;

		r = d->retain(&context, devlist ? devlist[i] : i) ? ncclUnhandledCudaError
								  : create(&comm[i], ndev, &id, i, NULL, context);
	}
	return r ? (soft_ncclGroupEnd(), r) : soft_ncclGroupEnd();
}

/* ---- split ---- */

struct colour {
	int color, key, rank;
};

static int colour_compare(const void *a, const void *b)
{
	const struct colour *x = a, *y = b;

	return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->rank - y->rank;
}

ncclResult_t soft_ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config)
{
	struct ncclComm *c = nccl_comm_find(comm);
	struct colour mine = { color, key, c ? c->rank : 0 }, *all, *same;
	ncclUniqueId id = { { 0 } }, *ids;
	int count = 0, rank = 0;
	ncclResult_t r;

	if (!c || !newcomm || !config_good(config))
		return ncclInvalidArgument;
	*newcomm = NULL;
	if (c->state)
		return c->state == ncclInProgress ? ncclInvalidUsage : (ncclResult_t)c->state;
	all = calloc((size_t)c->ranks, sizeof(*all));
	same = calloc((size_t)c->ranks, sizeof(*same));
	ids = calloc((size_t)c->ranks, sizeof(*ids));
	r = all && same && ids ? nccl_words(c, &mine, all, sizeof(mine)) : ncclSystemError;
	for (int i = 0; !r && i < c->ranks; i++)
		if (all[i].color == color)
			same[count++] = all[i];
	if (!r) {
		qsort(same, (size_t)count, sizeof(*same), colour_compare);
		for (rank = 0; same[rank].rank != c->rank; rank++)
			;
		if (color >= 0 && !rank)
			r = meet_id(&id);
	}
	if (!r)
		r = nccl_words(c, &id, ids, sizeof(id));
	if (!r && color >= 0)
		r = nccl_create(newcomm, count, &ids[same[0].rank], rank, config, c);
	free(all);
	free(same);
	free(ids);
	return r;
}

/* ---- ended ---- */

void nccl_join(struct ncclComm *c)
{
	if (c->has_initialiser)
		pthread_join(c->initialiser, NULL);
	c->has_initialiser = false;
}

/* Until nothing of it is left in streams, or it has an error. */
static void drain(struct ncclComm *c)
{
	pthread_mutex_lock(&c->mutex);
	while (c->pending && c->state == ncclSuccess && !c->abort)
		pthread_cond_wait(&c->cond, &c->mutex);
	c->finalized = true;
	pthread_mutex_unlock(&c->mutex);
}

ncclResult_t soft_ncclCommFinalize(ncclComm_t comm)
{
	struct ncclComm *c = nccl_comm_find(comm);

	if (!c)
		return ncclInvalidArgument;
	nccl_join(c);
	if (c->finalized)
		return ncclInvalidUsage;
	drain(c);
	return (ncclResult_t)c->state;
}

/* Streams that still wait go on. */
void nccl_words_write(struct ncclComm *c)
{
	CUcontext popped;

	if (c->driver->push(c->context))
		return;
	if (c->words) {
		c->driver->write_value(c->stream, c->words, c->issued, 0);
		for (uint32_t i = 0; i < c->captured_count; i++)
			c->driver->write_value(c->stream, c->words + 4 * (CUdeviceptr)(i + 1), 1, 0);
		c->driver->wait(c->stream);
	}
	c->driver->pop(&popped);
}

static ncclResult_t end(struct ncclComm *c)
{
	bool pending;

	pthread_mutex_lock(&c->mutex);
	c->ending = true;
	pthread_cond_broadcast(&c->cond);
	pthread_mutex_unlock(&c->mutex);
	if (c->has_thread)
		pthread_join(c->thread, NULL);
	pthread_mutex_lock(&c->mutex);
	while (c->callers)
		pthread_cond_wait(&c->cond, &c->mutex);
	pending = c->pending || c->captured_count;
	pthread_mutex_unlock(&c->mutex);
	if (!pending) {
		device_end(c);
		comm_free(c);
		return ncclSuccess;
	}
	/* Functions in streams still lead here, and streams wait for its words: what they need stays. */
	nccl_words_write(c);
	for (int i = 0; i < c->ranks; i++) {
		line_free(c->lines[i], c->state != ncclSuccess || c->abort);
		c->lines[i] = NULL;
	}
	c->magic = 0;
	ended_add(c);
	ended_sweep();
	return ncclSuccess;
}

ncclResult_t soft_ncclCommDestroy(ncclComm_t comm)
{
	struct ncclComm *c = nccl_comm_find(comm);

	if (!comm)
		return ncclSuccess;
	if (!c)
		return ncclInvalidArgument;
	nccl_join(c);
	drain(c);
	return end(c);
}

ncclResult_t soft_ncclCommAbort(ncclComm_t comm)
{
	struct ncclComm *c = nccl_comm_find(comm);

	if (!comm)
		return ncclSuccess;
	if (!c)
		return ncclInvalidArgument;
	c->abort = true;
	nccl_join(c);
	drain(c);
	return end(c);
}

/* ---- what it tells ---- */

#define TOLD(name, field)                                                                                              \
	ncclResult_t soft_ncclComm##name(const ncclComm_t comm, int *ret)                                              \
	{                                                                                                              \
		struct ncclComm *c = nccl_comm_find(comm);                                                             \
		if (!c || !ret)                                                                                        \
			return ncclInvalidArgument;                                                                    \
		*ret = c->field;                                                                                       \
		return ncclSuccess;                                                                                    \
	}
TOLD(Count, ranks)
TOLD(CuDevice, device)
TOLD(UserRank, rank)

/* ---- memory: there is nothing to register ---- */

ncclResult_t soft_ncclMemAlloc(void **ptr, size_t size)
{
	const struct nccl_driver *d = nccl_driver();
	CUdeviceptr at = 0;
	CUcontext context;

	if (!ptr || !size)
		return ncclInvalidArgument;
	if (!d || context_of_thread(d, &context) || d->push(context))
		return ncclUnhandledCudaError;
	if (d->alloc(&at, size))
		at = 0;
	d->pop(&context);
	*ptr = (void *)(uintptr_t)at;
	return at ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t soft_ncclMemFree(void *ptr)
{
	const struct nccl_driver *d = nccl_driver();

	if (!ptr)
		return ncclSuccess;
	return d && !d->free((uintptr_t)ptr) ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t soft_ncclCommRegister(const ncclComm_t comm, void *buff, size_t size, void **handle)
{
	if (!nccl_comm_find(comm) || !buff || !size || !handle)
		return ncclInvalidArgument;
	*handle = buff;
	return ncclSuccess;
}

ncclResult_t soft_ncclCommDeregister(const ncclComm_t comm, void *handle)
{
	return nccl_comm_find(comm) && handle ? ncclSuccess : ncclInvalidArgument;
}

/* A window of no kind: as where the hardware has none. */
ncclResult_t soft_ncclCommWindowRegister(ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win, int winFlags)
{
	if (!nccl_comm_find(comm) || !buff || !size || !win)
		return ncclInvalidArgument;
	*win = NULL;
	return ncclSuccess;
}

ncclResult_t soft_ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win)
{
	return nccl_comm_find(comm) ? ncclSuccess : ncclInvalidArgument;
}

/* ---- reductions with a scalar ---- */

ncclResult_t soft_ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t datatype,
					   ncclScalarResidence_t residence, ncclComm_t comm)
{
	struct ncclComm *c = nccl_comm_find(comm);
	struct nccl_scalar s = { .used = true, .type = datatype, .in_device = residence == ncclScalarDevice }, *more;
	ncclResult_t r = ncclSuccess;
	uint32_t i;

	if (!c || !op || !scalar || !nccl_bytes(datatype) || (unsigned int)residence > ncclScalarHostImmediate)
		return ncclInvalidArgument;
	if (s.in_device)
		s.at = (uintptr_t)scalar;
	else
		nccl_scalar_read(datatype, scalar, &s.value, &s.whole);
	pthread_mutex_lock(&c->mutex);
	for (i = 0; i < c->scalars_count && c->scalars[i].used; i++)
		;
	more = i < c->scalars_count ? c->scalars : realloc(c->scalars, (i + 1) * sizeof(*more));
	if (more) {
		c->scalars = more;
		c->scalars_count = i < c->scalars_count ? c->scalars_count : i + 1;
		c->scalars[i] = s;
		*op = (ncclRedOp_t)(ncclNumOps + i);
	} else {
		r = ncclSystemError;
	}
	pthread_mutex_unlock(&c->mutex);
	return r;
}

ncclResult_t soft_ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
	struct ncclComm *c = nccl_comm_find(comm);
	uint32_t i = (uint32_t)op - ncclNumOps;
	ncclResult_t r = ncclInvalidArgument;

	if (!c || (uint32_t)op < ncclNumOps)
		return r;
	pthread_mutex_lock(&c->mutex);
	if (i < c->scalars_count && c->scalars[i].used) {
		c->scalars[i].used = false;
		r = ncclSuccess;
	}
	pthread_mutex_unlock(&c->mutex);
	return r;
}
