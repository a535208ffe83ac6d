/*
 * handover.h: what a meted leaves to its successor in the same process (upgrade.h): descriptors and text.
 *
 * The next meted is the same process after execve(), so it has the same children, and descriptors that are not closed
 * keep their numbers. All other state that must not be lost is in a memory file that it gets: a line with the format's
 * number and the moment when turns were stopped, then JSON:
 *   {"version", "binary", "fds": [every descriptor that is left open], "asked_by"..., and a part per module that has
 *   something to say, under its own name}
 * A reader takes what it knows and closes the rest. An unknown format is refused before anything happens (upgrade.c
 * asks the next meted first). The handover adds to what a restart after a kill finds on pages and in the store, and
 * removes nothing from it: state that is missing here is as it were after a kill.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define HANDOVER_FORMAT 1u	  /* this meted writes it */
#define HANDOVER_FORMAT_OLDEST 1u /* and reads all from this one on */

struct handover;

/* The side that goes. NULL: no memory. */
struct handover *handover_new(void);
/* A descriptor as it stands in the JSON; it stays open when the next meted begins. Below 0: null. */
json_t *handover_give(struct handover *h, int fd);
/* A module's part; takes the reference. */
void handover_put(struct handover *h, const char *name, json_t *take_part);
/* Writes it. Value: the file's descriptor, or -errno. */
int handover_write(struct handover *h);
/* The last thing before execve(): notes when, and leaves the descriptors open. */
void handover_seal(struct handover *h, int file, uint64_t now_ns);
/* execve() has failed. */
void handover_unseal(struct handover *h, int file);
/*
 * What the next one has not served: the side that went takes it itself, and finds `why` as the part "back". 0 or
 * -errno.
 */
int handover_write_back(struct handover *h, int file, const char *why);

/*
 * The side that comes. Takes the descriptor. 0; -EPROTO: another format, -errno: it cannot be read; who cannot read it
 * has descriptors open that it knows nothing of.
 */
int handover_read(int take_file, struct handover **ret);
/* A module's part, or NULL; borrowed. */
json_t *handover_get(const struct handover *h, const char *name);
/* The descriptor behind a number of handover_give(), its reader's from now on. -1: none. */
int handover_take(struct handover *h, const json_t *number);
/* The same, for a socket that listens at a place of the runtime directory. */
int handover_take_listener(struct handover *h, const char *place);
/* When turns were stopped, CLOCK_MONOTONIC. */
uint64_t handover_stopped_ns(const struct handover *h);
/* They went on until then. */
void handover_set_stopped(struct handover *h, uint64_t stopped_ns);
/*
 * The side that comes leaves all of it, while it has taken nothing but the lock, to the one that it came from, which
 * finds `why` as the part "back". Value: the file's descriptor, or -errno.
 */
int handover_return(struct handover *h, const char *why);
/* Closes what nobody has taken. */
void handover_free(struct handover *h);
