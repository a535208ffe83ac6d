/*
 * caller.h: a connection to a wall that has not identified itself yet.
 *
 * A client sends its hello as soon as it connects. Before that, meted does nothing for it: it gets no worker, no place
 * among those that wait, and no memory of a device. A connection that says nothing for CALLER_SILENT_MS is dropped.
 * When a grant has more than CALLERS_OF_GRANT of them, the one that has been silent for longest is dropped.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct handover;
struct tenant;

#define CALLER_SILENT_MS 1000u
#define CALLERS_OF_GRANT 64u

/* Takes over the connection. `look`: checks at once whether its hello has arrived; else at the loop's next turn. */
void caller_new(struct tenant *tenant, int take_fd, bool look);
/* Closes all such connections of the tenant. */
void caller_drop_all(struct tenant *tenant);
/* Adds them to a list, for the next meted. */
void caller_save(const struct tenant *tenant, struct handover *h, json_t *list);
