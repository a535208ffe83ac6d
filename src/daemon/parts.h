/*
 * parts.h: what meted is made of, as one table: how each part starts, takes up what there was before, says what the
 * next meted is to know, and ends.
 *
 * Parts start in the order of the table, then all are restored in it; they end in the opposite order, also where the
 * start was given up half way. So whatever a part uses stands above it.
 */
#pragma once

#include <stddef.h>

struct daemon;
struct handover;
struct options;

/* 0, or a negative errno with the line for the user. After either, parts_stop() is due. */
int parts_start(struct daemon *daemon, const struct options *o, char *error, size_t size);
/* What there was before this meted, and the handover of the one before it, which is freed. Value as above. */
int parts_restore(struct daemon *daemon, const struct options *o, char *error, size_t size);
/* The parts' own parts of a handover. */
void parts_save(struct daemon *daemon, struct handover *h);
void parts_stop(struct daemon *daemon);
