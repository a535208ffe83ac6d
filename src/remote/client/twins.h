/*
 * twins.h: a library of the program on the workers of several servers.
 *
 * The program loads a library once and uses it on any device. It is loaded by one worker; by that of another server
 * when it is first used there: in a context or on a device of that server. For this a copy of the image is kept, in
 * programs that have several servers. The program knows the first one's handles only; those of the others are its
 * twins. Options of the compiler are for the first load alone.
 */
#pragma once

#include "remote/client/functions.h"

struct twins;

/* So that a library can have twins: its image is copied. Without memory it has none. */
void twins_keep(struct code *code, const void *image, size_t bound);
void twins_free(struct twins *twins);

/*
 * The handle in this session of what a handle of a library or kernel means: its own, or that of its twin, which is
 * loaded if it is not there. What has no twins stays what it is. NULL: c->result says why.
 */
const void *twin_of(struct client_call *c, struct session *session, const void *handle);
/* The same where the call goes: to the session that it is for already, or that of the current context. */
const void *twin_here(struct client_call *c, const void *handle);
/* Of a twin the library that the program has; else itself. */
struct code *twin_first(struct code *code);
