/*
 * disk.h: the folder of the setting memory.disk, which takes the memory that leaves a device and finds no room in the
 * host's memory. Each client that leaves gets a file of its own there. The file never has a name: it disappears with
 * its last descriptor, whichever process is killed.
 *
 * A child of meted performs all operations on the disk: it creates files and removes them. A disk that does not respond
 * blocks only that child.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct daemon;
struct disk_ask;

/* The result of a check of a folder: 0, or a negative errno with one line for the user. */
struct disk_verdict {
	int error;
	char why[1024];
};

/* Checks whether a folder can be used, in a child, and waits for the result for 3 s at most. */
void disk_try(const char *path, struct disk_verdict *ret);

struct disk_look;
typedef void (*disk_looked_fn)(void *owner, const struct disk_verdict *verdict);
/* The same without waiting: `fn` is called later, once, which also ends the check. NULL: no memory. */
struct disk_look *disk_look(uv_loop_t *loop, const char *path, disk_looked_fn fn, void *owner);
/* Cancels the check: `fn` is not called. NULL: nothing. */
void disk_look_free(struct disk_look *look);

/*
 * Opens the folder of the settings if it can be used; the log states errors. Also called after a reload. `waits`: waits
 * up to 3 s for the result; otherwise requests are held until it is known.
 */
void disk_open(struct daemon *daemon, bool waits);
void disk_close(struct daemon *daemon);
/* True if there is a folder, or its check has not failed yet. */
bool disk_there(const struct daemon *daemon);

/* `fd`: the file, owned by the callee; or -1, and `why` gives the reason. */
typedef void (*disk_fn)(void *owner, int fd, const char *why);
/*
 * Creates a file of so many bytes, with its space reserved, and passes it to `fn` later. Grants that ask are served in
 * turn. NULL: no memory, or there is no folder. The request ends when `fn` has been called.
 */
struct disk_ask *disk_ask(struct daemon *daemon, uint64_t grant, uint64_t bytes, disk_fn fn, void *owner);
/* Cancels a request: the file is removed when it has been created. NULL: nothing. */
void disk_forget(struct disk_ask *ask);
/* Answers all waiting requests now: with the child's result if it comes within a second, else with an error. */
void disk_settle(const struct daemon *daemon);
/* Releases a file: truncates it to nothing, whichever process has it open, and closes it. */
void disk_end(struct daemon *daemon, int take_fd);

/* The main function of the child. */
int disk_main(const char *socket);
