/* graphs.h: what is known of graphs that the worker named. */
#pragma once

#include "cuda_table.h"

/* It is the program's, and no part of another one. */
void graphs_own(CUgraph graph);
