/* drm.h: the vendor of a node of /dev/dri, from /sys/class/drm (or the folder that METE_DRM_DIR names). */
#pragma once

/* Returns the PCI vendor of the card of the node `name` ("renderD128"); 0: not known. */
unsigned int drm_vendor(const char *name);
