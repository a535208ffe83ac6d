/* start.h: starts a private meted. */
#pragma once

#include "client/fault.h"

/*
 * Starts a meted in an existing, private runtime directory, unless another process does so at the same moment; returns
 * when it listens. Returns 0, or a negative errno with a fault that contains meted's last line.
 */
int start_meted(const char *dir, struct fault *f);
