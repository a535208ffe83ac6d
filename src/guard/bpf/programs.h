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
	bool rewrites; /* replies of memory information are rewritten */
	bool replaced; /* other programs were there, and have handed over */
};

/*
 * Loads and attaches. Where programs are loaded already the new ones take over with the same maps: both are attached
 * for a moment, and no call passes between. -EPROTO: the pinned maps are another version's.
 */
int programs_load(const struct guard_kernel *k, uint32_t flags, struct guard_loaded *ret, char *why);
/* Detaches and forgets everything; no tenant is held any more. */
int programs_unload(char *why);
bool programs_there(void);

/* Maps of the loaded programs. -ENOENT: none are loaded. One helper at a time changes them. */
/*
 * Makes a tenant under this name, or gives it other limits; what it has stays. Names of one grant (limits->grant) are
 * one tenant: its containers have its quota together.
 */
int tenants_set(uint64_t id, const struct guard_limits *limits, char *why);
int tenants_get(uint64_t id, struct guard_limits *ret_limits, struct guard_tenant *ret);
/* The tenant with all its names: its processes keep what they have and get no more. */
int tenants_drop(uint64_t id, char *why);
/* This name, whose cgroup or process is gone; with the last one the tenant. *ret_last says that it was. */
int tenants_forget(uint64_t id, bool *ret_last);
/* A process, what it starts from now on, and its other threads are the tenant's. -EEXIST: it is a tenant's already. */
int tenants_join(uint64_t id, int pid, char *why);
/* The next name behind *id. False: there is none. */
bool tenants_next(uint64_t *id, bool first);
/* Each tenant once, whatever names it has. */
void tenants_each(void (*each)(const struct guard_limits *limits, const struct guard_tenant *t));
int config_get(struct guard_config *ret);
