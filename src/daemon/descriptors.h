/*
 * descriptors.h: reserves some of meted's descriptors for its owners and for meted itself.
 *
 * When only the reserve is left, connections, clients, grants and workers of other users are refused. Root can then
 * still inspect the node and end the programs that use up the descriptors.
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
