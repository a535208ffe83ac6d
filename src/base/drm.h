/* drm.h: whose a node of /dev/dri is, by what the kernel says of it (METE_DRM_DIR stands for /sys/class/drm). */
#pragma once

/* The PCI vendor of the card that the node NAME is of ("renderD128"); 0: not known. */
unsigned int drm_vendor(const char *name);
