/*
 * token.h: the secret that lets an HTTP client act, and read where meted is reached over the network.
 *
 * There is one per node, in the file console.token of the state directory (mode 0600): a line of 64 hexadecimal digits,
 * 256 random bits. It is read anew each time, so that a revoked one is refused at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TOKEN_FILE "console.token"
#define TOKEN_BYTES 65u /* with the closing 0 */


/* Makes a new one; the one before is void. Value: 0 or -errno, with the line for the user. */
int token_new(const char *state_dir, char ret[TOKEN_BYTES], char *error, size_t error_size);
/* Value: 0; -ENOENT: there is none; -errno. */
int token_read(const char *state_dir, char ret[TOKEN_BYTES], char *error, size_t error_size);
/* From now on there is none. 0 as well when there was none. */
int token_revoke(const char *state_dir, char *error, size_t error_size);

/* True when `given` (need not end with 0) is the token. Takes as long whatever the difference is. */
bool token_right(const char *state_dir, const char *given, size_t length);

/* Whether there is one; without it nobody may act. */
bool token_exists(const char *state_dir);
