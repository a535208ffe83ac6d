/*
 * sandbox.h: what a worker gives up before it hears a word of its client.
 *
 * First, before the driver is started, what a process with threads cannot give up any more: its part in the machine's
 * namespaces. Then, when the driver has all that it wants: its files, its user, what the kernel's rules (Landlock) can
 * take, new privileges, cores, and by a filter of system calls (seccomp) files, sockets, processes and other processes'
 * memory. The filter must hold, and giving up root; what else the machine refuses is left out, and said.
 */
#pragma once

#include "remote/worker/identity.h"
#include "remote/worker/nodes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sandbox_devices {
	SANDBOX_NONE,	  /* the driver talks to no device nodes */
	SANDBOX_LISTED,	  /* it gives NVIDIA's the commands of a list (device_filter.h) */
	SANDBOX_OBSERVED, /* it gives any, and those that are not in the list are logged */
};

struct sandbox {
	enum sandbox_devices devices;
	unsigned int branch; /* of NVIDIA's driver; 0: not known */
	struct identity identity;
	struct nodes nodes;
	bool reopens;	/* the driver may open its nodes again: they are all that there is */
	uint32_t fence; /* what holds: WORKER_FENCE_* (wire/worker.h) */
};

/* Before the first thread. `uid`: the user that meted has chosen; 0: none. `spaces`: with namespaces of its own. */
void sandbox_begin(struct sandbox *sandbox, enum sandbox_devices devices, bool spaces, uid_t uid);
/* For all threads, for good. False: `why` says what is missing, and the worker must not serve. */
bool sandbox_enter(struct sandbox *sandbox, char *why, size_t why_bytes);
