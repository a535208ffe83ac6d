/*
 * nodes.h: parameters of graph nodes. The program's parameters are written to requests. The worker's are kept with the
 * node's handle, because the program's pointers to them stay valid until the node changes.
 */
#pragma once

#include "remote/client/launches.h"
#include "remote/graph.h"

/* Parameters for a request. */
struct node_out {
	const CUgraphNodeParams *from;
	uint64_t context, object; /* ids */
	struct launch launch;
	struct graph_copy copy;
	uint64_t token; /* of a host function */
	size_t room; /* the size that they take in a request */
};

/*
 * Looks up what the parameters name, before the request begins. False: c->result is set. node_out_void() if the request
 * fails.
 */
bool node_out_prepare(struct client_call *c, struct node_out *n, const CUgraphNodeParams *params);
void node_out_put(struct client_call *c, const struct node_out *n);
/* Returns tokens and memory that were taken for a failed request. */
void node_out_void(struct client_call *c, const struct node_out *n);

/* Reads the parameters from an answer and keeps with the node what they point to. */
void node_in(struct client_call *c, CUgraphNode node, CUgraphNodeParams *ret);

/* Allocates memory for what a node's parameters point to, valid as long as the node or until the second next answer. */
void *node_keep(struct client_call *c, CUgraphNode node, size_t bytes);

/* Records the program's parameters of a copy that uses a piece of the arena and is a small graph at the worker. */
void node_bounces(struct client_call *c, CUgraphNode node, const CUDA_MEMCPY3D *copy);
/* The recorded parameters. NULL: the node is not such a copy. */
const CUDA_MEMCPY3D *node_bounced(CUgraphNode node);

/* Data kept with a graph's handle: the last answer about its capture, and memory that is freed with it. */
struct graph_kept {
	void *graph;
	void *lists; /* owned */
};

/* NULL: no memory. */
struct graph_kept *graph_kept(void *graph);
