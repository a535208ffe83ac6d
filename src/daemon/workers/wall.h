/* wall.h: the second socket of a grant that may be walled: who connects there gets a worker, not the grant. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct daemon;
struct tenant;

/* Starts to listen at grants/NAME@wall.sock, which is no other grant's. 0 or -errno, with the reason. */
int wall_open(struct tenant *tenant, char *error, size_t size);
void wall_shut(struct tenant *tenant, bool leaving);
/* Its path, or "". */
const char *wall_path(const struct tenant *tenant, char *path, size_t size);
/* One line to a client that gets no worker; takes the connection and closes it then. `status`: enum wall_status. */
void wall_turn_away(struct daemon *daemon, int fd, unsigned int status, const char *text);
/* meted leaves: nobody is waited for. */
void wall_leave(void);
