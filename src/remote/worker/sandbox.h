/*
 * sandbox.h: the rights that a worker gives up before it reads data from its client.
 *
 * First, before the driver is started, it leaves the machine's namespaces, which a process with threads cannot do. When
 * the driver has opened all that it needs, it gives up its files, its user, what the kernel's Landlock rules can take,
 * new privileges and core dumps, and by a filter of system calls (seccomp) files, sockets, processes and other
 * processes' memory. The filter and giving up root are mandatory; other measures that the machine refuses are left out
 * and reported.
 */
#pragma once

#include "remote/worker/identity.h"
#include "remote/worker/nodes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sandbox_devices {
	SANDBOX_NONE,	  /* the driver uses no device nodes */
	SANDBOX_LISTED,	  /* it may send NVIDIA's nodes the commands of a list (device_filter.h) */
	SANDBOX_OBSERVED, /* it may send any, and those that are not in the list are logged */
};

struct sandbox {
	enum sandbox_devices devices;
	unsigned int branch; /* of NVIDIA's driver; 0: not known */
	struct identity identity;
	struct nodes nodes;
	bool reopens;	/* the driver may open its nodes again, and no other files */
	uint32_t fence; /* the measures in force: WORKER_FENCE_* (wire/worker.h) */
};

/* Called before the first thread. `uid`: the user that meted has chosen; 0: none. `spaces`: creates namespaces. */
void sandbox_begin(struct sandbox *sandbox, enum sandbox_devices devices, bool spaces, uid_t uid);
/* For all threads, permanently. False: `why` names what is missing, and the worker must not serve. */
bool sandbox_enter(struct sandbox *sandbox, char *why, size_t why_bytes);
