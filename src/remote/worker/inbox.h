/*
 * inbox.h: which thread reads the client's requests: the executor.
 *
 * Requests are executed in the order of the ring by one thread at a time, the executor. A thread that is about to
 * block gives this role up (inbox_yield()) and continues; another thread, a sleeping or a new one, then reads on. When
 * a thread is done with the work for which it yielded, it becomes the executor again if there is none, and otherwise
 * sleeps.
 *
 * There is no executor while the ring is empty: all idle threads sleep on the ring's own bell, and the client's
 * message wakes any one of them. Giving up the role therefore costs no system call as long as there is nothing to
 * read.
 */
#pragma once

#include "ring/ring.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define INBOX_THREADS 1024u

struct inbox_ops {
	/* A thread starts: creates its buffers, with room for the longest message. NULL: no memory. */
	void *(*enter)(void *arg, uint8_t **ret_message);
	void (*leave)(void *arg, void *room);
	/* Executes the message of `size` bytes that was copied there. Value: 0, or below 0: the session ends. */
	int (*execute)(void *arg, void *room, size_t size);
};

struct inbox {
	struct ring_end *ring; /* belongs to the thread that has the turn */
	const struct inbox_ops *ops;
	void *arg;
	_Atomic bool turn; /* a thread has it */
	_Atomic uint32_t idle; /* threads that execute nothing */
	_Atomic int ended; /* below 0: the first reason to end */
	pthread_mutex_t lock;
	pthread_cond_t left;
	uint32_t threads; /* guarded by `lock` */
};

void inbox_init(struct inbox *inbox, struct ring_end *ring, const struct inbox_ops *ops, void *arg);
/*
 * The calling thread takes part until the session ends. Value: -EPIPE: the client closed it or is dead; -EPROTO: it
 * broke the rules; -ENOMEM; or the value of execute(). Other threads may still be executing.
 */
int inbox_run(struct inbox *inbox);
/* Ends the session: every thread leaves after its request. Any thread may call it, repeatedly. */
void inbox_end(struct inbox *inbox, int why);
/* Called after inbox_run(): waits until no other thread is left. */
void inbox_deinit(struct inbox *inbox);

/* Called in execute(): gives up the turn. False: no other thread could take it, and it is kept. */
bool inbox_yield(struct inbox *inbox);
