/* hosts.h: functions of the client that the driver calls in the worker. */
#pragma once

#include "remote/worker/worker.h"

struct host;

/* Creates the data of a host function for the driver, with hosts_run(). NULL: no memory. */
struct host *hosts_new(struct work *work, uint64_t token);
/* Sends these bytes of the arena to the client before the function is called. */
void hosts_bring(struct host *host, uint64_t offset, uint64_t bytes);
void CUDA_CB hosts_run(void *data);
/* The token, for a reader of a node's parameters. 0: not a function of the client. */
uint64_t hosts_token(CUhostFn fn, const void *data);
/* Ties its life to this graph and what is made of it: when those have ended, the client is told. */
void hosts_belong(struct work *work, struct host *host, CUgraph graph);
/* Called when a session has ended: stops waiting for its client. */
void hosts_end(struct worker *worker);
