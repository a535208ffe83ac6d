/*
 * nodes.h: the device nodes that a driver has open, and opens again behind the fence.
 *
 * NVIDIA's driver opens its nodes anew for memory that it maps and for more contexts. So the worker's empty root has
 * these nodes in it, and nothing else but what the kernel says of the driver and of devices' numbers, to read.
 */
#pragma once

#include <stdbool.h>

enum { NODES_MOST = 40, NODE_BYTES = 48 };

struct nodes {
	unsigned int count;
	char path[NODES_MOST][NODE_BYTES]; /* /dev/nvidia... */
};

/* Those that this process has open now: no other card's, unless the driver opened that too. */
void nodes_find(struct nodes *nodes);
/* Makes them, by mounts, in the empty folder `root`. False: one of them is not there; then none is of use. */
bool nodes_put(const struct nodes *nodes, const char *root);
