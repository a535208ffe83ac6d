/*
 * usage.c: how a device is used: memory, processes, utilisation.
 *
 * Memory is one figure of the segment, what is free after the dead have been cleared; used is the rest, so that the
 * two always add up. A process is on a device while it has a context there; what it uses is what it holds, and the
 * shared allocations that it made.
 *
 * Utilisation is the part of an interval in which some kernel ran. The segment counts that time; this process reads the
 * counter when it is asked, and answers for the interval since its reading before, which it makes at least a sixth of
 * a second long: asked sooner it repeats its answer, asked for the very first time it waits. Memory bandwidth is not
 * counted, so its utilisation is 0.
 */
#include "softdev/nvml/state.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INTERVAL_NS (1000000000u / 6)

/* Readings of a device's and of its processes' counters. Guarded by state.c's lock. */
struct reading {
	uint64_t at_ns, busy_ns;
	int pct; /* of the interval that ended at at_ns; -1: there was none */
};

struct process_reading {
	uint64_t at_ns, busy_ns, start_time;
	int32_t pid;
	int pct;
};

static struct reading readings[SEGMENT_MAX_DEVICES];
static struct process_reading *process_readings[SEGMENT_MAX_DEVICES]; /* SEGMENT_MAX_PROCESSES each, when asked for */

/* Of a counter that was read without its lock: it may seem to run backwards by a moment. */
static int percent(uint64_t before_ns, uint64_t after_ns, uint64_t whole_ns)
{
	uint64_t part_ns = after_ns > before_ns ? after_ns - before_ns : 0;

	return part_ns >= whole_ns ? 100 : (int)((part_ns * 100 + whole_ns / 2) / whole_ns);
}

void usage_reset(struct segment_place *p)
{
	for (uint32_t d = 0; d < SEGMENT_MAX_DEVICES; d++) {
		readings[d] = (struct reading){ .pct = -1 };
		free(process_readings[d]);
		process_readings[d] = NULL;
		if (d < p->segment->device_count) {
			readings[d].busy_ns = segment_busy_ns(p->segment, d);
			readings[d].at_ns = clock_now_ns();
		}
	}
}

static nvmlReturn_t enter_device(nvmlDevice_t device, struct segment_place **ret, uint32_t *ret_index)
{
	nvmlReturn_t r = state_enter(ret);

	if (r != NVML_SUCCESS)
		return r;
	r = state_device(*ret, device, ret_index);
	if (r != NVML_SUCCESS)
		state_leave();
	return r;
}

/* ---- memory ---- */

struct memory {
	uint64_t total, free, used;
};

static nvmlReturn_t memory_read(nvmlDevice_t device, struct memory *ret)
{
	struct segment_place *p;
	uint32_t d;
	nvmlReturn_t r = enter_device(device, &p, &d);

	if (r != NVML_SUCCESS)
		return r;
	ret->total = p->segment->device[d].config.total_bytes;
	ret->free = segment_free_units(p, d) * SEGMENT_UNIT_BYTES;
	ret->used = ret->total - ret->free;
	state_leave();
	return NVML_SUCCESS;
}

nvmlReturn_t soft_nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	struct memory m;
	nvmlReturn_t r = memory ? memory_read(device, &m) : NVML_ERROR_INVALID_ARGUMENT;

	if (r == NVML_SUCCESS)
		*memory = (nvmlMemory_t){ .total = m.total, .free = m.free, .used = m.used };
	return r;
}

nvmlReturn_t soft_nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	struct memory m;
	nvmlReturn_t r;

	if (!memory)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (memory->version != NVML_VERSION_WORD(nvmlMemory_v2_t, 2))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	r = memory_read(device, &m);
	if (r == NVML_SUCCESS)
		*memory = (nvmlMemory_v2_t){
			.version = memory->version, .total = m.total, .free = m.free, .used = m.used
		};
	return r;
}

/* ---- processes ---- */

/* A place whose process has a context on the device. After segment_reap(): who died in between is shown once more. */
static bool is_on_device(struct segment_place *p, uint32_t place, uint32_t d)
{
	const struct segment_process *q = &p->segment->process[place];

	return atomic_load(&q->kind) == SEGMENT_DRIVER && atomic_load(&q->share[d].contexts);
}

static uint64_t units_of(const struct segment *s, const struct segment_process *q, uint32_t d)
{
	uint64_t units = atomic_load(&q->share[d].held_units);

	for (uint32_t i = 0; i < SEGMENT_MAX_OBJECTS; i++) {
		const struct segment_object *o = &s->object[i];

		if (atomic_load(&o->id) && atomic_load(&o->device) == d &&
		    atomic_load(&o->owner_pid) == atomic_load(&q->pid) &&
		    atomic_load(&o->owner_start_time) == atomic_load(&q->start_time))
			units += atomic_load(&o->units);
	}
	return units;
}

typedef void (*put_fn)(void *array, unsigned int i, unsigned int pid, unsigned long long bytes);

/* NVML's way with sizes: too little room, none is a question, is answered with the number that it takes. */
static nvmlReturn_t list_processes(nvmlDevice_t device, unsigned int *count, void *array, put_fn put)
{
	unsigned int n = 0, room = count && array ? *count : 0;
	struct segment_place *p;
	nvmlReturn_t r;
	uint32_t d;

	if (!count || (*count && !array))
		return NVML_ERROR_INVALID_ARGUMENT;
	r = enter_device(device, &p, &d);
	if (r != NVML_SUCCESS)
		return r;
	segment_reap(p);
	for (uint32_t i = 0; i < atomic_load(&p->segment->places) && i < SEGMENT_MAX_PROCESSES; i++) {
		const struct segment_process *q = &p->segment->process[i];

		if (!is_on_device(p, i, d))
			continue;
		if (n < room)
			put(array, n, segment_pid(p, i),
			    units_of(p->segment, q, d) * SEGMENT_UNIT_BYTES);
		n++;
	}
	state_leave();
	*count = n;
	return n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static void put_v1(void *array, unsigned int i, unsigned int pid, unsigned long long bytes)
{
	((nvmlProcessInfo_v1_t *)array)[i] = (nvmlProcessInfo_v1_t){ .pid = pid, .usedGpuMemory = bytes };
}

static void put_v2(void *array, unsigned int i, unsigned int pid, unsigned long long bytes)
{
	((nvmlProcessInfo_t *)array)[i] = (nvmlProcessInfo_t){ .pid = pid,
							       .usedGpuMemory = bytes,
							       .gpuInstanceId = NVML_NO_INSTANCE,
							       .computeInstanceId = NVML_NO_INSTANCE };
}

static void put_detail(void *array, unsigned int i, unsigned int pid, unsigned long long bytes)
{
	((nvmlProcessDetail_v1_t *)array)[i] =
		(nvmlProcessDetail_v1_t){ .pid = pid,
					  .usedGpuMemory = bytes,
					  .gpuInstanceId = NVML_NO_INSTANCE,
					  .computeInstanceId = NVML_NO_INSTANCE,
					  .usedGpuCcProtectedMemory = (unsigned long long)NVML_VALUE_NOT_AVAILABLE };
}

nvmlReturn_t soft_nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *count,
						       nvmlProcessInfo_v1_t *infos)
{
	return list_processes(device, count, infos, put_v1);
}

nvmlReturn_t soft_nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *count,
							  nvmlProcessInfo_v2_t *infos)
{
	return list_processes(device, count, infos, put_v2);
}

nvmlReturn_t soft_nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
							  nvmlProcessInfo_t *infos)
{
	return list_processes(device, count, infos, put_v2);
}

/* Nobody draws on the software device, and nobody reaches it through a server of others' contexts. */
static nvmlReturn_t no_processes(nvmlDevice_t device, unsigned int *count)
{
	struct segment_place *p;
	nvmlReturn_t r;
	uint32_t d;

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	r = enter_device(device, &p, &d);
	if (r != NVML_SUCCESS)
		return r;
	state_leave();
	*count = 0;
	return NVML_SUCCESS;
}

#define NO_PROCESSES(name, type)                                                                                       \
	nvmlReturn_t soft_##name(nvmlDevice_t device, unsigned int *count, type *infos)                                \
	{                                                                                                              \
		(void)infos;                                                                                           \
		return no_processes(device, count);                                                                    \
	}
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_v2_t)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_t)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_v2_t)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_t)

nvmlReturn_t soft_nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device, nvmlProcessDetailList_t *list)
{
	if (!list)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (list->version != NVML_VERSION_WORD(nvmlProcessDetailList_v1_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	switch (list->mode) {
	case NVML_PROCESS_MODE_COMPUTE:
		return list_processes(device, &list->numProcArrayEntries, list->procArray, put_detail);
	case NVML_PROCESS_MODE_GRAPHICS:
	case NVML_PROCESS_MODE_MPS:
		return no_processes(device, &list->numProcArrayEntries);
	default:
		return NVML_ERROR_INVALID_ARGUMENT;
	}
}

/* ---- utilisation ---- */

/* Brings a device's reading up to date. 0: its pct holds; else the time that is missing to an interval. */
static uint64_t reading_update(struct segment_place *p, uint32_t d)
{
	struct reading *last = &readings[d];
	uint64_t busy = segment_busy_ns(p->segment, d), now = clock_now_ns();

	if (now - last->at_ns < INTERVAL_NS)
		return last->pct < 0 ? INTERVAL_NS - (now - last->at_ns) : 0;
	*last = (struct reading){ .at_ns = now,
				  .busy_ns = busy,
				  .pct = percent(last->busy_ns, busy, now - last->at_ns) };
	return 0;
}

static void wait_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = 0, .tv_nsec = (long)ns };

	nanosleep(&t, NULL);
}

nvmlReturn_t soft_nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
	struct segment_place *p;
	uint64_t missing;
	nvmlReturn_t r;
	uint32_t d;
	int pct;

	if (!utilization)
		return NVML_ERROR_INVALID_ARGUMENT;
	do {
		r = enter_device(device, &p, &d);
		if (r != NVML_SUCCESS)
			return r;
		segment_reap(p); /* kernels of the dead do not run any more */
		missing = reading_update(p, d);
		pct = readings[d].pct;
		state_leave();
		if (missing)
			wait_ns(missing);
	} while (missing);
	*utilization = (nvmlUtilization_t){ .gpu = (unsigned int)pct, .memory = 0 };
	return NVML_SUCCESS;
}

/* As reading_update(), for the process at a place; a process that was not there before starts with a reading. */
static uint64_t process_update(const struct segment *s, uint32_t place, uint32_t d, struct process_reading *last)
{
	const struct segment_process *q = &s->process[place];
	uint64_t busy = segment_share_busy_ns(s, place, d), now = clock_now_ns(),
		 start = atomic_load(&q->start_time);
	int32_t pid = atomic_load(&q->pid);

	if (last->pid != pid || last->start_time != start)
		*last = (struct process_reading){
			.at_ns = now, .busy_ns = busy, .start_time = start, .pid = pid, .pct = -1
		};
	if (now - last->at_ns < INTERVAL_NS)
		return last->pct < 0 ? INTERVAL_NS - (now - last->at_ns) : 0;
	last->pct = percent(last->busy_ns, busy, now - last->at_ns);
	last->at_ns = now;
	last->busy_ns = busy;
	return 0;
}

struct sample {
	unsigned int pid, sm_pct;
	uint64_t at_us; /* since 1970 */
};

static uint64_t wall_us(uint64_t at_ns)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - (clock_now_ns() - at_ns)) / 1000;
}

/* One sample for each process on the device, newer than `since_us`; waits at most one interval. */
static nvmlReturn_t samples_make(nvmlDevice_t device, uint64_t since_us, struct sample *ret, unsigned int *ret_count)
{
	uint64_t missing, most;
	struct segment_place *p;
	nvmlReturn_t r;
	uint32_t d;

	for (int round = 0; round < 2; round++) {
		most = 0;
		*ret_count = 0;
		r = enter_device(device, &p, &d);
		if (r != NVML_SUCCESS)
			return r;
		if (!process_readings[d])
			process_readings[d] = calloc(SEGMENT_MAX_PROCESSES, sizeof *process_readings[d]);
		segment_reap(p);
		for (uint32_t i = 0; process_readings[d] && i < atomic_load(&p->segment->places); i++) {
			struct process_reading *last = &process_readings[d][i];

			if (!is_on_device(p, i, d))
				continue;
			missing = process_update(p->segment, i, d, last);
			if (missing > most)
				most = missing;
			if (!missing && wall_us(last->at_ns) > since_us)
				ret[(*ret_count)++] = (struct sample){ .pid = segment_pid(p, i),
								       .sm_pct = (unsigned int)last->pct,
								       .at_us = wall_us(last->at_ns) };
		}
		r = process_readings[d] ? NVML_SUCCESS : NVML_ERROR_MEMORY;
		state_leave();
		if (!most || r != NVML_SUCCESS)
			break;
		if (round == 0)
			wait_ns(most);
	}
	return r;
}

static nvmlReturn_t samples_get(nvmlDevice_t device, uint64_t since_us, unsigned int *count, bool room_known,
				struct sample **ret)
{
	unsigned int n = 0, room = *count;
	nvmlReturn_t r;

	*ret = calloc(SEGMENT_MAX_PROCESSES, sizeof **ret);
	if (!*ret)
		return NVML_ERROR_MEMORY;
	r = samples_make(device, since_us, *ret, &n);
	if (r != NVML_SUCCESS)
		return r;
	*count = n;
	if (!n)
		return NVML_ERROR_NOT_FOUND;
	return !room_known || room < n ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

nvmlReturn_t soft_nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *utilization,
						  unsigned int *count, unsigned long long since)
{
	struct sample *s = NULL;
	nvmlReturn_t r;

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	r = samples_get(device, since, count, utilization != NULL, &s);
	for (unsigned int i = 0; r == NVML_SUCCESS && i < *count; i++)
		utilization[i] = (nvmlProcessUtilizationSample_t){ .pid = s[i].pid,
								   .timeStamp = s[i].at_us,
								   .smUtil = s[i].sm_pct };
	free(s);
	return r;
}

nvmlReturn_t soft_nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device, nvmlProcessesUtilizationInfo_t *info)
{
	struct sample *s = NULL;
	nvmlReturn_t r;

	if (!info)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (info->version != NVML_VERSION_WORD(nvmlProcessesUtilizationInfo_v1_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	r = samples_get(device, info->lastSeenTimeStamp, &info->processSamplesCount, info->procUtilArray != NULL, &s);
	for (unsigned int i = 0; r == NVML_SUCCESS && i < info->processSamplesCount; i++)
		info->procUtilArray[i] = (nvmlProcessUtilizationInfo_v1_t){ .pid = s[i].pid,
									    .timeStamp = s[i].at_us,
									    .smUtil = s[i].sm_pct };
	free(s);
	return r;
}

/* A field has an answer of its own: none of the fields is something that the software device has. */
nvmlReturn_t soft_nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	struct segment_place *p;
	nvmlReturn_t r;
	uint32_t d;

	if (count < 0 || !values)
		return NVML_ERROR_INVALID_ARGUMENT;
	r = enter_device(device, &p, &d);
	if (r != NVML_SUCCESS)
		return r;
	state_leave();
	for (int i = 0; i < count; i++)
		values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
	return NVML_SUCCESS;
}
