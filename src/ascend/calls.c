/* calls.c: the calls of Ascend's libraries that are treated like no other (api/ascend.toml). */
#include "beside/devices.h"
#include "beside/inside.h"
#include "beside/physical.h"
#include "beside/reset.h"
#include "beside/work.h"
#include "core/capture.h"

/* Devices and contexts ----------------------------------------------------------------------------------------------
 */

/*
 * A reset takes back what the process has made of the device when it is the last one of as many aclrtSetDevice() calls.
 * Only CANN 8.2 and later tell; before, memory that was not freed stays charged until the process ends.
 */
static aclError reset(aclError (*call)(int device), int real)
{
	struct resetting reset;
	uint32_t flags = 0;
	int active = 1;
	aclError r;

	reset_begin(&reset, real);
	r = call(real);
	if (shim_real.aclrtGetPrimaryCtxState(real, &flags, &active) != ACL_SUCCESS)
		active = 1;
	reset_end(&reset, r == ACL_SUCCESS && !active);
	return r;
}

aclError shim_aclrtResetDevice(int deviceId)
{
	return reset(shim_real.aclrtResetDevice, deviceId);
}

aclError shim_aclrtResetDeviceForce(int deviceId)
{
	return reset(shim_real.aclrtResetDeviceForce, deviceId);
}

static aclError destroy(aclError (*call)(aclrtContext context), aclrtContext context)
{
	unsigned int before;
	aclError r;

	if (inside_is) /* the level above has told of it */
		return call(context);
	before = inside_begin();
	marks_context_leaves(context);
	r = call(context);
	marks_context_left(context, r == ACL_SUCCESS);
	if (r == ACL_SUCCESS)
		devices_forget_context(context);
	inside_end(&before);
	return r;
}

aclError shim_aclrtDestroyContext(aclrtContext context)
{
	return destroy(shim_real.aclrtDestroyContext, context);
}

aclError shim_rtCtxDestroy(aclrtContext context)
{
	return destroy(shim_real.rtCtxDestroy, context);
}

aclError shim_rtCtxDestroyEx(aclrtContext context)
{
	return destroy(shim_real.rtCtxDestroyEx, context);
}

aclError shim_rtsCtxDestroy(aclrtContext context)
{
	return destroy(shim_real.rtsCtxDestroy, context);
}

/* Memory ------------------------------------------------------------------------------------------------------------
 */

/* A pool keeps freed memory of the device, how much it does not tell. Without limits it is the program's matter. */
aclError shim_aclrtMemPoolCreate(void *memPool, const void *poolProps)
{
	return start_is_metered() ? ACL_ERROR_RT_FEATURE_NOT_SUPPORT : shim_real.aclrtMemPoolCreate(memPool, poolProps);
}

static bool kept(struct making *m, aclError r, void *const *handle)
{
	return physical_made(m, r, r == ACL_SUCCESS && handle ? (uint64_t)(uintptr_t)*handle : 0);
}

aclError shim_aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size, const aclrtPhysicalMemProp *prop,
				  uint64_t flags)
{
	bool device = prop && prop->location.type == ACL_MEM_LOCATION_TYPE_DEVICE;
	struct making m;
	aclError r = memory_begin_on(&m, device ? (int)prop->location.id : -1, device ? size : 0);

	if (r != ACL_SUCCESS)
		return r;
	r = shim_real.aclrtMallocPhysical(handle, size, prop, flags);
	if (kept(&m, r, handle))
		return r;
	shim_real.aclrtFreePhysical(*handle);
	return ACL_ERROR_RT_MEMORY_ALLOCATION;
}

aclError shim_rtMallocPhysical(void **handle, size_t size, const rtDrvMemProp *prop, uint64_t flags)
{
	bool device = prop && prop->side == RT_MEM_DEV_SIDE;
	struct making m;
	aclError r = memory_begin_on(&m, device ? (int)prop->devid : -1, device ? size : 0);

	if (r != ACL_SUCCESS)
		return r;
	r = shim_real.rtMallocPhysical(handle, size, prop, flags);
	if (kept(&m, r, handle))
		return r;
	shim_real.rtFreePhysical(*handle);
	return ACL_ERROR_RT_MEMORY_ALLOCATION;
}

/* On the current device: which other one `cfg` may name is not published. */
aclError shim_rtsMemMallocPhysical(void **handle, size_t size, int policy, void *cfg)
{
	struct making m;
	aclError r = memory_begin(&m, size);

	if (r != ACL_SUCCESS)
		return r;
	r = shim_real.rtsMemMallocPhysical(handle, size, policy, cfg);
	if (kept(&m, r, handle))
		return r;
	shim_real.rtsMemFreePhysical(handle);
	return ACL_ERROR_RT_MEMORY_ALLOCATION;
}

aclError shim_rtsMemFreePhysical(void **handle)
{
	struct letting l;

	physical_free_begin(&l, handle ? (uint64_t)(uintptr_t)*handle : 0);
	return physical_free_end(&l, shim_real.rtsMemFreePhysical(handle));
}

aclError shim_aclrtMemRetainAllocationHandle(void *virPtr, aclrtDrvMemHandle *handle)
{
	aclError r = shim_real.aclrtMemRetainAllocationHandle(virPtr, handle);

	return physical_held(r, r == ACL_SUCCESS && handle ? (uint64_t)(uintptr_t)*handle : 0);
}

/* Work --------------------------------------------------------------------------------------------------------------
 */

static __thread aclrtStream next_stream; /* as rtConfigureCall() has said for the thread's next rtLaunch() */
static __thread uint32_t next_blocks;

aclError shim_rtConfigureCall(uint32_t numBlocks, void *smDesc, aclrtStream stm)
{
	next_stream = stm;
	next_blocks = numBlocks;
	return shim_real.rtConfigureCall(numBlocks, smDesc, stm);
}

aclError shim_rtLaunch(const void *func)
{
	struct working w;

	work_launch_begin(&w, ASCEND_CALL_rtLaunch, (uint64_t)(uintptr_t)func, next_blocks, next_stream);
	return work_end(&w, shim_real.rtLaunch(func));
}

/*
 * Calls of rt_stars.h by number, with their parameters in a list (rtGeneralCtrlType_t there): where the stream is, and
 * where the size, for those that are copies. What has no row starts no work.
 */
static const struct {
	unsigned int number, stream, bytes, count;
} controls[] = {
	{ 0, 5, 3, 7 },	 /* rtMemcpyAsyncWithCfg */
	{ 1, 6, 3, 8 },	 /* rtReduceAsyncWithCfg */
	{ 2, 1, 0, 3 },	 /* rtFftsPlusTaskLaunchWithFlag */
	{ 3, 1, 0, 2 },	 /* rtFftsPlusTaskLaunch */
	{ 6, 2, 0, 3 },	 /* rtStarsTaskLaunch */
	{ 11, 2, 0, 4 }, /* rtStarsTaskLaunchWithFlag */
	{ 13, 1, 0, 2 }, /* rtMultipleTaskInfoLaunch */
	{ 16, 1, 0, 3 }, /* rtMultipleTaskInfoLaunchWithFlag */
};

aclError shim_rtGeneralCtrl(uintptr_t *ctrl, uint32_t num, uint32_t type)
{
	struct working w;
	size_t i = 0;

	while (i < sizeof(controls) / sizeof(*controls) && controls[i].number != type)
		i++;
	if (!ctrl || i == sizeof(controls) / sizeof(*controls) || num < controls[i].count)
		return shim_real.rtGeneralCtrl(ctrl, num, type);
	if (controls[i].bytes)
		work_copy_begin(&w, ASCEND_CALL_rtGeneralCtrl, ctrl[controls[i].bytes],
				(aclrtStream)ctrl[controls[i].stream]); // NOLINT(performance-no-int-to-ptr)
	else
		work_launch_begin(&w, ASCEND_CALL_rtGeneralCtrl, type, 1,
				  (aclrtStream)ctrl[controls[i].stream]); // NOLINT(performance-no-int-to-ptr)
	return work_end(&w, shim_real.rtGeneralCtrl(ctrl, num, type));
}

aclError shim_aclmdlRICaptureBegin(aclrtStream stream, int mode)
{
	aclError r;

	capture_begins();
	r = shim_real.aclmdlRICaptureBegin(stream, mode);
	if (r != ACL_SUCCESS)
		capture_failed();
	return r;
}

aclError shim_aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI)
{
	bool was = capture_going() && face->captured(stream, false);
	aclError r;

	capture_hold();
	r = shim_real.aclmdlRICaptureEnd(stream, modelRI);
	capture_release();
	if (was && !face->captured(stream, false))
		capture_ended();
	return r;
}
