/* calls.c: the calls of Cambricon's libraries that are treated like no other (api/cambricon.toml). */
#include "beside/devices.h"
#include "beside/inside.h"
#include "beside/physical.h"
#include "beside/reset.h"
#include "beside/work.h"
#include "core/capture.h"

/* Contexts ----------------------------------------------------------------------------------------------------------
 */

/* All that the process has made of the device in its shared context goes with that. */
CNresult shim_cnSharedContextReset(CNdev dev)
{
	struct resetting reset;
	CNresult r;

	reset_begin(&reset, dev);
	r = shim_real.cnSharedContextReset(dev);
	reset_end(&reset, r == CN_SUCCESS);
	return r;
}

/* The same on the current device, by way of CNRT. */
CNresult shim_cnrtDeviceReset(void)
{
	struct resetting reset;
	CNdev dev = -1;
	CNresult r;

	if (!vendor_device(&dev))
		dev = -1;
	reset_begin(&reset, dev);
	r = shim_real.cnrtDeviceReset();
	reset_end(&reset, r == CN_SUCCESS);
	return r;
}

CNresult shim_cnCtxDestroy(CNcontext ctx)
{
	unsigned int before = inside_begin();
	CNresult r;

	marks_context_leaves(ctx);
	r = shim_real.cnCtxDestroy(ctx);
	marks_context_left(ctx, r == CN_SUCCESS);
	if (r == CN_SUCCESS)
		devices_forget_context(ctx);
	inside_end(&before);
	return r;
}

/* Memory ------------------------------------------------------------------------------------------------------------
 */

/* A pool keeps freed memory of the device, how much it does not tell. Without limits it is the program's matter. */
CNresult shim_cnMemAllocAsync(CNaddr *pmluAddr, size_t bytes, CNqueue queue)
{
	return start_is_metered() ? CN_OPS_ERROR_NOT_SUPPORTED : shim_real.cnMemAllocAsync(pmluAddr, bytes, queue);
}

CNresult shim_cnMemAllocFromPoolAsync(CNaddr *pmluAddr, size_t bytes, void *pool, CNqueue queue)
{
	return start_is_metered() ? CN_OPS_ERROR_NOT_SUPPORTED
				  : shim_real.cnMemAllocFromPoolAsync(pmluAddr, bytes, pool, queue);
}

CNresult shim_cnMemCreate(CNmemGenericAllocationHandle *phandle, uint64_t size, const CNmemAllocationProp *prop,
			  uint64_t flags)
{
	bool device = prop && prop->location.type == CN_MEM_LOCATION_TYPE_DEVICE;
	struct making m;
	CNresult r = memory_begin_on(&m, device ? prop->location.id : -1, device ? size : 0);

	if (r != CN_SUCCESS)
		return r;
	r = shim_real.cnMemCreate(phandle, size, prop, flags);
	if (physical_made(&m, r, r == CN_SUCCESS && phandle ? *phandle : 0))
		return r;
	shim_real.cnMemRelease(*phandle);
	return CN_MEMORY_ERROR_OUT_OF_MEMORY;
}

CNresult shim_cnMemRetainAllocationHandle(CNmemGenericAllocationHandle *handle, CNaddr addr)
{
	CNresult r = shim_real.cnMemRetainAllocationHandle(handle, addr);

	return physical_held(r, r == CN_SUCCESS && handle ? *handle : 0);
}

/* Of another process: what size it has is told nowhere, so that it cannot be charged. */
CNresult shim_cnMemImportFromShareableHandle(CNmemGenericAllocationHandle *handle, void *osHandle, int handleType)
{
	return start_is_metered() ? CN_OPS_ERROR_NOT_SUPPORTED
				  : shim_real.cnMemImportFromShareableHandle(handle, osHandle, handleType);
}

/* Work --------------------------------------------------------------------------------------------------------------
 */

CNresult shim_cnInvokeKernelEx(const CNinvokeConfig *config, void *hkernel, void **kernelParams, void **extra)
{
	uint64_t blocks = config ? (uint64_t)config->dimx * config->dimy * config->dimz : 1;
	struct working w;

	work_launch_begin(&w, CAMBRICON_CALL_cnInvokeKernelEx, (uint64_t)(uintptr_t)hkernel, blocks,
			  config ? config->hqueue : NULL);
	return work_end(&w, shim_real.cnInvokeKernelEx(config, hkernel, kernelParams, extra));
}

CNresult shim_cnQueueBeginCapture(CNqueue hQueue, int mode)
{
	CNresult r;

	capture_begins();
	r = shim_real.cnQueueBeginCapture(hQueue, mode);
	if (r != CN_SUCCESS)
		capture_failed();
	return r;
}

CNresult shim_cnQueueEndCapture(CNqueue hQueue, CNtaskTopo *pTaskTopo)
{
	bool was = capture_going() && face->captured(vendor_queue(hQueue), false);
	CNresult r;

	capture_hold();
	r = shim_real.cnQueueEndCapture(hQueue, pTaskTopo);
	capture_release();
	if (was && !face->captured(vendor_queue(hQueue), false))
		capture_ended();
	return r;
}
