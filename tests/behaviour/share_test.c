/*
 * share_test.c: device memory that two processes of a tenant hold: it is counted once, until the last one lets go.
 *
 * The partner is forked before the device is used. Handles travel over a socket pair: descriptors of VMM handles, and
 * the handles of cuIpcGetMemHandle.
 */
#include "kit.h"

#include <sys/socket.h>

#define BYTES (4 * MIB)
#define NO_FD (-1)

static CUmemAllocationProp exportable(void)
{
	CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				  .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				  .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };

	return p;
}

static const CUmemAccessDesc access_all = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
					    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

/* One message: a word, 64 bytes, and a descriptor if there is one. */
struct message {
	int word;
	char bytes[64];
};

static bool message_send(int s, int word, const void *bytes, int fd)
{
	struct message m = { .word = word };
	struct iovec v = { &m, sizeof m };
	char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };

	if (bytes)
		memcpy(m.bytes, bytes, sizeof m.bytes);
	if (fd != NO_FD) {
		struct cmsghdr *c;

		h.msg_control = room;
		h.msg_controllen = sizeof room;
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	return sendmsg(s, &h, 0) == (ssize_t)sizeof m;
}

/* Value: the word, -1 when the partner is gone. */
static int message_receive(int s, void *ret_bytes, int *ret_fd)
{
	struct message m;
	struct iovec v = { &m, sizeof m };
	char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
	struct cmsghdr *c;

	if (recvmsg(s, &h, 0) != (ssize_t)sizeof m)
		return -1;
	c = CMSG_FIRSTHDR(&h);
	if (ret_fd)
		*ret_fd = NO_FD;
	if (ret_fd && c && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof *ret_fd);
	if (ret_bytes)
		memcpy(ret_bytes, m.bytes, sizeof m.bytes);
	return m.word;
}

/* The partner's side: does what it is told, answers with 0 or the error. */
enum order { READY = 1, IMPORT, LOOK, DROP, IPC_OPEN, IPC_LOOK, IPC_CLOSE, END };

static CUdeviceptr at;

static CUresult import_fd(int fd)
{
	CUmemGenericAllocationHandle h;
	CUresult r = cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);

	close(fd);
	if (r || (r = cuMemAddressReserve(&at, BYTES, 0, 0, 0)) || (r = cuMemMap(at, BYTES, 0, h, 0)) ||
	    (r = cuMemSetAccess(at, BYTES, &access_all, 1)))
		return r;
	return cuMemRelease(h);
}

/* Finds 0x5a everywhere, leaves 0xa5. */
static CUresult look(void)
{
	unsigned char byte[2] = { 0, 0 };
	CUresult r = cuMemcpyDtoH(&byte[0], at, 1);

	if (r || (r = cuMemcpyDtoH(&byte[1], at + BYTES - 1, 1)))
		return r;
	if (byte[0] != 0x5a || byte[1] != 0x5a)
		return CUDA_ERROR_UNKNOWN;
	r = cuMemsetD8(at, 0xa5, BYTES);
	return r ? r : cuCtxSynchronize();
}

static CUresult obey(enum order order, int fd, const char *bytes)
{
	CUipcMemHandle ipc;
	CUresult r;

	switch (order) {
	case READY:
		return CUDA_SUCCESS;
	case IMPORT:
		return import_fd(fd);
	case LOOK:
	case IPC_LOOK:
		return look();
	case DROP:
		r = cuMemUnmap(at, BYTES);
		return r ? r : cuMemAddressFree(at, BYTES);
	case IPC_OPEN:
		memcpy(&ipc, bytes, sizeof ipc);
		return cuIpcOpenMemHandle(&at, ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	case IPC_CLOSE:
		return cuIpcCloseMemHandle(at);
	case END:
		break;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static int partner(int s)
{
	CUcontext context;
	char bytes[64];
	CUdevice dev;
	int word, fd;

	if (cuInit(0) || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&context, dev) || cuCtxSetCurrent(context))
		return 1;
	while ((word = message_receive(s, bytes, &fd)) != END) {
		if (word < 0)
			return 1;
		if (!message_send(s, (int)obey((enum order)word, fd, bytes), NULL, NO_FD))
			return 1;
	}
	/* Ends without letting go of anything. */
	return 0;
}

static int s;

/* Orders the partner to do something; value: its answer. */
static CUresult tell(enum order order, const void *bytes, int fd)
{
	if (!message_send(s, order, bytes, fd))
		return CUDA_ERROR_UNKNOWN;
	return (CUresult)message_receive(s, NULL, NULL);
}

static void descriptors(void)
{
	CUmemAllocationProp prop = exportable();
	CUmemGenericAllocationHandle h;
	unsigned char byte = 0;
	size_t before = kit_free();
	CUdeviceptr p;
	CUresult r;
	int fd = NO_FD;

	r = cuMemCreate(&h, BYTES, &prop, 0);
	if (r == CUDA_ERROR_NOT_SUPPORTED || r == CUDA_ERROR_NOT_PERMITTED) {
		kit_skip("VMM handles as descriptors", "this device does not export them");
		return;
	}
	needs(r);
	needs(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	needs(cuMemAddressReserve(&p, BYTES, 0, 0, 0));
	works(cuMemMap(p, BYTES, 0, h, 0));
	works(cuMemSetAccess(p, BYTES, &access_all, 1));
	works(cuMemsetD8(p, 0x5a, BYTES));
	works(cuCtxSynchronize());
	is(before - kit_free(), BYTES);
	works(tell(IMPORT, NULL, fd));
	/* Held by two, counted once. */
	is(before - kit_free(), BYTES);
	works(tell(LOOK, NULL, NO_FD));
	works(cuMemcpyDtoH(&byte, p + BYTES / 2, 1));
	is(byte, 0xa5);
	/* The owner lets go; the partner still has it. */
	works(cuMemUnmap(p, BYTES));
	works(cuMemAddressFree(p, BYTES));
	works(cuMemRelease(h));
	close(fd);
	is(before - kit_free(), BYTES);
	works(tell(DROP, NULL, NO_FD));
	is(kit_free(), before);
}

static void ipc(void)
{
	size_t before = kit_free();
	unsigned char byte = 0;
	char bytes[64] = { 0 };
	CUipcMemHandle handle;
	CUdeviceptr p;
	CUresult r;

	needs(cuMemAlloc(&p, BYTES));
	r = cuIpcGetMemHandle(&handle, p);
	if (r == CUDA_ERROR_NOT_SUPPORTED) {
		kit_skip("cuIpcGetMemHandle", "this device does not have it");
		works(cuMemFree(p));
		return;
	}
	needs(r);
	works(cuMemsetD8(p, 0x5a, BYTES));
	works(cuCtxSynchronize());
	memcpy(bytes, &handle, sizeof handle);
	works(tell(IPC_OPEN, bytes, NO_FD));
	is(before - kit_free(), kit_taken(BYTES));
	works(tell(IPC_LOOK, NULL, NO_FD));
	works(cuMemcpyDtoH(&byte, p + 1, 1));
	is(byte, 0xa5);
	works(tell(IPC_CLOSE, NULL, NO_FD));
	works(cuMemFree(p));
	is(kit_free(), before);
}

/* The partner dies with an import open: its reference dies with it. */
static void death(pid_t pid)
{
	CUmemAllocationProp prop = exportable();
	CUmemGenericAllocationHandle h;
	size_t before = kit_free();
	int fd = NO_FD, status = -1;

	if (cuMemCreate(&h, BYTES, &prop, 0) == CUDA_SUCCESS) {
		works(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
		works(tell(IMPORT, NULL, fd));
		works(cuMemRelease(h));
		close(fd);
		is(before - kit_free(), BYTES);
	}
	ok(message_send(s, END, NULL, NO_FD));
	waitpid(pid, &status, 0);
	is(status, 0);
	/* A death is noticed within a moment. */
	for (int i = 0; i < 500 && kit_free() != before; i++)
		usleep(10000);
	is(kit_free(), before);
}

int main(void)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return 1;
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		_exit(partner(pair[1]));
	}
	close(pair[1]);
	s = pair[0];
	kit_begin();
	/* From here on nothing but what this test does changes what is free. */
	works(tell(READY, NULL, NO_FD));
	descriptors();
	ipc();
	death(pid);
	return kit_end();
}
