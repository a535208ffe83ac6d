/*
 * connector.h: what a connector (connect/) adds to mete: verbs, and checks of `mete doctor`.
 *
 * A connector translates the requests of an external system into requests to meted. It is beside the command line, uses
 * only client/ and verb/, and is known there by this struct; main collects them in an array.
 */
#pragma once

#include "verb/doctor.h"
#include "verb/verb.h"

struct connector {
	const struct verb *verbs; /* ended by a row without a name */
	void (*check_grants)(struct doctor *d); /* called if meted answers and has a device */
	void (*check_machine)(struct doctor *d);
	int (*check_image)(const struct command_line *line); /* `mete doctor --image`; NULL: not supported */
};

extern const struct connector *const connectors[]; /* ends with NULL */
