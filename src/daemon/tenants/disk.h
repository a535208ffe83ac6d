/*
 * disk.h: the folder of the setting memory.disk, where the memory goes that leaves a device and finds no room in the
 * host's memory. Each client that leaves gets a file of its own there. The file never has a name: it is gone with the
 * last descriptor of it, whoever is killed when.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct client;
struct daemon;
struct residence_options;

/*
 * Opens the folder, and looks whether it can serve. Value: a descriptor, or a negative errno with one line for the
 * user. *ret_free_bytes (may be NULL): the room of its file system.
 */
int disk_try(const char *path, uint64_t *ret_free_bytes, char *error, size_t size);

/* The folder of the settings, if there is one that can serve; what is wrong stands in the log. Again after a reload. */
void disk_open(struct daemon *daemon);
void disk_close(struct daemon *daemon);

/*
 * A file for so many bytes, which are reserved there. Value: a descriptor; or a negative errno, with a line in `error`.
 */
int disk_file(const struct daemon *daemon, uint64_t bytes, char *error, size_t size);
