/* doctor.h: what the checks of `mete doctor` share: each adds one or several lines, with a remedy for each fault. */
#pragma once

#include "client/place.h"

#include <jansson.h>
#include <stdbool.h>

enum status {
	STATUS_OK,
	STATUS_NOTE,	/* worth knowing; no action needed */
	STATUS_WARNING, /* something will not work as intended */
	STATUS_FAILED,	/* `mete run` cannot work */
};

extern const char *const doctor_status_name[]; /* by enum status */

struct doctor {
	json_t *checks;
	bool failed;
	struct place place;
	bool has_driver; /* the machine's own driver, with a device */
	int guarding; /* the rule of the node (model/guarding.h); below 0: not known */
	bool has_soft;
};

/* remedy: NULL if no action is needed. */
void doctor_add(struct doctor *d, const char *name, enum status status, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/*
 * Runs a program and keeps the beginning of its output, on both streams. Value: its exit status; -1: none, or a
 * timeout.
 */
int doctor_ask_program(const char *const argv[], char *said, size_t size);
