/*
 * spec.h: CDI files (Container Device Interface 0.5.0): writes mete's, reads all.
 *
 * A file is written under a temporary name that runtimes ignore, synced, and renamed. Runtimes read the folders at
 * every start of a container, and a file that they cannot read hides its devices.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define SPEC_STATIC_DIR "/etc/cdi"	/* for permanent files */
#define SPEC_DYNAMIC_DIR "/var/run/cdi" /* for files that end with a grant, or with a reboot */

#define SPEC_VERSION "0.5.0" /* the lowest that permits device names beginning with a digit */

#define SPEC_DEVICE_KIND "mete.io/device"
#define SPEC_SHARE_KIND "mete.io/share"
#define SPEC_GRANT_KIND "mete.io/grant"

/*
 * The folder of a user who cannot write to those: $XDG_CONFIG_HOME/cdi or ~/.config/cdi. Runtimes read it if they are
 * configured to (podman --cdi-spec-dir). False: root, or a user without a home.
 */
bool spec_own_dir(char path[PATH_MAX]);

/* DIR/mete.io-share.json, DIR/mete.io-grant-NAME.json (name NULL: none). Value: false if it does not fit. */
bool spec_path(char path[PATH_MAX], const char *dir, const char *kind, const char *name);

/* An empty spec of a kind. */
json_t *spec_new(const char *kind);
/* Adds a device; takes the edits. */
void spec_add(json_t *spec, const char *name, json_t *take_edits);

/*
 * Writes a file, replacing an existing one; creates the folder. A grant's file is not for people and is written as
 * compactly as possible, because runtimes read all files again whenever one changes. Value: 0 or a negative errno.
 */
int spec_write(const char *path, json_t *spec, struct fault *f);

/* Writes a file with one device. version: NULL, or later than the default. Takes the edits. Value: as spec_write(). */
int spec_write_device(const char *path, const char *kind, const char *name, const char *version, json_t *take_edits,
		      struct fault *f);

/* One file that a runtime would read. */
struct spec_file {
	char path[PATH_MAX];
	json_t *spec;	  /* owned; NULL: it is invalid */
	json_t *names;	  /* of its devices, for lookups; owned */
	char broken[512]; /* the reason, one line */
	unsigned int rank; /* of its folder: its devices take precedence over those of folders of lower rank */
};

struct spec_list {
	struct spec_file *file; /* owned */
	size_t count;
};

/* Reads all files of dir, or of the default folders and the user's own if it is NULL, including files of others. */
int spec_list_read(struct spec_list *list, const char *dir, struct fault *f);
/* Reads the default folders and the user's own, except files of grants, of which there are as many as containers. */
int spec_list_read_vendors(struct spec_list *list, struct fault *f);
void spec_list_free(struct spec_list *list);

/* The file, other than `except`, from which runtimes take this device. NULL: none. */
const struct spec_file *spec_list_find(const struct spec_list *list, const char *kind, const char *name,
				       const char *except);
/* Another file of the same folder that defines this device of the file: runtimes then find neither. NULL: none. */
const struct spec_file *spec_list_rival(const struct spec_list *list, const struct spec_file *file, const char *name);

/* The later of two versions of CDI. */
const char *spec_version_later(const char *a, const char *b);

/* The device of that name in a spec; borrowed. NULL: none. */
json_t *spec_device(json_t *spec, const char *name);
