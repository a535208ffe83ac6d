/*
 * wall.h: the second socket of a grant that may be walled: a client that connects there gets a worker, not the grant.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct handover;
struct tenant;

/* Starts to listen at grants/NAME@wall.sock, which is no other grant's. 0 or -errno, with the reason. */
int wall_open(struct tenant *tenant, char *error, size_t size);
void wall_shut(struct tenant *tenant, bool leaving);
/* Its path, or "". */
const char *wall_path(const struct tenant *tenant, char *path, size_t size);
/* A caller has spoken; takes the connection. `said`: 0: a hello; else it is refused so, an enum wall_status. */
void wall_hear(struct tenant *tenant, int take_fd, unsigned int said);
/* One line to a client that has said its hello and gets no worker; closes the connection. `status`: wall_status. */
void wall_turn_away(int take_fd, unsigned int status, const char *text);
/* Connections that have no worker yet as JSON, and back: for the meted after this one. */
json_t *wall_save(const struct tenant *tenant, struct handover *h);
void wall_restore(struct tenant *tenant, struct handover *h, const json_t *list);
