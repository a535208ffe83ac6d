/*
 * output.c: see output.h. Standard output is a pipe, which a thread empties; an answer that the client waits for
 * empties it first, so that a program that has waited for its kernels has their text.
 */
#include "remote/worker/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define PIECE 4096u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the order of what is sent */
static int from = -1, to = -1;

void output_flush(struct worker *worker)
{
	struct {
		uint64_t bytes;
		char text[PIECE];
	} piece;
	ssize_t n;

	if (from < 0)
		return;
	pthread_mutex_lock(&lock);
	while ((n = read(from, piece.text, sizeof(piece.text))) > 0) {
		piece.bytes = (uint64_t)n;
		worker_notice(worker, CALL_NOTICE_OUTPUT, &piece, sizeof(piece.bytes) + (size_t)n);
	}
	pthread_mutex_unlock(&lock);
}

static void *empty(void *arg)
{
	struct pollfd p = { .fd = from, .events = POLLIN };

	while (poll(&p, 1, -1) >= 0 || errno == EINTR) {
		if (p.revents & (POLLHUP | POLLERR | POLLNVAL))
			break;
		output_flush(arg);
	}
	return NULL;
}

int output_open(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	from = ends[0];
	to = ends[1];
	return fcntl(from, F_SETFL, O_NONBLOCK) ? -errno : 0;
}

int output_start(struct worker *worker)
{
	pthread_t thread;
	int r;

	if (dup3(to, STDOUT_FILENO, 0) < 0)
		return -errno;
	close(to);
	r = pthread_create(&thread, NULL, empty, worker);
	if (!r)
		pthread_detach(thread);
	return -r;
}
