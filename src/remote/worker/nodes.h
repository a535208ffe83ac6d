/*
 * nodes.h: the device nodes that a driver has open, and opens again behind the fence.
 *
 * NVIDIA's driver opens its nodes again for memory that it maps and for further contexts. The worker's empty root
 * therefore contains these nodes, and otherwise only read-only files of the kernel about the driver and device numbers.
 */
#pragma once

#include <stdbool.h>

enum { NODES_MOST = 40, NODE_BYTES = 48 };

struct nodes {
	unsigned int count;
	char path[NODES_MOST][NODE_BYTES]; /* /dev/nvidia... */
};

/* Finds the nodes that this process has open: none of other cards, unless the driver opened those too. */
void nodes_find(struct nodes *nodes);
/* Creates them, by mounts, in the empty folder `root`. False: one of them could not be created, and none is used. */
bool nodes_put(const struct nodes *nodes, const char *root);
