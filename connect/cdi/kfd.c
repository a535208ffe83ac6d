/*
 * kfd.c: see kfd.h.
 *
 * A node's properties are lines of a name and a number. location_id has 8 bits of the bus, 5 of the device and 3 of the
 * function from bit 15 down; the number of a part is in the place of the function, or in bits 28 to 31.
 */
#include "connect/cdi/kfd.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "/sys/class/kfd/kfd/topology/nodes"

struct node {
	unsigned long long location_id, domain, drm_render_minor;
};

static bool read_node(const char *folder, const char *name, struct node *ret)
{
	unsigned long long value;
	char path[PATH_MAX], line[128], key[64];
	FILE *f;

	*ret = (struct node){ .location_id = 0 };
	snprintf(path, sizeof(path), "%s/%s/properties", folder, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %llu", key, &value) != 2)
			continue;
		if (!strcmp(key, "location_id"))
			ret->location_id = value;
		else if (!strcmp(key, "domain"))
			ret->domain = value;
		else if (!strcmp(key, "drm_render_minor"))
			ret->drm_render_minor = value;
	}
	fclose(f);
	return ret->drm_render_minor; /* 0: a processor */
}

static bool is_at(const struct node *n, const struct kfd_place *at)
{
	unsigned int id = (unsigned int)n->location_id, part = id & 7 ? id & 7 : id >> 28;

	return n->domain == at->domain && (id >> 8 & 0xff) == at->bus && (id >> 3 & 0x1f) == at->device &&
	       part == at->function;
}

bool kfd_render_minor(const struct kfd_place *place, unsigned int *ret)
{
	const char *folder = getenv("METE_KFD_DIR");
	struct dirent *entry;
	struct node node;
	bool found = false;
	DIR *d;

	folder = folder && *folder ? folder : FOLDER;
	d = opendir(folder);
	while (d && !found && (entry = readdir(d))) {
		found = *entry->d_name != '.' && read_node(folder, entry->d_name, &node) && is_at(&node, place);
		*ret = found ? (unsigned int)node.drm_render_minor : 0;
	}
	if (d)
		closedir(d);
	return found;
}
