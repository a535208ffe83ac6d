/* start.h: starts a private meted. */
#pragma once

#include "client/fault.h"

/*
 * Starts a meted in the runtime directory, which exists and is private, unless another process does so at the same
 * moment; returns when it listens. Value: 0, or a negative errno with a fault that carries meted's own last words.
 */
int start_meted(const char *dir, struct fault *f);
