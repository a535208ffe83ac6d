/* twin_device.h: what a twin has done in this thread since the call began: its device does nothing but remember. */
#pragma once

#include <stdbool.h>

void twin_device_begin(void);
/* It took memory of the device, which the worker may be without. */
bool twin_device_takes_memory(void);
/* What it has not, if it said so: one line in the log, once for each. */
void twin_device_tell(const char *title);
