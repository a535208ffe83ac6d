/*
 * state.h: the container for which a hook is called, as the runtime describes it (OCI runtime specification, "State").
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>
#include <limits.h>
#include <sys/types.h>

struct state {
	char id[256];
	pid_t pid; /* of the container's first process; 0: it has exited */
	char pod[256], space[256], container[256]; /* Kubernetes' names, as its runtimes record them; "": none */
	char bundle[PATH_MAX];
	char root[PATH_MAX]; /* of its file system, as the runtime sees it before the container starts */
};

/* Reads it from standard input. Value: 0 or a negative errno. */
int state_read(struct state *s, struct fault *f);

/* The first program of a container. */
struct state_program {
	char name[PATH_MAX]; /* its name, after an init with "--"; a name without a slash must be searched */
	char path[PATH_MAX]; /* the folders to search, separated by colons */
};

/* Reads the root of a bundle and its program (NULL: not wanted) from its config.json. Value: 0 or a negative errno. */
int state_root(const char *bundle, char root[PATH_MAX], struct state_program *program, struct fault *f);

/* The container's names in other systems: "labels" of a grant. */
json_t *state_labels(const struct state *s);

/* The name of the grant of a container with a named share: "small.4f6c0a..."; always the same for a container. */
void state_grant_name(const struct state *s, const char *share, char *name, size_t size);
