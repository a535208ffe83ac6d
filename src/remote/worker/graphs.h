/* graphs.h: reads parameters of nodes from requests, and writes them to answers. */
#pragma once

#include "remote/graph.h"
#include "remote/worker/hosts.h"
#include "remote/worker/launches.h"

/* In the form for the driver. Its pointers lead into this struct, or into the request. */
struct node_params {
	CUgraphNodeParams driver;
	uint64_t context_id;
	struct launch launch;	  /* of a kernel */
	struct host *host;	  /* of a host function: created for this node */
	uint64_t before, after;	  /* of a copy: tokens */
	uint64_t moved;		  /* id of a child graph that the node takes over, or 0 */
	struct call_payload result; /* of a copy: where in the arena `after` finds the copied data */
	CUmemAccessDesc *access;  /* owned */
	CUstreamBatchMemOpParams *batch; /* owned */
};

/* Value: 0: work->result says whether they are valid; -EPROTO. node_params_deinit() must follow in either case. */
int node_params_read(struct work *work, struct node_params *p);
void node_params_deinit(struct node_params *p);
/* Writes the driver's description of a node. Sets work->result. */
void node_params_write(struct work *work, CUgraphNode node, CUgraphNodeType type);
