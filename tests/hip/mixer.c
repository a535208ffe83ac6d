/*
 * mixer.c: threads of a HIP program take and give memory in every way there is, in orders that a number decides, to be
 * killed at any moment.
 *
 *   mixer STATE SHELF SEED PIECE THREADS WAYS   STATE: a file that is shared with who looks on; SHELF: one of all
 *   mixers, for handles; PIECE: the largest size of one allocation; WAYS: letters, which it may use
 *
 *   p plain   g with flags   m managed   i pitched   a array   q of a stream   f of a pool of one's own
 *   v made, mapped, retained, released   x exported and imported again   o offered to others   t taken from others
 *   d a pool that ends before its memory   k a pool that keeps all and ends   w a wait   z trimmed   y the device's own
 *   pool is to end   c CUDA's in the same process   e a child that takes memory and ends   r a reset, which frees all
 */
#include "hip_table.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 12
#define SHELF 16
#define UNIT 512u

/* clang-format off */
#define CALLS(X)                                                                                               \
	X(hipSetDevice) X(hipMemGetInfo) X(hipMalloc) X(hipExtMallocWithFlags) X(hipMallocManaged) \
	X(hipMallocPitch) \
	X(hipArray3DCreate) X(hipFree) X(hipArrayDestroy) X(hipMallocAsync) \
	X(hipMallocFromPoolAsync) X(hipFreeAsync) \
	X(hipMemPoolCreate) X(hipMemPoolDestroy) X(hipMemPoolSetAttribute) \
	X(hipDeviceGetDefaultMemPool) \
	X(hipMemPoolTrimTo) X(hipMemCreate) X(hipMemRelease) X(hipMemMap) X(hipMemUnmap) \
	X(hipMemAddressReserve) \
	X(hipMemAddressFree) X(hipMemRetainAllocationHandle) X(hipMemExportToShareableHandle) \
	X(hipMemImportFromShareableHandle) X(hipIpcGetMemHandle) X(hipIpcOpenMemHandle) \
	X(hipIpcCloseMemHandle) \
	X(hipStreamCreate) X(hipStreamSynchronize) X(hipDeviceSynchronize) X(hipDeviceReset)
/* clang-format on */

#define DECLARE(name) extern __typeof__(*((struct hip_table *)0)->name) name;
CALLS(DECLARE)

struct state {
	atomic_uint pause, paused; /* odd: stand still; then the same */
	atomic_ullong calls;
	atomic_uint error, error_way;
	atomic_ullong refused;
};

struct offer {
	atomic_uint version; /* odd: being written */
	hipIpcMemHandle_t handle;
};

struct slot {
	char way; /* 0: free */
	void *p;
	hipArray_t array;
	hipMemPool_t pool;
	hipMemGenericAllocationHandle_t handle, again;
	size_t bytes;
	void *cuda;
};

struct thread {
	unsigned long long seed;
	hipStream_t stream;
	struct slot slot[SLOTS];
};

static struct state *state;
static struct offer *shelf;
static const char *ways;
static size_t most;
static unsigned int thread_count;
static pthread_barrier_t still;
static pthread_rwlock_t whole = PTHREAD_RWLOCK_INITIALIZER; /* write: a reset, or a fork */
static atomic_uint generation;				    /* of the device: what a reset has ended is nobody's */
static int (*cuda_init)(unsigned int), (*cuda_push)(void *), (*cuda_pop)(void **);
static int (*cuda_alloc)(unsigned long long *, size_t), (*cuda_free)(unsigned long long);
static int (*cuda_make)(void **, unsigned int, int);
static void *cuda_context;

static unsigned int draw(struct thread *t, unsigned int below)
{
	t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(t->seed >> 33) % below;
}

static size_t draw_bytes(struct thread *t)
{
	size_t bytes = (size_t)draw(t, (unsigned int)(most / UNIT)) * UNIT;

	return bytes ? bytes - draw(t, UNIT) : UNIT;
}

static hipError_t new_pool(hipMemPool_t *pool, bool keeps)
{
	hipMemPoolProps props = { .allocType = 1, .location = { hipMemLocationTypeDevice, 0 } };
	uint64_t keep = UINT64_MAX;
	hipError_t r = hipMemPoolCreate(pool, &props);

	return r == hipSuccess && keeps ? hipMemPoolSetAttribute(*pool, hipMemPoolAttrReleaseThreshold, &keep) : r;
}

static hipError_t from_new_pool(struct thread *t, struct slot *s, bool keeps)
{
	hipError_t r = new_pool(&s->pool, keeps);

	if (r != hipSuccess)
		return r;
	r = hipMallocFromPoolAsync(&s->p, s->bytes, s->pool, t->stream);
	if (r != hipSuccess)
		hipMemPoolDestroy(s->pool);
	return r;
}

static hipError_t make(struct slot *s)
{
	const hipMemAllocationProp prop = { .type = 1,
					    .requestedHandleType = 1,
					    .location = { hipMemLocationTypeDevice, 0 } };

	s->bytes = (s->bytes + (2u << 20) - 1) & ~(size_t)((2u << 20) - 1);
	return hipMemCreate(&s->handle, s->bytes, &prop, 0);
}

static hipError_t take_mapped(struct slot *s)
{
	hipError_t r = make(s);

	if (r != hipSuccess)
		return r;
	r = hipMemAddressReserve(&s->p, s->bytes, 0, NULL, 0);
	if (r == hipSuccess)
		r = hipMemMap(s->p, s->bytes, 0, s->handle, 0);
	if (r == hipSuccess)
		r = hipMemRetainAllocationHandle(&s->again, s->p);
	if (r == hipSuccess)
		return hipMemRelease(s->handle);
	hipMemRelease(s->handle);
	return r;
}

static hipError_t take_back(struct slot *s)
{
	int fd = -1;
	hipError_t r = make(s);

	if (r != hipSuccess)
		return r;
	r = hipMemExportToShareableHandle(&fd, s->handle, 1, 0);
	if (r == hipSuccess)
		r = hipMemImportFromShareableHandle(&s->again, (void *)(intptr_t)fd, 1);
	if (fd >= 0)
		close(fd);
	if (r != hipSuccess)
		hipMemRelease(s->handle);
	return r;
}

static hipError_t take_offered(struct thread *t, struct slot *s)
{
	hipIpcMemHandle_t handle;
	struct offer *o = &shelf[draw(t, SHELF)];
	unsigned int version = atomic_load(&o->version);
	hipError_t r = hipMalloc(&s->p, s->bytes);

	if (r != hipSuccess || hipIpcGetMemHandle(&handle, s->p) != hipSuccess)
		return r;
	if (!(version & 1) && atomic_compare_exchange_strong(&o->version, &version, version + 1)) {
		o->handle = handle;
		atomic_store(&o->version, version + 2);
	}
	return r;
}

/* What was offered may be gone: that is no error. */
static hipError_t take_taken(struct thread *t, struct slot *s)
{
	struct offer *o = &shelf[draw(t, SHELF)];
	unsigned int version = atomic_load(&o->version);
	hipIpcMemHandle_t handle = o->handle;
	hipError_t r;

	if (!version || version & 1 || atomic_load(&o->version) != version)
		return hipErrorNotReady;
	r = hipIpcOpenMemHandle(&s->p, handle, 1);
	return r == hipSuccess || r == hipErrorOutOfMemory ? r : hipErrorNotReady;
}

static hipError_t take_cuda(struct slot *s)
{
	unsigned long long p = 0;
	void *was;
	int r;

	if (!cuda_context)
		return hipErrorNotReady;
	r = cuda_push(cuda_context);
	if (!r)
		r = cuda_alloc(&p, s->bytes);
	cuda_pop(&was);
	s->cuda = (void *)(uintptr_t)p;
	return (hipError_t)r;
}

/* Its memory goes with it, whatever it was doing. */
static hipError_t with_child(struct thread *t)
{
	void *p[4];
	pid_t child;
	int status;

	pthread_rwlock_unlock(&whole);
	pthread_rwlock_wrlock(&whole);
	child = fork();
	if (!child) {
		for (int i = 0; i < 4; i++)
			if (hipMalloc(&p[i], draw_bytes(t)) == hipSuccess && draw(t, 2))
				hipFree(p[i]);
		_exit(0);
	}
	pthread_rwlock_unlock(&whole);
	pthread_rwlock_rdlock(&whole);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return hipErrorNotReady;
}

static hipError_t reset(void)
{
	hipError_t r;

	pthread_rwlock_unlock(&whole);
	pthread_rwlock_wrlock(&whole);
	r = hipDeviceReset();
	atomic_fetch_add(&generation, 1);
	pthread_rwlock_unlock(&whole);
	pthread_rwlock_rdlock(&whole);
	return r == hipSuccess ? hipErrorNotReady : r;
}

/* hipErrorNotReady: done, and nothing is held. */
static hipError_t take(struct thread *t, struct slot *s)
{
	hipMemPool_t own;
	hipError_t r;
	size_t pitch;

	switch (s->way) {
	case 'p':
		return hipMalloc(&s->p, s->bytes);
	case 'g':
		return hipExtMallocWithFlags(&s->p, s->bytes, 0);
	case 'm':
		return hipMallocManaged(&s->p, s->bytes, 1);
	case 'i':
		return hipMallocPitch(&s->p, &pitch, 1 + draw(t, 3000), 1 + draw(t, (unsigned int)(most / 4096)));
	case 'a':
		return hipArray3DCreate(&s->array,
					&(HIP_ARRAY3D_DESCRIPTOR){ 1 + draw(t, 300), 1 + draw(t, 300), 0, 0x20, 4, 0 });
	case 'q':
		return hipMallocAsync(&s->p, s->bytes, t->stream);
	case 'f':
	case 'd':
	case 'k':
		r = from_new_pool(t, s, s->way == 'k');
		if (r == hipSuccess && s->way == 'd')
			return hipMemPoolDestroy(s->pool);
		return r;
	case 'v':
		return take_mapped(s);
	case 'x':
		return take_back(s);
	case 'o':
		return take_offered(t, s);
	case 't':
		return take_taken(t, s);
	case 'c':
		return take_cuda(s);
	case 'e':
		return with_child(t);
	case 'r':
		return reset();
	case 'w':
		r = draw(t, 2) ? hipDeviceSynchronize() : hipStreamSynchronize(t->stream);
		return r == hipSuccess ? hipErrorNotReady : r;
	case 'z':
	case 'y':
		r = hipDeviceGetDefaultMemPool(&own, 0);
		if (r == hipSuccess && s->way == 'z')
			r = hipMemPoolTrimTo(own, 0);
		else if (r == hipSuccess && hipMemPoolDestroy(own) == hipSuccess)
			r = hipErrorUnknown;
		return r == hipSuccess ? hipErrorNotReady : r;
	}
	return hipErrorUnknown;
}

static hipError_t give(struct thread *t, struct slot *s)
{
	hipError_t r;
	void *was;
	int e;

	switch (s->way) {
	case 'a':
		return hipArrayDestroy(s->array);
	case 'q':
		return draw(t, 4) ? hipFreeAsync(s->p, t->stream) : hipFree(s->p);
	case 'f':
	case 'k':
		r = draw(t, 4) ? hipFreeAsync(s->p, t->stream) : hipFree(s->p);
		return r == hipSuccess ? hipMemPoolDestroy(s->pool) : r;
	case 'd':
		return hipFreeAsync(s->p, t->stream);
	case 'v':
		r = hipMemUnmap(s->p, s->bytes);
		if (r == hipSuccess)
			r = hipMemAddressFree(s->p, s->bytes);
		return r == hipSuccess ? hipMemRelease(s->again) : r;
	case 'x':
		r = hipMemRelease(s->handle);
		return r == hipSuccess ? hipMemRelease(s->again) : r;
	case 't':
		return hipIpcCloseMemHandle(s->p);
	case 'c':
		cuda_push(cuda_context);
		e = cuda_free((unsigned long long)(uintptr_t)s->cuda);
		cuda_pop(&was);
		return (hipError_t)e;
	case 'o':
	case 'p':
		return draw(t, 8) ? hipFree(s->p) : hipFreeAsync(s->p, t->stream);
	default:
		return hipFree(s->p);
	}
}

static void note(hipError_t r, char way)
{
	unsigned int none = 0;

	if (r == hipErrorOutOfMemory)
		atomic_fetch_add(&state->refused, 1);
	else if (r != hipSuccess && r != hipErrorNotReady &&
		 atomic_compare_exchange_strong(&state->error, &none, (unsigned int)r))
		atomic_store(&state->error_way, (unsigned int)way);
	atomic_fetch_add(&state->calls, 1);
}

static void stand_still(void)
{
	unsigned int asked = atomic_load(&state->pause);

	if (!(asked & 1))
		return;
	pthread_rwlock_unlock(&whole);
	if (pthread_barrier_wait(&still) == PTHREAD_BARRIER_SERIAL_THREAD) {
		hipDeviceSynchronize();
		atomic_store(&state->paused, asked);
		while (atomic_load(&state->pause) == asked)
			usleep(1000);
	}
	pthread_barrier_wait(&still);
	pthread_rwlock_rdlock(&whole);
}

static void *run(void *data)
{
	struct thread *t = data;
	unsigned int now = atomic_load(&generation);
	size_t kinds = strlen(ways);

	pthread_rwlock_rdlock(&whole);
	if (hipSetDevice(0) != hipSuccess || hipStreamCreate(&t->stream) != hipSuccess)
		note(hipErrorUnknown, 's');
	for (;;) {
		struct slot *s = &t->slot[draw(t, SLOTS)];
		hipError_t r;

		stand_still();
		if (atomic_load(&generation) != now) {
			now = atomic_load(&generation);
			memset(t->slot, 0, sizeof t->slot);
			if (hipStreamCreate(&t->stream) != hipSuccess)
				note(hipErrorUnknown, 's');
			s->way = 0;
		}
		if (s->way) {
			r = give(t, s);
			note(r, s->way);
			s->way = 0;
			continue;
		}
		s->way = ways[draw(t, (unsigned int)kinds)];
		s->bytes = draw_bytes(t);
		r = take(t, s);
		note(r, s->way);
		if (r != hipSuccess)
			s->way = 0;
	}
	return NULL;
}

static void *map(const char *path, size_t bytes)
{
	int fd = open(path, O_RDWR);
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		exit(2);
	return at;
}

/* A context of CUDA's own: a reset of HIP's device does not end it. */
static void open_cuda(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *was;

	if (!library)
		return;
#define FIND(at, name) *(void **)&at = dlsym(library, name)
	FIND(cuda_init, "cuInit");
	FIND(cuda_make, "cuCtxCreate_v2");
	FIND(cuda_push, "cuCtxPushCurrent_v2");
	FIND(cuda_pop, "cuCtxPopCurrent_v2");
	FIND(cuda_alloc, "cuMemAlloc_v2");
	FIND(cuda_free, "cuMemFree_v2");
	if (!cuda_init(0) && !cuda_make(&cuda_context, 0, 0))
		cuda_pop(&was);
}

int main(int argc, char **argv)
{
	static struct thread threads[16];
	pthread_t id;

	if (argc != 7)
		return 2;
	state = map(argv[1], 4096);
	shelf = map(argv[2], 4096);
	most = strtoull(argv[4], NULL, 0);
	thread_count = (unsigned int)atoi(argv[5]);
	ways = argv[6];
	if (!thread_count || thread_count > 16)
		return 2;
	if (strchr(ways, 'c'))
		open_cuda();
	pthread_barrier_init(&still, NULL, thread_count);
	for (unsigned int i = 0; i < thread_count; i++) {
		threads[i].seed = strtoull(argv[3], NULL, 0) + i * 7919;
		draw(&threads[i], 2);
		pthread_create(&id, NULL, run, &threads[i]);
	}
	for (;;)
		pause();
}
