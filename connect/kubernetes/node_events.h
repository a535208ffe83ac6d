/*
 * node_events.h: reports changes of this node's devices and of meted as events of the node: `kubectl describe node` and
 * watchers of events show them.
 *
 * An unchanged state is reported once. Events that cannot be sent are dropped: they are for people, and the annotation
 * (publish.h) has the state.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct api;
struct node_events;

/* `api`: borrowed. NULL: no memory. */
struct node_events *node_events_new(struct api *api, const char *node);
void node_events_free(struct node_events *e);
/* Reports the devices in meted's answer to "devices" whose state has changed since the last answer. Accepts NULL. */
void node_events_devices(struct node_events *e, json_t *devices);
/* Reports a trouble of the node that begins (`line`), or is over (NULL). `reason`: one word. Accepts NULL. */
void node_events_trouble(struct node_events *e, const char *reason, const char *line);
