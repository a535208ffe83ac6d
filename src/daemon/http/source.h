/*
 * source.h: the source of a connection to the port: a user of this machine, or an address.
 *
 * It is used only to limit the places of each source. All users who cannot be identified count as one.
 */
#pragma once

#include "model/unproven.h"

#include <sys/socket.h>

/* *ret_uid: the user of the peer's process, if it runs on this machine; (uid_t)-1: not known. */
struct unproven_source source_of(int fd, const struct sockaddr *peer, uid_t *ret_uid);
