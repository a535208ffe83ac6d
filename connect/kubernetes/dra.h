/*
 * dra.h: the driver gpu.mete.io of Kubernetes' dynamic resource allocation, for kubelet and for the scheduler.
 *
 * It publishes this node's devices as ResourceSlices (dra_publish.c), makes the grant of a claim when kubelet prepares
 * it (dra_prepare.c, dra_grant.c), and reports the devices' health to kubelet. Like the device plugin it has no state
 * of its own: the grant of a claim is named dra-UID, so that it is found after a restart, and meted's ledger counts
 * both alike.
 */
#pragma once

#include "client/fault.h"

#include <stdbool.h>

struct agent;
struct dra;

#define DRA_KUBELET_ROOT "/var/lib/kubelet"

struct dra_options {
	bool on;
	const char *node;	  /* NULL: NODE_NAME, else the machine's name */
	const char *kubeconfig;	  /* NULL: the pod's service account */
	const char *kubelet_root; /* NULL: DRA_KUBELET_ROOT */
};

/* Value: 0, or a negative errno and a fault. */
int dra_open(struct dra **ret, struct agent *a, const struct dra_options *o, struct fault *f);
/* Also removes its sockets' files. Accepts NULL. */
void dra_close(struct dra *d);
/* Listens if it does not, or if its sockets' files are gone; starts what is due. Accepts NULL. */
void dra_tend(struct dra *d);
/* Called after a query of meted: reports changes to the scheduler and kubelet. Accepts NULL. */
void dra_refresh(struct dra *d);
/* For --check: prints one line. Value: false: something is missing. */
bool dra_check(struct dra *d);
