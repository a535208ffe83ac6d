/*
 * connector.h: what a connector (connect/) adds to mete: verbs, and checks of `mete doctor`.
 *
 * A connector translates the calls of a system from outside into requests to meted. It stands beside the command line,
 * on client/ and verb/ alone, and is known there by this struct; main joins them in an array.
 */
#pragma once

#include "verb/doctor.h"
#include "verb/verb.h"

struct connector {
	const struct verb *verbs; /* ended by a row without a name */
	void (*check_grants)(struct doctor *d); /* where meted answers and has a device */
	void (*check_machine)(struct doctor *d);
	int (*check_image)(const struct command_line *line); /* `mete doctor --image`; NULL: it knows no images */
};

extern const struct connector *const connectors[]; /* NULL ends them */
