/* amd.c: see amd.h. */
#include "connect/cdi/amd.h"

#include "connect/cdi/kfd.h"
#include "connect/cdi/vendor.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Four numbers, each with its least byte first. False: the UUID is no place. */
static bool read_place(const char *uuid, struct kfd_place *ret)
{
	unsigned int low, mid[4];

	if (sscanf(uuid, "GPU-%8x-%4x-%4x-%4x-%4x%8x", &ret->domain, &mid[0], &mid[1], &mid[2], &mid[3], &low) != 6)
		return false;
	ret->domain = __builtin_bswap32(ret->domain);
	ret->bus = __builtin_bswap32(mid[0] << 16 | mid[1]);
	ret->device = __builtin_bswap32(mid[2] << 16 | mid[3]);
	ret->function = __builtin_bswap32(low);
	return ret->bus < 256 && ret->device < 32 && ret->function < 8;
}

/* `host`: where it is; `path`: what it is called in the container. */
static void add(json_t *nodes, const char *host, const char *path)
{
	json_array_append_new(nodes, json_pack("{s:s s:s s:s}", "path", path, "hostPath", host, "permissions", "rw"));
}

/* False: it is not there. `link`: what was looked for. A part of a card has a node to work on, and no link to it. */
static bool find_node(const char *dev, const struct kfd_place *at, const char *kind, char link[PATH_MAX],
		      char node[PATH_MAX])
{
	unsigned int minor;
	char part[PATH_MAX];

	snprintf(link, PATH_MAX, "%s/dri/by-path/pci-%04x:%02x:%02x.%x-%s", dev, at->domain, at->bus, at->device,
		 at->function, kind);
	if (realpath(link, node))
		return true;
	if (strcmp(kind, "render") || !kfd_render_minor(at, &minor))
		return false;
	snprintf(part, sizeof(part), "%s/dri/renderD%u", dev, minor);
	return realpath(part, node);
}

int amd_add_nodes(const char *uuid, json_t *edits, struct fault *f)
{
	static const char *const kinds[] = { "render", "card" };
	const char *dev = getenv("METE_DEV_DIR");
	char link[PATH_MAX], node[PATH_MAX], path[PATH_MAX], *name;
	struct kfd_place at;
	json_t *ours, *nodes;
	int r = 0;

	dev = dev && *dev ? dev : "/dev";
	snprintf(node, sizeof(node), "%s/kfd", dev);
	if (access(node, F_OK))
		return fault_set(f, -ENOENT, "%s is not there: load the kernel's amdgpu driver", node);
	if (!read_place(uuid, &at))
		return fault_set(f, -ENOENT,
				 "device %s: its UUID is no place on the PCI bus, so its nodes are not known", uuid);
	ours = json_pack("{s:[]}", "deviceNodes");
	nodes = json_object_get(ours, "deviceNodes");
	add(nodes, node, "/dev/kfd");
	for (size_t i = 0; !r && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!find_node(dev, &at, kinds[i], link, node)) {
			/* A card without an output has none to draw to. */
			r = i ? 0 : fault_set(f, -ENOENT, "%s is not there: the card has no node to work on", link);
			continue;
		}
		name = node;
		name = strrchr(node, '/') + 1;
		snprintf(path, sizeof(path), "/dev/dri/%.200s", name);
		add(nodes, node, path);
	}
	if (!r)
		vendor_merge(edits, ours);
	json_decref(ours);
	return r;
}
