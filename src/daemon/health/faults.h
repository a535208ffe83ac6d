/*
 * faults.h: errors of devices: whose they are, how many there were, and what follows for the tenant.
 *
 * There are two sources. The device reports (device_watch.h): a number, and on real hardware the process where the
 * kernel's log tells it. A client reports that a context of its own is broken (WIRE_ERROR). The two are put together
 * when they come within HOLD_MS, are of one device, and speak of the same kind of error; what the device reports and
 * nobody owns up to is "not known whose". A tenant is never blamed for what another one's client said, and what a
 * client says can only harm its own tenant.
 *
 * Faults of programs count for their tenant; too many of them within a time (model/quarantine.h, settings faults.*),
 * and its new processes are refused for a while. Those that run go on, others are not touched.
 */
#pragma once

#include "model/device.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct client;
struct daemon;
struct tenant;

int faults_start(struct daemon *daemon, char *error, size_t size);
void faults_stop(struct daemon *daemon);

/* The device reports the error `xid`; pid 0: it did not say of which process. */
void faults_xid(struct daemon *daemon, const struct device *device, uint32_t xid, pid_t pid);
/* A client reports that a context on the device `share` of its grant answers `error` from now on. */
void faults_reported(struct client *client, unsigned int share, uint32_t error);
/* A process has ended: what the device says of it comes later, perhaps. */
void faults_ended(const struct client *client);

/* May the tenant begin a process? False: it is quarantined, for so many seconds more. */
bool faults_let_begin(const struct tenant *tenant, uint32_t *ret_wait_s);
/* The operator lets it begin again. */
void faults_release(struct tenant *tenant);
/* The grant is back after a restart. */
void faults_restore(struct tenant *tenant);
/* Writes counts that the store has not yet. */
void faults_save(struct daemon *daemon);
/* meted is about to be replaced: nothing waits for its other half any more. */
void faults_flush(struct daemon *daemon);
/* Adds "faults", "quarantined" and "quarantined_for_s" to a tenant's description. */
void faults_json(const struct tenant *tenant, json_t *json);
