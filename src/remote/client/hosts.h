/* hosts.h: functions of the program that the driver calls: the worker knows them by tokens. */
#pragma once

#include "remote/client/session.h"

/* Adds a function that may run any number of times, until the worker reports its end. 0: no memory, or no thread. */
uint64_t hosts_add(struct session *session, CUhostFn fn, void *data);
/* A function of the client itself. */
struct host_own {
	CUhostFn fn; /* or NULL */
	void *data;
	void (*ended)(void *data); /* called when it ends; or NULL */
	uint64_t offset, bytes;	   /* of the arena: the bytes to send to the worker when the function has returned */
};

uint64_t hosts_add_own(struct session *session, const struct host_own *own);
/*
 * Adds a node to the stream that sends these bytes of the program's pinned memory in the stream's order. False: *ret.
 */
bool hosts_send_in_order(struct session *session, uint64_t context, uint64_t stream, uint64_t offset, uint64_t bytes,
			 CUresult *ret);
/* Removes a function that will not be called because its request has failed. */
void hosts_remove(struct session *session, uint64_t token);
/* The function behind a token. */
bool hosts_find(uint64_t token, CUhostFn *ret_fn, void **ret_data);
/* In the child of fork(). */
void hosts_forget(void);
