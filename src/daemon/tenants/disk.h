/*
 * disk.h: the folder of the setting memory.disk, where the memory goes that leaves a device and finds no room in the
 * host's memory. Each client that leaves gets a file of its own there. The file never has a name: it is gone with the
 * last descriptor of it, whoever is killed when.
 *
 * All that the disk itself is asked for, a child of meted does: it makes files, and ends them. A disk that does not
 * answer holds up that child, and nobody else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct daemon;
struct disk_ask;

/* What a look at a folder has found: 0, or a negative errno with one line for the user. */
struct disk_verdict {
	int error;
	char why[1024];
};

/* Looks whether a folder can serve, in a child, for 3 s at most, and waits for it. */
void disk_try(const char *path, struct disk_verdict *ret);

struct disk_look;
typedef void (*disk_looked_fn)(void *owner, const struct disk_verdict *verdict);
/*
 * The same beside the loop: `fn` is called later, once, and the look is over then. NULL: no memory.
 */
struct disk_look *disk_look(uv_loop_t *loop, const char *path, disk_looked_fn fn, void *owner);
/* Nobody waits for it any more, and `fn` is not called. NULL: nothing. */
void disk_look_free(struct disk_look *look);

/*
 * The folder of the settings, if there is one that can serve; what is wrong stands in the log. Again after a reload.
 * `waits`: for up to 3 s for what the disk says; else questions are held until it has said something.
 */
void disk_open(struct daemon *daemon, bool waits);
void disk_close(struct daemon *daemon);
/* There is one, or it has not said yet that it cannot serve. */
bool disk_there(const struct daemon *daemon);

/* `fd`: of the file, the caller's from now on; or -1, and the line says why. */
typedef void (*disk_fn)(void *owner, int fd, const char *why);
/*
 * A file for so many bytes, which are reserved there; `fn` gets it later. Grants that ask are served by turns. NULL: no
 * memory, or there is no disk. The ask is over when `fn` has been called.
 */
struct disk_ask *disk_ask(struct daemon *daemon, uint64_t grant, uint64_t bytes, disk_fn fn, void *owner);
/* Nobody waits for it any more: the file ends when it has been made. NULL: nothing. */
void disk_forget(struct disk_ask *ask);
/* All who wait are answered now: with what the child says within a second, or that it does not. */
void disk_settle(const struct daemon *daemon);
/* A file has served: it is cut to nothing, whoever has it open, and closed. */
void disk_end(struct daemon *daemon, int take_fd);

/* The child. */
int disk_main(const char *socket);
