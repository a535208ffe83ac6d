/*
 * soft_profile.h: `mete soft run --profile`: what each kernel of a program did on the software device.
 *
 * The driver in each process of the program appends lines to a file (softdev/profile.h). When the program has ended,
 * they become a table or JSON on standard error, and a trace that Perfetto loads.
 */
#pragma once

#include "client/fault.h"
#include "verb/verb.h"

#include <limits.h>
#include <stdbool.h>

struct soft_profile {
	char path[PATH_MAX];  /* of the lines; "": no profile is requested */
	char trace[PATH_MAX]; /* "": no trace */
	bool json;
};

/* Creates the file and sets the program's environment, according to the command's options. */
int soft_profile_begin(struct soft_profile *p, const struct command_line *line, struct fault *f);
/* Prints the profile and writes the trace; removes the file. False: an error was reported in one line. */
bool soft_profile_end(struct soft_profile *p);
