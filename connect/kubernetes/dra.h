/*
 * dra.h: the driver gpu.mete.io of Kubernetes' dynamic resource allocation, for kubelet and for the scheduler.
 *
 * It publishes this node's devices as ResourceSlices (dra_publish.c), makes the grant of a claim when kubelet prepares
 * it (dra_prepare.c, dra_grant.c), and tells kubelet of the devices' health. As the device plugin it has no state of
 * its own: the grant of a claim is named dra-UID, so that whoever restarts finds it, and meted's ledger counts both
 * alike.
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

/* Value: 0 or a negative errno and a fault. */
int dra_open(struct dra **ret, struct agent *a, const struct dra_options *o, struct fault *f);
/* Takes its sockets' files away. NULL is taken. */
void dra_close(struct dra *d);
/* Listens where it does not, or where its sockets' files are gone; begins what is due. NULL is taken. */
void dra_tend(struct dra *d);
/* meted was asked: what differs from what the scheduler and kubelet know is told. NULL is taken. */
void dra_refresh(struct dra *d);
/* For --check: one line. Value: false: something is missing. */
bool dra_check(struct dra *d);
