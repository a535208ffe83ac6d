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

/*
 * Raises the limit of open descriptors to what the machine permits. A client needs two descriptors (three with a sealed
 * page), a grant three.
 */
void descriptors_raise_limit(void);

/* True if something that needs descriptors may be created for this user. */
bool descriptors_left(const struct daemon *daemon, uid_t uid);
