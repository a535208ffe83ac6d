/* twin_device.h: what a twin has done in this thread since the call began. Its device only records. */
#pragma once

#include <stdbool.h>

void twin_device_begin(void);
/* True if it allocated device memory, which the worker may not have. */
bool twin_device_takes_memory(void);
/* Logs what the twin does not support, if it reported that: one line, once for each. */
void twin_device_tell(const char *title);
