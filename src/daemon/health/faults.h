/*
 * faults.h: errors of devices: which tenant caused them, how many there were, and the consequences for the tenant.
 *
 * There are two sources. The device reports a number and, on real hardware, the process if the kernel's log names it
 * (device_watch.h). A client reports that a context of its own is broken (WIRE_ERROR). Two reports are combined when
 * they come within HOLD_MS, concern one device, and are of the same kind. An error of the device that no client
 * reports is of unknown origin. A tenant is never blamed for a report of another tenant's client, and a client's
 * report can affect only its own tenant.
 *
 * Faults count for the tenant of the program. After too many within a time (model/quarantine.h, settings faults.*),
 * new processes of the tenant are refused for a while. Its running processes continue, and other tenants are not
 * affected.
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
