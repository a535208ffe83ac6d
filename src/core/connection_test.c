/*
 * connection_test.c: in a worker, a request for a connection that meets a restart of meted ends with an error, although
 * the next meted's connection takes the place of the one before while the request is under way; and then the next one
 * answers.
 */
#include "core/connection.h"

#include "base/send_fds.h"
#include "base/tap.h"
#include "wire/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONTROL 200 /* the worker's own connection */
#define PATIENCE_MS 5000

struct asker {
	pthread_t thread;
	struct connection connection;
	_Atomic int result; /* 1: there is none yet */
};

static void *ask(void *arg)
{
	struct asker *a = arg;
	char path[16];

	snprintf(path, sizeof(path), "fd:%d", CONTROL);
	atomic_store(&a->result, connection_open(&a->connection, path));
	return NULL;
}

static int result_of(struct asker *a)
{
	for (int i = 0; i < PATIENCE_MS && atomic_load(&a->result) == 1; i++)
		usleep(1000);
	return atomic_load(&a->result);
}

/* A meted's end of a worker's connection; the worker's is CONTROL. */
static int begin_meted(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	dup3(ends[1], CONTROL, O_CLOEXEC);
	close(ends[1]);
	return ends[0];
}

/* Answers one request. */
static int answer(int meted)
{
	struct worker_word word;
	int ends[2], r = -1;

	if (recv(meted, &word, sizeof(word), 0) != (ssize_t)sizeof(word) || word.type != WORKER_CONNECT ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	word.type = WORKER_CONNECTED;
	r = send_fd(meted, &word, sizeof(word), ends[1], 0) < 0 ? -1 : ends[0];
	close(ends[1]);
	return r;
}

/* Until the worker cannot send any more. */
static void fill(void)
{
	struct worker_word word = { 0 };

	while (send(CONTROL, &word, sizeof(word), MSG_DONTWAIT) > 0)
		;
}

static void drain(int meted)
{
	struct worker_word word;

	while (recv(meted, &word, sizeof(word), MSG_DONTWAIT) > 0)
		;
}

int main(void)
{
	static struct asker a = { .connection.fd = -1, .result = 1 }, b = { .connection.fd = -1, .result = 1 };
	int first, next, grant;

	tap_begin();
	first = begin_meted();
	fill();
	pthread_create(&a.thread, NULL, ask, &a);
	usleep(200000); /* it is sending */
	is(atomic_load(&a.result), 1);
	next = begin_meted();
	/* The request reaches the first meted, which ends. */
	drain(first);
	usleep(50000);
	close(first);
	tap_ok(result_of(&a) == -ECONNRESET, "a request that a meted did not answer before its end is over (%d)",
	       result_of(&a));
	if (result_of(&a) == 1)
		return tap_end(); /* its thread would wait for ever */
	pthread_create(&b.thread, NULL, ask, &b);
	grant = answer(next);
	tap_ok(result_of(&b) == 0 && grant >= 0, "the next meted answers");
	pthread_join(a.thread, NULL);
	pthread_join(b.thread, NULL);
	connection_close(&b.connection);
	close(grant);
	close(next);
	close(CONTROL);
	return tap_end();
}
