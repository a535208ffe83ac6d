/* dra_pci.c: see dra_pool.h: where NVIDIA's GPUs sit, by the driver's files in /proc and the kernel's in /sys. */
#include "connect/kubernetes/dra_pool.h"

#include "client/place.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "GPU UUID: \t GPU-..." of the driver's file. Value: false: it has none. */
static bool read_uuid(const char *path, char uuid[64])
{
	FILE *file = fopen(path, "re");
	char line[256];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "GPU UUID: %63s", uuid) == 1;
	if (file)
		fclose(file);
	return found;
}

static void read_numa(const char *path, json_t *place)
{
	FILE *file = fopen(path, "re");
	int node;

	if (file && fscanf(file, "%d", &node) == 1 && node >= 0)
		json_object_set_new(place, "numa", json_integer(node));
	if (file)
		fclose(file);
}

/* /sys/bus/pci/devices/BUS is a link to /sys/devices/pci0000:64/...: the first pci there is the root. */
static json_t *read_place(const char *root, const char *bus)
{
	json_t *place = json_pack("{s:s}", "bus", bus);
	char path[PATH_MAX], real[PATH_MAX], *at;

	if (!path_join(path, "%s/sys/bus/pci/devices/%s", root, bus) || !realpath(path, real))
		return place;
	if (path_join(path, "%s/numa_node", real))
		read_numa(path, place);
	at = strstr(real, "/devices/pci");
	if (at) {
		at += strlen("/devices/");
		at[strcspn(at, "/")] = 0;
		json_object_set_new(place, "root", json_string(at));
	}
	return place;
}

json_t *dra_pci_read(const char *root)
{
	json_t *places = json_object();
	char path[PATH_MAX], uuid[64];
	struct dirent *entry;
	DIR *dir;

	if (!path_join(path, "%s/proc/driver/nvidia/gpus", root))
		return places;
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (*entry->d_name != '.' &&
		    path_join(path, "%s/proc/driver/nvidia/gpus/%s/information", root, entry->d_name) &&
		    read_uuid(path, uuid))
			json_object_set_new(places, uuid, read_place(root, entry->d_name));
	if (dir)
		closedir(dir);
	return places;
}
