/*
 * devices.h: which device of the grant a device of the driver is, by its UUID. The program sees no other. A device's
 * tiles (sub-devices) are the device.
 *
 * Handles are kept from the first time that a call brings them; the driver keeps its devices as long as the process
 * lives.
 */
#pragma once

#include "levelzero/start.h"

/* The grant's index of a device. False: not granted. */
bool devices_find(ze_device_handle_t device, unsigned int *ret_index);

/* In the child of fork(). */
void devices_forget(void);
