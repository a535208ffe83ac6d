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
#define SHARES_MOST 256u /* of a file: each is a resource of kubelet's, with a socket */
#define SHARES_FILE_MOST (1u << 20) /* bytes, as a ConfigMap may have */

/*
 * An object: name to list of words ("--mem", "4G", ...), in the file's order; a new reference. `path` NULL: the usual
 * file, and without it the three. `ret_counts` NULL, or the place of an object that the caller owns, too: name to
 * count, of those shares that have one. NULL: a fault is set, and *ret_counts is NULL.
 */
json_t *shares_read(const char *path, json_t **ret_counts, struct fault *f);

/* What is wrong with a named share, behind the file's and the share's name. Value: r. */
int shares_fault(const char *path, const char *name, int r, struct fault *f);

/* A list of words as C has it, in `ret`, NULL-terminated; they are the list's. */
void shares_words(json_t *list, const char **ret, size_t most);
