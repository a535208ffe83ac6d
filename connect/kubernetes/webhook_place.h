/* webhook_place.h: annotations of other systems about the placement of a pod. */
#pragma once

#include "connect/kubernetes/webhook_work.h"

/* Applies them to a pod that gets a share or claim. False: it is refused. */
bool place_pod(struct work *w);
