/* graphs.h: what is known of graphs that the worker named. */
#pragma once

#include "cuda_table.h"

/* It is the program's, and no part of another one. */
void graphs_own(CUgraph graph);
/* It holds references to objects of the program's, whose end is the program's to see. */
void graphs_hold(CUgraph graph);
/* In the child of fork(). */
void graphs_forget(void);
