/* shape_nodes.c: see shape_nodes.h. */
#include "connect/cdi/shape_nodes.h"

#include "base/drm.h"
#include "connect/cdi/vendor.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEV "/dev"

/* In /dev/dri are the nodes of every vendor's cards. */
static bool is_vendors(const char *node, const struct shape_row *row)
{
	const char *dri = strstr(node, "/dri/");

	return !dri || drm_vendor(dri + strlen("/dri/")) == row->pci_vendor;
}

/* Value: how many there were. */
static size_t add_matching(json_t *nodes, const char *pattern, const struct shape_row *row)
{
	const char *dev = getenv("METE_DEV_DIR");
	char path[PATH_MAX];
	glob_t found;
	size_t count;

	dev = dev && *dev ? dev : DEV;
	snprintf(path, sizeof(path), "%s%s", dev, pattern + strlen(DEV));
	if (glob(path, 0, NULL, &found)) {
		globfree(&found);
		return 0;
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *node = found.gl_pathv[i] + strlen(dev);

		if (is_vendors(node, row))
			json_array_append_new(nodes, json_pack("{s:o s:s s:s}", "path", json_sprintf(DEV "%s", node),
							       "hostPath", found.gl_pathv[i], "permissions", "rw"));
	}
	count = found.gl_pathc;
	globfree(&found);
	return count;
}

int shape_add_nodes(const struct shape_row *row, json_t *edits, struct fault *f)
{
	json_t *ours = json_pack("{s:[]}", "deviceNodes");
	json_t *nodes = json_object_get(ours, "deviceNodes");
	int r = 0;

	for (size_t i = 0; !r && i < sizeof(row->nodes) / sizeof(*row->nodes) && row->nodes[i]; i++)
		if (!add_matching(nodes, row->nodes[i], row) && !i)
			r = fault_set(f, -ENOENT, "%s is not there: load the kernel's driver for cards of %s",
				      row->nodes[0], row->vendor);
	if (!r)
		vendor_merge(edits, ours);
	json_decref(ours);
	return r;
}
