/* devices.c: see devices.h. */
#include "opencl/devices.h"
#include "base/opencl_card.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/log.h"
#include "core/map.h"
#include "opencl/layer.h"
#include "opencl_face.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the maps */
static struct map known;				 /* cl_device_id: grant's index + 1, or 0 */
static struct map contexts;				 /* cl_context: its mask */
static _Atomic uint32_t unified, told_none;
static char places[WIRE_MAX_DEVICES]; /* only their addresses count */

static int ask_info(void *device, unsigned int what, size_t size, void *value, size_t *ret_size)
{
	return opencl_real.clGetDeviceInfo(device, what, size, value, ret_size);
}

static int ask_ids(void *platform, uint64_t type, unsigned int most, void **ids, unsigned int *ret_count)
{
	return opencl_real.clGetDeviceIDs(platform, type, most, (cl_device_id *)ids, ret_count);
}

static const struct opencl_ask ask = { .device_info = ask_info, .device_ids = ask_ids };

face_context devices_place(unsigned int device)
{
	return &places[device];
}

bool devices_placed(face_context context, unsigned int *ret_device)
{
	const char *place = context;

	if (place < places || place >= places + WIRE_MAX_DEVICES)
		return false;
	*ret_device = (unsigned int)(place - places);
	return *ret_device < account_count;
}

static uint64_t look_up(cl_device_id device)
{
	const struct wire_welcome *welcome = attach_welcome();
	cl_bool same = CL_FALSE;
	uint8_t uuid[16];

	if (opencl_card_uuid(&ask, device, uuid))
		return 0;
	for (unsigned int i = 0; i < welcome->device_count; i++) {
		if (memcmp(welcome->device[i].uuid, uuid, sizeof uuid))
			continue;
		opencl_real.clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof same, &same, NULL);
		if (same)
			atomic_fetch_or_explicit(&unified, 1u << i, memory_order_relaxed);
		return i + 1;
	}
	return 0;
}

static bool is_part(cl_device_id device)
{
	cl_device_id parent = NULL;

	return opencl_real.clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) ==
		       CL_SUCCESS &&
	       parent;
}

/* A part of a device goes when it is released, and its address may be another's then: it is not remembered. */
bool devices_find(cl_device_id device, unsigned int *ret_device)
{
	struct map_entry entry = { .key = (uint64_t)(uintptr_t)device }, *e;
	uint64_t found;
	bool have;

	if (!device)
		return false;
	pthread_mutex_lock(&lock);
	e = map_find(&known, entry.key);
	have = e;
	found = e ? e->value[0] : 0;
	pthread_mutex_unlock(&lock);
	if (!have) {
		entry.value[0] = found = look_up(device);
		if (!is_part(device)) {
			pthread_mutex_lock(&lock);
			map_add(&known, &entry);
			pthread_mutex_unlock(&lock);
		}
	}
	if (found)
		*ret_device = (unsigned int)found - 1;
	return found;
}

void devices_note(cl_context context, cl_uint count, const cl_device_id *devices)
{
	struct map_entry entry = { .key = (uint64_t)(uintptr_t)context };
	unsigned int device;

	for (cl_uint i = 0; i < count; i++)
		if (devices_find(devices[i], &device))
			entry.value[0] |= 1u << device;
	pthread_mutex_lock(&lock);
	map_add(&contexts, &entry);
	pthread_mutex_unlock(&lock);
}

uint32_t devices_of_context(cl_context context)
{
	cl_device_id devices[OPENCL_CARD_DEVICES];
	struct map_entry *e;
	size_t bytes = 0;
	uint32_t mask;
	bool have;

	pthread_mutex_lock(&lock);
	e = map_find(&contexts, (uint64_t)(uintptr_t)context);
	have = e;
	mask = e ? (uint32_t)e->value[0] : 0;
	pthread_mutex_unlock(&lock);
	/* Made by a call that we do not know: what it lies on is asked. */
	if (!have && context &&
	    opencl_real.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes) == CL_SUCCESS) {
		devices_note(context, (cl_uint)(bytes / sizeof *devices), devices);
		return devices_of_context(context);
	}
	return mask;
}

bool devices_unified(uint32_t mask)
{
	return !(mask & ~atomic_load_explicit(&unified, memory_order_relaxed));
}

void devices_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	known = contexts = (struct map){ 0 };
}

/* What programs see --------------------------------------------------------------------------------------------- */

/* Of the platform's devices of a type those that are granted. CL_SUCCESS, also when there is none. */
static cl_int granted(cl_platform_id platform, cl_device_type type, cl_device_id list[OPENCL_CARD_DEVICES],
		      cl_uint *ret_count)
{
	cl_uint count = 0, kept = 0;
	unsigned int device;
	cl_int r;

	*ret_count = 0;
	r = opencl_real.clGetDeviceIDs(platform, type, OPENCL_CARD_DEVICES, list, &count);
	if (r != CL_SUCCESS)
		return r;
	if (count > OPENCL_CARD_DEVICES)
		count = OPENCL_CARD_DEVICES;
	for (cl_uint i = 0; i < count; i++)
		if (devices_find(list[i], &device))
			list[kept++] = list[i];
	/* The default device is the first one of the grant. */
	if (!kept && type == CL_DEVICE_TYPE_DEFAULT) {
		r = granted(platform, CL_DEVICE_TYPE_ALL, list, &kept);
		kept = r == CL_SUCCESS && kept ? 1 : 0;
	}
	*ret_count = kept;
	return r;
}

cl_int CL_API_CALL face_clGetDeviceIDs(cl_platform_id platform, cl_device_type device_type, cl_uint num_entries,
				       cl_device_id *devices, cl_uint *num_devices)
{
	cl_device_id list[OPENCL_CARD_DEVICES];
	cl_uint count = 0;
	cl_int r;

	if ((!num_entries && devices) || (!devices && !num_devices))
		return opencl_real.clGetDeviceIDs(platform, device_type, num_entries, devices, num_devices);
	switch (layer_start()) {
	case FACES_METERED:
		break;
	case FACES_OPEN:
		return opencl_real.clGetDeviceIDs(platform, device_type, num_entries, devices, num_devices);
	default:
		return CL_OUT_OF_RESOURCES;
	}
	r = granted(platform, device_type, list, &count);
	if (r == CL_SUCCESS && !count) {
		if (!atomic_exchange(&told_none, 1))
			log_line("an OpenCL platform has no device of the grant '%s': its devices are not shown",
				 attach_welcome()->grant_name);
		r = CL_DEVICE_NOT_FOUND;
	}
	if (r != CL_SUCCESS)
		return r;
	for (cl_uint i = 0; devices && i < count && i < num_entries; i++)
		devices[i] = list[i];
	if (num_devices)
		*num_devices = count;
	return CL_SUCCESS;
}

static void clamp(cl_ulong *value, uint64_t most)
{
	if (*value > most)
		*value = most;
}

/* In the tenant's own figures: what AMD's extension tells in KiB, the second of its two is the largest block. */
static void clamp_free(size_t *value, size_t bytes, unsigned int device)
{
	uint64_t quota, held, left;

	account_info(device, &quota, &held);
	left = held < quota ? (quota - held) / 1024 : 0;
	for (size_t i = 0; i < bytes / sizeof *value; i++)
		if (value[i] > left)
			value[i] = left;
}

cl_int CL_API_CALL face_clGetDeviceInfo(cl_device_id device, cl_device_info param_name, size_t param_value_size,
					void *param_value, size_t *param_value_size_ret)
{
	size_t size = 0;
	unsigned int is;
	cl_int r;

	r = opencl_real.clGetDeviceInfo(device, param_name, param_value_size, param_value, &size);
	if (r == CL_SUCCESS && param_value_size_ret)
		*param_value_size_ret = size;
	if (r != CL_SUCCESS || !param_value || !layer_is_metered() || !devices_find(device, &is))
		return r;
	switch (param_name) {
	case CL_DEVICE_GLOBAL_MEM_SIZE:
	case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
		if (size == sizeof(cl_ulong))
			clamp(param_value, account_quota_bytes(is));
		break;
	case CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE:
	case CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE:
		if (size == sizeof(size_t) && *(size_t *)param_value > account_quota_bytes(is))
			*(size_t *)param_value = account_quota_bytes(is);
		break;
	case CL_DEVICE_GLOBAL_FREE_MEMORY_AMD:
		clamp_free(param_value, size, is);
		break;
	default:
		break;
	}
	return r;
}

/* Contexts -------------------------------------------------------------------------------------------------------- */

static cl_context refuse(cl_int why, cl_int *errcode_ret)
{
	if (errcode_ret)
		*errcode_ret = why;
	return NULL;
}

cl_context CL_API_CALL face_clCreateContext(const cl_context_properties *properties, cl_uint num_devices,
					    const cl_device_id *devices, opencl_context_fn *pfn_notify, void *user_data,
					    cl_int *errcode_ret)
{
	enum faces_state state = layer_start();
	cl_context context;
	unsigned int is;

	if (state >= FACES_REFUSED)
		return refuse(CL_OUT_OF_RESOURCES, errcode_ret);
	for (cl_uint i = 0; state == FACES_METERED && devices && i < num_devices; i++)
		if (devices[i] && !devices_find(devices[i], &is))
			return refuse(CL_DEVICE_NOT_AVAILABLE, errcode_ret);
	context = opencl_real.clCreateContext(properties, num_devices, devices, pfn_notify, user_data, errcode_ret);
	if (context && state == FACES_METERED)
		devices_note(context, num_devices, devices);
	return context;
}

static cl_platform_id platform_of(const cl_context_properties *properties)
{
	cl_platform_id first = NULL;

	for (; properties && *properties; properties += 2)
		if (*properties == CL_CONTEXT_PLATFORM)
			return (cl_platform_id)properties[1];
	return opencl_real.clGetPlatformIDs(1, &first, NULL) == CL_SUCCESS ? first : NULL;
}

cl_context CL_API_CALL face_clCreateContextFromType(const cl_context_properties *properties, cl_device_type device_type,
						    opencl_context_fn *pfn_notify, void *user_data, cl_int *errcode_ret)
{
	cl_platform_id platform = platform_of(properties);
	cl_device_id list[OPENCL_CARD_DEVICES];
	cl_uint count = 0;
	cl_int r;

	if (!platform)
		return opencl_real.clCreateContextFromType(properties, device_type, pfn_notify, user_data, errcode_ret);
	switch (layer_start()) {
	case FACES_METERED:
		break;
	case FACES_OPEN:
		return opencl_real.clCreateContextFromType(properties, device_type, pfn_notify, user_data, errcode_ret);
	default:
		return refuse(CL_OUT_OF_RESOURCES, errcode_ret);
	}
	r = granted(platform, device_type, list, &count);
	if (r != CL_SUCCESS || !count)
		return refuse(r == CL_SUCCESS ? CL_DEVICE_NOT_FOUND : r, errcode_ret);
	return face_clCreateContext(properties, count, list, pfn_notify, user_data, errcode_ret);
}
