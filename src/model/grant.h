/*
 * grant.h: the right of a tenant to use shares of devices, as a value, and what the grants of a machine promise
 * together.
 *
 * Pure: kept by src/daemon/store/store.c, served by src/daemon/tenants/tenant.c.
 */
#pragma once

#include "model/device.h"
#include "model/ledger.h"
#include "model/policy.h"
#include "wire/page.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GRANT_NAME_BYTES 64u
#define GRANT_PATH_BYTES 4096u
#define GRANT_MAX_BYTES ((uint64_t)WIRE_MAX_UNITS * WIRE_UNIT_BYTES) /* of one device, what an account word counts */

/* The share of the device's time. */
struct grant_compute {
	struct policy_wish wish; /* as it was asked for, with the policy that it came to */
	struct arbiter_terms terms; /* what follows from it */
};

struct grant_share {
	struct device device; /* as it was when the grant was made */
	struct ledger ledger;
	struct grant_compute compute;
};

/* What a grant is to a container (src/daemon/tenants/container.h). */
struct grant_container {
	bool is; /* it has a folder that is mounted into a container */
	bool keep; /* containers use it, and it outlives them */
	char spec[1024]; /* the CDI file that names it and goes with it; "": none */
	char files[3072]; /* of its folder: a JSON object of names and texts */
};

/* Whose work it is to those who started it, for joins with their figures. */
enum grant_label { GRANT_CONTAINER, GRANT_POD, GRANT_NAMESPACE, GRANT_LABELS };

#define GRANT_LABEL_BYTES 254u

struct grant {
	uint64_t id; /* unique on this machine for all time */
	char name[GRANT_NAME_BYTES];
	uid_t uid; /* whose it is */
	gid_t gid;
	enum device_kind kind;
	const char *libcuda; /* the driver's libraries, absolute paths; nvml may be ""; kept_text() has them */
	const char *libnvml;
	pid_t runner_pid; /* the command that it was made for ends it; 0: it stays until it is deleted */
	uint64_t runner_start; /* start time of that process */
	int64_t created; /* seconds since 1970 */
	int64_t expires; /* likewise: it ends then unless a process or a container has joined it; 0: never */
	bool overcommit;
	bool spill;		 /* its memory may leave the device (model/residence.h); it has one device then */
	bool suspended;		 /* ... and is to be away */
	uint64_t resident_units; /* ... but need not, while it holds no more: what is promised of the device */
	bool wall; /* programs may have its devices through workers */
	struct grant_container container;
	char label[GRANT_LABELS][GRANT_LABEL_BYTES]; /* "": there is none */
	unsigned int share_count;
	struct grant_share share[WIRE_MAX_DEVICES];
};

/* Letters, digits, '.', '_' and '-', not beginning with '.' or '-', at most 63: it is a file's name too. */
bool grant_name_valid(const char *name);

/* "container", "pod", "namespace". */
const char *grant_label_name(enum grant_label label);
/* Letters, digits, '.', '_' and '-', at most 253: a container's whole id, a name of Kubernetes. */
bool grant_label_valid(const char *text);

/* The share on the device with this UUID, or NULL. */
struct grant_share *grant_find_share(struct grant *g, const uint8_t uuid[DEVICE_UUID_BYTES]);

/* What the grant promises of a device, in bytes. A pending shrink still promises the old quota. */
uint64_t grant_promised_bytes(const struct grant *g, const uint8_t uuid[DEVICE_UUID_BYTES]);

/* What the grant is guaranteed of a device's time, in ppm. */
uint32_t grant_promised_ppm(const struct grant *g, const uint8_t uuid[DEVICE_UUID_BYTES]);

enum grant_fit {
	GRANT_FITS = 0,
	GRANT_OVER_DEVICE, /* more than the device has */
	GRANT_OVER_PROMISED, /* more than is not yet promised to others */
	GRANT_OVER_COUNTABLE, /* more than GRANT_MAX_BYTES */
	GRANT_NOTHING,
};

/* May a device promise `bytes` to a grant while it promises `others_bytes` to others? */
enum grant_fit grant_fits(const struct device *device, uint64_t others_bytes, uint64_t bytes, bool overcommit);

/* A percentage of the device's memory in whole units, in bytes; pct in (0, 100]. */
uint64_t grant_pct_bytes(const struct device *device, double pct);
