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

struct daemon;

/* Tenants have come or gone: starts what is wanted and ends what is not. */
void device_watch_update(struct daemon *daemon);
/* A device is back: the child begins anew, so that it hears of it. */
void device_watch_renew(struct daemon *daemon, enum device_kind kind);
/* meted is about to be replaced in its process, and a child that the next one does not know would stay: they end, until
 * it is `false`. */
void device_watch_pause(struct daemon *daemon, bool pause);
/* Some child has not ended yet. */
bool device_watch_runs(const struct daemon *daemon);
/* meted leaves. */
void device_watch_stop(struct daemon *daemon);

/* The child's side: prints until it is ended. "" for LOG: none. */
int device_watcher_main(const char *libnvml, const char *log);
