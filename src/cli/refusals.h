/*
 * refusals.h: refusals of memory, folded by process, for people: a program that tries again and again would fill the
 * screen and hide everything else. --json is not folded.
 */
#pragma once

#include <jansson.h>

/*
 * Returns a new list of events in which the refusals of one process on one device are one event: with the newest text
 * and time, the sum of the counts as "count", and the time of the oldest as "first_time". Other events keep their
 * contents and order. NULL: no memory.
 */
json_t *refusals_fold(json_t *events);

/* " (37 times since 14:39:50)", or "" for an event that happened once. */
const char *refusals_times(json_t *event, char text[64]);
