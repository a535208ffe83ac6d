/*
 * passer.c: memory of a pool is passed to another process, and the one that made it is killed.
 *
 * Says with each line what the tenant has in use; the last lines are the results of taking 90 MiB and 16 MiB more.
 */
#include <stddef.h>

#include <cuda.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PASSED_BYTES (64u << 20)

static CUresult begin(void)
{
	CUcontext context;
	CUresult r = cuInit(0);

	if (!r)
		r = cuDevicePrimaryCtxRetain(&context, 0);
	return r ? r : cuCtxSetCurrent(context);
}

static int send_out(int to, int fd, CUmemPoolPtrExportData *data)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { data, sizeof *data };
	struct msghdr m = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
	};

	control.head =
		(struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
	return sendmsg(to, &m, 0) == sizeof *data ? 0 : 1;
}

static int receive(int from, CUmemPoolPtrExportData *data)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { data, sizeof *data };
	struct msghdr m = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
	};
	int fd = -1;

	if (recvmsg(from, &m, 0) == sizeof *data && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
	return fd;
}

static int give(int to)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	CUmemPoolPtrExportData data;
	CUmemoryPool pool;
	CUdeviceptr p;
	int fd;

	if (begin() || cuMemPoolCreate(&pool, &props) || cuMemAllocFromPoolAsync(&p, PASSED_BYTES, pool, NULL) ||
	    cuStreamSynchronize(NULL) ||
	    cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ||
	    cuMemPoolExportPointer(&data, p) || send_out(to, fd, &data))
		return 1;
	pause();
	return 0;
}

static void say_used(const char *when)
{
	size_t unused = 0, total = 0;

	cuMemGetInfo(&unused, &total);
	printf("%s %zu\n", when, total - unused);
}

int main(void)
{
	CUmemPoolPtrExportData data;
	CUmemoryPool pool;
	CUdeviceptr p;
	pid_t giver;
	int pair[2], fd;
	CUresult r;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 2;
	giver = fork();
	if (!giver)
		return give(pair[0]);
	fd = receive(pair[1], &data);
	r = fd < 0 ? CUDA_ERROR_UNKNOWN : begin();
	if (!r)
		r = cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd,
						       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	if (!r)
		r = cuMemPoolImportPointer(&p, pool, &data);
	printf("import %d\n", r);
	say_used("both");
	kill(giver, SIGKILL);
	waitpid(giver, NULL, 0);
	for (int i = 0; i < 50; i++) { /* until meted has seen that it is gone */
		size_t unused, total;

		cuMemGetInfo(&unused, &total);
		if (total - unused <= PASSED_BYTES)
			break;
		usleep(100000);
	}
	say_used("one");
	printf("more %d\n", cuMemAlloc(&p, 90u << 20));
	printf("too-much %d\n", cuMemAlloc(&p, 16u << 20));
	fflush(stdout);
	usleep(200000);
	return 0;
}
