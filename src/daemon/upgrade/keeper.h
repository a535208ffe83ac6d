/*
 * keeper.h: the process that gives turns between one meted and the next, and takes over again if the next one dies.
 *
 * The old meted forks before it becomes the next one by execve(). The child, the keeper, has all of its state, and
 * gives turns while the next one is loaded, reads its store and maps the pages. On request it stops, and reports the
 * time. Tenants notice only the span from there to the next meted's first turn. The keeper then waits. When the next
 * meted reports that it serves, the keeper exits. If the next meted exits before, or does not get so far in time, the
 * keeper kills it and becomes the old meted again, with all sockets, connections and doorbells, under another pid and
 * with the store restored.
 *
 * A next meted that does not support keepers gets none ("keeper" of --check-upgrade). For the service manager the
 * keeper is the service's main process while it exists; otherwise the death of the next meted would end the service.
 */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#define KEEPER_VERSION 1

struct daemon;
struct handover;

/* The side that goes. What of it stands in the handover, "keeper"; null: there will be none. */
json_t *keeper_prepare(struct handover *h);
/*
 * With the lock of arbitrate.h held, and the handover sealed; `own_file` is the program to go back to. Returns in the
 * parent alone, also when there is none.
 */
void keeper_begin(struct handover *h, int file, int own_file);
/* The parent could not become the next one, and gives turns again. Without a keeper nothing. */
void keeper_dismiss(void);

/* The side that comes. Finds its keeper. */
void keeper_find(struct handover *h);
/* No turns are given any more; the handover says since when. Without a keeper nothing. */
void keeper_stop(struct handover *h);
/* This meted serves: the keeper ends, a child that somebody has to reap. Value: its pid; 0: there was none. */
pid_t keeper_end(void);
/* 0: there is none. */
pid_t keeper_pid(void);
