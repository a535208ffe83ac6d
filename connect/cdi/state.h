/* state.h: the container that a hook is called for, as the runtime describes it (OCI runtime specification, "State").
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>
#include <limits.h>
#include <sys/types.h>

struct state {
	char id[256];
	pid_t pid; /* of the container's first process; 0: it is not there any more */
	char pod[256], space[256], container[256]; /* names of Kubernetes, as its runtimes note them; "": none */
	char bundle[PATH_MAX];
	char root[PATH_MAX]; /* of its file system, as the runtime sees it before the container begins */
};

/* From standard input. Value: 0 or a negative errno. */
int state_read(struct state *s, struct fault *f);

/* What a container begins with. */
struct state_program {
	char name[PATH_MAX]; /* of its program, behind an init with "--"; without a slash it is to be looked for */
	char path[PATH_MAX]; /* in these folders, with colons between */
};

/* The root of a bundle and its program (NULL: not wanted), from its config.json. Value: 0 or a negative errno. */
int state_root(const char *bundle, char root[PATH_MAX], struct state_program *program, struct fault *f);

/* What the container's work is known by elsewhere: "labels" of a grant. */
json_t *state_labels(const struct state *s);

/* The name of the grant of a container with a named share: "small.4f6c0a..."; the same whenever it is asked. */
void state_grant_name(const struct state *s, const char *share, char *name, size_t size);
