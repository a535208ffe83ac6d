/*
 * stores.h: what programs behind a wall keep on the disk of memory.disk while they are away (docs/memory.md): each has
 * a file of its own, which it writes, encrypted, and reads itself. Only programs of owners get one: a program has the
 * file in its hands, and could make it as large as the disk.
 *
 * A file is a process's until it says that it needs it no more, or ends, whatever becomes of its descriptors.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct handover;
struct tenant;
struct wall_store;

/* A program has asked at the wall; takes the connection. */
void stores_hear(struct tenant *tenant, int take_fd, const struct wall_store *said);
/* What programs of the tenant have there, in units. */
uint64_t stores_units(const struct tenant *tenant);
/* The tenant has ended. `leaving`: meted goes, and the files stay the programs'. */
void stores_end(struct tenant *tenant, bool leaving);
/* For the meted after this one, and by that one. */
json_t *stores_save(const struct tenant *tenant, struct handover *h);
void stores_restore(struct tenant *tenant, struct handover *h, const json_t *list);
