/*
 * changes.h: the request "changes", which waits until the grants or the devices have changed.
 *
 * Only what other programs base decisions on counts: the existing grants with their sizes, states, containers and
 * labels, and each device's state and promises. What programs hold, use and wait for does not count, because it
 * changes with every call. The state is a number that is computed from all of this. A client sends the number that it
 * has seen, so it misses no change between two requests or while meted restarts.
 */
#pragma once

#include "daemon/control.h"

struct ask;

/* Handles {"seen": TEXT, "within_s": N}, both optional -> {"seen", "changed"}. */
enum verbs_result changes_ask(struct ask *ask);

/* Answers each waiting request if the state has changed or its time is over. Called in every round of the loop. */
void changes_look(struct daemon *daemon);

/* True if the connection has a waiting request: it may be closed in favour of one that is active. */
bool changes_waits(const struct daemon *daemon, const struct control *control);

/* Drops the waiting request of a connection that closes. */
void changes_forget(struct daemon *daemon, const struct control *control);

void changes_stop(struct daemon *daemon);
