/*
 * guarded.h: a grant whose memory the guard also limits, at the kernel's boundary (--guard): a request to mete-guard,
 * as root.
 *
 * The guard's quota is the sum of the grant's quotas over its devices, plus a reserve for each device for the memory
 * that the driver takes for a context, which the shim charges in another way.
 */
#pragma once

#include "client/fault.h"
#include "client/place.h"
#include "model/guarding.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#define GUARDED_RESERVE_BYTES (UINT64_C(512) << 20)

/* How a program is held. */
struct guarded {
	const char *front; /* "bpf", "notify", "dmem"; NULL: not held */
	int socket;	   /* to the supervisor of the front end "notify" (notify_enter); -1 */
	bool shared;	   /* other programs use the grant, which continues when this one ends */
	char cgroup[128];  /* the cgroup that the program enters, if the driver limits cgroups; "" */
	char note[256];	   /* the reason that no better front end is used; "" */
};

#define GUARDED_NONE ((struct guarded){ .socket = -1 })

/*
 * Limits the process and its descendants by the best front end that works here. `cgroup` (NULL: none) is the
 * container's, whose later processes also belong to the tenant. `grant`: meted's row; `shared`: other programs may use
 * it. Value: 0, or a negative errno with a fault: then nothing may be started under this grant.
 */
int guarded_begin(const struct place *place, json_t *grant, bool shared, pid_t pid, const char *cgroup,
		  struct guarded *ret, struct fault *f);
/*
 * Whether the guard must, should or need not hold a program or container of this grant: by --guard (`asked`), or by the
 * node's rule.
 */
enum guarding_wish guarded_wish(json_t *grant, bool asked, bool walled);
/*
 * Decides when nothing holds it (r, f of guarded_begin). Value: 0 and a line in `note`, if the node's rule permits the
 * shim alone; else r.
 */
int guarded_unheld(enum guarding_wish wish, bool asked, int r, char note[256], struct fault *f);
/* The last step of the process before it becomes the program. Value: 0 or -errno. */
int guarded_enter(const struct guarded *g);
/* Called when the program has ended; if the grant is its own, remaining processes get no more memory. */
void guarded_end(const struct place *place, json_t *grant, struct guarded *g);
/*
 * Describes the front end of the guard that works here, for `mete doctor`. Value: true if there is one; otherwise
 * `text` gives the reason.
 */
bool guarded_state(const struct place *place, char *text, size_t size);
