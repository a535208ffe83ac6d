/* launches.h: the description of a launch, checked and written to a request; also used for kernel nodes of graphs. */
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
	struct function *function; /* set by launch_check() */
	const void *packed; /* the buffer given in `extra` */
	uint32_t param_bytes;
};

/* Without parameters. */
struct launch launch_of(const CUlaunchConfig *config);
/* Finds the function and checks what can be checked here. False: c->result is set. */
bool launch_check(struct client_call *c, struct launch *l, const void *function);
/* The size that it takes in a request. */
size_t launch_room(const struct launch *l);
/* Writes the launch to a request that has begun. False: c->result is set, and nothing must be sent. */
bool launch_put(struct client_call *c, const struct launch *l, uint64_t stream);
