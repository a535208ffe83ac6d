/*
 * worker_test.c: the worker as a process of its own, driven by hand-made messages over the real handshake and rings.
 *
 *   worker_test WORKER DRIVER
 */
#include "base/tap.h"
#include "cuda_remote.h"
#include "remote/worker/worker.h"
#include "wire/wall.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *worker_path, *driver_path;
static char socket_path[64];
static uint32_t tickets;

struct message {
	_Alignas(8) uint8_t bytes[65536];
	size_t size;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pid_t start_worker(void)
{
	int ends[2];
	char fd[12], byte;
	pid_t pid;

	if (pipe(ends))
		exit(1);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		snprintf(fd, sizeof(fd), "%d", ends[1]);
		execl(worker_path, worker_path, "--listen", socket_path, "--driver", driver_path, "--ready-fd", fd,
		      NULL);
		_exit(127);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		printf("# the worker did not start\n");
	close(ends[0]);
	return pid;
}

/* Value: the exit status, 256 + signal, or -1: it did not end in `seconds`. */
static int wait_end(pid_t pid, double seconds)
{
	double end = now() + seconds;
	int status;

	while (now() < end) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
		usleep(2000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

static int connect_wall(struct wall *wall)
{
	struct wall_hello hello = { .magic = WALL_MAGIC,
				    .version = WALL_VERSION,
				    .fingerprint = CUDA_REMOTE_FINGERPRINT,
				    .pid = getpid(),
				    .command = "worker_test" };

	return wall_connect(wall, socket_path, &hello, 5000);
}

static void send_bytes(struct wall *wall, const void *bytes, size_t size)
{
	void *at;

	if (ring_begin(&wall->requests, size, &at))
		return;
	memcpy(at, bytes, size);
	ring_commit(&wall->requests, size);
}

/* Sends a request and waits for its reply. Value: the result; -1: none came. */
static int ask(struct wall *wall, uint16_t call, uint64_t context, const void *body, size_t bytes,
	       struct message *reply)
{
	struct call_request head = { .size = (uint32_t)(sizeof(head) + bytes),
				     .call = call,
				     .flags = CALL_WAITS,
				     .ticket = ++tickets,
				     .thread = 1,
				     .context = context };
	struct message m;
	const void *at;

	memcpy(m.bytes, &head, sizeof(head));
	if (bytes)
		memcpy(m.bytes + sizeof(head), body, bytes);
	send_bytes(wall, m.bytes, head.size);
	if (ring_next(&wall->replies, &at, &reply->size, UINT64_C(5000000000)) != 1)
		return -1;
	memcpy(reply->bytes, at, reply->size);
	ring_release(&wall->replies);
	return ((struct call_reply *)(void *)reply->bytes)->ticket == tickets
		       ? ((struct call_reply *)(void *)reply->bytes)->result
		       : -1;
}

static void test_ping(void)
{
	pid_t pid = start_worker();
	struct message reply;
	struct wall wall;

	is(connect_wall(&wall), 0);
	is(ask(&wall, CALL_OPEN, 0, NULL, 0, &reply), CUDA_SUCCESS);
	is(ask(&wall, CALL_PING, 0, NULL, 0, &reply), CUDA_SUCCESS);
	is(reply.size, sizeof(struct call_reply));
	is(ask(&wall, CUDA_CALL_cuCtxSynchronize, 12345, NULL, 0, &reply), CUDA_ERROR_INVALID_CONTEXT);
	is(ask(&wall, CALL_FORK, 0, NULL, 0, &reply), CUDA_ERROR_NOT_SUPPORTED);
	wall_close(&wall);
	is(wait_end(pid, 2), 0);
}

/* Messages that make no sense end the session, and the worker with it, at once. */
static void test_malformed(void)
{
	static const struct call_request bad[] = {
		{ .size = 40,
		  .call = CALL_PING,
		  .flags = CALL_WAITS,
		  .ticket = 1,
		  .thread = 1 }, /* longer than it is */
		{ .size = 24, .call = CALL_PING, .flags = 0x8000, .thread = 1 },
		{ .size = 24, .call = CALL_PING, .flags = CALL_WAITS, .ticket = 1 }, /* no thread */
		{ .size = 24, .call = CALL_PING, .ticket = 1, .thread = 1 }, /* a ticket that nobody waits with */
		{ .size = 24, .call = CALL_PING, .flags = CALL_PAYLOAD, .thread = 1 }, /* no payload behind it */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		pid_t pid = start_worker();
		struct wall wall;
		const void *at;
		size_t size;

		is(connect_wall(&wall), 0);
		send_bytes(&wall, &bad[i], sizeof(bad[i]));
		is(ring_next(&wall.replies, &at, &size, UINT64_C(3000000000)), -EPIPE);
		is(wait_end(pid, 2), 1);
		wall_close(&wall);
	}
}

/* A client that is killed takes its worker along, and the other way round. */
static void test_deaths(void)
{
	pid_t worker = start_worker(), client = fork();
	struct wall wall;
	const void *at;
	double began;
	size_t size;

	if (!client) {
		if (!connect_wall(&wall))
			raise(SIGKILL);
		_exit(1);
	}
	waitpid(client, NULL, 0);
	is(wait_end(worker, 1), 0);
	worker = start_worker();
	is(connect_wall(&wall), 0);
	began = now();
	kill(worker, SIGKILL);
	is(ring_next(&wall.replies, &at, &size, UINT64_C(3000000000)), -EPIPE);
	ok(now() - began < 1);
	wall_close(&wall);
	wait_end(worker, 1);
}

static void test_versions(void)
{
	struct wall_hello hello = { .magic = WALL_MAGIC, .version = WALL_VERSION, .fingerprint = 1 };
	pid_t pid = start_worker();
	struct wall wall;

	is(wall_connect(&wall, socket_path, &hello, 5000), WALL_WRONG_VERSION);
	ok(strlen(wall.welcome.text) > 10);
	wall_close(&wall);
	is(wait_end(pid, 2), 1);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	worker_path = argv[1];
	driver_path = argv[2];
	snprintf(socket_path, sizeof(socket_path), "/tmp/worker-test-%d.sock", (int)getpid());
	tap_begin();
	test_ping();
	test_malformed();
	test_deaths();
	test_versions();
	return tap_end();
}
