/*
 * ipc_test.c: memory, events and pools between processes, and what is left of them when one is killed.
 *
 * A partner (this program once more) obeys orders over a socket; descriptors travel with them.
 */
#include "softdev/soft.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define MIB ((size_t)1 << 20)
#define PARTNER_FD 9

enum order {
	READY,
	EXPORT,	 /* a: bytes, b: value; answers with the handle */
	OPEN,	 /* the handle; answers with CUresult in a, address in b */
	PEEK,	 /* a: offset; answers with the byte in a */
	POKE,	 /* a: offset, b: value */
	CLOSE,	 /* answers with CUresult */
	FREE,	 /* of what EXPORT made */
	RESET,	 /* the primary context */
	EVENT,	 /* a new event's handle */
	EVENT_OPEN,
	RECORD,	 /* records the event behind a gate */
	RELEASE, /* opens the gate */
	QUERY,
	AWAIT,	 /* a stream waits for the event, then writes 7 to the opened memory */
	POOL_OPEN,
	POINTER_OPEN,
	POINTER_FREE,
};

struct message {
	enum order order;
	uint64_t a, b;
	char bytes[64];
};

static void message_send(int s, const struct message *m, int fd)
{
	struct iovec io = { (void *)(uintptr_t)m, sizeof(*m) };
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr h = { .msg_iov = &io, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *c;

		h.msg_control = control;
		h.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	if (sendmsg(s, &h, MSG_NOSIGNAL) != sizeof(*m))
		_exit(3);
}

static bool message_receive(int s, struct message *m, int *fd)
{
	struct iovec io = { m, sizeof(*m) };
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr h = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c;

	*fd = -1;
	if (recvmsg(s, &h, MSG_CMSG_CLOEXEC) != sizeof(*m))
		return false;
	c = CMSG_FIRSTHDR(&h);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return true;
}

/* ---- the partner ---- */

static CUdeviceptr mine, opened;
static CUevent event;
static CUmemoryPool pool;
static atomic_int gate;

static void gate_wait(void *unused)
{
	while (!atomic_load(&gate))
		usleep(1000);
}

static CUresult obey(struct message *m, int fd)
{
	CUipcMemHandle memory;
	CUipcEventHandle handle;
	CUmemPoolPtrExportData pointer;
	unsigned char byte = 0;
	CUstream stream;
	CUcontext c;
	CUresult e;

	switch (m->order) {
	case READY:
		return CUDA_SUCCESS;
	case EXPORT:
		if ((e = cuMemAlloc(&mine, m->a)) || (e = cuMemsetD8(mine, (unsigned char)m->b, m->a)) ||
		    (e = cuCtxSynchronize()) ||
		    (e = cuIpcGetMemHandle(&memory, mine)))
			return e;
		memcpy(m->bytes, &memory, sizeof(memory));
		return CUDA_SUCCESS;
	case OPEN:
		memcpy(&memory, m->bytes, sizeof(memory));
		e = cuIpcOpenMemHandle(&opened, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
		m->b = opened;
		return e;
	case PEEK:
		e = cuMemcpyDtoH(&byte, opened + m->a, 1);
		m->b = byte;
		return e;
	case POKE:
		e = cuMemsetD8(opened + m->a, (unsigned char)m->b, 1);
		return e ? e : cuCtxSynchronize();
	case CLOSE:
		return cuIpcCloseMemHandle(opened);
	case FREE:
		return cuMemFree(mine);
	case RESET:
		e = cuDevicePrimaryCtxReset(0);
		return e ? e : cuDevicePrimaryCtxRetain(&c, 0);
	case EVENT:
		if ((e = cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING)) ||
		    (e = cuIpcGetEventHandle(&handle, event)))
			return e;
		memcpy(m->bytes, &handle, sizeof(handle));
		return CUDA_SUCCESS;
	case EVENT_OPEN:
		memcpy(&handle, m->bytes, sizeof(handle));
		return cuIpcOpenEventHandle(&event, handle);
	case RECORD:
		atomic_store(&gate, 0);
		if ((e = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) ||
		    (e = cuLaunchHostFunc(stream, gate_wait, NULL)))
			return e;
		return cuEventRecord(event, stream);
	case RELEASE:
		atomic_store(&gate, 1);
		return cuCtxSynchronize();
	case QUERY:
		return cuEventQuery(event);
	case AWAIT:
		if ((e = cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) ||
		    (e = cuStreamWaitEvent(stream, event, 0)))
			return e;
		return cuMemsetD8Async(opened, 7, 1, stream);
	case POOL_OPEN:
		e = cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd,
						       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
		close(fd);
		return e;
	case POINTER_OPEN:
		memcpy(&pointer, m->bytes, sizeof(pointer));
		return cuMemPoolImportPointer(&opened, pool, &pointer);
	case POINTER_FREE:
		return cuMemFreeAsync(opened, NULL);
	}
	return CUDA_ERROR_UNKNOWN;
}

static int partner(void)
{
	struct message m;
	CUcontext c;
	int fd;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c))
		return 1;
	while (message_receive(PARTNER_FD, &m, &fd)) {
		m.a = obey(&m, fd);
		message_send(PARTNER_FD, &m, -1);
	}
	return 0;
}

/* ---- this side ---- */

struct child {
	pid_t pid;
	int s;
};

static struct message answer;

static CUresult tell_fd(const struct child *c, enum order order, uint64_t a, uint64_t b, const void *bytes, int fd)
{
	struct message m = { order, a, b, { 0 } };
	int none;

	if (bytes)
		memcpy(m.bytes, bytes, sizeof(m.bytes));
	message_send(c->s, &m, fd);
	if (!message_receive(c->s, &answer, &none))
		return CUDA_ERROR_UNKNOWN;
	return (CUresult)answer.a;
}

static CUresult tell(const struct child *c, enum order order, uint64_t a, uint64_t b, const void *bytes)
{
	return tell_fd(c, order, a, b, bytes, -1);
}

static struct child child_new(void)
{
	struct child c;
	int s[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s))
		exit(1);
	c.pid = fork();
	if (!c.pid) {
		dup2(s[1], PARTNER_FD);
		execl("/proc/self/exe", "ipc_test", "partner", NULL);
		_exit(127);
	}
	close(s[1]);
	c.s = s[0];
	CU(tell(&c, READY, 0, 0, NULL));
	return c;
}

static void child_kill(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->s);
}

static uint8_t byte_at(CUdeviceptr p)
{
	uint8_t byte = 0;

	CU(cuMemcpyDtoH(&byte, p, 1));
	return byte;
}

static uint8_t peek(const struct child *c, uint64_t offset)
{
	CU(tell(c, PEEK, offset, 0, NULL));
	return (uint8_t)answer.b;
}

/* Both sides see the same bytes; opening twice counts; what is taken is taken once. */
static void memory(struct child *c)
{
	size_t before = soft_free();
	CUipcMemHandle handle, again;
	CUdeviceptr p, first, q;

	CU(cuMemAlloc(&p, 4 * MIB + 1000));
	CU(cuMemsetD8(p, 5, 4 * MIB + 1000));
	is(before - soft_free(), 4 * MIB + 1024);
	CU(cuIpcGetMemHandle(&handle, p));
	CU(cuIpcGetMemHandle(&again, p + 100)); /* the handle is of the whole allocation */
	ok(!memcmp(&handle, &again, sizeof(handle)));
	is(before - soft_free(), 4 * MIB + 1024);
	is(byte_at(p + 4 * MIB + 999), 5);
	CU(tell(c, OPEN, 0, 0, &handle));
	first = answer.b;
	CU(tell(c, OPEN, 0, 0, &handle));
	is(answer.b, first);
	is(before - soft_free(), 4 * MIB + 1024);
	is(peek(c, 4 * MIB + 999), 5);
	CU(tell(c, POKE, 3, 9, NULL));
	is(byte_at(p + 3), 9);
	FAILS(tell(c, PEEK, 4 * MIB + 1000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(tell(c, CLOSE, 0, 0, NULL));
	is(peek(c, 3), 9);
	CU(tell(c, CLOSE, 0, 0, NULL));
	FAILS(tell(c, CLOSE, 0, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(tell(c, PEEK, 0, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemFree(p));
	is(soft_free(), before);
	/* The addresses are fresh memory again. */
	CU(cuMemAlloc(&q, 4 * MIB + 1000));
	is(q, p);
	is(byte_at(q + 3), 0);
	CU(cuMemFree(q));
	FAILS(tell(c, OPEN, 0, 0, &handle), CUDA_ERROR_INVALID_HANDLE);
}

/* Allocations below a page, across the border of two pages too. */
static void small(struct child *c)
{
	size_t before = soft_free();
	CUipcMemHandle handle;
	CUdeviceptr p[8];

	for (int i = 0; i < 8; i++) {
		CU(cuMemAlloc(&p[i], 1536));
		CU(cuMemsetD8(p[i], (unsigned char)(10 + i), 1536));
	}
	CU(cuCtxSynchronize()); /* fills do not wait for their end */
	for (int i = 0; i < 8; i++) {
		CU(cuIpcGetMemHandle(&handle, p[i]));
		CU(tell(c, OPEN, 0, 0, &handle));
		is(peek(c, 0), 10 + i);
		is(peek(c, 1535), 10 + i);
		FAILS(tell(c, PEEK, 1536, 0, NULL), CUDA_ERROR_INVALID_VALUE);
		CU(tell(c, POKE, 1535, (uint64_t)(20 + i), NULL));
		is(byte_at(p[i] + 1535), 20 + i);
		CU(tell(c, CLOSE, 0, 0, NULL));
	}
	for (int i = 0; i < 8; i++)
		CU(cuMemFree(p[i]));
	is(soft_free(), before);
	CU(cuMemAlloc(&p[0], 1536));
	is(byte_at(p[0]), 0);
	CU(cuMemFree(p[0]));
}

static void errors(struct child *c)
{
	CUipcMemHandle handle = { { 0 } };
	CUipcEventHandle eh = { { 0 } };
	CUdeviceptr p;
	CUevent e;
	int capable = -1;

	FAILS(cuIpcOpenMemHandle(&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuIpcOpenEventHandle(&e, eh), CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuIpcCloseMemHandle(4096), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuIpcGetMemHandle(&handle, 4096), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL));
	FAILS(cuIpcGetMemHandle(&handle, p), CUDA_ERROR_INVALID_VALUE);
	CU(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, p));
	is(capable, 0);
	CU(cuMemFree(p));
	CU(cuMemAlloc(&p, 4096));
	CU(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, p));
	is(capable, 1);
	FAILS(cuIpcGetMemHandle(NULL, p), CUDA_ERROR_INVALID_VALUE);
	CU(cuIpcGetMemHandle(&handle, p));
	FAILS(cuIpcOpenMemHandle(&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_CONTEXT);
	FAILS(cuIpcOpenMemHandle(&p, handle, 0), CUDA_ERROR_INVALID_VALUE);
	/* The importer's context takes what it has opened with it. */
	CU(tell(c, OPEN, 0, 0, &handle));
	CU(tell(c, RESET, 0, 0, NULL));
	FAILS(tell(c, CLOSE, 0, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemFree(p));
	FAILS(cuEventCreate(&e, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	FAILS(cuIpcGetEventHandle(&eh, e), CUDA_ERROR_INVALID_HANDLE);
	CU(cuEventDestroy(e));
}

/* The exporter dies with the memory open here: it stays, and stays charged, until it is closed. */
static void exporter_dies(void)
{
	size_t before = soft_free();
	struct child c = child_new();
	CUipcMemHandle handle;
	CUdeviceptr p;

	CU(tell(&c, EXPORT, 2 * MIB, 77, NULL));
	memcpy(&handle, answer.bytes, sizeof(handle));
	CU(cuIpcOpenMemHandle(&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	is(before - soft_free(), 2 * MIB);
	child_kill(&c);
	is(before - soft_free(), 2 * MIB);
	is(byte_at(p + 2 * MIB - 1), 77);
	CU(cuIpcCloseMemHandle(p));
	is(soft_free(), before);
	FAILS(cuIpcOpenMemHandle(&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_HANDLE);
	/* Freed by the exporter while it is open here. */
	c = child_new();
	CU(tell(&c, EXPORT, 2 * MIB, 78, NULL));
	memcpy(&handle, answer.bytes, sizeof(handle));
	CU(cuIpcOpenMemHandle(&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CU(tell(&c, FREE, 0, 0, NULL));
	is(byte_at(p), 78);
	is(before - soft_free(), 2 * MIB);
	CU(cuIpcCloseMemHandle(p));
	is(soft_free(), before);
	child_kill(&c);
}

/* The exporter dies before anybody has opened it: then it is gone, although its file still lies there. */
static void exporter_dies_alone(void)
{
	size_t before = soft_free();
	struct child c = child_new();
	CUipcMemHandle handle;
	CUdeviceptr p;

	CU(tell(&c, EXPORT, 2 * MIB, 79, NULL));
	memcpy(&handle, answer.bytes, sizeof(handle));
	child_kill(&c);
	FAILS(cuIpcOpenMemHandle(&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_HANDLE);
	is(soft_free(), before);
}

/* The importer dies: nothing of the exporter's changes. */
static void importer_dies(void)
{
	size_t before = soft_free();
	struct child c = child_new();
	CUipcMemHandle handle;
	CUdeviceptr p;

	CU(cuMemAlloc(&p, 2 * MIB));
	CU(cuIpcGetMemHandle(&handle, p));
	CU(tell(&c, OPEN, 0, 0, &handle));
	CU(tell(&c, POKE, 1, 3, NULL));
	child_kill(&c);
	is(byte_at(p + 1), 3);
	is(before - soft_free(), 2 * MIB);
	CU(cuMemFree(p));
	is(soft_free(), before);
}

/* While a stream keeps writing, the memory is exported: no byte is lost on the way. */
static void export_under_work(void)
{
	CUipcMemHandle handle;
	CUdeviceptr p;
	CUstream s;
	int wrong = 0;

	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 20; i++) {
		unsigned char *back = malloc(MIB);
		int bad = cuMemAlloc(&p, MIB);

		for (unsigned j = 0; j < 64; j++)
			bad |= cuMemsetD8Async(p + j * (MIB / 64), (unsigned char)(j + 1), MIB / 64, s);
		bad |= cuIpcGetMemHandle(&handle, p);
		bad |= cuStreamSynchronize(s) || cuMemcpyDtoH(back, p, MIB);
		for (size_t k = 0; k < MIB; k++)
			bad |= back[k] != k / (MIB / 64) + 1;
		wrong += !!bad;
		cuMemFree(p);
		free(back);
	}
	is(wrong, 0);
	CU(cuStreamDestroy(s));
}

static uint64_t ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* An event of the other process: asked, waited for by this thread and by a stream. */
static void events(struct child *c)
{
	CUipcEventHandle handle;
	CUdeviceptr p;
	CUstream s;
	CUevent e;
	float time;

	CU(tell(c, EVENT, 0, 0, NULL));
	memcpy(&handle, answer.bytes, sizeof(handle));
	CU(cuIpcOpenEventHandle(&e, handle));
	CU(cuEventQuery(e)); /* never recorded: complete */
	CU(cuEventSynchronize(e));
	FAILS(cuEventElapsedTime(&time, e, e), CUDA_ERROR_INVALID_HANDLE);
	CU(cuMemAlloc(&p, 512));
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(tell(c, RECORD, 0, 0, NULL));
	FAILS(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	CU(cuStreamWaitEvent(s, e, 0));
	CU(cuMemsetD8Async(p, 1, 1, s));
	usleep(20000);
	FAILS(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	CU(tell(c, RELEASE, 0, 0, NULL));
	CU(cuEventSynchronize(e));
	CU(cuEventQuery(e));
	CU(cuStreamSynchronize(s));
	is(byte_at(p), 1);
	/* Recorded here, seen there. */
	atomic_store(&gate, 0);
	CU(cuLaunchHostFunc(s, gate_wait, NULL));
	CU(cuEventRecord(e, s));
	FAILS(tell(c, QUERY, 0, 0, NULL), CUDA_ERROR_NOT_READY);
	FAILS(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	/* The record outlives the event. */
	CU(cuEventDestroy(e));
	atomic_store(&gate, 1);
	CU(cuStreamSynchronize(s));
	CU(tell(c, QUERY, 0, 0, NULL));
	CU(cuStreamDestroy(s));
	CU(cuMemFree(p));
}

/* Who recorded an event is killed before it gets there: nobody waits for the dead. */
static void recorder_dies(void)
{
	struct child c = child_new();
	CUipcEventHandle handle;
	uint64_t begin;
	CUstream s;
	CUevent e;

	CU(tell(&c, EVENT, 0, 0, NULL));
	memcpy(&handle, answer.bytes, sizeof(handle));
	CU(cuIpcOpenEventHandle(&e, handle));
	CU(tell(&c, RECORD, 0, 0, NULL));
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamWaitEvent(s, e, 0));
	FAILS(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	child_kill(&c);
	begin = ms();
	CU(cuEventSynchronize(e));
	CU(cuStreamSynchronize(s));
	ok(ms() - begin < 5000);
	CU(cuEventQuery(e));
	/* The event itself lives on. */
	CU(cuEventRecord(e, s));
	CU(cuEventSynchronize(e));
	CU(cuStreamDestroy(s));
	CU(cuEventDestroy(e));
}

/* Two processes in turn through one event and one piece of memory. */
static void ping_pong(struct child *c)
{
	CUipcMemHandle memory_handle;
	CUipcEventHandle handle;
	CUdeviceptr p;
	CUstream s;
	CUevent e;

	CU(cuMemAlloc(&p, MIB));
	CU(cuIpcGetMemHandle(&memory_handle, p));
	CU(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	CU(cuIpcGetEventHandle(&handle, e));
	CU(tell(c, OPEN, 0, 0, &memory_handle));
	CU(tell(c, EVENT_OPEN, 0, 0, &handle));
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	atomic_store(&gate, 0);
	CU(cuLaunchHostFunc(s, gate_wait, NULL));
	CU(cuMemsetD8Async(p, 6, 1, s));
	CU(cuEventRecord(e, s));
	CU(tell(c, AWAIT, 0, 0, NULL)); /* writes 7 after our 6 */
	usleep(20000);
	atomic_store(&gate, 1);
	CU(tell(c, RELEASE, 0, 0, NULL)); /* waits for all it has queued */
	is(byte_at(p), 7);
	CU(tell(c, CLOSE, 0, 0, NULL));
	CU(cuStreamDestroy(s));
	CU(cuEventDestroy(e));
	CU(cuMemFree(p));
}

static void pools(struct child *c)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemPoolPtrExportData data;
	size_t before = soft_free();
	CUmemoryPool made, own, plain;
	CUdeviceptr p, q;
	int fd = -1, types = 0;

	CU(cuDeviceGetAttribute(&types, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0));
	is(types, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	CU(cuMemPoolCreate(&made, &props));
	CU(cuMemAllocFromPoolAsync(&p, 100000, made, NULL));
	CU(cuMemsetD8(p, 31, 100000));
	is(before - soft_free(), 25 * 4096);
	CU(cuMemPoolExportToShareableHandle(&fd, made, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	CU(cuMemPoolExportPointer(&data, p));
	FAILS(cuMemPoolExportPointer(&data, p + 512), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemPoolExportPointer(&data, p));
	CU(cuCtxSynchronize());
	CU(tell_fd(c, POOL_OPEN, 0, 0, NULL, fd));
	CU(tell(c, POINTER_OPEN, 0, 0, &data));
	is(peek(c, 99999), 31);
	CU(tell(c, POKE, 1, 32, NULL));
	is(byte_at(p + 1), 32);
	is(before - soft_free(), 25 * 4096);
	CU(tell(c, POINTER_FREE, 0, 0, NULL));
	FAILS(tell(c, PEEK, 0, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	/* An imported pool gives access and no more. */
	CU(cuMemPoolImportFromShareableHandle(&own, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	FAILS(cuMemAllocFromPoolAsync(&q, 512, own, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuDeviceSetMemPool(0, own), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemPoolImportPointer(&q, own, &data));
	is(byte_at(q + 1), 32);
	CU(cuMemFree(q));
	CU(cuMemPoolDestroy(own));
	FAILS(cuMemPoolImportPointer(&q, made, &data), CUDA_ERROR_INVALID_VALUE);
	close(fd);
	CU(cuMemFreeAsync(p, NULL));
	CU(cuStreamSynchronize(NULL));
	CU(cuMemPoolDestroy(made));
	is(soft_free(), before);
	props.handleTypes = 0;
	CU(cuMemPoolCreate(&plain, &props));
	FAILS(cuMemPoolExportToShareableHandle(&fd, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
	      CUDA_ERROR_INVALID_VALUE);
	CU(cuMemPoolDestroy(plain));
}

/* Partners die at any instruction of exporting and importing: the account ends where it began. */
static void storm(void)
{
	size_t before = soft_free();

	for (int i = 0; i < 12; i++) {
		struct child a = child_new(), b = child_new();
		struct message m = { EXPORT, 64 << 10, 1, { 0 } };
		CUipcMemHandle handle;

		CU(tell(&a, EXPORT, 64 << 10, 1, NULL));
		memcpy(&handle, answer.bytes, sizeof(handle));
		message_send(a.s, &m, -1);
		m.order = OPEN;
		memcpy(m.bytes, &handle, sizeof(handle));
		message_send(b.s, &m, -1);
		nanosleep(&(struct timespec){ .tv_nsec = (i * 37 % 12) * 30000 }, NULL);
		child_kill(i % 2 ? &a : &b);
		child_kill(i % 2 ? &b : &a);
	}
	is(soft_free(), before);
}

int main(int argc, char **argv)
{
	struct child c;

	if (argc > 1)
		return partner();
	soft_begin("1", "256M");
	soft_context();
	c = child_new();
	memory(&c);
	small(&c);
	errors(&c);
	exporter_dies();
	exporter_dies_alone();
	importer_dies();
	export_under_work();
	events(&c);
	recorder_dies();
	ping_pong(&c);
	pools(&c);
	storm();
	child_kill(&c);
	return soft_end();
}
