/*
 * nodes.h: whether the kernel has a card of some kind: who has none need not be asked for it.
 *
 * METE_DEV_DIR and METE_DRM_DIR stand for /dev and /sys/class/drm.
 */
#pragma once

#include <stdbool.h>

/* There is a file of this pattern, which begins with "/dev/". */
bool nodes_match(const char *pattern);
/* A card of Intel's has a driver that programs can reach. */
bool nodes_have_intel(void);
