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

/* For the side that hands over. Returns the value of "keeper" in the handover; null: there will be none. */
json_t *keeper_prepare(struct handover *h);
/*
 * Forks the keeper, with the lock of arbitrate.h held and the handover sealed. `own_file`: the program to return to.
 * Returns only in the parent, also if there is no keeper.
 */
void keeper_begin(struct handover *h, int file, int own_file);
/* Ends the keeper after execve() has failed: the parent gives turns again. Does nothing without a keeper. */
void keeper_dismiss(void);

/* For the side that takes over: finds its keeper. */
void keeper_find(struct handover *h);
/* Stops the keeper's turns and records the time in the handover. Does nothing without a keeper. */
void keeper_stop(struct handover *h);
/* Ends the keeper, because this meted serves. Value: the pid of the child, which must be reaped; 0: there was none. */
pid_t keeper_end(void);
/* 0: there is none. */
pid_t keeper_pid(void);
