/*
 * node_events.h: what happens to this node's devices and to meted, as events of the node: `kubectl describe node` shows
 * them, and who watches events is told.
 *
 * A state that does not change is said once. What cannot be sent is dropped: events are for people, and the annotation
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
/* meted's answer to "devices": tells which of them have changed their state since the last one. NULL is taken. */
void node_events_devices(struct node_events *e, json_t *devices);
/* A trouble of the node that begins (`line`), or is over (NULL). `reason`: one word. NULL is taken. */
void node_events_trouble(struct node_events *e, const char *reason, const char *line);
