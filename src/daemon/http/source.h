/*
 * source.h: whose a connection to the port is: on this machine a user's, else an address's.
 *
 * Only to share out places: a user who is not known is like another one.
 */
#pragma once

#include "model/unproven.h"

#include <sys/socket.h>

/* *ret_owner: it is a process of root on this machine, or of who meted runs as. */
struct unproven_source source_of(int fd, const struct sockaddr *peer, bool *ret_owner);
