/*
 * remote_cuda_test.c: the generated remote client and dispatcher of the driver API, end to end.
 *
 * This thread is the program: it calls a table that cuda_remote_fill() has filled. Another is the worker: it reads
 * requests from a byte ring and executes them on a small backend: a memory of 4 KiB, streams that only count.
 */
#include "base/tap.h"
#include "cuda_remote.h"
#include "remote_ring.h"

#include <pthread.h>

static struct ring requests, replies;
static struct ring_link client;
static bool cut; /* the client has no link */

struct remote_link *cuda_remote_link(void)
{
	return cut ? NULL : &client.link;
}

/* The backend. */

#define DEVICE_BASE 0x700000000000u
static uint8_t device_memory[4096];
static size_t device_used;
static int streams, executed;

static uint8_t *device_at(CUdeviceptr at, size_t size)
{
	return at >= DEVICE_BASE && at - DEVICE_BASE <= sizeof(device_memory) &&
			       size <= sizeof(device_memory) - (at - DEVICE_BASE) ?
		       device_memory + (at - DEVICE_BASE) :
		       NULL;
}

static CUresult backend_init(unsigned int flags)
{
	executed++;
	return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult backend_count(int *count)
{
	executed++;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = 3;
	return CUDA_SUCCESS;
}

static CUresult backend_name(char *name, int len, CUdevice dev)
{
	executed++;
	snprintf(name, (size_t)len, "device %d", dev);
	return CUDA_SUCCESS;
}

static CUresult backend_alloc(CUdeviceptr *dptr, size_t bytesize)
{
	executed++;
	if (bytesize > sizeof(device_memory) - device_used) {
		*dptr = 0xbad;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*dptr = DEVICE_BASE + device_used;
	device_used += bytesize;
	return CUDA_SUCCESS;
}

static CUresult backend_free(CUdeviceptr dptr)
{
	executed++;
	device_used = 0;
	return device_at(dptr, 0) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult backend_write(CUdeviceptr to, const void *from, size_t size)
{
	uint8_t *at = device_at(to, size);

	executed++;
	if (!at || !from)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(at, from, size);
	return CUDA_SUCCESS;
}

static CUresult backend_read(void *to, CUdeviceptr from, size_t size)
{
	const uint8_t *at = device_at(from, size);

	executed++;
	if (!at || !to)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(to, at, size);
	return CUDA_SUCCESS;
}

static CUresult backend_fill(CUdeviceptr to, unsigned char value, size_t n, CUstream stream)
{
	uint8_t *at = device_at(to, n);

	executed++;
	if (!at)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	memset(at, value, n);
	return CUDA_SUCCESS;
}

static CUresult backend_stream_create(CUstream *stream, unsigned int flags)
{
	executed++;
	*stream = (CUstream)(uintptr_t)(0x1000 + ++streams);
	return CUDA_SUCCESS;
}

static CUresult backend_stream_synchronize(CUstream stream)
{
	executed++;
	return (uintptr_t)stream > 0x1000 + (uintptr_t)streams ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

static CUresult backend_get_function(CUfunction *function, CUmodule module, const char *name)
{
	executed++;
	if (!name || strcmp(name, "saxpy"))
		return CUDA_ERROR_NOT_FOUND;
	*function = (CUfunction)((uintptr_t)module + 1);
	return CUDA_SUCCESS;
}

static CUresult backend_graph_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	size_t room = nodes ? *count : 0;

	executed++;
	for (size_t i = 0; i < room; i++)
		nodes[i] = (CUgraphNode)(i < 3 ? 100 + i : 0);
	*count = 3;
	return CUDA_SUCCESS;
}

static CUresult backend_prefetch(CUdeviceptr at, size_t count, CUmemLocation location, unsigned int flags,
				 CUstream stream)
{
	executed++;
	if (location.type != CU_MEM_LOCATION_TYPE_DEVICE || location.id != 5)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static const struct cuda_table backend = {
	.cuInit = backend_init,
	.cuDeviceGetCount = backend_count,
	.cuDeviceGetName = backend_name,
	.cuMemAlloc_v2 = backend_alloc,
	.cuMemFree_v2 = backend_free,
	.cuMemcpyHtoD_v2 = backend_write,
	.cuMemcpyDtoH_v2 = backend_read,
	.cuMemsetD8Async = backend_fill,
	.cuStreamCreate = backend_stream_create,
	.cuStreamSynchronize = backend_stream_synchronize,
	.cuModuleGetFunction = backend_get_function,
	.cuGraphGetNodes = backend_graph_nodes,
	.cuMemPrefetchAsync_v2 = backend_prefetch,
};

static int worker_end; /* what ended the worker: 0 closed, below 0 a malformed message */

static void *worker(void *arg)
{
	static uint64_t message[LINK_BYTES / 8], reply[LINK_BYTES / 8];
	struct cuda_remote_session session = {.table = &backend};
	size_t size;

	while ((size = ring_read_message(&requests, message, sizeof(message)))) {
		int r = cuda_remote_dispatch(&session, message, size, reply, sizeof(reply));

		if (r < 0) {
			worker_end = r;
			break;
		}
		if (r == CUDA_REMOTE_REPLY)
			ring_write(&replies, reply, ((struct remote_head *)reply)->size);
	}
	ring_close(&replies);
	ring_close(&requests);
	return NULL;
}

static void test_memory(const struct cuda_table *cuda)
{
	uint8_t data[600], back[600];
	CUdeviceptr a = 0, b = 7;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	is(cuda->cuMemAlloc_v2(&a, 4000), CUDA_SUCCESS);
	is(a, DEVICE_BASE);
	is(cuda->cuMemAlloc_v2(&b, 4000), CUDA_ERROR_OUT_OF_MEMORY);
	is(b, 7); /* a call that failed changes nothing here */
	is(cuda->cuMemcpyHtoD_v2(a + 1, data, sizeof(data)), CUDA_SUCCESS);
	is(cuda->cuMemcpyDtoH_v2(back, a + 1, sizeof(back)), CUDA_SUCCESS);
	ok(!memcmp(back, data, sizeof(data)));
	is(cuda->cuMemcpyHtoD_v2(a, NULL, 4), CUDA_ERROR_INVALID_VALUE);
	is(cuda->cuMemcpyDtoH_v2(NULL, a, 4), CUDA_ERROR_INVALID_VALUE);
	is(cuda->cuMemcpyHtoD_v2(a, data, 0), CUDA_SUCCESS);
	is(cuda->cuMemcpyDtoH_v2(back, 5, 4), CUDA_ERROR_INVALID_VALUE);
}

/* What does not fit a message is answered, not sent; the link lives on. */
static void test_too_large(const struct cuda_table *cuda)
{
	static uint8_t large[100000];
	int count = 0, before = executed;

	is(cuda->cuMemcpyHtoD_v2(DEVICE_BASE, large, sizeof(large)), CUDA_ERROR_NOT_SUPPORTED);
	is(cuda->cuMemcpyDtoH_v2(large, DEVICE_BASE, sizeof(large)), CUDA_ERROR_NOT_SUPPORTED);
	is(cuda->cuMemcpyDtoH_v2(large, DEVICE_BASE, SIZE_MAX - 3), CUDA_ERROR_NOT_SUPPORTED);
	is(executed, before);
	is(cuda->cuDeviceGetCount(&count), CUDA_SUCCESS);
	is(count, 3);
}

static void test_fire_and_forget(const struct cuda_table *cuda)
{
	uint8_t back[4] = {0};
	CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0}, device = {CU_MEM_LOCATION_TYPE_DEVICE, 5};
	CUstream stream = NULL;
	int before = client.messages, count;

	is(cuda->cuStreamCreate(&stream, 0), CUDA_SUCCESS);
	is((uintptr_t)stream, 0x1001);
	for (int i = 0; i < 200; i++)
		cuda->cuMemsetD8Async(DEVICE_BASE, (unsigned char)i, 4, stream);
	is(cuda->cuMemcpyDtoH_v2(back, DEVICE_BASE, 4), CUDA_SUCCESS);
	is(back[3], 199);
	is(client.messages - before, 202);
	/* What went wrong where nobody waited is told once, by the next call that blocks, and the first of it. */
	is(cuda->cuMemsetD8Async(1, 0, 4, stream), CUDA_SUCCESS);
	is(cuda->cuMemPrefetchAsync_v2(DEVICE_BASE, 1, host, 0, stream), CUDA_SUCCESS);
	is(cuda->cuDeviceGetCount(&count), CUDA_SUCCESS);
	is(cuda->cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
	is(cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	is(cuda->cuMemPrefetchAsync_v2(DEVICE_BASE, 1, device, 0, stream), CUDA_SUCCESS);
	is(cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
}

static void test_shapes(const struct cuda_table *cuda)
{
	char name[32] = "unchanged";
	CUfunction function = NULL;
	CUgraphNode nodes[5] = {0};
	size_t count = 0;

	is(cuda->cuDeviceGetName(name, -1, 2), CUDA_ERROR_NOT_SUPPORTED);
	is(cuda->cuDeviceGetName(name, sizeof(name), 2), CUDA_SUCCESS);
	is_str(name, "device 2");
	is(cuda->cuModuleGetFunction(&function, (CUmodule)64, "saxpy"), CUDA_SUCCESS);
	is((uintptr_t)function, 65);
	is(cuda->cuModuleGetFunction(&function, (CUmodule)64, ""), CUDA_ERROR_NOT_FOUND);
	is(cuda->cuModuleGetFunction(&function, (CUmodule)64, NULL), CUDA_ERROR_NOT_FOUND);
	is(cuda->cuGraphGetNodes((CUgraph)1, NULL, &count), CUDA_SUCCESS);
	is(count, 3);
	count = 2;
	is(cuda->cuGraphGetNodes((CUgraph)1, nodes, &count), CUDA_SUCCESS);
	ok(nodes[0] == (CUgraphNode)100 && nodes[1] == (CUgraphNode)101 && !nodes[2] && count == 3);
	count = 5;
	is(cuda->cuGraphGetNodes((CUgraph)1, nodes, &count), CUDA_SUCCESS);
	ok(nodes[2] == (CUgraphNode)102 && !nodes[3] && count == 3);
}

static void test_lost_link(const struct cuda_table *cuda)
{
	static const uint64_t nonsense[2] = {16 | UINT64_C(0xffff) << 32, 0};
	int count = 9;

	cut = true;
	is(cuda->cuInit(0), CUDA_ERROR_DEVICE_UNAVAILABLE);
	cut = false;
	/* A malformed message ends the session, and then the link is lost for good. */
	ring_write(&requests, nonsense, sizeof(nonsense));
	is(cuda->cuDeviceGetCount(&count), CUDA_ERROR_DEVICE_UNAVAILABLE);
	is(count, 9);
	is(cuda->cuDeviceGetCount(&count), CUDA_ERROR_DEVICE_UNAVAILABLE);
}

int main(void)
{
	struct cuda_table cuda = {0};
	pthread_t thread;
	int count = 0;

	tap_begin();
	ring_link_init(&client, &requests, &replies);
	cuda_remote_fill(&cuda);
	ok(!cuda.cuLaunchKernel && cuda.cuMemAlloc_v2);
	pthread_create(&thread, NULL, worker, NULL);
	is(cuda.cuInit(0), CUDA_SUCCESS);
	is(cuda.cuInit(1), CUDA_ERROR_INVALID_VALUE);
	is(cuda.cuDeviceGetCount(&count), CUDA_SUCCESS);
	is(count, 3);
	is(cuda.cuDeviceGetCount(NULL), CUDA_ERROR_INVALID_VALUE);
	test_memory(&cuda);
	test_too_large(&cuda);
	test_fire_and_forget(&cuda);
	test_shapes(&cuda);
	is(client.begun, 0);
	test_lost_link(&cuda);
	pthread_join(thread, NULL);
	is(worker_end, -EPROTO);
	is(client.begun, 0);
	return tap_end();
}
