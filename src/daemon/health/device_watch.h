/*
 * device_watch.h: receives the errors of devices while there are tenants on them.
 *
 * NVML reports errors as they occur, to a process that keeps it open and waits. As with probe.h, this process is not
 * meted but a child, `meted --watch LIBNVML LOG`, one for each kind of device that has a grant. It prints one JSON
 * object per line: an error, or every few seconds the values of sensors.h. It ends with meted, and is restarted when
 * it ends by itself. LOG is the kernel's log, where the driver names the process that caused an error (on Linux
 * /dev/kmsg; the software device has a file of its own).
 */
#pragma once

#include "model/device.h"

#include <stdbool.h>
#include <sys/types.h>

struct daemon;

/* Starts the children that the current tenants need, and ends the others. Called when tenants come or go. */
void device_watch_update(struct daemon *daemon);
/* Restarts the child of a kind because a device is back: a new child opens it. */
void device_watch_renew(struct daemon *daemon, enum device_kind kind);
/*
 * Ends the children and starts none while `pause` is true. meted is about to be replaced in its process, and the next
 * meted would not know them.
 */
void device_watch_pause(struct daemon *daemon, bool pause);
/*
 * Asks the child of a kind what the driver still counts for these processes; the answers come to leaving_told(). Value:
 * 0, also where nothing can be asked just now; -ENOENT: there is no child that could tell.
 */
int device_watch_ask(struct daemon *daemon, enum device_kind kind, const pid_t *pids, unsigned int count);
/* True while a child has not exited. */
bool device_watch_runs(const struct daemon *daemon);
/* Ends the children when meted exits. */
void device_watch_stop(struct daemon *daemon);

/* The child's main function: prints until it is ended. LOG "": none. */
int device_watcher_main(const char *libnvml, const char *log);
