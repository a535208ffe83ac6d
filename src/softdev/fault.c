/* fault.c: see fault.h. */
#include "softdev/fault.h"

#include "softdev/context.h"
#include "softdev/segment_fault.h"
#include "wire/soft_fault.h"

#include <string.h>

/* Which number of the public list an error has, and what a context that the number is about answers. */
static uint32_t xid_of(CUresult error)
{
	switch (error) {
	case CUDA_ERROR_ILLEGAL_ADDRESS:
		return XID_PAGE_FAULT;
	case CUDA_ERROR_LAUNCH_TIMEOUT:
		return XID_TIMEOUT;
	case CUDA_ERROR_ASSERT:
		return XID_STOPPED;
	default:
		return XID_ENGINE_EXCEPTION;
	}
}

static CUresult error_of(uint32_t xid)
{
	switch (xid) {
	case XID_PAGE_FAULT:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case XID_TIMEOUT:
		return CUDA_ERROR_LAUNCH_TIMEOUT;
	case XID_LOST:
		return CUDA_ERROR_DEVICE_UNAVAILABLE;
	case 48: /* errors of the memory itself: double bit, contained, uncontained */
	case 94:
	case 95:
		return CUDA_ERROR_ECC_UNCORRECTABLE;
	default:
		return CUDA_ERROR_LAUNCH_FAILED;
	}
}

void fault_report(const struct context *c, CUresult error)
{
	segment_report(&driver.place, c->device->index, xid_of(error), driver.place.index);
}

static int report(int ordinal, uint32_t xid, int32_t pid)
{
	uint32_t place = SEGMENT_MAX_PROCESSES;
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (!e && pid && !segment_upset(&driver.place, d->index, pid, error_of(xid), &place))
		e = CUDA_ERROR_INVALID_VALUE;
	if (!e)
		segment_report(&driver.place, d->index, xid, place);
	return (int)e;
}

static int lose(int ordinal, int lost)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (!e)
		segment_lose(&driver.place, d->index, lost);
	return (int)e;
}

static int is_lost(int ordinal)
{
	struct device *d;

	return !device_find(ordinal, &d) && segment_lost(driver.place.segment, d->index);
}

const void *fault_table(const CUuuid *id)
{
	static const struct soft_fault_table table = { sizeof(table), report, lose, is_lost };
	static const char mine[16] = SOFT_FAULT_ID;

	return memcmp(id, mine, sizeof(mine)) ? NULL : &table;
}
