/*
 * nodes.h: whether the kernel shows a card of some kind; without one, its driver need not be queried.
 *
 * METE_DEV_DIR and METE_DRM_DIR replace /dev and /sys/class/drm.
 */
#pragma once

#include <stdbool.h>

/* True if a file matches this pattern, which begins with "/dev/". */
bool nodes_match(const char *pattern);
/* True if there is a card of Intel's with a driver that programs can reach. */
bool nodes_have_intel(void);
