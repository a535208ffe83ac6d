/*
 * refusal.h: who is told that a meted of a service manager does not start, and why.
 *
 * The service manager holds control.sock: whoever waits there is answered with the reason, so that nobody waits in vain
 * and no connection is left that would have meted started again. For whoever comes later the reason stands in the file
 * "refused" of the runtime directory; `mete` reads it before it connects. It goes with the next start that comes
 * further.
 */
#pragma once

#include "daemon/settings/options.h"

#define REFUSAL_FILE "refused"

/* The line says what is wrong, where, and the remedy. Does nothing where another meted serves. */
void refusal_tell(const struct options *o, const char *line);
void refusal_forget(const struct options *o);
