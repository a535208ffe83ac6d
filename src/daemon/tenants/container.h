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
#define CONTAINER_SOFT "soft" /* in the folder: the mount point of the software device's folder */

/* "containers/0/NAME/FILE", relative to the runtime directory. Value: `place`. */
const char *container_place(const struct grant *g, const char *file, char place[CONTAINER_PLACE_BYTES]);

/* True if its programs use the software device themselves, not through a wall. */
bool container_has_soft(const struct grant *g);

/* Creates the folder and its files where they are missing. Value: 0, or -errno with the line for the user. */
int container_open(struct tenant *tenant, char *error, size_t size);

/* True for a file that a request may write: "settings" or "preload". */
bool container_knows(const char *file);

/* Writes one of these files. Value: 0 or -errno. */
int container_write(struct tenant *tenant, const char *file, const char *text, char *error, size_t size);

/* Removes the folder of a grant that has ended, and the CDI file that named it. */
void container_remove(struct daemon *daemon, const struct grant *g);

/*
 * True if the grant's container cannot start any more, because the CDI file that names the grant is gone (a reboot). A
 * new grant is exempt: its file is written after it.
 */
bool container_orphaned(const struct tenant *tenant);

/* container_ask.c: these read fields of a request. False: the request was refused. */

/* Reads "labels" (grant.h), if given, into the grant. */
bool container_read_labels(struct ask *ask, struct grant *g);
/* Reads "container" into the grant that is being created. */
bool container_read(struct ask *ask, struct grant *g);
/* Reads "runner_pid": the grant ends when this process exits. */
bool container_read_runner(struct ask *ask, struct grant *g);
/* Handles "runner_pid" and "files": a container of the grant starts. */
bool container_bind(struct ask *ask, struct tenant *t);
/* Applies the labels and the runner that the request names to an existing grant, also in the store. */
bool container_label(struct ask *ask, struct tenant *t);

/* For answers: the grant's container and the path of its folder; null: it was not made for one. */
json_t *container_json(const struct tenant *tenant);
