/*
 * event.c: events of devices: errors, with their numbers as the event's data.
 *
 * An event set holds the devices that were registered and the number of the next error; errors before the registration
 * are not shown. Who waits sleeps in the kernel, without a lock.
 */
#include "softdev/nvml/state.h"

#include "base/clock.h"
#include "softdev/segment_fault.h"

#include <stdlib.h>

#define SLICE_NS 1000000000u /* nobody sleeps longer without looking whether NVML was shut down */

struct nvmlEventSet_st {
	struct nvmlEventSet_st *next;
	uint32_t devices; /* a bit for each */
	uint64_t number;
};

static struct nvmlEventSet_st *sets; /* guarded by state.c's lock */

static struct nvmlEventSet_st **set_find(nvmlEventSet_t set)
{
	struct nvmlEventSet_st **at = &sets;

	while (*at && *at != set)
		at = &(*at)->next;
	return at;
}

nvmlReturn_t soft_nvmlEventSetCreate(nvmlEventSet_t *set)
{
	struct nvmlEventSet_st *made;
	struct segment_place *p;
	nvmlReturn_t r = state_enter(&p);

	if (r != NVML_SUCCESS)
		return r;
	made = set ? calloc(1, sizeof *made) : NULL;
	if (made) {
		made->number = segment_errors(p->segment);
		made->next = sets;
		*set = sets = made;
	}
	state_leave();
	return made ? NVML_SUCCESS : set ? NVML_ERROR_MEMORY : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t soft_nvmlEventSetFree(nvmlEventSet_t set)
{
	struct nvmlEventSet_st **at, *gone;
	struct segment_place *p;
	nvmlReturn_t r = state_enter(&p);

	if (r != NVML_SUCCESS)
		return r;
	at = set_find(set);
	gone = *at;
	if (gone)
		*at = gone->next;
	state_leave();
	free(gone);
	return gone ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t soft_nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types)
{
	struct segment_place *p;
	nvmlReturn_t r = state_enter(&p);
	uint32_t d;

	if (r != NVML_SUCCESS)
		return r;
	r = types ? state_device(p, device, &d) : NVML_ERROR_INVALID_ARGUMENT;
	state_leave();
	if (r == NVML_SUCCESS)
		*types = NVML_EVENT_TYPE_XID_CRITICAL_ERROR;
	return r;
}

nvmlReturn_t soft_nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
	struct nvmlEventSet_st *s;
	struct segment_place *p;
	nvmlReturn_t r = state_enter(&p);
	uint32_t d;

	if (r != NVML_SUCCESS)
		return r;
	s = *set_find(set);
	r = s ? state_device(p, device, &d) : NVML_ERROR_INVALID_ARGUMENT;
	if (r == NVML_SUCCESS && types & ~(unsigned long long)NVML_EVENT_TYPE_XID_CRITICAL_ERROR)
		r = NVML_ERROR_NOT_SUPPORTED;
	if (r == NVML_SUCCESS && types) {
		if (!s->devices)
			s->number = segment_errors(p->segment);
		s->devices |= 1u << d;
	}
	state_leave();
	return r;
}

/* One look. NVML_ERROR_TIMEOUT: nothing yet. */
static nvmlReturn_t look(const struct segment_place *p, struct nvmlEventSet_st *s, struct segment_error *ret)
{
	while (segment_error_read(p->segment, s->number, ret)) {
		s->number = ret->number + 1;
		if (s->devices & 1u << ret->device)
			return NVML_SUCCESS;
	}
	for (uint32_t d = 0; d < p->segment->device_count; d++)
		if (s->devices & 1u << d && segment_lost(p->segment, d))
			return NVML_ERROR_GPU_IS_LOST;
	return NVML_ERROR_TIMEOUT;
}

static nvmlReturn_t wait_for(nvmlEventSet_t set, struct segment_error *ret, unsigned int timeout_ms)
{
	uint64_t until = clock_now_ns() + (uint64_t)timeout_ms * 1000000u, now;
	const struct segment *s;
	struct segment_place *p;
	nvmlReturn_t r;
	uint32_t word;

	for (;;) {
		r = state_enter(&p);
		if (r != NVML_SUCCESS)
			return r;
		s = p->segment;
		word = segment_error_word(s);
		r = *set_find(set) ? look(p, set, ret) : NVML_ERROR_INVALID_ARGUMENT;
		state_leave();
		now = clock_now_ns();
		if (r != NVML_ERROR_TIMEOUT || now >= until)
			return r;
		segment_error_wait(s, word, until - now < SLICE_NS ? until - now : SLICE_NS);
	}
}

static nvmlReturn_t event_wait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms, bool whole)
{
	struct segment_error e;
	nvmlReturn_t r;

	if (!data)
		return NVML_ERROR_INVALID_ARGUMENT;
	r = wait_for(set, &e, timeout_ms);
	if (r != NVML_SUCCESS)
		return r;
	data->device = state_handle(e.device);
	data->eventType = NVML_EVENT_TYPE_XID_CRITICAL_ERROR;
	data->eventData = e.xid;
	if (whole)
		data->gpuInstanceId = data->computeInstanceId = NVML_NO_INSTANCE;
	return NVML_SUCCESS;
}

/* The older structure ends before the partition. */
nvmlReturn_t soft_nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
	return event_wait(set, data, timeoutms, false);
}

nvmlReturn_t soft_nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
	return event_wait(set, data, timeoutms, true);
}
