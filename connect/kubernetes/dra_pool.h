/*
 * dra_pool.h: what is published of this node's devices for the scheduler. Pure, except for reading the PCI bus.
 *
 * A device's capacity is what grants outside DRA leave of it; the scheduler itself subtracts what claims take. No byte
 * is therefore counted twice. `mete set` may give a claim's grant more than the scheduler counted: the excess counts as
 * outside DRA too. Of a grant that was made smaller the scheduler continues to count the whole. Memory is offered in
 * steps of 1 MiB, all of it if a claim names no amount; time in whole percent, none if a claim names none, because not
 * every policy accepts a guarantee. A device that is out of service, or of which less than two steps are left, is not
 * offered.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DRA_GRANT_PREFIX "dra-"
#define DRA_STEP_BYTES (1u << 20)
#define DRA_SLICE_DEVICES 128u

/*
 * A capacity and its request policy: the range [min, value] in steps, and the default for a request without an amount.
 */
struct dra_range {
	uint64_t value, min, step, by_default;
};

/*
 * The amount that the scheduler takes for a request: rounded up to `min`, and then to a whole number of steps above it.
 * Value: false: more than there is. Source: KEP-5075, requestPolicy.
 */
bool dra_range_round(const struct dra_range *range, uint64_t asked, uint64_t *ret);

struct dra_capacity {
	struct dra_range memory, cores;
	bool offered, timed; /* `timed`: its time can be requested */
};

/*
 * `device`: from meted's answer; `grants`: its answer, by name. `counted`: what the scheduler counted, as a map from a
 * grant's name to "devices" of its grant_create; for a grant that is not in it, all that it has counts.
 */
struct dra_capacity dra_capacity_of(json_t *device, json_t *grants, json_t *counted, int64_t uid);

/*
 * The devices of the pool, in the form of resource.k8s.io/v1. `machine`: meted's answer to "devices"; `uid`: the owner
 * of DRA's grants; `pci`: from dra_pci_read().
 */
json_t *dra_pool_devices(json_t *machine, json_t *grants, json_t *counted, int64_t uid, json_t *pci);
/* Converts one device to the form of `version`; takes the reference. */
json_t *dra_device_as(const char *version, json_t *take_device);

/*
 * A map from UUID to { "bus": "0000:65:00.0", "root": "pci0000:64", "numa": 0 }, for NVIDIA's driver. `root`: "" or a
 * folder that contains proc and sys.
 */
json_t *dra_pci_read(const char *root);
