/*
 * webhook_sweep.h: deletes the ResourceClaimTemplates that the webhook made and that no pod uses any more.
 *
 * Pods that ask alike share a template, so no pod can own it: the API server would delete it with the first one. A pass
 * lists the templates, and the pods of each namespace that has one. A template that no pod names, or finished pods
 * alone, is marked by an annotation with the time; the next pass deletes it when it is still unused and still the same
 * object. The webhook takes the mark away when a new pod gets the template, which makes it another version: the delete
 * request of a pass that began before is then refused by the API server. So several webhooks may sweep at once.
 */
#pragma once

#include "connect/kubernetes/api.h"

#include <stdint.h>

#define SWEEP_MARK "mete.io/unused-since" /* annotation: seconds since 1970 */
#define SWEEP_SELECTOR "app.kubernetes.io%2Fmanaged-by%3Dmete-webhook"

struct sweep;

/* every_s: between passes, and how long a template must be unused. `a` must live longer. NULL: no memory. */
struct sweep *sweep_new(struct api *a, long every_s);
void sweep_free(struct sweep *s);
/* To be called now and then. */
void sweep_tend(struct sweep *s);
/* What keeps it from working; "": nothing. */
const char *sweep_trouble(const struct sweep *s);
