/* graphs.h: what the client knows of graphs that the worker named. */
#pragma once

#include "cuda_table.h"

/* The graph is the program's, and not part of another one. */
void graphs_own(CUgraph graph);
/*
 * The graph holds references to user objects of the program, which expects their destructors when it destroys the
 * graph.
 */
void graphs_hold(CUgraph graph);
/* In the child of fork(). */
void graphs_forget(void);
