/* events.h: what the client remembers about events. */
#pragma once

#include "remote/client/call.h"

/* A node of a graph records the event: from now on the worker is always asked about it. */
void events_in_graph(CUevent event);
