/*
 * limit_words.h: limits.users.NAME and limits.groups.NAME of meted.yaml: the limits of one user or group.
 *
 *   limits:
 *     users:
 *       alice:
 *         grants: 256
 *
 * A name is a user or group of this machine, or a number. meted starts even if a name is unknown, for example while a
 * directory service is not available yet, and ignores the entry; --check-config refuses it.
 */
#pragma once

#include "model/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* True for "limits.users" and "limits.groups". */
bool limit_words_are(const char *key);

/* `of`: "limits.users.alice". Value: 0, or -EINVAL with a line in `why`. */
int limit_words_name(struct limits *l, const char *of, bool must_be, char *why, size_t size);
int limit_words_set(struct limits *l, const char *of, const char *word, const char *value, char *why, size_t size);

/* Prints the entries in the form of the file; without any, an example as a comment. */
void limit_words_print(const struct limits *l, FILE *out);
