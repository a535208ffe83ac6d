/*
 * echo_worker.c: stands where a worker does: behind a wall's socket. echo_worker SOCKET
 *
 * Not coherent, as seen through a relay: it waits for payloads on the board. One process per client, which ends with
 * it.
 */
#include "base/cleanup.h"
#include "echo.h"
#include "ring/call.h"
#include "ring/wall.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#define REQUEST_MOST (256u << 10)

struct echo {
	struct wall wall;
	uint64_t serial, quiet;
};

/* Until the payload is there. False: the client is gone. */
static bool wait_payload(struct echo *e, uint64_t serial)
{
	uint64_t *arrived = (uint64_t *)(void *)(e->wall.arena + WALL_BOARD_ARRIVED), seen;
	uint32_t *waiters = (uint32_t *)(void *)(e->wall.arena + WALL_BOARD_WAITERS);
	struct timespec patience = { 0, 100000000 };

	while ((seen = __atomic_load_n(arrived, __ATOMIC_ACQUIRE)) < serial) {
		if (!e->wall.bell.bell.alive(&e->wall.bell.bell))
			return false;
		__atomic_fetch_add(waiters, 1, __ATOMIC_SEQ_CST);
		if ((seen = __atomic_load_n(arrived, __ATOMIC_SEQ_CST)) < serial)
			syscall(SYS_futex, arrived, FUTEX_WAIT, (uint32_t)seen, &patience, NULL, 0);
		__atomic_fetch_sub(waiters, 1, __ATOMIC_SEQ_CST);
	}
	return true;
}

static void reply(struct echo *e, const struct call_reply *head, const struct call_payload *payload, uint64_t value)
{
	uint32_t bytes = (uint32_t)(sizeof(*head) + (payload ? sizeof(*payload) : 0) + sizeof(value));
	struct call_reply h = *head;
	uint8_t *at;
	void *begun;

	if (ring_begin(&e->wall.replies, bytes, &begun) < 0)
		exit(0);
	at = begun;
	h.size = bytes;
	h.flags = payload ? CALL_PAYLOAD : 0;
	memcpy(at, &h, sizeof(h));
	at += sizeof(h);
	if (payload) {
		memcpy(at, payload, sizeof(*payload));
		at += sizeof(*payload);
	}
	memcpy(at, &value, sizeof(value));
	ring_commit(&e->wall.replies, bytes);
}

static void give(struct echo *e, struct call_reply *head, const uint64_t *body, bool mirror)
{
	struct call_payload p = { body[0], body[1], ++e->serial };
	struct call_reply notice = { .call = CALL_NOTICE_MIRROR };
	void *at = wall_arena(&e->wall, p.offset, p.bytes);

	if (!at)
		exit(1);
	if (body[2])
		echo_fill(at, p.bytes, body[2]);
	if (mirror) {
		reply(e, &notice, &p, 0);
		head->fence = (uint32_t)p.serial;
	}
	reply(e, head, mirror ? NULL : &p, p.serial);
}

static void serve(struct echo *e, const struct call_request *q, const struct call_payload *p, const uint64_t *body)
{
	struct call_reply head = { .call = q->call, .ticket = q->ticket };
	struct call_reply notice = { .call = CALL_NOTICE_RETIRED };
	struct call_payload beyond = { e->wall.arena_bytes - 8, 4096, e->serial + 1 };

	switch (q->call) {
	case CALL_PING:
		reply(e, &head, NULL, body ? body[0] : 0);
		break;
	case ECHO_TAKE:
		if (!wait_payload(e, p->serial))
			exit(0);
		if (q->flags & CALL_WAITS)
			reply(e, &head, NULL, echo_sum(wall_arena(&e->wall, p->offset, p->bytes), p->bytes));
		break;
	case ECHO_GIVE:
	case ECHO_MIRROR:
		give(e, &head, body, q->call == ECHO_MIRROR);
		break;
	case ECHO_QUIET:
		e->quiet++;
		break;
	case ECHO_COUNT:
		reply(e, &head, NULL, e->quiet);
		break;
	case ECHO_SLEEP:
		poll(NULL, 0, (int)body[0]);
		reply(e, &head, NULL, 0);
		break;
	case ECHO_FLOOD:
		for (uint64_t i = 0; i < body[0]; i++)
			reply(e, &notice, NULL, i);
		reply(e, &head, NULL, 0);
		break;
	case ECHO_GROW:
		reply(e, &head, &beyond, 0);
		break;
	default:
		exit(3);
	}
}

static int session(int socket)
{
	struct wall_shape shape = { .heap_bytes = ECHO_HEAP_BYTES };
	struct wall_welcome more = { .grant = "echo" };
	struct wall_hello hello;
	struct echo *e = calloc(1, sizeof(*e));
	_Alignas(8) static uint8_t message[REQUEST_MOST];
	struct call_request *q = (struct call_request *)(void *)message;
	const void *at;
	size_t bytes;
	bool has;

	if (!e || wall_receive_hello(socket, 0, &hello, 2000) < 0)
		return 1;
	if (!strcmp(hello.name, "full")) {
		wall_refuse(socket, WALL_FULL, "all workers are taken; try again later");
		return 0;
	}
	more.fingerprint = hello.fingerprint;
	if (wall_make(&e->wall, &shape) < 0 || wall_welcome(&e->wall, socket, &more) < 0)
		return 1;
	while (ring_next(&e->wall.requests, &at, &bytes, RING_FOREVER) > 0) {
		if (bytes > sizeof(message))
			return 1;
		memcpy(message, at, bytes);
		ring_release(&e->wall.requests);
		has = q->flags & CALL_PAYLOAD;
		serve(e, q, has ? (struct call_payload *)(q + 1) : NULL,
		      (uint64_t *)(void *)(message + sizeof(*q) + (has ? sizeof(struct call_payload) : 0)));
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), fd;

	if (argc != 2 || listener < 0 || strlen(argv[1]) >= sizeof(address.sun_path))
		return 2;
	signal(SIGCHLD, SIG_IGN);
	memcpy(address.sun_path, argv[1], strlen(argv[1]) + 1);
	unlink(argv[1]);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, 64) < 0)
		return 2;
	printf("ready\n");
	fflush(stdout);
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		if (!fork()) {
			close(listener);
			_exit(session(fd));
		}
		close(fd);
	}
	return 1;
}
