/*
 * stores.h: the files on memory.disk in which programs behind a wall keep their memory while they are away
 * (docs/memory.md). Each program has a file of its own, which it writes, encrypted, and reads itself. Only programs of
 * owners get one: a program has the descriptor, and could enlarge the file to the size of the disk.
 *
 * A file belongs to a process until the process releases it or exits, whatever happens to its descriptors.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct handover;
struct tenant;
struct wall_store;

/* Handles a program's request at the wall; takes over the connection. */
void stores_hear(struct tenant *tenant, int take_fd, const struct wall_store *said);
/* The units that the tenant's programs have on the disk. */
uint64_t stores_units(const struct tenant *tenant);
/* The tenant has ended. `leaving`: meted exits, and the programs keep the files. */
void stores_end(struct tenant *tenant, bool leaving);
/* Save them for the next meted; restore them there. */
json_t *stores_save(const struct tenant *tenant, struct handover *h);
void stores_restore(struct tenant *tenant, struct handover *h, const json_t *list);
