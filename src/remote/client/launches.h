/* launches.h: what a launch says, checked and put into a request; kernel nodes of graphs are made of the same. */
#pragma once

#include "remote/client/functions.h"

/* A launch as the program describes it. */
struct launch {
	unsigned int grid[3], block[3];
	unsigned int shared_bytes;
	enum code_launch_kind kind;
	void **params, **extra;
	const CUlaunchAttribute *attributes;
	unsigned int attribute_count;
	struct function *function; /* launch_check() finds it */
	const void *packed; /* what `extra` says */
	uint32_t param_bytes;
};

/* Without parameters. */
struct launch launch_of(const CUlaunchConfig *config);
/* Finds the function and checks what can be checked here. False: c->result. */
bool launch_check(struct client_call *c, struct launch *l, const void *function);
/* Room that it takes in a request. */
size_t launch_room(const struct launch *l);
/* The request has begun. False: c->result; then nothing must be sent. */
bool launch_put(struct client_call *c, const struct launch *l, uint64_t stream);
