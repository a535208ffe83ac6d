/* doctor.h: what the checks of `mete doctor` share: each adds a line or a few, with the remedy of what is wrong. */
#pragma once

#include "cli/control.h"
#include "cli/place.h"

#include <jansson.h>
#include <stdbool.h>

enum status {
	STATUS_OK,
	STATUS_NOTE,	/* worth knowing; nothing to be done */
	STATUS_WARNING, /* something will not work as wished */
	STATUS_FAILED,	/* mete run cannot work */
};

struct doctor {
	json_t *checks;
	bool failed;
	struct place place;
	bool has_driver; /* the machine's own driver, with a device */
	bool has_soft;
};

/* remedy: NULL when there is nothing to be done. */
void doctor_add(struct doctor *d, const char *name, enum status status, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* What whoever runs a node wants to know: service, settings, store, clock, HTTP. doctor_node.c */
void doctor_check_node(struct doctor *d);

/* The same of a meted that answers; `hello` is its answer. */
void doctor_check_meted(struct doctor *d, const struct control *control, json_t *hello);
