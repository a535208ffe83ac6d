/*
 * entry_file.h: files of the runtime directory that meted maps: a head that identifies the file, and entries of one
 * size.
 *
 * Such a file is sparse. Its length is the maximum length from the start, and disk space is reserved as it is needed:
 * a full disk is then an error and no SIGBUS. A file with a wrong head is created anew.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct runtime;

/* The head of the file. */
struct entry_head {
	uint32_t magic, version, entry_bytes, reserved;
};

struct entry_kind {
	const char *name; /* in the runtime directory */
	uint32_t magic, version, entry_bytes;
	size_t bytes; /* of the whole file */
	bool (*is_sound)(const void *file); /* a further check of an existing file; NULL: none */
};

/* Maps the file for writing. `anew`: replaces an existing file. Value: 0, or a negative errno and nothing is open. */
int entry_file_open(const struct runtime *runtime, const struct entry_kind *kind, bool anew, int *ret_fd,
		    void **ret_file);

/* Reserves disk space for the first `bytes`. False: there is none. */
bool entry_file_reserve(int fd, size_t bytes);

/* Takes NULL. */
void entry_file_close(const struct entry_kind *kind, int *fd, void *file);
