/*
 * dra_pool.h: what of this node's devices is published for the scheduler. Pure, but for the PCI bus that is read.
 *
 * A device's capacity is what grants outside of DRA leave of it; what claims take the scheduler subtracts itself. So no
 * byte is counted twice, whoever promised it. `mete set` may give a claim's grant more than the scheduler counted: what
 * is above that is outside of DRA too. Of one that it made smaller the scheduler goes on counting the whole. Memory is
 * offered in steps of 1 MiB, all of it where a claim names none; time in whole percent, none where a claim names none:
 * not every policy takes a guarantee. A device that is out of service, and one of which less than two steps are left,
 * is not offered.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DRA_GRANT_PREFIX "dra-"
#define DRA_STEP_BYTES (1u << 20)
#define DRA_SLICE_DEVICES 128u

/* A capacity and its request policy: the range [min, value] in steps, and what a request without a word takes. */
struct dra_range {
	uint64_t value, min, step, by_default;
};

/*
 * What the scheduler takes for a request of so much: rounded up, to `min` and then to a whole number of steps above it.
 * Value: false: more than there is. Source: KEP-5075, requestPolicy.
 */
bool dra_range_round(const struct dra_range *range, uint64_t asked, uint64_t *ret);

struct dra_capacity {
	struct dra_range memory, cores;
	bool offered, timed; /* `timed`: its time can be asked for */
};

/*
 * `device`: of meted's answer; `grants`: its answer too, by name. `counted`: what the scheduler counted, name of a
 * grant to "devices" of its grant_create; of who is not there all that it has.
 */
struct dra_capacity dra_capacity_of(json_t *device, json_t *grants, json_t *counted, int64_t uid);

/*
 * The devices of the pool, in the form of resource.k8s.io/v1. `machine`: meted's answer to "devices"; `uid`: whose
 * grants are DRA's; `pci`: dra_pci_read().
 */
json_t *dra_pool_devices(json_t *machine, json_t *grants, json_t *counted, int64_t uid, json_t *pci);
/* One device as `version` has it; takes the reference. */
json_t *dra_device_as(const char *version, json_t *take_device);

/*
 * UUID to { "bus": "0000:65:00.0", "root": "pci0000:64", "numa": 0 }, of NVIDIA's driver. `root`: "" or a folder that
 * has proc and sys.
 */
json_t *dra_pci_read(const char *root);
