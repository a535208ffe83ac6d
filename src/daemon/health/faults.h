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

/* Records that the device reports the error `xid`. pid 0: the process is not known. */
void faults_xid(struct daemon *daemon, const struct device *device, uint32_t xid, pid_t pid);
/* Records a client's report that its context on the device `share` of the grant returns `error` from now on. */
void faults_reported(struct client *client, unsigned int share, uint32_t error);
/* Remembers a process that has exited: the device's report about it may come later. */
void faults_ended(const struct client *client);

/* False: the tenant is quarantined for so many seconds more, and no process of it may start. */
bool faults_let_begin(const struct tenant *tenant, uint32_t *ret_wait_s);
/* Ends the quarantine, at an operator's request. */
void faults_release(struct tenant *tenant);
/* Restores the state of a grant after a restart. */
void faults_restore(struct tenant *tenant);
/* Writes the counts that the store does not have yet. */
void faults_save(struct daemon *daemon);
/* Closes all incidents, because meted is about to be replaced: no report waits for a second one any more. */
void faults_flush(struct daemon *daemon);
/* Adds "faults", "quarantined" and "quarantined_for_s" to a tenant's description. */
void faults_json(const struct tenant *tenant, json_t *json);
