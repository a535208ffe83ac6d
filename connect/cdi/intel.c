/* intel.c: see intel.h. */
#include "connect/cdi/intel.h"

#include "base/drm.h"
#include "connect/cdi/vendor.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTEL 0x8086u

/*
 * In the driver's UUID, each number with its least byte first: vendor, device, revision, domain (two bytes each), bus,
 * device, function (one each), four zeroes, and the tile.
 */
static bool read_place(const char *uuid, char ret[32])
{
	unsigned int b[16];

	if (sscanf(uuid, "GPU-%2x%2x%2x%2x-%2x%2x-%2x%2x-%2x%2x-%2x%2x%2x%2x%2x%2x", &b[0], &b[1], &b[2], &b[3], &b[4],
		   &b[5], &b[6], &b[7], &b[8], &b[9], &b[10], &b[11], &b[12], &b[13], &b[14], &b[15]) != 16 ||
	    (b[0] | b[1] << 8) != INTEL || b[11] || b[12] || b[13] || b[14])
		return false;
	snprintf(ret, 32, "%04x:%02x:%02x.%x", b[6] | b[7] << 8, b[8], b[9], b[10] & 7);
	return true;
}

/* The place of the machine's only card of Intel's. False: there is none, or there are several. */
static bool find_only(char ret[32])
{
	const char *drm = getenv("METE_DRM_DIR");
	char pattern[PATH_MAX], device[PATH_MAX];
	unsigned int count = 0;
	const char *slash;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/renderD*", drm && *drm ? drm : "/sys/class/drm");
	if (glob(pattern, 0, NULL, &found))
		return false;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		snprintf(pattern, sizeof(pattern), "%s/device", found.gl_pathv[i]);
		if (drm_vendor(strrchr(found.gl_pathv[i], '/') + 1) != INTEL || !realpath(pattern, device))
			continue;
		slash = strrchr(device, '/');
		snprintf(ret, 32, "%.31s", slash ? slash + 1 : device);
		count++;
	}
	globfree(&found);
	return count == 1;
}

/* A card without an output has no node to draw to. False: it has none of this kind. */
static bool add_node(json_t *nodes, const char *dev, const char *place, const char *kind)
{
	char link[PATH_MAX], node[PATH_MAX], path[PATH_MAX];

	snprintf(link, sizeof(link), "%s/dri/by-path/pci-%s-%s", dev, place, kind);
	if (!realpath(link, node))
		return false;
	snprintf(path, sizeof(path), "/dev/dri/%.200s", strrchr(node, '/') + 1);
	json_array_append_new(nodes, json_pack("{s:s s:s s:s}", "path", path, "hostPath", node, "permissions", "rw"));
	return true;
}

int intel_add_nodes(const char *uuid, json_t *edits, struct fault *f)
{
	const char *dev = getenv("METE_DEV_DIR");
	char place[32];
	json_t *ours;
	int r = 0;

	dev = dev && *dev ? dev : "/dev";
	if (!read_place(uuid, place) && !find_only(place))
		return fault_set(f, -ENOENT,
				 "device %s: its UUID is no place on the PCI bus, and this machine has not one card of "
				 "Intel's alone, so its nodes are not known",
				 uuid);
	ours = json_pack("{s:[]}", "deviceNodes");
	if (!add_node(json_object_get(ours, "deviceNodes"), dev, place, "render"))
		r = fault_set(f, -ENOENT, "%s/dri/by-path/pci-%s-render is not there: the card has no node to work on",
			      dev, place);
	add_node(json_object_get(ours, "deviceNodes"), dev, place, "card");
	if (!r)
		vendor_merge(edits, ours);
	json_decref(ours);
	return r;
}
