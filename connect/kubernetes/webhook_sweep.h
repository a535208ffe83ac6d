/*
 * webhook_sweep.h: deletes the ResourceClaimTemplates that the webhook created and that no pod uses any more.
 *
 * Pods with equal requests share a template, so no pod can own it: the API server would delete it with the first one. A
 * pass lists the templates, and the pods of each namespace that has one. A template that no pod names, or only finished
 * pods name, is marked by an annotation with the time; a later pass deletes it if it is still unused and still the same
 * object. The webhook removes the mark when a new pod gets the template, which changes its version: the API server then
 * refuses the delete request of a pass that began before. Several webhooks may therefore sweep at once.
 */
#pragma once

#include "connect/kubernetes/api.h"

#include <stdint.h>

#define SWEEP_MARK "mete.io/unused-since" /* annotation: seconds since 1970 */
#define SWEEP_SELECTOR "app.kubernetes.io%2Fmanaged-by%3Dmete-webhook"

struct sweep;

/*
 * every_s: between passes, and how long a template must be unused. `a` must live longer than the sweep. NULL: no
 * memory.
 */
struct sweep *sweep_new(struct api *a, long every_s);
void sweep_free(struct sweep *s);
/* Call it periodically. */
void sweep_tend(struct sweep *s);
/* The reason that it does not work; "": it works. */
const char *sweep_trouble(const struct sweep *s);
