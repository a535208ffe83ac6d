/*
 * token.h: the secrets that permit an HTTP client to act, and to read where meted is reached over the network.
 *
 * A node has two: one that permits actions and reading, in the file console.token of the state directory, and one that
 * permits reading only, in reader.token, for collectors of metrics (mode 0600; a line of 64 hexadecimal digits, 256
 * random bits). They are read for each request, so that a revoked token is refused at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TOKEN_BYTES 65u /* including the final 0 */

/* What a token permits; each right includes the ones before it. */
enum token_right { TOKEN_NONE, TOKEN_READS, TOKEN_ACTS };

/*
 * Creates a token (TOKEN_READS or TOKEN_ACTS) and revokes the previous one. Value: 0, or -errno with the line for the
 * user.
 */
int token_new(const char *state_dir, enum token_right right, char ret[TOKEN_BYTES], char *error, size_t error_size);
/* Value: 0; -ENOENT: there is no such token; or another -errno. */
int token_read(const char *state_dir, enum token_right right, char ret[TOKEN_BYTES], char *error, size_t error_size);
/* Revokes the token. Value: 0 also if there was none. */
int token_revoke(const char *state_dir, enum token_right right, char *error, size_t error_size);

/* What the token `given` (need not end with 0) permits. The comparison takes constant time. */
enum token_right token_right(const char *state_dir, const char *given, size_t length);

/* True if either token exists; without one, nobody may read except over loopback. */
bool token_exists(const char *state_dir);
