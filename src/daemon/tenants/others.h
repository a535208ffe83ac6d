/*
 * others.h: what a client finds on its page about the rest of its tenant: the number of other processes, and the
 * memory of shared objects. Together with the words of those processes, which it may read, it can compute what the
 * tenant holds without asking meted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct client;
struct tenant;

/*
 * Before objects change, or a client that holds something comes or goes: whoever wants to know asks from now on.
 * Afterwards others_publish(). `crew`: a client has come or gone.
 */
void others_change(struct tenant *tenant);
void others_publish(struct tenant *tenant, bool crew);

/* A descriptor for reading of the page of the index-th other process, or -errno; and the crew that it is of. */
int others_open(const struct client *client, uint32_t index, uint32_t *ret_crew);
