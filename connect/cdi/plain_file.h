/*
 * plain_file.h: a small file that somebody else has written, read whole. What is no plain file is not opened: a pipe in
 * /etc/cdi would keep whoever reads it for ever.
 */
#pragma once

#include <stddef.h>

#define PLAIN_FILE_MOST (64u << 20) /* bytes; NVIDIA's CDI file of sixteen GPUs has some ten thousands */

/* *ret: its bytes and a 0, owned by the caller. Value: 0, or a negative errno and why, one line. */
int plain_file_read(const char *path, char **ret, size_t *ret_size, char *why, size_t why_size);
