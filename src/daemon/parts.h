/*
 * parts.h: the parts of meted as one table: how each part starts, restores its previous state, saves state for the
 * next meted, and stops.
 *
 * Parts start in the order of the table; then all are restored in that order. They stop in the reverse order, also
 * when a start fails half way. A part may therefore use only the parts above it.
 */
#pragma once

#include <stddef.h>

struct daemon;
struct handover;
struct options;

/* Value: 0, or a negative errno with the line for the user. In both cases parts_stop() must be called. */
int parts_start(struct daemon *daemon, const struct options *o, char *error, size_t size);
/* Restores the previous state, including the handover of the previous meted, which is freed. Value: as above. */
int parts_restore(struct daemon *daemon, const struct options *o, char *error, size_t size);
/* Adds each part's state to a handover. */
void parts_save(struct daemon *daemon, struct handover *h);
void parts_stop(struct daemon *daemon);
