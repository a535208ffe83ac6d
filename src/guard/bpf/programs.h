/*
 * programs.h: the guard's programs and maps in the kernel: loaded, attached, and pinned below /sys/fs/bpf, so that they
 * hold when the process that loaded them has ended.
 *
 * Functions return 0, or -errno and a line for the user in `why`.
 */
#pragma once

#include "guard/drivers.h"
#include "guard/maps.h"

#define GUARD_PINS "/sys/fs/bpf/mete-guard"
#define GUARD_WHY 256

struct guard_loaded {
	bool rewrites; /* replies with memory information are rewritten */
	bool replaced; /* other programs were loaded, and have handed over */
};

/*
 * Loads and attaches the programs. If programs are loaded already, the new ones take over with the same maps: both are
 * attached for a moment, and no call passes between them. -EPROTO: the pinned maps have another version.
 */
int programs_load(const struct guard_kernel *k, uint32_t flags, struct guard_loaded *ret, char *why);
/* Detaches and removes everything; no tenant is held any more. */
int programs_unload(char *why);
bool programs_there(void);

/* Maps of the loaded programs. -ENOENT: none are loaded. One helper at a time changes them. */
/*
 * Creates a tenant under this name, or changes its limits; what it has remains charged. Names of one grant
 * (limits->grant) are one tenant: its containers share its quota.
 */
int tenants_set(uint64_t id, const struct guard_limits *limits, char *why);
int tenants_get(uint64_t id, struct guard_limits *ret_limits, struct guard_tenant *ret);
/* Removes the tenant with all its names: its processes keep what they have and get no more. */
int tenants_drop(uint64_t id, char *why);
/* Removes this name, whose cgroup or process is gone, and with the last name the tenant. *ret_last: it was the last. */
int tenants_forget(uint64_t id, bool *ret_last);
/*
 * Assigns a process, its other threads and its future children to the tenant. -EEXIST: it belongs to a tenant already.
 */
int tenants_join(uint64_t id, int pid, char *why);
/* The next name after *id. False: there is none. */
bool tenants_next(uint64_t *id, bool first);
/* Calls `each` once per tenant, however many names it has. */
void tenants_each(void (*each)(const struct guard_limits *limits, const struct guard_tenant *t));
int config_get(struct guard_config *ret);
