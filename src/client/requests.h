/*
 * requests.h: builds the requests of docs/control.md that several verbs and connectors send. A new field of such a
 * request is added here.
 *
 * All functions return a new reference, or NULL without memory. control_ask() and control_send() take the reference and
 * report a NULL.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/* A request without fields, such as "devices". */
json_t *request_plain(const char *op);
/* A request about one grant, such as "grant_delete". */
json_t *request_grant(const char *op, const char *name);
/* A request about one device, such as "device_cordon"; `uuid` may be any name of the device. */
json_t *request_device(const char *op, const char *uuid);
/* "devices" with `known`: meted answers from its last probe instead of a new one. */
json_t *request_devices_known(void);
/* "devices", answered when that driver has answered meted ("auto": the one that a grant would get; NULL: all). */
json_t *request_devices_of(const char *driver);

/* "grant_create". References are taken. */
struct request_create {
	const char *name; /* NULL: meted chooses one */
	const char *driver;
	const char *placement; /* NULL: meted's own rule */
	json_t *devices;       /* choose_request() */
	json_t *labels, *container; /* NULL: absent */
	bool overcommit, wall, known;
	pid_t runner_pid; /* the grant ends with this process; 0: when it is deleted */
};

json_t *request_create(const struct request_create *r);
