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

/*
 * Whether peers of this socket, or of those that are accepted at it, may send descriptors. Where they need not they
 * must not: closing what somebody else made can take as long as he likes (a TCP socket that lingers, a large file of
 * memory), and the kernel closes what nobody takes in whoever reads. Before Linux 6.16 nothing can be done about it.
 */
void descriptors_admit(int socket, bool admit);

/* May something be made for this user that takes descriptors? */
bool descriptors_left(const struct daemon *daemon, uid_t uid);
