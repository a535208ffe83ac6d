/*
 * keeper.h: who gives turns between one meted and the next, and takes over again when the next one dies.
 *
 * The meted that goes forks before it becomes the next one by execve(). The child, the keeper, knows all that it knew,
 * and goes on giving turns while the next one is loaded, reads its store and maps the pages. Asked to, it stops, and
 * tells when; from there to the next one's first turn is all that tenants notice. Then it waits: when the next one says
 * that it serves, the keeper ends. When the next one ends before, or does not get so far in time, the keeper makes an
 * end of it, and becomes the meted before again, with all sockets, connections and doorbells; under another pid, and
 * with the store put back as it was.
 *
 * A next meted that knows nothing of keepers gets none ("keeper" of --check-upgrade). To the service manager the
 * keeper is the service's main process as long as it is there: else a next one that dies would be the service's end.
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
