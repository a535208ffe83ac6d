/*
 * mixer.c: a program whose threads take and give device memory in every way there is, all at once, to be killed at any
 * moment.
 *
 *   mixer STATE SEED PIECE THREADS WAYS   STATE: a file that is shared with who kills; PIECE: the largest size of one
 *   allocation; WAYS: letters of `ways`, which it may use
 *
 * When the other side sets `pause`, the threads end the calls that they are in, and wait. What was exported is offered
 * to the other mixers through the state file of all of them, the one named by the environment's MIXER_SHELF.
 *
 * With MIXER_CARELESS in the environment two threads may have the same thing, give it back twice, at once, and when its
 * number is another's already, and take things in a context that the other destroys. What they are told does not matter
 * then.
 */
#include <cuda.h>

#include <ctype.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS 10
#define SHELF 16
#define THREADS_MOST 16

struct state {
	atomic_uint pause, paused;
	atomic_ullong calls;
	atomic_uint error; /* a CUresult that the call may not have had, and the way that had it */
	atomic_uint error_way;
	atomic_ullong refused;	 /* out of memory */
	atomic_uint refused_way; /* the last */
	/* Of each thread: the way of the call that it is in, a capital where it gives back; '=': it waits; 0: none. */
	_Atomic char at[THREADS_MOST];
};

struct offer {
	atomic_uint version; /* odd: being written */
	CUipcMemHandle handle;
};

enum kind {
	PLAIN,
	MANAGED,
	QUEUED,
	ARRAY,
	MIPMAP,
	MODULE,
	LIBRARY,
	KERNEL,
	EXPORTED,
	KEPT,
	OFFERED,
	TAKEN,
	CONTEXT,
	HEAP,
	GRAPH,
	POOL,
	PASSED_POOL, /* one that other processes may open */
	RANGE,
	BACK, /* one's own descriptor, opened again */
	FULL_CONTEXT,
	PRIMARY,
	LINKED,
	PITCHED,
	MOVED,
	TRIM
};
static const char ways[] = "pmqayjlkesoichgfnvbxruwzt"; /* in the order of enum kind */

#define PIECES 2

struct slot {
	bool used;
	enum kind kind;
	CUdeviceptr p, piece[PIECES]; /* 0: none */
	void *handle; /* CUarray, CUmipmappedArray, CUmodule, CUlibrary, CUcontext, CUmemoryPool, CUgraph */
	void *exec;
	CUmemGenericAllocationHandle physical;
	size_t granule;
	int fd;
	unsigned int order; /* in which what belongs together goes */
};

struct thread {
	unsigned int random;
	_Atomic char *at;
	struct slot slot[SLOTS];
};

static struct state *state;
static struct offer *shelf;
static CUcontext primary;
static unsigned long long most;
static const char *wanted;
static bool careless;
static unsigned int thread_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int still;

static unsigned int draw(struct thread *t, unsigned int below)
{
	t->random = t->random * 1664525u + 1013904223u;
	return (t->random >> 8) % below;
}

static unsigned long long draw_bytes(struct thread *t)
{
	unsigned long long bytes = ((unsigned long long)draw(t, 1 << 20) << 20 | draw(t, 1 << 20)) % most + 1;

	return draw(t, 4) ? bytes : bytes % 4096 + 1;
}

/* A module with one variable of `bytes`. */
static void write_image(char *text, size_t room, unsigned long long bytes)
{
	snprintf(text, room,
		 ".version 7.0\n.target sm_80\n.address_size 64\n.global .align 4 .b8 v[%llu];\n"
		 ".visible .entry k()\n{\n ret;\n}\n",
		 bytes);
}

static CUresult take_array(struct slot *s, unsigned long long bytes)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 256, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4 };

	d.Height = bytes / 4096 + 1;
	if (d.Height > 16384)
		d.Height = 16384;
	if (s->kind == ARRAY)
		return cuArray3DCreate((CUarray *)&s->handle, &d);
	return cuMipmappedArrayCreate((CUmipmappedArray *)&s->handle, &d, 4);
}

/* What a module that has just been loaded names is there, whatever others unload meanwhile. */
static CUresult use_module(CUmodule module)
{
	CUfunction function;
	CUresult r = cuModuleGetFunction(&function, module, "k");

	if (!r)
		r = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	if (r)
		cuModuleUnload(module);
	return r;
}

static CUresult take_image(struct slot *s, unsigned long long bytes)
{
	CUdeviceptr p;
	CUkernel kernel;
	char text[256];
	size_t size;
	CUresult r;

	write_image(text, sizeof text, bytes);
	if (s->kind == MODULE) {
		r = cuModuleLoadData((CUmodule *)&s->handle, text);
		return r ? r : use_module(s->handle);
	}
	r = cuLibraryLoadData((CUlibrary *)&s->handle, text, NULL, NULL, 0, NULL, NULL, 0);
	if (r)
		return r;
	r = s->kind == LIBRARY ? cuLibraryGetGlobal(&p, &size, s->handle, "v")
			       : cuLibraryGetKernel(&kernel, s->handle, "k");
	if (r)
		cuLibraryUnload(s->handle);
	return r;
}

/* EXPORTED: only its descriptor is left. KEPT: only its handle. */
static CUresult take_physical(struct slot *s, unsigned long long bytes)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	size_t granule;
	CUresult r = cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);

	if (r)
		return r;
	r = cuMemCreate(&s->physical, (bytes + granule - 1) / granule * granule, &prop, 0);
	if (r)
		return r;
	r = cuMemExportToShareableHandle(&s->fd, s->physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	if (r || s->kind == EXPORTED)
		cuMemRelease(s->physical);
	else
		close(s->fd);
	return r;
}

static CUresult take_offered(struct thread *t, struct slot *s, unsigned long long bytes)
{
	struct offer *o = &shelf[draw(t, SHELF)];
	unsigned int version = atomic_load(&o->version);
	CUresult r = cuMemAlloc(&s->p, bytes);
	CUipcMemHandle handle;

	if (r)
		return r;
	r = cuIpcGetMemHandle(&handle, s->p);
	if (r) {
		cuMemFree(s->p);
		return r;
	}
	if (version % 2 == 0 && atomic_compare_exchange_strong(&o->version, &version, version + 1)) {
		o->handle = handle;
		atomic_store(&o->version, version + 2);
	}
	return CUDA_SUCCESS;
}

/* Another's, who may be gone; or one's own, which no process may open. Then nothing was taken. */
static CUresult take_taken(struct thread *t, struct slot *s)
{
	struct offer *o = &shelf[draw(t, SHELF)];
	unsigned int version = atomic_load(&o->version);
	CUipcMemHandle handle = o->handle;

	s->used = false;
	if (!version || version % 2 || atomic_load(&o->version) != version)
		return CUDA_SUCCESS;
	s->used = cuIpcOpenMemHandle(&s->p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS;
	return CUDA_SUCCESS;
}

static CUresult take_context(struct slot *s, unsigned long long bytes)
{
	CUcontext popped;
	CUresult r = cuCtxCreate((CUcontext *)&s->handle, NULL, 0, 0);

	if (r)
		return r;
	cuMemAlloc(&s->p, bytes); /* or not: it goes with the context */
	r = cuCtxPopCurrent(&popped);
	return r ? r : cuCtxSetCurrent(primary);
}

/* Memory of a graph's node: half of the graphs free it themselves. A refused launch leaves nothing. */
static CUresult take_graph(struct thread *t, struct slot *s, unsigned long long bytes)
{
	CUDA_MEM_ALLOC_NODE_PARAMS a = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
							.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } },
					 .bytesize = bytes };
	CUgraphNode node, end;
	CUgraph graph;
	CUgraphExec exec = NULL;
	CUresult r = cuGraphCreate(&graph, 0);

	if (r)
		return r;
	r = cuGraphAddMemAllocNode(&node, graph, NULL, 0, &a);
	if (!r && s->order % 2)
		r = cuGraphAddMemFreeNode(&end, graph, &node, 1, a.dptr);
	if (!r)
		r = cuGraphInstantiate(&exec, graph, 0);
	if (!r)
		r = cuGraphLaunch(exec, NULL);
	if (!r && s->order % 2 && draw(t, 2))
		r = cuGraphLaunch(exec, NULL);
	s->p = s->order % 2 ? 0 : a.dptr;
	s->handle = graph;
	s->exec = exec;
	if (!r)
		return r;
	if (exec)
		cuGraphExecDestroy(exec);
	cuGraphDestroy(graph);
	return r;
}

static CUresult free_piece(CUdeviceptr p, bool at_once)
{
	return !p ? CUDA_SUCCESS : at_once ? cuMemFree(p) : cuMemFreeAsync(p, NULL);
}

static CUresult give_graph(struct slot *s)
{
	CUresult r = s->order & 4 ? free_piece(s->p, s->order & 2) : CUDA_SUCCESS, e;

	e = cuGraphExecDestroy(s->exec);
	r = r ? r : e;
	e = cuGraphDestroy(s->handle);
	r = r ? r : e;
	e = s->order & 4 ? CUDA_SUCCESS : free_piece(s->p, s->order & 2);
	if (s->order & 8)
		cuDeviceGraphMemTrim(0);
	return r ? r : e;
}

static CUresult give_pool(struct slot *s)
{
	CUresult r = CUDA_SUCCESS, e;

	if (s->order & 1)
		r = cuMemPoolDestroy(s->handle);
	for (int i = 0; i < PIECES; i++) {
		e = free_piece(s->piece[(unsigned int)i ^ (s->order & 2) / 2], s->order & 4);
		r = r ? r : e;
	}
	e = s->order & 1 ? CUDA_SUCCESS : cuMemPoolDestroy(s->handle);
	return r ? r : e;
}

/* A pool of one's own, and allocations of it. */
static CUresult take_pool(struct slot *s, unsigned long long bytes)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	cuuint64_t all = UINT64_MAX;
	CUresult r;

	if (s->kind == PASSED_POOL)
		props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	r = cuMemPoolCreate((CUmemoryPool *)&s->handle, &props);
	if (r)
		return r;
	if (s->order & 8)
		r = cuMemPoolSetAttribute(s->handle, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all);
	for (int i = 0; !r && i < PIECES; i++)
		r = cuMemAllocFromPoolAsync(&s->piece[i], bytes / (1 + (unsigned int)i) + 1, s->handle, NULL);
	if (r)
		give_pool(s);
	return r;
}

static CUresult give_range(struct slot *s)
{
	CUresult r = CUDA_SUCCESS, e;

	if (s->order & 1) {
		r = cuMemUnmap(s->p, s->granule * PIECES);
	} else {
		for (unsigned int i = 0; i < PIECES; i++) {
			e = cuMemUnmap(s->p + (i ^ (s->order & 2) / 2) * s->granule, s->granule);
			r = r ? r : e;
		}
	}
	if (s->physical) {
		e = cuMemRelease(s->physical);
		r = r ? r : e;
	}
	e = cuMemAddressFree(s->p, s->granule * PIECES);
	return r ? r : e;
}

/* One piece of physical memory mapped at each place of a range; or one piece at both. */
static CUresult map_pieces(struct slot *s)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	CUmemGenericAllocationHandle physical = 0;
	unsigned int i;
	CUresult r = CUDA_SUCCESS;

	for (i = 0; !r && i < PIECES; i++) {
		if (i == 0 || !(s->order & 4))
			r = cuMemCreate(&physical, s->granule, &prop, 0);
		if (r)
			break;
		r = cuMemMap(s->p + i * s->granule, s->granule, 0, physical, 0);
		if (i + 1 == PIECES || !(s->order & 4) || r)
			cuMemRelease(physical);
		if (r)
			break;
	}
	if (r && i)
		cuMemUnmap(s->p, s->granule * i);
	return r;
}

static CUresult take_range(struct slot *s, unsigned long long bytes)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	CUresult r = cuMemGetAllocationGranularity(&s->granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);

	if (r)
		return r;
	s->granule = (bytes / PIECES + s->granule) / s->granule * s->granule;
	r = cuMemAddressReserve(&s->p, s->granule * PIECES, 0, 0, 0);
	if (r)
		return r;
	r = map_pieces(s);
	if (r) {
		cuMemAddressFree(s->p, s->granule * PIECES);
		return r;
	}
	s->physical = 0;
	if (s->order & 8)
		r = cuMemRetainAllocationHandle(&s->physical, (void *)(uintptr_t)s->p);
	return r;
}

static CUresult import_own(int fd, CUmemGenericAllocationHandle *ret)
{
	return cuMemImportFromShareableHandle(ret, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

static CUresult take_back(struct slot *s, unsigned long long bytes)
{
	CUmemGenericAllocationHandle again;
	CUresult r;

	s->kind = EXPORTED;
	r = take_physical(s, bytes);
	s->kind = BACK;
	if (r)
		return r;
	r = import_own(s->fd, &s->physical);
	if (!r && s->order & 1 && !import_own(s->fd, &again))
		cuMemRelease(again);
	close(s->fd);
	return r;
}

/* It goes with all that is in it. */
static CUresult take_full_context(struct slot *s, unsigned long long bytes)
{
	struct slot inner = { .kind = ARRAY };
	CUcontext popped;
	CUstream stream;
	CUresult r = cuCtxCreate((CUcontext *)&s->handle, NULL, 0, 0);

	if (r)
		return r;
	cuMemAlloc(&s->p, bytes / 4 + 1);
	cuMemAllocManaged(&s->p, bytes / 4 + 1, CU_MEM_ATTACH_GLOBAL);
	take_array(&inner, bytes / 4);
	inner.kind = s->order & 1 ? MODULE : KERNEL;
	s->exec = take_image(&inner, bytes / 4 + 1) == CUDA_SUCCESS && inner.kind == KERNEL ? inner.handle : NULL;
	if (cuStreamCreate(&stream, 0) == CUDA_SUCCESS && s->order & 2 &&
	    cuMemAllocAsync(&s->p, bytes / 4 + 1, stream) == CUDA_SUCCESS)
		cuMemFreeAsync(s->p, stream);
	r = cuCtxPopCurrent(&popped);
	return r ? r : cuCtxSetCurrent(primary);
}

static CUresult take_linked(struct slot *s, unsigned long long bytes)
{
	CUlinkState link;
	char text[256];
	void *image;
	size_t size;
	CUresult r;

	write_image(text, sizeof text, bytes);
	r = cuLinkCreate(0, NULL, NULL, &link);
	if (r)
		return r;
	r = cuLinkAddData(link, CU_JIT_INPUT_PTX, text, strlen(text) + 1, "v", 0, NULL, NULL);
	if (!r)
		r = cuLinkComplete(link, &image, &size);
	if (!r)
		r = cuModuleLoadData((CUmodule *)&s->handle, image);
	cuLinkDestroy(link);
	return r;
}

static CUresult take_moved(struct slot *s, unsigned long long bytes)
{
	CUresult r = cuMemAllocManaged(&s->p, bytes, CU_MEM_ATTACH_GLOBAL);

	if (r)
		return r;
	cuMemAdvise_v2(s->p, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
		       (CUmemLocation){ .type = s->order & 1 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
					.id = 0 });
	cuMemPrefetchAsync_v2(s->p, bytes, (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 }, 0, NULL);
	return r;
}

static CUresult trim(struct slot *s)
{
	CUmemoryPool pool;
	CUresult r;

	s->used = false;
	r = cuDeviceGetDefaultMemPool(&pool, 0);
	if (!r)
		r = cuMemPoolTrimTo(pool, 0);
	return r ? r : cuDeviceGraphMemTrim(0);
}

static CUresult take(struct thread *t, struct slot *s)
{
	unsigned long long bytes = draw_bytes(t);
	CUcontext context;
	size_t pitch;

	memset(s->piece, 0, sizeof s->piece);
	s->order = draw(t, 16);
	s->used = true;
	switch (s->kind) {
	case PLAIN:
		return cuMemAlloc(&s->p, bytes);
	case MANAGED:
		return cuMemAllocManaged(&s->p, bytes, CU_MEM_ATTACH_GLOBAL);
	case QUEUED:
		return cuMemAllocAsync(&s->p, bytes, NULL);
	case ARRAY:
	case MIPMAP:
		return take_array(s, bytes);
	case MODULE:
	case LIBRARY:
	case KERNEL:
		return take_image(s, bytes);
	case EXPORTED:
	case KEPT:
		return take_physical(s, bytes);
	case OFFERED:
		return take_offered(t, s, bytes);
	case TAKEN:
		return take_taken(t, s);
	case CONTEXT:
		return take_context(s, bytes);
	case HEAP:
		s->used = false;
		return cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, (8u << 20) + bytes);
	case GRAPH:
		return take_graph(t, s, bytes);
	case POOL:
	case PASSED_POOL:
		return take_pool(s, bytes);
	case RANGE:
		return take_range(s, bytes);
	case BACK:
		return take_back(s, bytes);
	case FULL_CONTEXT:
		return take_full_context(s, bytes);
	case PRIMARY:
		return cuDevicePrimaryCtxRetain(&context, 0);
	case LINKED:
		return take_linked(s, bytes);
	case PITCHED:
		return cuMemAllocPitch(&s->p, &pitch, bytes % 1000 + 1, bytes / 1000 + 1, 4);
	case MOVED:
		return take_moved(s, bytes);
	case TRIM:
		return trim(s);
	}
	return CUDA_SUCCESS;
}

static CUresult give(struct slot *s)
{
	CUresult r;

	s->used = false;
	switch (s->kind) {
	case QUEUED:
		return cuMemFreeAsync(s->p, NULL);
	case ARRAY:
		return cuArrayDestroy(s->handle);
	case MIPMAP:
		return cuMipmappedArrayDestroy(s->handle);
	case MODULE:
	case LINKED:
		return cuModuleUnload(s->handle);
	case LIBRARY:
	case KERNEL:
		return cuLibraryUnload(s->handle);
	case EXPORTED:
		return close(s->fd) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
	case KEPT:
	case BACK:
		return cuMemRelease(s->physical);
	case GRAPH:
		return give_graph(s);
	case POOL:
	case PASSED_POOL:
		return give_pool(s);
	case RANGE:
		return give_range(s);
	case FULL_CONTEXT:
		r = cuCtxDestroy(s->handle);
		if (s->exec)
			cuLibraryUnload(s->exec);
		return r;
	case PRIMARY:
		return cuDevicePrimaryCtxRelease(0);
	case TAKEN:
		return cuIpcCloseMemHandle(s->p);
	case CONTEXT:
		return cuCtxDestroy(s->handle);
	default:
		return cuMemFree(s->p);
	}
}

static CUresult take_any(struct thread *t, struct slot *s)
{
	CUresult r;

	s->kind = (enum kind)(strchr(ways, wanted[draw(t, (unsigned int)strlen(wanted))]) - ways);
	atomic_store(t->at, ways[s->kind]);
	r = take(t, s);
	if (r)
		s->used = false;
	return r;
}

static CUresult give_any(struct thread *t, struct slot *s)
{
	atomic_store(t->at, (char)toupper(ways[s->kind]));
	return give(s);
}

static void note(CUresult r, enum kind kind)
{
	if (r == CUDA_ERROR_OUT_OF_MEMORY) {
		atomic_fetch_add(&state->refused, 1);
		atomic_store(&state->refused_way, (unsigned int)ways[kind]);
	} else if (r && (!careless || r == CUDA_ERROR_DEVICE_UNAVAILABLE)) { /* this one: its worker has ended */
		atomic_store(&state->error_way, (unsigned int)ways[kind]);
		atomic_store(&state->error, r);
	}
}

/*
 * The last thread to stand still says so; all wait until they may go on. Asking what is free brings the account up to
 * date with descriptors that were closed.
 */
static void stand_still(struct thread *t, unsigned int asked)
{
	size_t unused, total;

	atomic_store(t->at, '=');
	cuStreamSynchronize(NULL);
	pthread_mutex_lock(&lock);
	if (++still == thread_count) {
		still = 0;
		cuMemGetInfo(&unused, &total);
		atomic_store(&state->paused, asked);
	}
	pthread_mutex_unlock(&lock);
	atomic_store(t->at, 0);
	while (atomic_load(&state->paused) != asked || (asked % 2 && atomic_load(&state->pause) == asked))
		usleep(500);
}

/* Now and then what one thread has taken is given back by another; or by both. */
static void swap(struct thread *t, struct slot *s)
{
	static struct slot other[4];
	struct slot mine, *o = &other[draw(t, 4)];

	pthread_mutex_lock(&lock);
	mine = *s;
	if (!careless || !s->used)
		*s = *o;
	if (!careless || mine.used)
		*o = mine;
	pthread_mutex_unlock(&lock);
}

/* In a context that one has, or another had. */
static void stray(struct thread *t)
{
	struct slot *s = &t->slot[draw(t, SLOTS)];

	if (s->used && (s->kind == CONTEXT || s->kind == FULL_CONTEXT) && cuCtxSetCurrent(s->handle) == CUDA_SUCCESS)
		return;
	cuCtxSetCurrent(primary);
}

static void *run(void *data)
{
	struct thread *t = data;
	unsigned int answered = 0, asked;

	if (cuCtxSetCurrent(primary))
		atomic_store(&state->error, CUDA_ERROR_INVALID_CONTEXT);
	for (;;) {
		struct slot *s = &t->slot[draw(t, SLOTS)];
		CUresult r;

		if (!draw(t, 8))
			swap(t, s);
		if (careless)
			stray(t);
		r = s->used ? give_any(t, s) : take_any(t, s);
		note(r, s->kind);
		atomic_fetch_add(&state->calls, 1);
		asked = atomic_load(&state->pause);
		if (asked % 2 && asked != answered) {
			answered = asked;
			stand_still(t, asked);
		}
	}
	return NULL;
}

static void *map(const char *path, size_t bytes)
{
	int fd = path ? open(path, O_RDWR) : -1;
	void *m = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	return m == MAP_FAILED ? NULL : m;
}

int main(int argc, char **argv)
{
	static struct thread thread[THREADS_MOST];
	pthread_t id;
	CUdevice dev;
	CUresult r;

	if (argc != 6)
		return 2;
	state = map(argv[1], sizeof *state);
	shelf = map(getenv("MIXER_SHELF"), SHELF * sizeof *shelf);
	most = strtoull(argv[3], NULL, 10);
	thread_count = (unsigned int)strtoul(argv[4], NULL, 10);
	wanted = argv[5];
	careless = getenv("MIXER_CARELESS");
	if (!state || !shelf || !most || !thread_count || thread_count > THREADS_MOST || !*wanted ||
	    strspn(wanted, ways) != strlen(wanted))
		return 2;
	r = cuInit(0);
	if (!r)
		r = cuDeviceGet(&dev, 0);
	/* All of the quota may be taken: then it waits for its turn. */
	while (!r && (r = cuDevicePrimaryCtxRetain(&primary, dev)) == CUDA_ERROR_OUT_OF_MEMORY) {
		atomic_fetch_add(&state->refused, 1);
		r = CUDA_SUCCESS;
		usleep(20000);
	}
	if (r) {
		atomic_store(&state->error, r);
		return 1;
	}
	for (unsigned int i = 0; i < thread_count; i++) {
		thread[i].at = &state->at[i];
		thread[i].random = (unsigned int)strtoul(argv[2], NULL, 10) * THREADS_MOST + i;
		if (pthread_create(&id, NULL, run, &thread[i]))
			return 2;
	}
	pause();
	return 0;
}
