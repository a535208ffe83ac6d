/* vmm_test.c: memory by handle: mapping, sharing between processes, and who is charged for how long. */
#include "softdev/soft.h"

#include <stdint.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define MIB ((size_t)1 << 20)

static CUmemAllocationProp props = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
static const CUmemAccessDesc access_desc = { { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } },
					     CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

static void life(void)
{
	CUmemGenericAllocationHandle h, again;
	size_t all = soft_free(), granule;
	CUdeviceptr a;
	int n = 0;

	CU(cuMemGetAllocationGranularity(&granule, &props, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	is(granule, 2 * MIB);
	FAILS(cuMemCreate(&h, 2 * MIB + 1, &props, 0), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemCreate(&h, 4 * MIB, &props, 0));
	is(all - soft_free(), 4 * MIB);
	CU(cuMemAddressReserve(&a, 8 * MIB, 0, 0, 0));
	FAILS(cuMemMap(a + 6 * MIB, 4 * MIB, 0, h, 0), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemMap(a, 4 * MIB, 0, h, 0));
	FAILS(cuMemMap(a + 2 * MIB, 4 * MIB, 0, h, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemsetD32(a, 5, 1), CUDA_ERROR_INVALID_VALUE); /* no access yet */
	CU(cuMemSetAccess(a, 4 * MIB, &access_desc, 1));
	CU(cuMemsetD32(a, 0x01020304, MIB));
	CU(cuMemMap(a + 4 * MIB, 2 * MIB, 2 * MIB, h, 0)); /* the same memory twice */
	CU(cuMemSetAccess(a + 4 * MIB, 2 * MIB, &access_desc, 1));
	CU(cuMemsetD32(a + 2 * MIB, 77, 1));
	CU(cuMemcpyDtoH(&n, a + 4 * MIB, 4));
	is(n, 77);
	CU(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(a + 100)));
	ok(again == h);
	CU(cuMemRelease(again));
	CU(cuMemRelease(h));
	is(all - soft_free(), 4 * MIB); /* still mapped */
	FAILS(cuMemRelease(h), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemUnmap(a, 2 * MIB), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemUnmap(a, 4 * MIB));
	is(all - soft_free(), 4 * MIB);
	FAILS(cuMemAddressFree(a, 8 * MIB), CUDA_ERROR_INVALID_VALUE);
	CU(cuMemUnmap(a + 4 * MIB, 2 * MIB));
	is(soft_free(), all);
	CU(cuMemAddressFree(a, 8 * MIB));
	FAILS(cuMemCreate(&h, all + 2 * MIB, &props, 0), CUDA_ERROR_OUT_OF_MEMORY);
	is(soft_free(), all);
}

/* The charge goes to the device in the properties, not to the current one. */
static void other_device(void)
{
	CUmemAllocationProp other = props;
	CUmemGenericAllocationHandle h;
	size_t here = soft_free(), there;
	CUcontext c;

	other.location.id = 1;
	CU(cuMemCreate(&h, 6 * MIB, &other, 0));
	is(soft_free(), here);
	CU(cuDevicePrimaryCtxRetain(&c, 1));
	CU(cuCtxPushCurrent(c));
	there = soft_free();
	CU(cuMemRelease(h));
	is(soft_free() - there, 6 * MIB);
	CU(cuCtxPopCurrent(NULL));
	CU(cuDevicePrimaryCtxRelease(1));
}

static void send_fd(int to, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	sendmsg(to, &m, 0);
}

static int receive_fd(int from)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	int fd = -1;

	if (recvmsg(from, &m, 0) > 0 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/* Makes a shared allocation, writes to it, hands it over and stays until it is killed. */
static void owner(int to)
{
	CUmemAllocationProp shared = props;
	CUmemGenericAllocationHandle h;
	CUdeviceptr a;
	CUcontext c;
	int fd;

	shared.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c) ||
	    cuMemCreate(&h, 4 * MIB, &shared, 0) || cuMemAddressReserve(&a, 4 * MIB, 0, 0, 0) ||
	    cuMemMap(a, 4 * MIB, 0, h, 0) || cuMemSetAccess(a, 4 * MIB, &access_desc, 1) || cuMemsetD32(a, 4711, MIB) ||
	    cuCtxSynchronize() || cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
		_exit(1);
	send_fd(to, fd);
	close(fd);
	pause();
	_exit(0);
}

static void shared(pid_t child, int from)
{
	CUmemGenericAllocationHandle h, second;
	int fd = receive_fd(from), n = 0, bogus;
	CUdeviceptr a;
	size_t all;

	ok(fd >= 0);
	soft_context();
	all = soft_free() + 4 * MIB; /* the child's is charged */
	CU(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	CU(cuMemImportFromShareableHandle(&second, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	is(all - soft_free(), 4 * MIB); /* once */
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	is(all - soft_free(), 4 * MIB); /* outlives its owner */
	CU(cuMemAddressReserve(&a, 4 * MIB, 0, 0, 0));
	CU(cuMemMap(a, 4 * MIB, 0, h, 0));
	CU(cuMemSetAccess(a, 4 * MIB, &access_desc, 1));
	CU(cuMemcpyDtoH(&n, a + 4 * MIB - 4, 4));
	is(n, 4711);
	CU(cuMemRelease(h));
	CU(cuMemRelease(second));
	CU(cuMemUnmap(a, 4 * MIB));
	is(all - soft_free(), 4 * MIB); /* the descriptor alone keeps it */
	close(fd);
	is(soft_free(), all);
	CU(cuMemAddressFree(a, 4 * MIB));
	bogus = dup(1);
	FAILS(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)bogus, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
	      CUDA_ERROR_INVALID_VALUE);
	close(bogus);
	FAILS(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)-1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
	      CUDA_ERROR_INVALID_VALUE);
}

/* The maker dies, and all that is left is a descriptor: nobody could be charged for that, so the memory is gone. */
static void kept(void)
{
	CUmemGenericAllocationHandle h;
	size_t before = soft_free();
	pid_t child;
	int pair[2], fd;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		exit(1);
	child = fork();
	if (!child) {
		char fd_text[12];

		snprintf(fd_text, sizeof(fd_text), "%d", dup(pair[0]));
		execl("/proc/self/exe", "vmm_test", fd_text, NULL);
		_exit(127);
	}
	fd = receive_fd(pair[1]);
	ok(fd >= 0);
	is(before - soft_free(), 4 * MIB);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	is(soft_free(), before);
	FAILS(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
	      CUDA_ERROR_INVALID_VALUE);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

int main(int argc, char **argv)
{
	pid_t child;
	int pair[2];

	if (argc == 2)
		owner(atoi(argv[1]));
	soft_begin("2", "64M");
	socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
	child = fork();
	if (!child)
		owner(pair[1]);
	shared(child, pair[0]);
	close(pair[0]);
	close(pair[1]);
	kept();
	life();
	other_device();
	return soft_end();
}
