/*
 * share_test.c: device memory that two processes of a tenant hold: it is counted once, until the last one lets go.
 *
 * The partner is forked before the device is used. Handles travel over a socket pair: descriptors of VMM handles, and
 * the handles of cuIpcGetMemHandle.
 */
#include "kit.h"

#include <fcntl.h>
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
enum order { READY = 1, IMPORT, LOOK, DROP, FREE, IPC_OPEN, IPC_LOOK, IPC_CLOSE, END };

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
	size_t want;
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
	case FREE:
		memcpy(&want, bytes, sizeof want);
		return kit_free() == want ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
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

/* Memory of which only the descriptor is left. */
static bool left_over(size_t bytes, int *ret_fd)
{
	CUmemAllocationProp prop = exportable();
	CUmemGenericAllocationHandle h;
	CUresult r = cuMemCreate(&h, bytes, &prop, 0);

	if (r == CUDA_SUCCESS) {
		works(cuMemExportToShareableHandle(ret_fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
		works(cuMemRelease(h));
	}
	return r == CUDA_SUCCESS;
}

/* On the software device an exported descriptor occupies memory by itself, and it is charged as long. */
static void descriptor_alone(void)
{
	size_t before = kit_free(), part = before / 4 / VMM_GRANULE * VMM_GRANULE;
	CUmemGenericAllocationHandle h;
	int fd[8], n = 0, second;
	char bytes[64] = { 0 };

	if (!kit.soft) {
		kit_skip("a descriptor alone", "what it occupies is the software device's own");
		return;
	}
	ok(left_over(BYTES, &fd[0]));
	is(before - kit_free(), BYTES);
	/* It comes back, twice, and is counted once. */
	second = dup(fd[0]);
	works(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)second, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	works(import_fd(second));
	is(before - kit_free(), BYTES);
	works(cuMemUnmap(at, BYTES));
	works(cuMemAddressFree(at, BYTES));
	close(fd[0]);
	is(before - kit_free(), BYTES);
	works(cuMemRelease(h));
	is(kit_free(), before);
	/* There is no more of it than of anything else, and it comes back without being asked for. */
	while (n < 8 && left_over(part, &fd[n]))
		n++;
	is(n, 4);
	for (int i = 0; i < n; i++)
		close(fd[i]);
	n = 0;
	while (n < 8 && left_over(part, &fd[n]))
		n++;
	is(n, 4);
	for (int i = 0; i < n; i++)
		close(fd[i]);
	is(kit_free(), before);
	/* Handed on: the one who has it last answers for it, whatever the others do. */
	ok(left_over(BYTES, &fd[0]));
	works(tell(IMPORT, NULL, fd[0]));
	close(fd[0]);
	is(before - kit_free(), BYTES);
	works(tell(DROP, NULL, NO_FD));
	memcpy(bytes, &before, sizeof before);
	is(kit_free(), before);
	works(tell(FREE, bytes, NO_FD));
	/* The owner let go while the partner had it, and does nothing more. */
	{
		CUmemAllocationProp prop = exportable();

		needs(cuMemCreate(&h, BYTES, &prop, 0));
		works(cuMemExportToShareableHandle(&fd[0], h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
		works(tell(IMPORT, NULL, fd[0]));
		works(cuMemRelease(h));
		close(fd[0]);
		works(tell(DROP, NULL, NO_FD));
		works(tell(FREE, bytes, NO_FD));
	}
}

/* A program outside the grant: exports what it is asked for, `word` times 2 MiB, and lets go at the next word. */
static int stranger(int link)
{
	CUcontext context;
	CUdevice dev;
	int word;

	if (cuInit(0) || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&context, dev) || cuCtxSetCurrent(context))
		return 1;
	while ((word = message_receive(link, NULL, NULL)) > 0) {
		CUmemAllocationProp prop = exportable();
		CUmemGenericAllocationHandle h;
		int fd = NO_FD;

		if (cuMemCreate(&h, (size_t)word * VMM_GRANULE, &prop, 0) ||
		    cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ||
		    !message_send(link, 0, NULL, fd) || close(fd) || message_receive(link, NULL, NULL) < 0 ||
		    cuMemRelease(h) || !message_send(link, 0, NULL, NO_FD))
			return 1;
	}
	return 0;
}

static pid_t stranger_start(const char *self, int *ret_link)
{
	const char *driver = getenv(SHAPE_SETTING);
	char folder[512], number[16];
	int pair[2];
	pid_t pid;

	if (!driver || strlen(driver) >= sizeof folder || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return 0;
	pid = fork();
	if (pid == 0) {
		snprintf(folder, sizeof folder, "%s", driver);
		*strrchr(folder, '/') = 0;
		snprintf(number, sizeof number, "%d", dup(pair[1]));
		unsetenv("LD_PRELOAD");
		unsetenv("METE_SOCKET");
		setenv("LD_LIBRARY_PATH", folder, 1);
		execl(self, self, number, NULL);
		_exit(127);
	}
	close(pair[1]);
	*ret_link = pair[0];
	return pid;
}

/* Another's memory: it is charged to who imports it, too. */
static void from_outside(pid_t pid, int link)
{
	CUmemGenericAllocationHandle h;
	size_t before = kit_free();
	int fd = NO_FD, status = -1;
	char bytes[64] = { 0 };

	if (!pid || !kit.soft) {
		kit_skip("memory of a program outside the grant", "for a grant on the software device");
		return;
	}
	ok(message_send(link, BYTES / VMM_GRANULE, NULL, NO_FD));
	is(message_receive(link, NULL, &fd), 0);
	is(kit_free(), before);
	works(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	is(before - kit_free(), BYTES);
	works(tell(IMPORT, NULL, fd));
	is(before - kit_free(), BYTES);
	works(cuMemRelease(h));
	close(fd);
	is(before - kit_free(), BYTES);
	works(tell(DROP, NULL, NO_FD));
	ok(message_send(link, 1, NULL, NO_FD));
	is(message_receive(link, NULL, NULL), 0);
	memcpy(bytes, &before, sizeof before);
	works(tell(FREE, bytes, NO_FD));
	is(kit_free(), before);
	/* More than the tenant has room for. */
	ok(message_send(link, (int)(kit.total / VMM_GRANULE) + 1, NULL, NO_FD));
	is(message_receive(link, NULL, &fd), 0);
	answers(CUDA_ERROR_OUT_OF_MEMORY,
		cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	close(fd);
	ok(message_send(link, 1, NULL, NO_FD));
	is(message_receive(link, NULL, NULL), 0);
	is(kit_free(), before);
	ok(message_send(link, 0, NULL, NO_FD));
	waitpid(pid, &status, 0);
	is(status, 0);
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
	/* A death is noticed within a moment. The importer's context goes with it, which is more on a GPU than on the
	 * software device. */
	for (int i = 0; i < 500 && (kit.soft ? kit_free() != before : kit_free() < before); i++)
		usleep(10000);
	if (kit.soft)
		is(kit_free(), before);
	else
		tap_ok(kit_free() >= before, "the importer's memory is free");
}

int main(int argc, char **argv)
{
	int pair[2], link = NO_FD;
	pid_t pid, other;

	if (argc > 1)
		return stranger(atoi(argv[1]));
	other = stranger_start(argv[0], &link);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return 1;
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		if (link != NO_FD)
			close(link);
		_exit(partner(pair[1]));
	}
	close(pair[1]);
	s = pair[0];
	fcntl(s, F_SETFD, FD_CLOEXEC);
	kit_begin();
	/* From here on nothing but what this test does changes what is free. */
	works(tell(READY, NULL, NO_FD));
	descriptors();
	descriptor_alone();
	from_outside(other, link);
	ipc();
	death(pid);
	return kit_end();
}
