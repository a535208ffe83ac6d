/*
 * words.h: passes on what a worker writes to its standard error, as lines of meted's log.
 *
 * A worker gets a pipe of its own, not the descriptor of the log. Somebody who has taken over a worker can therefore
 * neither close nor change meted's log, nor write a line that looks like meted's. Each line names its worker, has a
 * bounded length and contains only printable characters. Lines of a grant above a few are counted instead of written,
 * and meted reads a little at a time.
 *
 * A worker that outlives meted without an upgrade has no reader, and is silent.
 */
#pragma once

#include <jansson.h>

struct handover;
struct worker;

/* Value: the descriptor for the worker's standard error, or -errno. */
int words_begin(struct worker *worker);
/* Closes it, after the last lines. */
void words_end(struct worker *worker);
/* Saves it for the next meted. */
json_t *words_save(const struct worker *worker, struct handover *h);
void words_restore(struct worker *worker, int take_fd);
