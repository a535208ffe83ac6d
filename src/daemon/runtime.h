/*
 * runtime.h: the directory in which one meted lives: its lock, its sockets, its pages.
 *
 * One meted runs per directory: it holds flock() on meted.lock for as long as it lives. It replaces a file at the path
 * of one of its sockets only if that file is a socket of its own user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define RUNTIME_DIR_BYTES 90u /* the path of a socket is limited to 107 characters */

struct handover;

struct runtime {
	struct handover *handover; /* during the start: the lock and the sockets of the previous meted */
	char dir[RUNTIME_DIR_BYTES];
	bool system; /* other users may connect */
	int dir_fd;
	int pages_fd;
	int lock_fd;
	int holder_fd; /* tenants/holder.h; -1: none, and pages are files */
};

#define RUNTIME_NONE                                                                                                   \
	(struct runtime)                                                                                               \
	{                                                                                                              \
		.dir_fd = -1, .pages_fd = -1, .lock_fd = -1, .holder_fd = -1                                           \
	}

/*
 * Creates and locks the directory. `handover` may be NULL. Value: 0, or -errno with the line for the user in `error`.
 */
int runtime_open(struct runtime *runtime, struct handover *handover, const char *dir, bool system, char *error,
		 size_t error_size);
void runtime_close(struct runtime *runtime);
/*
 * Checks whether runtime_open() would succeed, except for the lock; creates nothing. `error`: the cause and the remedy.
 */
int runtime_try(const char *dir, bool system, char *error, size_t error_size);

/*
 * Listens at `place` in the directory ("control.sock", "grants/x.sock"). The socket appears there ready for use, with
 * its owner and mode. Peers cannot send descriptors through it (descriptors.h). Value: the descriptor, or -errno with
 * the line for the user in `error`.
 */
int runtime_listen(struct runtime *runtime, const char *place, int type, mode_t mode, uid_t uid, gid_t gid, char *error,
		   size_t error_size);

void runtime_remove(struct runtime *runtime, const char *place);
