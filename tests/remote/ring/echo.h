/*
 * echo.h: a worker without a driver, in a process of its own: real handshake, real rings, real inbox. What it does with
 * a request follows from the request's call number.
 */
#pragma once

#include "base/tap.h"
#include "remote/worker/inbox.h"
#include "ring/call.h"
#include "ring/wall.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ECHO_FINGERPRINT 0x5151u

enum echo_call {
	ECHO = 1,    /* replies with the request's body */
	ECHO_FORGET, /* adds the body's first word to a sum */
	ECHO_SUM,    /* replies with that sum */
	ECHO_RETIRE, /* the notice RETIRED of the payload's serial */
	ECHO_CHECK,  /* the payload's bytes must all be the body's first byte, else the worker ends; then as RETIRE */
	ECHO_LATE,   /* yields, and replies when an ECHO_GO has come */
	ECHO_GO,
	ECHO_LONG,  /* replies with as many bytes as the body's first word says */
	ECHO_HOST,  /* the notice HOST with the body; reply at HOST_DONE */
	ECHO_LOST,  /* the notice LOST with the body */
	ECHO_DIE,   /* kill -9 of itself */
	ECHO_NOISE, /* a reply that nobody asked for */
	ECHO_FLOOD, /* as many notices RETIRED as the body's first word says */
};

struct echo {
	struct wall wall;
	struct inbox inbox;
	pthread_mutex_t lock; /* guards the replies and what follows */
	uint64_t gone, sum;
};

static int echo_send(struct echo *e, const struct call_reply *head, const void *body, size_t bytes)
{
	struct call_reply whole = *head;
	void *at;
	int r;

	whole.size = (uint32_t)(sizeof(whole) + ((bytes + 7) & ~(size_t)7));
	pthread_mutex_lock(&e->lock);
	r = ring_begin(&e->wall.replies, whole.size, &at);
	if (!r) {
		memcpy(at, &whole, sizeof(whole));
		memset((uint8_t *)at + sizeof(whole), 0, whole.size - sizeof(whole));
		memcpy((uint8_t *)at + sizeof(whole), body, bytes);
		ring_commit(&e->wall.replies, whole.size);
	}
	pthread_mutex_unlock(&e->lock);
	return r;
}

static void *echo_enter(void *arg, uint8_t **ret_message)
{
	(void)arg;
	return *ret_message = malloc(1 << 20);
}

static void echo_leave(void *arg, void *room)
{
	(void)arg;
	free(room);
}

static int echo_late(struct echo *e, const struct call_reply *head)
{
	uint64_t seen;

	pthread_mutex_lock(&e->lock);
	seen = e->gone;
	pthread_mutex_unlock(&e->lock);
	if (!inbox_yield(&e->inbox))
		return -EAGAIN;
	pthread_mutex_lock(&e->lock);
	while (e->gone == seen && !atomic_load(&e->inbox.ended)) {
		pthread_mutex_unlock(&e->lock);
		usleep(1000);
		pthread_mutex_lock(&e->lock);
	}
	pthread_mutex_unlock(&e->lock);
	return echo_send(e, head, &seen, sizeof(seen));
}

static int echo_check(struct echo *e, const struct call_payload *payload, uint8_t value)
{
	const uint8_t *at = wall_arena(&e->wall, payload->offset, payload->bytes);

	for (uint64_t i = 0; i < payload->bytes; i++)
		if (!at || at[i] != value)
			return -EBADMSG;
	return 0;
}

static int echo_execute(void *arg, void *room, size_t size)
{
	struct call_reply notice = { .call = CALL_NOTICE_RETIRED }, reply;
	struct call_payload payload = { 0 };
	struct call_request head;
	struct echo *e = arg;
	const uint8_t *body;
	uint64_t word = 0;
	int r = 0;

	if (size < sizeof(head))
		return -EPROTO;
	memcpy(&head, room, sizeof(head));
	body = (uint8_t *)room + sizeof(head);
	size -= sizeof(head);
	if (head.flags & CALL_PAYLOAD) {
		memcpy(&payload, body, sizeof(payload));
		body += sizeof(payload);
		size -= sizeof(payload);
	}
	memcpy(&word, body, size < 8 ? size : 8);
	reply = (struct call_reply){ .call = head.call, .ticket = head.ticket };
	switch (head.call) {
	case ECHO:
		return echo_send(e, &reply, body, size);
	case ECHO_FORGET:
		e->sum += word;
		return 0;
	case ECHO_SUM:
		return echo_send(e, &reply, &e->sum, sizeof(e->sum));
	case ECHO_CHECK:
		r = echo_check(e, &payload, body[0]);
		return r ? r : echo_send(e, &notice, &payload.serial, sizeof(payload.serial));
	case ECHO_RETIRE:
		return echo_send(e, &notice, &payload.serial, sizeof(payload.serial));
	case ECHO_LATE:
		return echo_late(e, &reply);
	case ECHO_GO:
		pthread_mutex_lock(&e->lock);
		e->gone++;
		pthread_mutex_unlock(&e->lock);
		return 0;
	case ECHO_LONG:
		return echo_send(e, &reply, room, word);
	case ECHO_HOST:
		notice.call = CALL_NOTICE_HOST;
		return echo_send(e, &notice, body, size);
	case CALL_HOST_DONE:
		e->sum += word;
		return 0;
	case ECHO_LOST:
		notice.call = CALL_NOTICE_LOST;
		return echo_send(e, &notice, body, size);
	case ECHO_DIE:
		return raise(SIGKILL);
	case ECHO_NOISE:
		reply.ticket = UINT32_MAX;
		return echo_send(e, &reply, body, size);
	case ECHO_FLOOD:
		for (uint64_t i = 0; i < word && !r; i++)
			r = echo_send(e, &notice, &i, sizeof(i));
		return r;
	default:
		return -EPROTO;
	}
}

static const struct inbox_ops echo_ops = { echo_enter, echo_leave, echo_execute };

static int echo_serve(int listener, const struct wall_shape *shape)
{
	static struct echo e = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct wall_welcome more = { .fingerprint = ECHO_FINGERPRINT, .flags = WALL_COHERENT };
	struct wall_hello hello;
	int fd;

	if (wall_make(&e.wall, shape))
		return 10;
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (wall_receive_hello(fd, ECHO_FINGERPRINT, &hello, 5000) || wall_welcome(&e.wall, fd, &more))
		return 11;
	inbox_init(&e.inbox, &e.wall.requests, &echo_ops, &e);
	return inbox_run(&e.inbox) == -EPIPE ? 0 : 12;
}

/* Listens, and serves one client in a child. Value: the child; *path is the socket's. */
static pid_t echo_start(const struct wall_shape *shape, char *path, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	pid_t pid;

	snprintf(path, size, "/tmp/mete-echo-%d", (int)getpid());
	memcpy(address.sun_path, path, strlen(path) + 1);
	unlink(path);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 4))
		tap_skip_all("no unix sockets here");
	pid = fork();
	if (pid == 0)
		_exit(echo_serve(listener, shape));
	close(listener);
	return pid;
}

/* Its exit status; 1000 + signal when one ended it. */
static inline int echo_status(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
