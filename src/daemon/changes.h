/*
 * changes.h: the request "changes", which waits until what meted answers about grants and devices has changed.
 *
 * What counts is what others decide by: which grants there are, their sizes, states, containers and labels, and of each
 * device its state and what is promised of it. What programs hold, use and wait for does not count: it changes with
 * every call. The state is a number made of all that, and whoever asks says which one he has seen; so nothing is missed
 * between two requests, nor while meted restarts.
 */
#pragma once

#include "daemon/control.h"

struct ask;

/* {"seen": TEXT, "within_s": N}, both optional -> {"seen", "changed"}. */
enum verbs_result changes_ask(struct ask *ask);

/* Answers those who wait, where something has changed or their time is over. In every round of the loop. */
void changes_look(struct daemon *daemon);

/* Its connection waits: it may be closed for one that has something to do. */
bool changes_waits(const struct daemon *daemon, const struct control *control);

/* A connection ends. */
void changes_forget(struct daemon *daemon, const struct control *control);

void changes_stop(struct daemon *daemon);
