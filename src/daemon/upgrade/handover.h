/*
 * handover.h: what a meted leaves to its successor in the same process (upgrade.h): descriptors and text.
 *
 * The next meted is the same process after execve(), so it has the same children, and descriptors that are not closed
 * keep their numbers. All other state that must not be lost is in a memory file that it gets: a line with the format's
 * number and the time at which turns were stopped, then JSON:
 *   {"version", "binary", "fds": [every descriptor that is left open], "asked_by"..., and one member per module that
 *   saves state, under the module's name}
 * A reader uses what it knows and closes the remaining descriptors. An unknown format is refused before anything
 * happens (upgrade.c asks the next meted first). The handover adds to what a restart after a kill finds on pages and in
 * the store, and removes nothing from it: state that is missing here is as it were after a kill.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define HANDOVER_FORMAT 1u	  /* the format that this meted writes */
#define HANDOVER_FORMAT_OLDEST 1u /* the oldest format that it reads */

extern size_t handover_most; /* bytes that are written; a test lowers it */

struct handover;

/* For the side that hands over. NULL: no memory. */
struct handover *handover_new(void);
/* Returns a descriptor as a JSON number; it stays open in the next meted. Below 0: null. */
json_t *handover_give(struct handover *h, int fd);
/* Adds a module's state; takes over the reference. */
void handover_put(struct handover *h, const char *name, json_t *take_part);
/*
 * Writes the file, if a meted could read it. Value: its descriptor, or -errno with a line that tells why and what to
 * do.
 */
int handover_write(struct handover *h, char *error, size_t size);
/* The last step before execve(): records the time, and makes the descriptors inheritable. */
void handover_seal(struct handover *h, int file, uint64_t now_ns);
/* Undoes that after execve() has failed. */
void handover_unseal(struct handover *h, int file);
/*
 * Makes a handover that the next meted has not served readable for this side itself; `why` is its member "back". Value:
 * 0 or -errno.
 */
int handover_write_back(struct handover *h, int file, const char *why);

/*
 * For the side that takes over. Takes the descriptor. Value: 0; -EPROTO: another format; -errno: it cannot be read.
 * After an error, descriptors are open that nobody knows.
 */
int handover_read(int take_file, struct handover **ret);
/* A module's state (borrowed), or NULL. */
json_t *handover_get(const struct handover *h, const char *name);
/* The descriptor behind a number of handover_give(), owned by the caller. -1: none. */
int handover_take(struct handover *h, const json_t *number);
/* The same for a socket that listens at a place of the runtime directory. */
int handover_take_listener(struct handover *h, const char *place);
/* When turns were stopped, by CLOCK_MONOTONIC. */
uint64_t handover_stopped_ns(const struct handover *h);
/* Corrects that time: turns went on until then. */
void handover_set_stopped(struct handover *h, uint64_t stopped_ns);
/*
 * Returns the handover to the side that it came from, while nothing but the lock has been taken; `why` is its member
 * "back". Value: the file's descriptor, or -errno.
 */
int handover_return(struct handover *h, const char *why);
/* Closes descriptors that were not taken. */
void handover_free(struct handover *h);
