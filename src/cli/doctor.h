/* doctor.h: what the checks of `mete doctor` share: each adds a line or a few, with the remedy of what is wrong. */
#pragma once

#include "client/control.h"
#include "client/place.h"

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

/*
 * Runs a program and keeps the beginning of what it says, on both streams. Value: its exit status; -1: none, or late.
 */
int doctor_ask_program(const char *const argv[], char *said, size_t size);

/* Containers: CDI files, the grants behind them, and the runtimes of this machine. connect/cdi/doctor_cdi.c */
void doctor_check_containers(struct doctor *d);
/* connect/cdi/doctor_runtimes.c */
void doctor_check_runtimes(struct doctor *d);

/* The devices that meted has, in its answer: those that are out of service. */
void doctor_check_devices(struct doctor *d, json_t *devices);

/* The same of a meted that answers; `hello` is its answer. */
void doctor_check_meted(struct doctor *d, const struct control *control, json_t *hello);
