/*
 * keys.h: the folder of a server's keys: a file NAME.key for each client that may connect.
 *
 * The folder is --keys DIR; by default /etc/mete/keys for root, and mete/keys in the user's configuration folder
 * ($XDG_CONFIG_HOME, or ~/.config) for others. Only its owner may write to it, because anybody who can add a key
 * becomes a client.
 */
#pragma once

#include "client/fault.h"
#include "remote/relay/relay.h"

#include <limits.h>

#define KEYS_ENDING ".key"

struct keys {
	char dir[PATH_MAX];
};

/* Finds the folder. `make`: creates it if it does not exist. Value: 0; -ENOENT: there is none; or a negative errno. */
int keys_open(struct keys *k, const char *given, bool make, struct fault *f);

/* Checks a key's name, which also becomes the name of a grant. Value: 0 or -EINVAL. */
int keys_check_name(const char *name, struct fault *f);

int keys_path(const struct keys *k, const char *name, char path[PATH_MAX], struct fault *f);

/*
 * Reads the key of that name; false: there is none, or it cannot be used. Reads the file each time, so that a removed
 * key is invalid at once.
 */
bool keys_find(const struct keys *k, const char *name, uint8_t ret_key[RELAY_KEY_BYTES]);

/* Calls `each` for every key file, ordered by name. Value: their number, or a negative errno. */
int keys_each(const struct keys *k, void (*each)(void *user, const char *name, const char *path), void *user,
	      struct fault *f);

/* This user's folder of mete settings: "/etc/mete" for root. Value: 0 or a negative errno. */
int settings_dir(char dir[PATH_MAX], struct fault *f);
