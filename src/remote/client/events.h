/* events.h: what is remembered about events. */
#pragma once

#include "remote/client/call.h"

/* A node of a graph records it: from now on it is always asked about. */
void events_in_graph(CUevent event);
