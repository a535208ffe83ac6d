/* hosts.h: functions of the program that the driver is to call: known to the worker by tokens. */
#pragma once

#include "remote/client/session.h"

/*
 * A function that may run any number of times, until the worker says that it is gone. 0: without memory, or a thread.
 */
uint64_t hosts_add(struct session *session, CUhostFn fn, void *data);
/* One of the client's own. */
struct host_own {
	CUhostFn fn; /* or NULL */
	void *data;
	void (*ended)(void *data); /* when it is gone; or NULL */
	uint64_t offset, bytes;	   /* of the arena: what travels to the worker when the function has returned */
};

uint64_t hosts_add_own(struct session *session, const struct host_own *own);
/*
 * Puts into the stream what sends these bytes of the program's pinned memory when the stream has come there. False:
 * c->result.
 */
bool hosts_send_in_order(struct session *session, uint64_t context, uint64_t stream, uint64_t offset, uint64_t bytes,
			 CUresult *ret);
/* It will not be called; of a function whose request has failed. */
void hosts_remove(struct session *session, uint64_t token);
/* What a token stands for. */
bool hosts_find(uint64_t token, CUhostFn *ret_fn, void **ret_data);
/* In the child of fork(). */
void hosts_forget(void);
