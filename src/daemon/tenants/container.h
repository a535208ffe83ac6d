/*
 * container.h: the folder of a grant that was made for a container.
 *
 * A hook mounts RUNTIME/containers/UID/NAME/ into the container at /run/mete. The folder contains the grant's socket
 * (grant.sock, or only wall.sock if the grant is walled) and files for the injected libraries (settings, preload). It
 * remains the same across restarts of meted, so a mount of it leads to the new sockets. The sockets are open to every
 * user, because an image's programs may run as any user; the parent folder admits the owner and no other user of the
 * machine. Only meted can write, rename or remove anything in these folders.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct ask;
struct daemon;
struct grant;
struct tenant;

#define CONTAINER_PLACE_BYTES 128u
#define CONTAINER_SOFT "soft" /* in the folder: where the software device's folder is mounted */

/* "containers/0/NAME/FILE", relative to the runtime directory. Value: `place`. */
const char *container_place(const struct grant *g, const char *file, char place[CONTAINER_PLACE_BYTES]);

/* Its programs use the software device themselves, not through a wall. */
bool container_has_soft(const struct grant *g);

/* Makes the folder and its files, where they are not there. Value: 0 or -errno, with the line for the user. */
int container_open(struct tenant *tenant, char *error, size_t size);

/* A file that the folder may have at somebody's word: "settings" or "preload". */
bool container_knows(const char *file);

/* One file of the folder, of those. Value: 0 or -errno. */
int container_write(struct tenant *tenant, const char *file, const char *text, char *error, size_t size);

/* The grant has ended: removes the folder, and the CDI file that named it. */
void container_remove(struct daemon *daemon, const struct grant *g);

/*
 * The grant's container cannot come any more, because the CDI file that names it has gone (a reboot). Not of a grant
 * that was just made: its file comes after it.
 */
bool container_orphaned(const struct tenant *tenant);

/* Requests, container_ask.c. The first three read them; false when it was refused. */

/* "labels" of the request (grant.h), those that it has, into a grant. False: it was refused. */
bool container_read_labels(struct ask *ask, struct grant *g);
/* "container" of the request, into the grant that is being made. */
bool container_read(struct ask *ask, struct grant *g);
/* "runner_pid": the process that the grant ends with. */
bool container_read_runner(struct ask *ask, struct grant *g);
/* "runner_pid" and "files" of the request: a container of the grant begins. */
bool container_bind(struct ask *ask, struct tenant *t);
/* For answers: null, or where the folder is. */
/* The labels of the request and its runner, where it names any, are the grant's from now on, also in the store. */
bool container_label(struct ask *ask, struct tenant *t);

json_t *container_json(const struct tenant *tenant);
