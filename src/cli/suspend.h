/* suspend.h: `mete set NAME --suspend` and `--resume`: a tenant's memory leaves its device, and returns. */
#pragma once

#include "client/control.h"
#include "verb/verb.h"

/* True if one of the options is given. */
bool suspend_given(const struct command_line *line);
/* True if the grant is suspended and has left its device: its programs wait until it is resumed. */
bool suspend_holds(json_t *grant);
/* The number of its processes that wait beside those that are listed; they are printed as "pid 1, 2". */
size_t suspend_waiting(json_t *grant);
void suspend_print_waiting(json_t *grant);
/* The serial of the request in an answer. */
json_int_t suspend_serial(json_t *answer);
/*
 * Waits until the grant's request with this serial is done: its memory is away, or on its device. `verb` and `undone`:
 * for the line about a failure. Prints the result. Value: as below.
 */
int suspend_follow(struct control *control, const struct command_line *line, const char *verb, json_int_t serial,
		   bool away, struct fault *f);
/* Value: an exit status; a fault is set unless it is 0. */
int suspend_set(struct control *control, const struct command_line *line, struct fault *f);
