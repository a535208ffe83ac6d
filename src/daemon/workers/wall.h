/*
 * wall.h: the second socket of a grant that may be walled: a client that connects there gets a worker, not the grant.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct handover;
struct tenant;

/* Listens at grants/NAME@wall.sock, which cannot be another grant's. Value: 0, or -errno with the reason. */
int wall_open(struct tenant *tenant, char *error, size_t size);
void wall_shut(struct tenant *tenant, bool leaving);
/* Its path, or "". */
const char *wall_path(const struct tenant *tenant, char *path, size_t size);
/*
 * Handles a caller that has sent its first message; takes over the connection. `said`: 0: a hello; else the enum
 * wall_status with which it is refused.
 */
void wall_hear(struct tenant *tenant, int take_fd, unsigned int said);
/*
 * Sends one line to a client that has sent its hello and gets no worker, and closes the connection. `status`:
 * wall_status.
 */
void wall_turn_away(int take_fd, unsigned int status, const char *text);
/* Save the connections without a worker as JSON for the next meted; restore them. */
json_t *wall_save(const struct tenant *tenant, struct handover *h);
void wall_restore(struct tenant *tenant, struct handover *h, const json_t *list);
