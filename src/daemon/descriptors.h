/*
 * descriptors.h: of the descriptors that meted may have, some are kept for its owners and for itself.
 *
 * Connections, clients, grants and workers of other users are refused when no more than these are left: then root can
 * still look, and end what takes them.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct daemon;

/* As many as the machine lets this process have: every client costs two descriptors, with a sealed page three,
 * every grant three. */
void descriptors_raise_limit(void);

/* May something be made for this user that takes descriptors? */
bool descriptors_left(const struct daemon *daemon, uid_t uid);
