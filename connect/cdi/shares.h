/*
 * shares.h: the named shares of a node, mete.io/share=NAME: from a file, else three that fit every node.
 *
 *	{ "shares": [
 *		{ "name": "small", "mem": "4G", "cores": 25 },
 *		{ "name": "batch", "mem": "8G", "policy": "fair", "class": "low" },
 *		{ "name": "stranger", "mem": "2G", "cores": 10, "wall": true } ] }
 *
 * The words are those of `mete create`, without dashes; a list gives a word several times. "count" is for mete-agent
 * alone: the most of this share that it offers at a time.
 */
#pragma once

#include "client/fault.h"

#include <jansson.h>

#define SHARES_FILE "/etc/mete/shares.json"
#define SHARE_NAME_MOST 24
#define SHARE_COUNT_MOST 256
#define SHARES_MOST 256u /* per file: each is a resource of kubelet, with a socket */
#define SHARES_FILE_MOST (1u << 20) /* bytes, the limit of a ConfigMap */

/*
 * An object: name to list of words ("--mem", "4G", ...), in the file's order; a new reference. `path` NULL: the default
 * file, and without it the three shares. `ret_counts` may be NULL; otherwise it gets an object owned by the caller:
 * name to count, of the shares that have one. NULL: a fault is set, and *ret_counts is NULL.
 */
json_t *shares_read(const char *path, json_t **ret_counts, struct fault *f);

/* Sets a fault about a named share, with the names of the file and the share. Value: r. */
int shares_fault(const char *path, const char *name, int r, struct fault *f);

/* Copies the pointers of a list of words to `ret`, NULL-terminated; the list owns them. */
void shares_words(json_t *list, const char **ret, size_t most);
