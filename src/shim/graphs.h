/*
 * graphs.h: memory nodes of graphs. What counts is the memory that the driver has reserved for graphs on a device,
 * which grows when a graph with allocation nodes is launched.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Settles the graphs' memory on a device, and makes the driver return what no graph uses. True: there is more credit
 * now.
 */
bool graphs_shrink(unsigned int device);
/* Settles if any graph has memory. Outside the gate. */
void graphs_settle(void);
/* The units that graphs have reserved on a device. */
uint64_t graphs_reserved(unsigned int device);
/* The devices that the nodes of a graph run on (graph_devices.h). */
uint32_t graphs_devices(CUgraph graph);
/* In the child of fork(). */
void graphs_reset(void);
