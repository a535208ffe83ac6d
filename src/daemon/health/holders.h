/*
 * holders.h: in the child of device_watch.h: whether the driver still counts memory for a process.
 *
 * A line with a process id on the standard input is answered by {"pid":PID,"holds":BYTES}, the sum over all devices as
 * NVML's lists of processes have it: read after the question, 0 where the process is on none or NVML has no lists. A
 * line 0 ends a row of questions, and is repeated. While NVML is not open there is no answer but that one.
 */
#pragma once

#include <stddef.h>

/* Finds NVML's lists in its library. */
void holders_find(void *library);

/* NVML has been opened, with these devices, each added before; it is about to be closed. */
void holders_add(void *device);
void holders_open(void);
void holders_close(void);

/* Answers questions in a thread of its own. */
void holders_answer(void (*say)(const char *line, size_t length));
