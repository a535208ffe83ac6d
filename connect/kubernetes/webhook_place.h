/* webhook_place.h: annotations of other systems about where a pod goes. */
#pragma once

#include "connect/kubernetes/webhook_work.h"

/* Where the pod is to go: of a pod that gets something of ours. False: it is refused. */
bool place_pod(struct work *w);
