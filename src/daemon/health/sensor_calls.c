/*
 * sensor_calls.c: the child's side of sensors.h: NVML is asked. The functions' types are written from their public
 * documentation ("Device Queries", docs.nvidia.com/deploy/nvml-api).
 */
#include "daemon/health/sensors.h"

#include <dlfcn.h>

#define GPU_SENSOR 0 /* NVML_TEMPERATURE_GPU */
#define PCT_MOST 100u

struct rates {
	unsigned int gpu, memory; /* in % */
};

static const char *const keys[SENSORS] = {
	[SENSOR_POWER_MW] = "power_mw",
	[SENSOR_TEMPERATURE_C] = "temperature_c",
	[SENSOR_UTILISATION_PCT] = "utilisation_pct",
};

const char *sensor_key(enum sensor sensor)
{
	return keys[sensor];
}

void sensor_calls_find(void *library, struct sensor_calls *ret)
{
	*(void **)&ret->power = dlsym(library, "nvmlDeviceGetPowerUsage");
	*(void **)&ret->temperature = dlsym(library, "nvmlDeviceGetTemperature");
	*(void **)&ret->utilisation = dlsym(library, "nvmlDeviceGetUtilizationRates");
}

bool sensors_read(const struct sensor_calls *calls, void *device, struct sensor_reading *ret)
{
	struct rates rates = { 0 };
	bool any = false;

	*ret = (struct sensor_reading){ 0 };
	ret->known[SENSOR_POWER_MW] = calls->power && !calls->power(device, &ret->value[SENSOR_POWER_MW]);
	ret->known[SENSOR_TEMPERATURE_C] =
		calls->temperature && !calls->temperature(device, GPU_SENSOR, &ret->value[SENSOR_TEMPERATURE_C]);
	ret->known[SENSOR_UTILISATION_PCT] = calls->utilisation && !calls->utilisation(device, &rates);
	ret->value[SENSOR_UTILISATION_PCT] = rates.gpu < PCT_MOST ? rates.gpu : PCT_MOST;
	for (unsigned int i = 0; i < SENSORS; i++)
		any |= ret->known[i];
	return any;
}
