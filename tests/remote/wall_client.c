/*
 * wall_client.c: a client of a wall without a driver's table: connects, pings, and stays for as long as its input.
 *
 *   wall_client SOCKET [relayed]      as a program; or as a relay
 *
 * Writes one line: "STATUS MILLISECONDS GRANT" or "STATUS MILLISECONDS TEXT" (-1: nobody answered), and for each line
 * that it reads: "p": "RESULT MICROSECONDS" of a ping (RESULT -1: the worker is gone).
 */
#include "cuda_remote.h"
#include "ring/call.h"
#include "ring/wall.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int ask(struct wall *wall, uint16_t call)
{
	static uint32_t ticket;
	struct call_request head = {
		.size = sizeof(head), .call = call, .flags = CALL_WAITS, .ticket = ++ticket, .thread = 1
	};
	struct call_reply reply;
	const void *at;
	size_t size;
	void *to;

	if (ring_begin(&wall->requests, sizeof(head), &to))
		return -1;
	memcpy(to, &head, sizeof(head));
	ring_commit(&wall->requests, sizeof(head));
	if (ring_next(&wall->replies, &at, &size, UINT64_C(10000000000)) != 1)
		return -1;
	memcpy(&reply, at, sizeof(reply));
	ring_release(&wall->replies);
	return reply.ticket == ticket ? reply.result : -1;
}

int main(int argc, char **argv)
{
	struct wall_hello hello = { .magic = WALL_MAGIC,
				    .version = WALL_VERSION,
				    .fingerprint = CUDA_REMOTE_FINGERPRINT,
				    .pid = getpid(),
				    .command = "wall_client" };
	struct wall wall;
	double began = now();
	char line[64];
	int r;

	if (argc != 2 && argc != 3)
		return 2;
	hello.flags = argc == 3 ? WALL_RELAYED : 0;
	r = wall_connect(&wall, argv[1], &hello, 20000);
	if (!r && ask(&wall, CALL_PING))
		r = -1;
	printf("%d %.3f %s\n", r < 0 ? -1 : r, (now() - began) * 1e3, r ? wall.welcome.text : wall.welcome.grant);
	fflush(stdout);
	while (!r && fgets(line, sizeof(line), stdin)) {
		double start = now();
		int result = ask(&wall, CALL_PING);

		printf("%d %.1f\n", result, (now() - start) * 1e6);
		fflush(stdout);
	}
	wall_close(&wall);
	return r != 0;
}
