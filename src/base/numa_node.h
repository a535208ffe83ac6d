/* numa_node.h: the NUMA nodes of this machine (sysfs, Documentation/ABI/stable/sysfs-devices-node). */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* True if the node exists. Node 0 always does, also if the kernel has none. Preserves errno. */
static inline bool numa_node_there(int node)
{
	int saved = errno;
	char path[64];
	bool there;

	if (node < 0)
		return false;
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", node);
	there = !node || !access(path, F_OK);
	errno = saved;
	return there;
}
