/*
 * segment_file.h: the folder of the segment, its file and those of the objects; and which processes live, according to
 * the locks on them.
 */
#pragma once

#include "softdev/segment.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_TOKEN_BASE                                                                                             \
	(INT64_C(1) << 40) /* byte SEGMENT_TOKEN_BASE + i of the segment's file is the lock of place i */

/* Finds the folder, and creates it if it does not exist. Value: 0, or -errno with a line for the user. */
int segment_dir_find(char dir[200], char *why, size_t why_bytes);

/* Value: a descriptor, or -1 with errno. The file may be empty. */
int segment_file_open(const char *dir);
/* Called once, before the right to open files is given up. */
void segment_file_keep(const char *dir);

/* The path of an object's file, whether there is one or not. */
void segment_object_path(const char *dir, uint64_t id, char path[PATH_MAX]);

/* True if another process has a lock on [start, start + length). */
bool segment_file_locked(int fd, int64_t start, int64_t length);
/* Sets the lock of one byte: F_RDLCK, F_WRLCK. Value: 0 or -errno. */
int segment_file_lock(int fd, short type, int64_t start);

/* True if a process has the place; `fd`: the segment's file, opened anew. */
bool segment_place_alive(int fd, uint32_t index);

/* The bytes of an object's file that locks lie on: of every descriptor and mapping; of those of the driver itself. */
#define SEGMENT_GIVEN 0
#define SEGMENT_HELD 1

/* True if the process that created or adopted the object is on the device. */
bool segment_maker_alive(const struct segment *s, const char *dir, const struct segment_object *o);
/* True if a process on the device has the object; or any process has a descriptor of it, and its creator lives. */
bool segment_object_alive(const struct segment *s, const char *dir, const struct segment_object *o);
