/*
 * twins.h: a library of the program on the workers of several servers.
 *
 * The program loads a library once and uses it on any device. One worker loads it; the worker of another server does so
 * when it is first used in a context or on a device of that server. In programs with several servers a copy of the
 * image is kept for this. The program knows only the handles of the first server; those of the others are its twins.
 * Options of the compiler apply only to the first load.
 */
#pragma once

#include "remote/client/functions.h"

struct twins;

/* Copies the image of a library so that it can have twins. Without memory it has none. */
void twins_keep(struct code *code, const void *image, size_t bound);
void twins_free(struct twins *twins);

/*
 * The handle in this session that corresponds to a handle of a library or kernel: itself, or that of its twin, which is
 * loaded if it does not exist. A library without twins keeps its handle. NULL: c->result gives the reason.
 */
const void *twin_of(struct client_call *c, struct session *session, const void *handle);
/* The same for the session of the call: the one already chosen, or that of the current context. */
const void *twin_here(struct client_call *c, const void *handle);
/* For a twin, the library that the program has; otherwise itself. */
struct code *twin_first(struct code *code);
