/* shared_cases.c: memory of another process. */
#include "cases.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Memory that one process makes and another one opens: what goes between them. */
struct offer {
	hipIpcMemHandle_t handle; /* ipc */
	char pointer[64];	  /* pool: of the memory in it */
};

static void send_offer(int to, const struct offer *offer, int fd)
{
	struct iovec data = { (void *)offer, sizeof *offer };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof fd)];
	} with = { .head = { CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS } };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };

	if (fd >= 0) {
		memcpy(CMSG_DATA(&with.head), &fd, sizeof fd);
		m.msg_control = &with;
		m.msg_controllen = sizeof with;
	}
	if (sendmsg(to, &m, 0) < 0)
		exit(4);
}

static int take_offer(int from, struct offer *ret)
{
	struct iovec data = { ret, sizeof *ret };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} with;
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &with, .msg_controllen = sizeof with };
	int fd = -1;

	if (recvmsg(from, &m, 0) != sizeof *ret)
		exit(4);
	if (m.msg_controllen)
		memcpy(&fd, CMSG_DATA(&with.head), sizeof fd);
	return fd;
}

static const hipMemAllocationProp exportable = { .type = 1,
						 .requestedHandleType = 1,
						 .location = { hipMemLocationTypeDevice, 0 } };

/* The maker's process: until it is told that it may free, and has. */
static void make_and_offer(int other, const char *way, uint64_t bytes)
{
	hipMemPoolProps props = { .allocType = 1, .handleTypes = 1, .location = { hipMemLocationTypeDevice, 0 } };
	hipMemGenericAllocationHandle_t handle = NULL;
	struct offer offer = { .pointer = "" };
	hipMemPool_t pool = NULL;
	hipStream_t stream;
	void *p = NULL;
	int fd = -1;
	char c;

	need(hip.hipStreamCreate(&stream), "hipStreamCreate");
	if (!strcmp(way, "fd")) {
		need(hip.hipMemCreate(&handle, bytes, &exportable, 0), "hipMemCreate");
		need(hip.hipMemExportToShareableHandle(&fd, handle, 1, 0), "hipMemExportToShareableHandle");
	} else if (!strcmp(way, "pool")) {
		need(hip.hipMemPoolCreate(&pool, &props), "hipMemPoolCreate");
		need(hip.hipMallocFromPoolAsync(&p, bytes, pool, stream), "hipMallocFromPoolAsync");
		need(hip.hipMemPoolExportToShareableHandle(&fd, pool, 1, 0), "hipMemPoolExportToShareableHandle");
		need(hip.hipMemPoolExportPointer((void *)offer.pointer, p), "hipMemPoolExportPointer");
	} else {
		need(hip.hipMalloc(&p, bytes), "hipMalloc");
		need(hip.hipIpcGetMemHandle(&offer.handle, p), "hipIpcGetMemHandle");
	}
	send_offer(other, &offer, fd);
	if (fd >= 0)
		close(fd);
	if (read(other, &c, 1) != 1)
		exit(4);
	if (handle)
		need(hip.hipMemRelease(handle), "hipMemRelease");
	else
		need(pool ? hip.hipFreeAsync(p, stream) : hip.hipFree(p), "hipFree");
	need(hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
	if (pool)
		need(hip.hipMemPoolDestroy(pool), "hipMemPoolDestroy");
	if (write(other, &c, 1) != 1 || read(other, &c, 1) != 0)
		exit(4);
	exit(0);
}

/* An importer's hold. */
struct import {
	hipMemGenericAllocationHandle_t handle;
	hipMemPool_t pool;
	void *p;
};

static void import_offer(struct import *i, const char *way, const struct offer *offer, int fd)
{
	if (!strcmp(way, "fd")) {
		need(hip.hipMemImportFromShareableHandle(&i->handle, (void *)(intptr_t)fd, 1),
		     "hipMemImportFromShareableHandle");
	} else if (!strcmp(way, "pool")) {
		need(hip.hipMemPoolImportFromShareableHandle(&i->pool, (void *)(intptr_t)fd, 1, 0),
		     "hipMemPoolImportFromShareableHandle");
		need(hip.hipMemPoolImportPointer(&i->p, i->pool, (void *)offer->pointer), "hipMemPoolImportPointer");
	} else {
		need(hip.hipIpcOpenMemHandle(&i->p, offer->handle, 1), "hipIpcOpenMemHandle");
		need(hip.hipIpcOpenMemHandle(&i->p, offer->handle, 1), "hipIpcOpenMemHandle, once more");
		need(hip.hipIpcCloseMemHandle(i->p), "hipIpcCloseMemHandle");
	}
	if (fd >= 0)
		close(fd);
}

static void let_go(const struct import *i)
{
	if (i->handle)
		need(hip.hipMemRelease(i->handle), "hipMemRelease");
	else
		need(i->pool ? hip.hipFree(i->p) : hip.hipIpcCloseMemHandle(i->p), "letting go");
	if (i->pool)
		need(hip.hipMemPoolDestroy(i->pool), "hipMemPoolDestroy");
}

static bool comes_to(uint64_t bytes)
{
	for (int i = 0; i < 3000 && room() != bytes; i++)
		usleep(10000);
	return room() == bytes;
}

int shared(const char *way, uint64_t bytes, bool dies)
{
	struct import import = { 0 };
	struct offer offer;
	int pair[2], fd;
	void *p, *q;
	pid_t maker;
	char c = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 3;
	maker = fork();
	if (!maker) {
		close(pair[0]);
		make_and_offer(pair[1], way, bytes / 2);
	}
	close(pair[1]);
	fd = take_offer(pair[0], &offer);
	ok(room() == bytes / 2, "%s: its maker has it", way);
	import_offer(&import, way, &offer, fd);
	ok(room() == (strcmp(way, "ipc") ? 0 : bytes / 2), "%s: its importer is charged, or it is the grant's", way);
	if (dies)
		kill(maker, SIGKILL);
	else if (write(pair[0], &c, 1) != 1)
		return 3;
	ok(read(pair[0], &c, 1) == !dies && comes_to(bytes / 2), "%s: its maker has let go; it stays charged", way);
	ok(hip.hipMalloc(&p, bytes / 2 + UNIT) == hipErrorOutOfMemory, "%s: so that there is no more than the rest",
	   way);
	need(hip.hipMalloc(&p, bytes / 2), "the rest");
	printf("full\n");
	fflush(stdout);
	if (getchar() < 0)
		return 3;
	let_go(&import);
	ok(comes_to(bytes / 2), "%s: its importer has let go, and nothing of it is charged", way);
	need(hip.hipMalloc(&q, bytes / 2), "the other half");
	close(pair[0]);
	waitpid(maker, NULL, 0);
	return done();
}
