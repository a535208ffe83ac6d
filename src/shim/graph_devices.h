/*
 * graph_devices.h: which devices of the grant the nodes of graphs run on. A launch waits for the turn of each of them,
 * and is charged on each.
 *
 * A kernel of a module runs in the module's context. Other nodes have a context of their own, which a driver tells from
 * CUDA 13.2 on. A node whose context is not known counts as one on every device on which the program has a context.
 * Sets of devices have a bit for each device of the grant. With one device granted there is nothing to know.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* True: the program has contexts on several devices, so a graph may have nodes on several. Takes no lock. */
bool graph_devices_several(void);

/* The devices of a node that is no child graph: of a conditional node, those of its bodies as well. */
uint32_t graph_devices_of_node(CUgraphNode node, CUgraphNodeType type);

/* What was looked through has nodes on these devices. `is_new`: the handle may have been another's. */
void graph_devices_note(CUgraphExec exec, uint32_t devices, bool is_new);
void graph_devices_forget(CUgraphExec exec);
uint32_t graph_devices_of(CUgraphExec exec);

/* In the child of fork(). */
void graph_devices_reset(void);
