/*
 * nodes.h: parameters of graph nodes: as the program gives them, put into requests; as the worker tells them, kept with
 * the node's handle, because what the program gets of them stays valid until the node changes.
 */
#pragma once

#include "remote/client/launches.h"
#include "remote/graph.h"

/* Parameters on their way out. */
struct node_out {
	const CUgraphNodeParams *from;
	uint64_t context, object; /* ids */
	struct launch launch;
	struct graph_copy copy;
	uint64_t token; /* of a host function */
	size_t room; /* what it takes in a request */
};

/* Before the request begins: looks up what they name. False: c->result. node_out_void() when nothing comes of it. */
bool node_out_prepare(struct client_call *c, struct node_out *n, const CUgraphNodeParams *params);
void node_out_put(struct client_call *c, const struct node_out *n);
/* Tokens and memory that were taken for a request that has failed. */
void node_out_void(struct client_call *c, const struct node_out *n);

/* Takes the parameters out of an answer and keeps with the node what they point to. */
void node_in(struct client_call *c, CUgraphNode node, CUgraphNodeParams *ret);

/* Room for what a node's parameters point to, as long as the node lives or until the answer after the next. */
void *node_keep(struct client_call *c, CUgraphNode node, size_t bytes);

/* A copy that a piece of the arena stands in for is a small graph at the worker: what the program knows it as. */
void node_bounces(struct client_call *c, CUgraphNode node, const CUDA_MEMCPY3D *copy);
/* NULL: it is not one. */
const CUDA_MEMCPY3D *node_bounced(CUgraphNode node);

/* What is kept with a graph's handle: the last answer about its capture; and memory that goes with it. */
struct graph_kept {
	void *graph;
	void *lists; /* owned */
};

/* NULL without memory. */
struct graph_kept *graph_kept(void *graph);
