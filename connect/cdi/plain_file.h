/*
 * plain_file.h: reads a small file written by others. Only a plain file is opened: a pipe in /etc/cdi would block its
 * reader for ever.
 */
#pragma once

#include <stddef.h>

#define PLAIN_FILE_MOST (64u << 20) /* bytes; NVIDIA's CDI file for sixteen GPUs has some ten thousand */

/* *ret: its bytes and a 0, owned by the caller. Value: 0, or a negative errno with the reason in one line. */
int plain_file_read(const char *path, char **ret, size_t *ret_size, char *why, size_t why_size);
