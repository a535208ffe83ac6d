/*
 * owed.h: ids that kubelet has allocated to a container, and whose grant cannot be made yet.
 *
 * Kubelet counts each resource separately, and reuses an id before its last container has ended. It may therefore
 * request an id that was offered and whose room another share has just taken, or whose last grant is still ending. A
 * refusal would fail the pod for good. Allocate therefore succeeds, and the grant is owed: it is made as soon as there
 * is room, before anything else is offered. PreStartContainer, which precedes every container, waits for it for some
 * seconds; then it is refused with the reason, and kubelet asks again: the pod waits on its node, and its event gives
 * the reason.
 */
#pragma once

#include "connect/kubernetes/agent.h"

struct plugin;
struct grpc_later;

/*
 * Records that the grant of the id is owed. `later`: the pending PreStartContainer, or NULL. An id is owed once: a new
 * entry replaces the old one.
 */
void owed_add(struct plugin *p, const char *id, struct grpc_later *later, const char *why);
/* The grant was made in another way. */
void owed_drop(struct agent *a, const char *id);
/* Makes the grants that can be made now. Called after each query of meted. */
void owed_make(struct agent *a);
/* Answers requests that have waited long enough, and drops entries that nobody asks for any more. */
void owed_tend(struct agent *a);
/* Drops all entries of this plugin. */
void owed_end(struct plugin *p);
