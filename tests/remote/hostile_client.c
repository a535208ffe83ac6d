/*
 * hostile_client.c: a client without manners: sessions in which requests have a proper head, and behind it what names
 * other people's objects, addresses and memory, or nothing at all; now and then bytes that are no request.
 *
 *   hostile_client SEED SESSIONS      with METE_REMOTE as `mete run` sets it
 *
 * Writes "SESSIONS REQUESTS ANSWERS GRANTED": how many answers came, and how many of them said CUDA_SUCCESS. Whom it
 * harmed is for the test to see. Exit status: 0; 1: not one session was to be had.
 */
#include "cuda_remote.h"
#include "ring/call.h"
#include "ring/wall.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUESTS 200u /* of a session, if it lasts */
#define WORDS_MOST 24u
#define WAIT_NS UINT64_C(300000000)

static uint64_t state;
static unsigned int sent, answered, granted;

static uint64_t any(uint64_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 20) % below;
}

/* The small numbers that any session's first objects have, or what could be an address or a length. */
static uint64_t guess(void)
{
	uint32_t slot = (uint32_t)any(6);

	switch (any(8)) {
	case 0:
	case 1:
	case 2:
		return CALL_ID(any(32), any(3), slot | (any(3) ? 0 : CALL_ID_WORKER));
	case 3:
		return UINT64_C(0x7f0000000000) + any(1u << 20) * 4096;
	case 4:
		return any(1u << 30) * 2097152;
	case 5:
		return UINT64_MAX - any(4096);
	default:
		return any(300);
	}
}

static void fill(uint8_t *at, size_t size, uint32_t ticket)
{
	static const uint16_t families[] = { CALL_OPEN, CALL_MEMORY, CALL_IMAGE, CALL_GRAPH, CALL_LIBRARY };
	struct call_request head = { .size = (uint32_t)size, .thread = 1 + (uint32_t)any(4) };

	for (size_t i = sizeof(head); i < size; i += 8) {
		uint64_t word = guess();

		memcpy(at + i, &word, sizeof(word));
	}
	head.call = (uint16_t)(any(6) ? any(CUDA_CALL_COUNT) : families[any(5)] + any(24));
	head.flags = any(4) ? CALL_WAITS : 0;
	head.flags |= any(16) ? 0 : CALL_PAYLOAD;
	head.ticket = head.flags & CALL_WAITS ? ticket : 0;
	head.context = any(3) ? 0 : guess();
	memcpy(at, &head, sizeof(head));
	if (!any(40))
		at[any(size)] ^= (uint8_t)(1 + any(255));
}

/* False: the session has ended. */
static bool hear(struct wall *wall, uint64_t ns)
{
	struct call_reply reply;
	const void *at;
	size_t size;
	int r;

	while ((r = ring_next(&wall->replies, &at, &size, ns)) == 1) {
		if (size >= sizeof(reply)) {
			memcpy(&reply, at, sizeof(reply));
			answered += reply.ticket != 0;
			granted += reply.ticket && !reply.result;
		}
		ring_release(&wall->replies);
		ns = 0;
	}
	return r >= 0;
}

static bool begin(struct wall *wall)
{
	struct call_request head = {
		.size = sizeof(head), .call = CALL_OPEN, .flags = CALL_WAITS, .ticket = REQUESTS + 1, .thread = 1
	};
	void *at;

	if (ring_begin_within(&wall->requests, sizeof(head), WAIT_NS, &at) != 1)
		return false;
	memcpy(at, &head, sizeof(head));
	ring_commit(&wall->requests, sizeof(head));
	return hear(wall, 20 * WAIT_NS);
}

static void misbehave(struct wall *wall)
{
	size_t size;
	void *at;

	if (any(8) && !begin(wall))
		return;
	for (uint32_t i = 1; i <= REQUESTS; i++) {
		size = sizeof(struct call_request) + 8 * any(WORDS_MOST);
		if (ring_begin_within(&wall->requests, size, WAIT_NS, &at) != 1)
			return;
		fill(at, size, i);
		ring_commit(&wall->requests, size);
		sent++;
		if (!hear(wall, any(20) ? 0 : 2000000))
			return;
	}
	hear(wall, WAIT_NS);
}

int main(int argc, char **argv)
{
	const char *path = getenv("METE_REMOTE");
	struct wall_hello hello = { .magic = WALL_MAGIC,
				    .version = WALL_VERSION,
				    .fingerprint = CUDA_REMOTE_FINGERPRINT,
				    .pid = 1, /* somebody else's */
				    .command = "hostile_client" };
	unsigned int sessions = 0;
	struct wall wall;

	if (argc != 3 || !path)
		return 2;
	state = strtoull(argv[1], NULL, 10) * 2 + 1;
	for (int i = 0; i < atoi(argv[2]); i++) {
		if (wall_connect(&wall, path, &hello, 20000))
			continue;
		sessions++;
		misbehave(&wall);
		wall_close(&wall);
	}
	printf("%u %u %u %u\n", sessions, sent, answered, granted);
	return !sessions;
}
