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

#define RUNTIME_DIR_BYTES 90u /* a socket's path has 107 characters in all */

struct handover;

struct runtime {
	struct handover *handover; /* at the start: where the lock and the sockets are that a predecessor has left */
	char dir[RUNTIME_DIR_BYTES];
	bool system; /* other users may come in */
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

/* Makes and locks the directory. Value: 0 or -errno, with the line for the user in `error`. handover: may be NULL. */
int runtime_open(struct runtime *runtime, struct handover *handover, const char *dir, bool system, char *error,
		 size_t error_size);
void runtime_close(struct runtime *runtime);
/* Whether runtime_open() would do, but for the lock; nothing is made. `error`: what is wrong, and the remedy. */
int runtime_try(const char *dir, bool system, char *error, size_t error_size);

/*
 * Listens at `place` in the directory ("control.sock", "grants/x.sock"). The socket appears there ready, with its owner
 * and mode. Who connects there cannot send descriptors (descriptors.h). Value: the descriptor or -errno, with the line
 * for the user in `error`.
 */
int runtime_listen(struct runtime *runtime, const char *place, int type, mode_t mode, uid_t uid, gid_t gid, char *error,
		   size_t error_size);

void runtime_remove(struct runtime *runtime, const char *place);
