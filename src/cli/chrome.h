/*
 * chrome.h: writes a recording as a file in the Chrome trace event format, which Perfetto and chrome://tracing load.
 *
 * One process per device, with three tracks for each tenant and engine: its turns (from opened to closed, with the
 * reason and the lag), when the engine was busy with its work (measured), and when it waited at the gate. One process
 * per client, with a track per thread (the launching calls, from submitted to passed) and one per stream (where the
 * launch ran, as predicted, fitted into the measured intervals); an arrow leads from a call to its run. Only complete
 * events ("X") are used, and on a track none overlaps another.
 */
#pragma once

#include "cli/recording.h"

#include <stdio.h>

#define CHROME_DEVICE_PID 5000000 /* above every pid of Linux: devices are processes here */
#define CHROME_STREAM_TID 10000000

/* Writes the recording of one device (its index) or of all (-1). Errors show in ferror(file). */
void chrome_write(FILE *file, const struct recording *r, int device);
