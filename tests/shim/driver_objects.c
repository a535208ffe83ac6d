/*
 * driver_objects.c: what the test driver knows by handle: memory, arrays, modules, memory of other APIs, graphs,
 * events.
 */
#include "driver_state.h"

#include <time.h>

struct handle {
	int device;
	uint64_t bytes;
	int references, mappings;
};

static struct {
	uint64_t address, bytes;
	struct handle *handle;
} mappings[1024];
static struct {
	CUarray array;
	struct handle *handle;
} array_mappings[64];
static struct allocation *arrays[64];  /* a context takes its arrays along */
static struct external *externals[16]; /* and what it imported */

void driver_external_leave(struct external *e)
{
	if (--e->holds)
		return;
	driver_give(e->device, e->bytes);
	free(e);
}

/* ---- memory by handle ---- */

EXPORT CUresult cuMemGetAllocationGranularity(size_t *ret, const CUmemAllocationProp *prop,
					      CUmemAllocationGranularity_flags option)
{
	*ret = 2u << 20;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAddressReserve(CUdeviceptr *ret, size_t bytes, size_t alignment, CUdeviceptr address,
				    unsigned long long flags)
{
	static _Atomic uint64_t next = 0x20000000000u;

	*ret = atomic_fetch_add(&next, bytes);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *ret, size_t bytes, const CUmemAllocationProp *prop,
			    unsigned long long flags)
{
	struct handle *h;

	if (!driver_knows(prop->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	if (bytes % (2u << 20))
		return CUDA_ERROR_INVALID_VALUE;
	if (!driver_take(driver.visible[prop->location.id], bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	h = calloc(1, sizeof *h);
	*h = (struct handle){ .device = driver.visible[prop->location.id], .bytes = bytes, .references = 1 };
	*ret = (CUmemGenericAllocationHandle)(uintptr_t)h;
	return CUDA_SUCCESS;
}

static void handle_put(struct handle *h)
{
	if (h->references || h->mappings)
		return;
	driver_give(h->device, h->bytes);
	free(h);
}

EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct handle *h = (struct handle *)(uintptr_t)handle;

	h->references--;
	handle_put(h);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
			 unsigned long long flags)
{
	for (int i = 0; i < 1024; i++)
		if (!mappings[i].bytes) {
			mappings[i].address = address;
			mappings[i].bytes = bytes;
			mappings[i].handle = (struct handle *)(uintptr_t)handle;
			mappings[i].handle->mappings++;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	bool found = false;

	for (int i = 0; i < 1024; i++)
		if (mappings[i].bytes && mappings[i].address >= address &&
		    mappings[i].address + mappings[i].bytes <= address + bytes) {
			mappings[i].handle->mappings--;
			handle_put(mappings[i].handle);
			mappings[i].bytes = 0;
			found = true;
		}
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret, void *address)
{
	uint64_t a = (uint64_t)(uintptr_t)address;

	for (int i = 0; i < 1024; i++)
		if (mappings[i].bytes && a >= mappings[i].address && a < mappings[i].address + mappings[i].bytes) {
			mappings[i].handle->references++;
			*ret = (CUmemGenericAllocationHandle)(uintptr_t)mappings[i].handle;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

static void array_unmap(CUarray array)
{
	for (int at = 0; at < 64; at++)
		if (array_mappings[at].handle && array_mappings[at].array == array) {
			array_mappings[at].handle->mappings--;
			handle_put(array_mappings[at].handle);
			array_mappings[at].handle = NULL;
		}
}

EXPORT CUresult cuMemMapArrayAsync(CUarrayMapInfo *list, unsigned int n, CUstream stream)
{
	CUresult r;

	for (unsigned int i = 0; i < n; i++)
		for (int at = 0; at < 64 && list[i].memHandle.memHandle; at++)
			if (!array_mappings[at].handle) {
				array_mappings[at].array = list[i].resource.array;
				array_mappings[at].handle = (struct handle *)(uintptr_t)list[i].memHandle.memHandle;
				array_mappings[at].handle->mappings++;
				break;
			}
	r = driver_middle();
	if (r != CUDA_SUCCESS)
		array_unmap(list[0].resource.array);
	return r;
}

EXPORT CUresult cuMemExportToShareableHandle(void *ret, CUmemGenericAllocationHandle handle,
					     CUmemAllocationHandleType type, unsigned long long flags)
{
	char path[] = "/tmp/mete-object-XXXXXX";

	*(int *)ret = getenv("TEST_DRIVER_NODE") ? open("/dev/null", O_RDWR) : mkstemp(path);
	unlink(path);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret, void *fd,
					       CUmemAllocationHandleType type)
{
	struct handle *h = calloc(1, sizeof *h);

	h->device = driver_current->device;
	h->references = 1;
	*ret = (CUmemGenericAllocationHandle)(uintptr_t)h;
	return CUDA_SUCCESS;
}

/* ---- modules and arrays: an image has a word "bytes N", and "ends N" for what goes elsewhere meanwhile ---- */

static uint64_t image_number(const char *image, const char *word)
{
	const char *p = strstr(image, word);

	return p ? strtoull(p + strlen(word), NULL, 0) : 0;
}

EXPORT CUresult cuModuleLoadData(CUmodule *ret, const void *image)
{
	struct allocation *m;
	uint64_t bytes = image_number(image, "bytes ");

	if (!driver_current)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!driver_take(driver_current->device, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	driver_give(driver_current->device, image_number(image, "ends "));
	__atomic_add_fetch(&driver.shared->loads, 1, __ATOMIC_SEQ_CST);
	driver_middle();
	m = calloc(1, sizeof *m);
	m->device = driver_current->device;
	m->bytes = bytes;
	*ret = (CUmodule)m;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleUnload(CUmodule module)
{
	struct allocation *m = (struct allocation *)module;

	driver_give(m->device, m->bytes - driver.shared->leaves);
	driver.shared->leaves = 0;
	free(m);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuImportExternalMemory(CUexternalMemory *ret, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *d)
{
	struct external *e = calloc(1, sizeof *e);
	int i = 0;

	while (i < 15 && externals[i])
		i++;
	if (!driver_take(driver_current->device, d->size)) {
		free(e);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*e = (struct external){
		.bytes = d->size, .context = driver_current, .device = driver_current->device, .holds = 1
	};
	externals[i] = e;
	*ret = (CUexternalMemory)e;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDestroyExternalMemory(CUexternalMemory external)
{
	for (int i = 0; i < 16; i++)
		if (externals[i] == (struct external *)external)
			externals[i] = NULL;
	driver_external_leave((struct external *)external);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *ret, CUexternalMemory external,
						const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *d)
{
	struct external *e = (struct external *)external;
	struct allocation *a = driver_place();

	e->holds++;
	*a = (struct allocation){ .address = driver.next_address = driver_up(driver.next_address, driver.granule),
				  .bytes = d->size,
				  .context = driver_current,
				  .external = e,
				  .device = e->device };
	driver.next_address += driver_up(d->size, driver.granule);
	*ret = a->address;
	driver_middle();
	return CUDA_SUCCESS;
}

static struct allocation *free_array; /* its handle is the next one's */

EXPORT CUresult cuArrayCreate_v2(CUarray *ret, const CUDA_ARRAY_DESCRIPTOR *d)
{
	struct allocation *a = free_array ? free_array : calloc(1, sizeof *a);

	free_array = NULL;
	a->device = driver_current->device;
	a->bytes = driver_up(d->Width * (d->Height ? d->Height : 1) * d->NumChannels, 64 << 10);
	if (!driver_take(a->device, a->bytes)) {
		free(a);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	a->context = driver_current;
	for (int i = 0; i < 64; i++)
		if (!arrays[i]) {
			arrays[i] = a;
			break;
		}
	*ret = (CUarray)a;
	return CUDA_SUCCESS;
}

/* In the middle its handle may already be another array's. */
EXPORT CUresult cuArrayDestroy(CUarray array)
{
	struct allocation *a = (struct allocation *)array;

	array_unmap(array);
	driver_give(a->device, a->bytes);
	for (int i = 0; i < 64; i++)
		if (arrays[i] == a)
			arrays[i] = NULL;
	free_array = a;
	if (driver_middle() == CUDA_SUCCESS && free_array == a) {
		free_array = NULL;
		free(a);
	}
	return CUDA_SUCCESS;
}

void driver_objects_end(struct context *c)
{
	for (int i = 0; i < 64; i++)
		if (arrays[i] && arrays[i]->context == c) {
			array_unmap((CUarray)arrays[i]);
			driver_give(arrays[i]->device, arrays[i]->bytes);
			free(arrays[i]);
			arrays[i] = NULL;
		}
	pthread_mutex_lock(&driver.lock);
	for (int i = 0; i < 16; i++)
		if (externals[i] && externals[i]->context == c) {
			driver_external_leave(externals[i]);
			externals[i] = NULL;
		}
	pthread_mutex_unlock(&driver.lock);
}

/* ---- graphs: what their allocation nodes need is reserved by the first upload or launch ---- */

struct graph {
	uint64_t bytes;
	int nodes;
};

struct exec {
	uint64_t bytes, reserved;
};

static struct exec *free_exec, *execs[16]; /* the handle of the last one that ended is the next one's */

/* Graphs, and events of contexts that end, live as long as the process: a leak check finds them here. */
extern void *driver_remembers[4096];
void *driver_remembers[4096];

static void *remember(void *object)
{
	static _Atomic unsigned int count;

	driver_remembers[atomic_fetch_add(&count, 1) % 4096] = object;
	return object;
}

EXPORT CUresult cuGraphCreate(CUgraph *ret, unsigned int flags)
{
	*ret = remember(calloc(1, sizeof(struct graph)));
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphAddMemAllocNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *after, size_t count,
				       CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	((struct graph *)graph)->bytes = params->bytesize;
	((struct graph *)graph)->nodes = 1;
	*ret = (CUgraphNode)graph;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *list, size_t *count)
{
	if (list)
		*list = (CUgraphNode)graph;
	*count = (size_t)((struct graph *)graph)->nodes;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *ret)
{
	*ret = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *ret)
{
	memset(ret, 0, sizeof *ret);
	ret->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	ret->bytesize = ((struct graph *)node)->bytes;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	struct exec *x = NULL;

	for (int i = 0; i < 16; i++)
		if (execs[i] == (struct exec *)exec)
			x = execs[i];
	if (!x) /* tests call with numbers for handles, too */
		return CUDA_SUCCESS;
	if (!x->reserved && !driver_take(0, x->bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->reserved = x->bytes;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	return cuGraphUpload(exec, stream);
}

EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph graph, unsigned long long flags)
{
	struct exec *x = free_exec ? free_exec : calloc(1, sizeof *x);

	free_exec = NULL;
	*x = (struct exec){ .bytes = ((struct graph *)graph)->bytes };
	for (int i = 0; i < 16; i++)
		if (!execs[i] || execs[i] == x) {
			execs[i] = x;
			break;
		}
	*ret = (CUgraphExec)x;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec *ret, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	cuGraphInstantiateWithFlags(ret, graph, params->flags);
	return params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD ? cuGraphUpload(*ret, params->hUploadStream)
								  : CUDA_SUCCESS;
}

/* Refused: it lives on. */
EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	struct exec *x = (struct exec *)exec;

	if (driver_middle() != CUDA_SUCCESS)
		return CUDA_ERROR_UNKNOWN;
	driver_give(0, x->reserved);
	x->reserved = 0;
	free_exec = x;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value)
{
	uint64_t bytes = 0;

	for (int i = 0; i < 16; i++)
		bytes += execs[i] ? execs[i]->reserved : 0;
	*(cuuint64_t *)value = bytes;
	return CUDA_SUCCESS;
}

/* Events and kernels. An event is the place of its time: it happens when the kernels before it have ended ---------- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void driver_spin(uint64_t ns)
{
	uint64_t until = ns ? now_ns() + ns : 0;

	while (ns && now_ns() < until)
		;
}

/* Tests call with numbers for handles, too. */
static bool is_event(CUevent event)
{
	return (uintptr_t)event > 0x10000;
}

/* When the kernels will have ended. */
static uint64_t free_at(void)
{
	uint64_t done = __atomic_load_n(&driver.shared->done_by_ns, __ATOMIC_RELAXED), now = now_ns();

	return done > now ? done : now;
}

bool driver_pending(CUevent event)
{
	__atomic_add_fetch(&driver.shared->asks, 1, __ATOMIC_RELAXED);
	return is_event(event) && __atomic_load_n((uint64_t *)event, __ATOMIC_RELAXED) > now_ns();
}

void driver_work(void)
{
	while (__atomic_load_n(&driver.shared->done_by_ns, __ATOMIC_RELAXED) > now_ns())
		;
}

EXPORT CUresult cuCtxSynchronize(void)
{
	driver_work();
	return CUDA_SUCCESS;
}

EXPORT CUresult cuEventSynchronize(CUevent event)
{
	uint64_t at, now = now_ns();

	if (!driver_pending(event))
		return CUDA_SUCCESS;
	at = __atomic_load_n((uint64_t *)event, __ATOMIC_RELAXED);
	if (at > now)
		nanosleep(&(struct timespec){ .tv_nsec = (long)((at - now) % 1000000000u) }, NULL);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	*event = remember(calloc(1, sizeof(uint64_t)));
	return *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
	if (is_event(event))
		free(event);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
	void (*during)(void) = __atomic_exchange_n(&driver.shared->during_record, NULL, __ATOMIC_ACQ_REL);

	if (during)
		during();
	if (is_event(event))
		__atomic_store_n((uint64_t *)event, driver.shared->apart ? now_ns() : free_at(), __ATOMIC_RELAXED);
	__atomic_add_fetch(&driver.shared->records, 1, __ATOMIC_RELAXED);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuEventElapsedTime(float *ms, CUevent begin, CUevent end)
{
	uint64_t from;

	__atomic_add_fetch(&driver.shared->asks, 1, __ATOMIC_RELAXED);
	if (!is_event(begin) || !is_event(end))
		return CUDA_ERROR_INVALID_HANDLE;
	from = __atomic_load_n((uint64_t *)begin, __ATOMIC_RELAXED);
	*ms = (float)((double)(int64_t)(__atomic_load_n((uint64_t *)end, __ATOMIC_RELAXED) - from) / 1e6);
	return CUDA_SUCCESS;
}

/* ---- captures: of all streams at once ---- */

static _Atomic bool capturing;

EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	atomic_store(&capturing, true);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *ret)
{
	*ret = NULL;
	atomic_store(&capturing, false);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *ret)
{
	bool is = atomic_load(&capturing);

	driver_middle();
	*ret = is ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
			       unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params,
			       void **extra)
{
	uint64_t ns = driver.shared->kernel_ns;

	driver.shared->works += !atomic_load(&capturing);
	if (ns) {
		__atomic_store_n(&driver.shared->done_by_ns, free_at() + ns, __ATOMIC_RELAXED);
		__atomic_add_fetch(&driver.shared->kernels, 1, __ATOMIC_RELAXED);
	}
	driver_spin(driver.shared->launch_late_ns);
	return CUDA_SUCCESS;
}
