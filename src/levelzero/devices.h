/*
 * devices.h: maps the driver's devices to devices of the grant, by their UUIDs. The program sees only these. A tile
 * (sub-device) counts as its device.
 *
 * A handle is stored when a call uses it first. The driver keeps its devices until the process ends.
 */
#pragma once

#include "levelzero/start.h"

/* Finds the index in the grant of a device. False: not granted. */
bool devices_find(ze_device_handle_t device, unsigned int *ret_index);

/* In the child of fork(). */
void devices_forget(void);
