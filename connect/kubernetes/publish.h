/*
 * publish.h: what this node's cards and shares are like, told to the cluster as an annotation of the node: for the
 * extender (extender.c) and for kubectl mete, where there are no ResourceSlices.
 *
 *	mete.io/devices: { "cards": [ { "index", "uuid", "name", "total", "left" (bytes), "time" (ppm left), "tenants",
 *	"state", "native" } ], "shares": { NAME: [ { "card", "bytes" or "ppm", "time" } ] } }
 *
 * The annotation is written when it has changed, at most once in PUBLISH_PAUSE, and not at rest.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>

#define PUBLISH_ANNOTATION "mete.io/devices"
#define PUBLISH_PAUSE_NS 2000000000ull

struct agent;
struct node_events;
struct publish;

/* node, kubeconfig: as in dra.h. Value: 0, or a negative errno and a fault. */
int publish_open(struct publish **ret, struct agent *a, const char *node, const char *kubeconfig, struct fault *f);
/* The annotation remains: the last known state is better than none, and kubelet's own count shows when it is gone. */
void publish_close(struct publish *p);
/* The events of the node. NULL: without --publish. */
struct node_events *publish_events(struct publish *p);
/* Called after a query of meted: something may have changed. Accepts NULL. */
void publish_refresh(struct publish *p);
/* Publishes changes, now or when the pause is over. Accepts NULL. */
void publish_tend(struct publish *p);
