/*
 * dra_claim.h: reads a ResourceClaim: the share of each device that was allocated to it. Pure.
 *
 * Read from resource.k8s.io v1, v1beta2 and v1beta1, which have the same form here. The amounts are those that the
 * scheduler counted (consumedCapacity), not those that were requested. If the cluster counts none, a device is
 * allocated whole, and the share is all that is left of it.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>
#include <stdbool.h>

#define DRA_DRIVER "gpu.mete.io"
#define DRA_PARAMETERS_API DRA_DRIVER "/v1"
#define DRA_PARAMETERS_KIND "Share"
#define DRA_UID_MOST 48 /* the length that fits into the name of a grant */

struct dra_claim {
	json_t *devices; /* for kubelet: request_names, pool_name, device_name; owned */
	json_t *rows;	 /* "devices" of meted's grant_create; empty: the claim has only admin access; owned */
	json_t *admin;	 /* UUIDs of devices with admin access; owned */
	bool wall;
	bool soft; /* devices of the software device */
};

/* The name of a device in a pool: its UUID as a DNS label. */
void dra_device_name(json_t *device, char name[64]);

/*
 * `claim`: the object; `devices`: from meted's answer; `pool`: this node's. Value: 0, or -EINVAL and a fault.
 * dra_claim_free() must follow in every case.
 */
int dra_claim_read(struct dra_claim *c, json_t *claim, json_t *devices, const char *pool, struct fault *f);
void dra_claim_free(struct dra_claim *c);

/* True for a namespace, a claim's name or a UID that is valid in a path and in a name of a grant. */
bool dra_word_good(const char *word, size_t most);
