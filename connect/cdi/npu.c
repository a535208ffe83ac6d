/*
 * npu.c: see npu.h. The names are those of the vendors' instructions for containers (hiascend.com, "Ascend Docker
 * Runtime" and the run lines of its images; cambricon.com, the run lines of its model zoos).
 */
#include "connect/cdi/npu.h"

#include "connect/cdi/vendor.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES 5u

static const struct npu {
	const char *kind, *remedy;
	const char *nodes[NODES]; /* %u: the card's number. The first two must be there */
	const char *folders[NODES];
} npus[] = {
	{ "ascend",
	  "install Ascend's driver",
	  { "davinci%u", "davinci_manager", "devmm_svm", "hisi_hdc" },
	  { "/usr/local/Ascend/driver", "/usr/local/dcmi", "/usr/local/bin/npu-smi" } },
	{ "cambricon",
	  "install Cambricon's driver",
	  { "cambricon_dev%u", "cambricon_ctl", "cambricon_ipcm%u" },
	  { "/usr/bin/cnmon" } },
};

static const struct npu *find(const char *kind)
{
	for (size_t i = 0; i < sizeof(npus) / sizeof(*npus); i++)
		if (!strcmp(npus[i].kind, kind))
			return &npus[i];
	return NULL;
}

static int add_node(const char *dev, const char *pattern, const struct npu *n, unsigned int index, bool must,
		    json_t *nodes, struct fault *f)
{
	char name[64], host[PATH_MAX];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(name, sizeof(name), pattern, index);
#pragma GCC diagnostic pop
	snprintf(host, sizeof(host), "%s/%s", dev, name);
	if (access(host, F_OK))
		return must ? fault_set(f, -ENOENT, "%s is not there: %s", host, n->remedy) : 0;
	json_array_append_new(nodes, json_pack("{s:o s:s s:s}", "path", json_sprintf("/dev/%s", name), "hostPath", host,
					       "permissions", "rw"));
	return 0;
}

int npu_add_nodes(const char *kind, unsigned int index, json_t *edits, struct fault *f)
{
	const struct npu *n = find(kind);
	const char *dev = getenv("METE_DEV_DIR");
	json_t *ours = json_pack("{s:[] s:[]}", "deviceNodes", "mounts");
	int r = 0;

	dev = dev && *dev ? dev : "/dev";
	for (size_t i = 0; n && !r && i < NODES && n->nodes[i]; i++)
		r = add_node(dev, n->nodes[i], n, index, i < 2, json_object_get(ours, "deviceNodes"), f);
	for (size_t i = 0; n && !r && i < NODES && n->folders[i]; i++)
		if (!access(n->folders[i], F_OK))
			json_array_append_new(json_object_get(ours, "mounts"),
					      json_pack("{s:s s:s s:[s,s,s,s]}", "hostPath", n->folders[i],
							"containerPath", n->folders[i], "options", "rbind", "ro",
							"nosuid", "nodev"));
	if (!json_array_size(json_object_get(ours, "mounts")))
		json_object_del(ours, "mounts");
	if (!r)
		vendor_merge(edits, ours);
	json_decref(ours);
	return r;
}
