/*
 * grant.h: a grant as a value: the right of a tenant to use shares of devices; and the sum of what grants promise.
 *
 * Pure: src/daemon/store/store.c stores grants, src/daemon/tenants/tenant.c serves them.
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
#define GRANT_MAX_BYTES ((uint64_t)WIRE_MAX_UNITS * WIRE_UNIT_BYTES) /* an account word counts no more */

/* The share of the device's time. */
struct grant_compute {
	struct policy_wish wish; /* as requested, with the resulting policy */
	struct arbiter_terms terms; /* the terms that follow from it */
};

struct grant_share {
	struct device device; /* as it was when the grant was created */
	struct ledger ledger;
	struct grant_compute compute;
};

/* The container of a grant (src/daemon/tenants/container.h). */
struct grant_container {
	bool is; /* it has a folder that is mounted into a container */
	bool keep; /* containers use the grant, which outlives them */
	char spec[1024]; /* the CDI file that names the grant and is removed with it; "": none */
	char files[3072]; /* the files of its folder: a JSON object of names and texts */
};

/* Labels that say whose work the grant is for, to join its figures with those of other systems. */
enum grant_label { GRANT_CONTAINER, GRANT_POD, GRANT_NAMESPACE, GRANT_LABELS };

#define GRANT_LABEL_BYTES 254u

struct grant {
	uint64_t id; /* unique on this machine for all time */
	char name[GRANT_NAME_BYTES];
	uid_t uid; /* its user */
	gid_t gid;
	enum device_kind kind;
	const char *libcuda; /* absolute paths of the driver's libraries; nvml may be ""; owned by kept_text() */
	const char *libnvml;
	pid_t runner_pid; /* the grant ends with this command; 0: when it is deleted */
	uint64_t runner_start; /* start time of that process */
	int64_t created; /* seconds since 1970 */
	int64_t expires; /* seconds since 1970: it ends then unless a process or a container has joined it; 0: never */
	bool overcommit;
	bool spill;		 /* its memory may leave the device (model/residence.h); it has one device then */
	bool suspended;		 /* the user has suspended it: its memory is to be away */
	uint64_t resident_units; /* its memory need not leave while it holds no more; promised of the device */
	bool wall; /* programs may use its devices through workers */
	struct grant_container container;
	char label[GRANT_LABELS][GRANT_LABEL_BYTES]; /* "": none */
	unsigned int share_count;
	struct grant_share share[WIRE_MAX_DEVICES];
};

/*
 * True if the name is valid: letters, digits, '.', '_' and '-', not beginning with '.' or '-', at most 63 characters.
 * It is also a file name.
 */
bool grant_name_valid(const char *name);

/* "container", "pod", "namespace". */
const char *grant_label_name(enum grant_label label);
/*
 * True if the label is valid: letters, digits, '.', '_' and '-', at most 253 characters: a container's whole id, a name
 * of Kubernetes.
 */
bool grant_label_valid(const char *text);

/* Returns the share on the device with this UUID, or NULL. */
struct grant_share *grant_find_share(struct grant *g, const uint8_t uuid[DEVICE_UUID_BYTES]);

/* Returns the bytes that the grant promises of a device. A pending shrink still promises the old quota. */
uint64_t grant_promised_bytes(const struct grant *g, const uint8_t uuid[DEVICE_UUID_BYTES]);

/* Returns the guarantee of the grant on a device, in ppm. */
uint32_t grant_promised_ppm(const struct grant *g, const uint8_t uuid[DEVICE_UUID_BYTES]);

enum grant_fit {
	GRANT_FITS = 0,
	GRANT_OVER_DEVICE, /* exceeds the device */
	GRANT_OVER_PROMISED, /* exceeds what is not promised to others */
	GRANT_OVER_COUNTABLE, /* exceeds GRANT_MAX_BYTES */
	GRANT_NOTHING,
};

/* Checks whether a device may promise `bytes` to a grant while it promises `others_bytes` to others. */
enum grant_fit grant_fits(const struct device *device, uint64_t others_bytes, uint64_t bytes, bool overcommit);

/* Returns a percentage of the device's memory in whole units, in bytes; pct in (0, 100]. */
uint64_t grant_pct_bytes(const struct device *device, double pct);
