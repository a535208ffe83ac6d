/*
 * owed.h: ids that kubelet gave to a container, and whose grant cannot be made yet.
 *
 * Kubelet counts each resource by itself, and gives an id away again before its last container has ended. So it may ask
 * for an id that was offered and whose room another share has taken in the same moment, or whose last grant still ends.
 * A refusal would fail the pod for good. So Allocate says yes, and the grant is owed: it is made as soon as there is
 * room, before anything else is offered. PreStartContainer, without which no container is made, waits for it some
 * seconds; then it is refused with the reason, and kubelet asks again: the pod waits on its node, and its event says
 * what for.
 */
#pragma once

#include "connect/kubernetes/agent.h"

struct plugin;
struct grpc_later;

/*
 * The grant of the id is owed. `later`: who waits for it (PreStartContainer), or NULL. An id is owed once: a new one
 * takes the place of the old one.
 */
void owed_add(struct plugin *p, const char *id, struct grpc_later *later, const char *why);
/* It has its grant, by another way. */
void owed_drop(struct agent *a, const char *id);
/* Makes what can be made now. After each look at meted. */
void owed_make(struct agent *a);
/* Answers those who have waited long enough, and forgets what nobody asks for any more. */
void owed_tend(struct agent *a);
/* All of this plugin. */
void owed_end(struct plugin *p);
