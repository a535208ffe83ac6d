/* devices.c: devices of several workers as devices 0...n-1; what is not there on this way says so in its attribute. */
#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/session.h"
#include "remote/client/visible.h"
#include "remote/client/start.h"
#include "remote/client/thread.h"
#include "remote/snapshot.h"

#include <string.h>

/* What is answered here is refused in a host function as well. */
static CUresult ready(void)
{
	CUresult r = start_ready();
	struct thread *t = r == CUDA_SUCCESS ? thread_get() : NULL;

	return t && t->calls_back ? CUDA_ERROR_NOT_PERMITTED : r;
}

CUresult client_cuDeviceGetCount(int *count)
{
	CUresult r = ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = session_devices;
	return CUDA_SUCCESS;
}

CUresult client_cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult r = ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (ordinal < 0 || ordinal >= session_devices)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

/* Asked for in the length of the snapshot, cut to the program's. */
static CUresult text_of(enum cuda_call call, char *ret, int len, CUdevice dev)
{
	int32_t asked = SNAPSHOT_NAME_BYTES, local;
	struct client_call c;
	const char *text;

	client_call(&c, call);
	local = client_use_device(&c, dev);
	if (c.result == CUDA_SUCCESS && (!ret || len <= 0))
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (client_begin_memo(&c)) {
		remote_put(&c.out, &asked, sizeof asked);
		remote_put(&c.out, &local, sizeof local);
		remote_put_present(&c.out, ret);
		client_send(&c);
	}
	if (c.result == CUDA_SUCCESS && (text = remote_take(&c.in, SNAPSHOT_NAME_BYTES))) {
		size_t most = (size_t)len - 1, n = strnlen(text, SNAPSHOT_NAME_BYTES);

		memcpy(ret, text, n < most ? n : most);
		ret[n < most ? n : most] = 0;
	}
	return client_end(&c);
}

CUresult client_cuDeviceGetName(char *name, int len, CUdevice dev)
{
	return text_of(CUDA_CALL_cuDeviceGetName, name, len, dev);
}

CUresult client_cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
	return text_of(CUDA_CALL_cuDeviceGetPCIBusId, pciBusId, len, dev);
}

/* Device ids of different servers may be the same: the first device that has it. */
CUresult client_cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
	CUresult r = start_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!dev || !pciBusId)
		return CUDA_ERROR_INVALID_VALUE;
	r = CUDA_ERROR_INVALID_DEVICE;
	for (unsigned int i = 0; i < session_count && r != CUDA_SUCCESS; i++) {
		struct client_call c;
		int32_t local = -1;

		client_call(&c, CUDA_CALL_cuDeviceGetByPCIBusId);
		c.session = sessions[i];
		if (client_begin_memo(&c)) {
			remote_put_present(&c.out, dev);
			if (remote_put_present(&c.out, pciBusId))
				remote_put_string(&c.out, pciBusId);
			client_send(&c);
		}
		if (c.result == CUDA_SUCCESS)
			remote_get(&c.in, &local, sizeof local);
		if (c.result == CUDA_SUCCESS && !c.in.bad)
			*dev = client_meet_device(&c, local);
		r = client_end(&c);
	}
	return r;
}

/* Whether the attribute says that something is there which this way refuses. */
static bool refused(CUdevice_attribute attribute)
{
	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
	case CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST:
	case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
	case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
	case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
	case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
	case CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
		return true;
	default:
		return false;
	}
}

CUresult client_cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	CUresult r = client_plain_cuDeviceGetAttribute(pi, attrib, dev);
	int32_t local;
	struct session *s = r == CUDA_SUCCESS ? visible_find(dev, &local) : NULL;

	if (s && refused(attrib))
		*pi = 0;
	return r;
}

/* Of two servers no device reaches the other's memory. */
static CUresult apart(CUdevice a, CUdevice b, bool *ret)
{
	CUresult r = start_ready();
	int32_t local;
	struct session *s = visible_find(a, &local), *t = visible_find(b, &local);

	if (r != CUDA_SUCCESS)
		return r;
	if (!s || !t)
		return CUDA_ERROR_INVALID_DEVICE;
	*ret = s != t;
	return CUDA_SUCCESS;
}

CUresult client_cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
	bool far;
	CUresult r = apart(dev, peerDev, &far);

	if (r != CUDA_SUCCESS || !far)
		return r != CUDA_SUCCESS ? r : client_plain_cuDeviceCanAccessPeer(canAccessPeer, dev, peerDev);
	if (!canAccessPeer)
		return CUDA_ERROR_INVALID_VALUE;
	*canAccessPeer = 0;
	return CUDA_SUCCESS;
}

CUresult client_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
					CUdevice dstDevice)
{
	bool far;
	CUresult r = apart(srcDevice, dstDevice, &far);

	if (r != CUDA_SUCCESS || !far)
		return r != CUDA_SUCCESS ? r
					 : client_plain_cuDeviceGetP2PAttribute(value, attrib, srcDevice, dstDevice);
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	*value = 0;
	return CUDA_SUCCESS;
}
