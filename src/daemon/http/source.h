/*
 * source.h: whose a connection to the port is: on this machine a user's, else an address's.
 *
 * Only to share out places: a user who is not known is like another one.
 */
#pragma once

#include "model/unproven.h"

#include <sys/socket.h>

/* *ret_uid: whose process on this machine it is; (uid_t)-1: not known. */
struct unproven_source source_of(int fd, const struct sockaddr *peer, uid_t *ret_uid);
