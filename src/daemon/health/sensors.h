/*
 * sensors.h: the power, temperature and utilisation of a device, as NVML reports them.
 *
 * The children that have NVML open read them: the prober when drivers are queried, the watcher every few seconds while
 * there are tenants. A value that a device does not support is unknown, and is never shown as 0. A value that has not
 * been reported for a minute is unknown as well.
 */
#pragma once

#include "model/device.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct daemon;

enum sensor {
	SENSOR_POWER_MW,
	SENSOR_TEMPERATURE_C,
	SENSOR_UTILISATION_PCT, /* over the last second or less: the part of the time in which a kernel ran */
	SENSORS,
};

/* One reading of a device. */
struct sensor_reading {
	bool known[SENSORS];
	unsigned int value[SENSORS];
};

/* The child's side: the functions of NVML that the library has; NULL for others. */
struct sensor_calls {
	int (*power)(void *device, unsigned int *milliwatts);
	int (*temperature)(void *device, int sensor, unsigned int *celsius);
	int (*utilisation)(void *device, void *ret);
};

void sensor_calls_find(void *library, struct sensor_calls *ret);
/* False: the device reports no value. */
bool sensors_read(const struct sensor_calls *calls, void *device, struct sensor_reading *ret);
/* The keys of the children's JSON: "power_mw", ... */
const char *sensor_key(enum sensor sensor);

/* meted's side: stores what a child reports of a device, an object with those keys. */
void sensors_take(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES], const json_t *said);
/* False: the value is not known. */
bool sensors_get(const struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES], enum sensor sensor,
		 unsigned int *ret);
/* True if the device has reported something in the last 15 s. */
bool sensors_are_recent(const struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);
void sensors_free(struct daemon *daemon);
