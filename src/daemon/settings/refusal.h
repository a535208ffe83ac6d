/*
 * refusal.h: tells clients why a meted under a service manager does not start.
 *
 * The service manager holds control.sock. A client that waits there is answered with the reason; otherwise its
 * connection would start meted again. For later clients the reason is in the file "refused" of the runtime directory,
 * which `mete` reads before it connects. The next start that gets further removes the file.
 */
#pragma once

#include "daemon/settings/options.h"

#define REFUSAL_FILE "refused"

/* Publishes the line, which states the cause, its place and the remedy. Does nothing if another meted serves. */
void refusal_tell(const struct options *o, const char *line);
void refusal_forget(const struct options *o);
