/*
 * usage.c: the NVML calls that say what processes did with a device: utilisation, sessions, accounting. A tenant sees
 * its own processes' figures, and as a device's utilisation what its own processes make of it.
 *
 * Limits. A driver that has no utilisation by process (NVML_ERROR_NOT_SUPPORTED) answers for the whole device, as it
 * does for a partition of one.
 */
#include "shim/nvml/shim.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define real shim_real /* every entry can be called: one that the driver lacks says so itself */

/* An array that the driver has filled, whose entries name a process each. */
struct samples {
	void *array;
	unsigned int *count;
	size_t stride, pid_offset;
};

/* Keeps the entries of the tenant's processes, and leaves nothing of the others behind them. */
static nvmlReturn_t only_tenants_samples(nvmlReturn_t r, nvmlDevice_t device, struct samples s)
{
	_cleanup_free_ struct tenant_processes *tenants = NULL;
	unsigned int kept = 0, pid;
	uint32_t grant_index;
	char *at = s.array;

	if (r != NVML_SUCCESS || !tenant_is() || !s.array || !s.count)
		return r;
	tenants = malloc(sizeof *tenants);
	r = tenants ? tenant_device_find(device, &grant_index) : NVML_ERROR_MEMORY;
	if (r == NVML_SUCCESS)
		tenant_processes_get(grant_index & ~TENANT_PART, tenants);
	for (unsigned int i = 0; r == NVML_SUCCESS && i < *s.count; i++) {
		memcpy(&pid, at + i * s.stride + s.pid_offset, sizeof pid);
		if (!tenant_process_find(tenants, pid))
			continue;
		memmove(at + kept * s.stride, at + i * s.stride, s.stride);
		kept++;
	}
	memset(at + kept * s.stride, 0, (*s.count - kept) * s.stride);
	*s.count = kept;
	return r;
}

#define SAMPLES(array, count) ((struct samples){ array, count, sizeof *(array), offsetof(__typeof__(*(array)), pid) })

nvmlReturn_t shim_nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *utilization,
						  unsigned int *count, unsigned long long since)
{
	KEEP_ERRNO;
	nvmlReturn_t r;

	r = real.nvmlDeviceGetProcessUtilization(device, utilization, count, since);
	r = only_tenants_samples(r, device, SAMPLES(utilization, count));
	return r == NVML_SUCCESS && tenant_is() && utilization && *count == 0 ? NVML_ERROR_NOT_FOUND : r;
}

nvmlReturn_t shim_nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device, nvmlProcessesUtilizationInfo_t *info)
{
	KEEP_ERRNO;
	nvmlReturn_t r;

	r = real.nvmlDeviceGetProcessesUtilizationInfo(device, info);
	if (r != NVML_SUCCESS)
		return r;
	r = only_tenants_samples(r, device, SAMPLES(info->procUtilArray, &info->processSamplesCount));
	return r == NVML_SUCCESS && tenant_is() && info->procUtilArray && info->processSamplesCount == 0
		       ? NVML_ERROR_NOT_FOUND
		       : r;
}

nvmlReturn_t shim_nvmlDeviceGetEncoderSessions(nvmlDevice_t device, unsigned int *count,
					       nvmlEncoderSessionInfo_t *infos)
{
	KEEP_ERRNO;

	return only_tenants_samples(real.nvmlDeviceGetEncoderSessions(device, count, infos), device,
				    SAMPLES(infos, count));
}

nvmlReturn_t shim_nvmlDeviceGetFBCSessions(nvmlDevice_t device, unsigned int *count, nvmlFBCSessionInfo_t *infos)
{
	KEEP_ERRNO;

	return only_tenants_samples(real.nvmlDeviceGetFBCSessions(device, count, infos), device, SAMPLES(infos, count));
}

nvmlReturn_t shim_nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned int *count, unsigned int *pids)
{
	KEEP_ERRNO;
	struct samples s = { pids, count, sizeof *pids, 0 };

	return only_tenants_samples(real.nvmlDeviceGetAccountingPids(device, count, pids), device, s);
}

nvmlReturn_t shim_nvmlDeviceGetAccountingStats(nvmlDevice_t device, unsigned int pid, nvmlAccountingStats_t *stats)
{
	KEEP_ERRNO;
	_cleanup_free_ struct tenant_processes *tenants = NULL;
	uint32_t grant_index;
	nvmlReturn_t r;

	if (!tenant_is())
		return real.nvmlDeviceGetAccountingStats(device, pid, stats);
	r = tenant_device_find(device, &grant_index);
	if (r != NVML_SUCCESS)
		return r;
	tenants = malloc(sizeof *tenants);
	if (!tenants)
		return NVML_ERROR_MEMORY;
	tenant_processes_get(grant_index & ~TENANT_PART, tenants);
	if (!tenant_process_find(tenants, pid))
		return NVML_ERROR_NOT_FOUND;
	return real.nvmlDeviceGetAccountingStats(device, pid, stats);
}

/* ---- a device's utilisation ---- */

#define SAMPLES_MAX 4096u  /* the driver keeps some seconds of them, several for a process */
#define RECENT_US 1000000u /* a process whose newest sample is older does nothing now */

static uint64_t wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* The sum of what the tenant's processes did at their newest recent samples. */
static nvmlUtilization_t samples_sum(const nvmlProcessUtilizationSample_t *sample, unsigned int count,
				     const struct tenant_processes *tenants, uint64_t now_us)
{
	nvmlUtilization_t sum = { 0, 0 };

	for (unsigned int t = 0; t < tenants->count; t++) {
		const nvmlProcessUtilizationSample_t *newest = NULL;

		for (unsigned int i = 0; i < count; i++)
			if (sample[i].pid == tenants->process[t].pid && sample[i].timeStamp + RECENT_US > now_us &&
			    (!newest || sample[i].timeStamp > newest->timeStamp))
				newest = &sample[i];
		if (newest) {
			sum.gpu += newest->smUtil;
			sum.memory += newest->memUtil;
		}
	}
	sum.gpu = sum.gpu < 100 ? sum.gpu : 100;
	sum.memory = sum.memory < 100 ? sum.memory : 100;
	return sum;
}

struct utilisation {
	nvmlProcessUtilizationSample_t sample[SAMPLES_MAX];
	struct tenant_processes tenants;
};

nvmlReturn_t shim_nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
	KEEP_ERRNO;
	_cleanup_free_ struct utilisation *u = NULL;
	unsigned int count = SAMPLES_MAX;
	uint64_t now_us = wall_us();
	uint32_t grant_index;
	nvmlReturn_t r;

	if (!tenant_is() || !utilization)
		return real.nvmlDeviceGetUtilizationRates(device, utilization);
	r = tenant_device_find(device, &grant_index);
	if (r != NVML_SUCCESS)
		return r;
	u = malloc(sizeof *u);
	if (!u)
		return NVML_ERROR_MEMORY;
	r = grant_index & TENANT_PART
		    ? NVML_ERROR_NOT_SUPPORTED
		    : real.nvmlDeviceGetProcessUtilization(device, u->sample, &count, now_us - 2 * RECENT_US);
	if (r == NVML_ERROR_NOT_FOUND)
		count = 0;
	else if (r != NVML_SUCCESS)
		return real.nvmlDeviceGetUtilizationRates(device, utilization);
	tenant_processes_get(grant_index, &u->tenants);
	*utilization = samples_sum(u->sample, count, &u->tenants, wall_us());
	return NVML_SUCCESS;
}
