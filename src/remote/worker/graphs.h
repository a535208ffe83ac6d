/* graphs.h: parameters of nodes, read from requests and written into answers. */
#pragma once

#include "remote/graph.h"
#include "remote/worker/hosts.h"
#include "remote/worker/launches.h"

/* As the driver takes them. What they point to is in here, or in the request. */
struct node_params {
	CUgraphNodeParams driver;
	uint64_t context_id;
	struct launch launch;	  /* of a kernel */
	struct host *host;	  /* of a host function: made for this node */
	uint64_t before, after;	  /* of a copy: tokens */
	uint64_t moved;		  /* id of a child graph that becomes the node's, or 0 */
	struct call_payload result; /* of a copy: where in the arena `after` finds what was copied */
	CUmemAccessDesc *access;  /* owned */
	CUstreamBatchMemOpParams *batch; /* owned */
};

/* 0: work->result says whether they are good; -EPROTO. node_params_deinit() in either case. */
int node_params_read(struct work *work, struct node_params *p);
void node_params_deinit(struct node_params *p);
/* What the driver says of a node. Sets work->result. */
void node_params_write(struct work *work, CUgraphNode node, CUgraphNodeType type);
