/*
 * words.h: what a worker writes to its standard error, as lines of meted's log.
 *
 * It gets a pipe of its own, not the descriptor of the log: whoever has taken a worker over can neither close nor
 * change what meted writes to, nor write a line that looks like meted's. A line says which worker's it is, has a
 * bounded length and only what can be printed; of a grant's lines more than a few are counted instead of written; and
 * meted reads a little at a time, however much there is.
 *
 * Who survives meted's death without an upgrade has nobody to tell, and is silent.
 */
#pragma once

#include <jansson.h>

struct handover;
struct worker;

/* Value: the worker's end, for its standard error, or -errno. */
int words_begin(struct worker *worker);
/* With the last of them. */
void words_end(struct worker *worker);
/* For the meted after this one. */
json_t *words_save(const struct worker *worker, struct handover *h);
void words_restore(struct worker *worker, int take_fd);
