/*
 * guarded.h: a grant whose memory the guard limits too, at the kernel's boundary (--guard): asked of mete-guard, as
 * root.
 *
 * The quota of the guard is the sum of the grant's over its devices, and a reserve for each for what the driver takes
 * for a context, which the shim charges in another way.
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
	const char *front; /* "bpf", "notify", "dmem"; NULL: not */
	int socket;	   /* to its supervisor (notify_enter), of notify; -1 */
	bool shared;	   /* the grant is not this program's alone, and goes on when it ends */
	char cgroup[128];  /* to be entered by the program, where the driver limits cgroups; "" */
	char note[256];	   /* why it is not a better one; "" */
};

#define GUARDED_NONE ((struct guarded){ .socket = -1 })

/*
 * Limits the process and what it starts, by the best front end that holds here; `cgroup` (NULL: not) is the
 * container's, whose later processes are the tenant's too. `grant` is meted's row; `shared`: other programs may be
 * under it. Value: 0, or a negative errno with a fault: then nothing may be started under this grant.
 */
int guarded_begin(const struct place *place, json_t *grant, bool shared, pid_t pid, const char *cgroup,
		  struct guarded *ret, struct fault *f);
/* What is to be done for a program or a container under this grant: --guard (`asked`), or the node's rule. */
enum guarding_wish guarded_wish(json_t *grant, bool asked, bool walled);
/*
 * What it comes to that nothing holds (r, f of guarded_begin). Value: 0 and a line in `note`, where the node's rule is
 * that the shim alone does then; else r.
 */
int guarded_unheld(enum guarding_wish wish, bool asked, int r, char note[256], struct fault *f);
/* In the process that becomes the program, last before it does. 0 or -errno. */
int guarded_enter(const struct guarded *g);
/* The program has ended; with a grant of its own, what is left of it gets nothing more. */
void guarded_end(const struct place *place, json_t *grant, struct guarded *g);
/* Which way of the guard holds here, for `mete doctor`. Value: it can hold; else `text` says why not. */
bool guarded_state(const struct place *place, char *text, size_t size);
