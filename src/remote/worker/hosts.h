/* hosts.h: functions of the client that the driver calls here. */
#pragma once

#include "remote/worker/worker.h"

struct host;

/* What is given to the driver as a host function's data, with hosts_run(). NULL without memory. */
struct host *hosts_new(struct work *work, uint64_t token);
/* Before it is called, these bytes of the arena travel to the client. */
void hosts_bring(struct host *host, uint64_t offset, uint64_t bytes);
void CUDA_CB hosts_run(void *data);
/* Its token, for who reads a node's parameters. 0: no such function of the client. */
uint64_t hosts_token(CUhostFn fn, const void *data);
/* It lives as long as this graph and what is made of it: then the client is told. */
void hosts_belong(struct work *work, struct host *host, CUgraph graph);
/* A session has ended: nobody waits for its client any more. */
void hosts_end(struct worker *worker);
