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
 * others_change() precedes a change of objects, or of the number of clients that hold something: from then on clients
 * ask meted. others_publish() follows it. `crew`: the number of clients has changed.
 */
void others_change(struct tenant *tenant);
void others_publish(struct tenant *tenant, bool crew);

/*
 * Opens the page of the index-th other process for reading. Value: a descriptor or -errno; ret_crew: the crew to which
 * the index refers.
 */
int others_open(const struct client *client, uint32_t index, uint32_t *ret_crew);
