/*
 * empty_icd.c: an OpenCL driver that does nothing, for what the layer adds: everything is done when it is asked for.
 * One device of 16 GiB, with a UUID of its own and memory apart from the host's. What the price case needs, and no
 * more.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Any object: the loader wants the table first. */
struct object {
	const struct _cl_icd_dispatch *dispatch;
	void(CL_CALLBACK *gone)(cl_mem, void *);
	void *data;
	cl_ulong at_ns;
};

static struct _cl_icd_dispatch table;
static struct object platform = { .dispatch = &table }, device = { .dispatch = &table },
		     context = { .dispatch = &table };
static struct object queue = { .dispatch = &table }, program = { .dispatch = &table }, kernel = { .dispatch = &table };

static cl_int tell(const void *value, size_t size, size_t room, void *ret, size_t *ret_size)
{
	if (ret && room < size)
		return CL_INVALID_VALUE;
	if (ret)
		memcpy(ret, value, size);
	if (ret_size)
		*ret_size = size;
	return CL_SUCCESS;
}

static cl_int tell_text(const char *text, size_t room, void *ret, size_t *ret_size)
{
	return tell(text, strlen(text) + 1, room, ret, ret_size);
}

static cl_int CL_API_CALL get_platforms(cl_uint most, cl_platform_id *ret, cl_uint *count)
{
	if (ret && most)
		*ret = (cl_platform_id)&platform;
	if (count)
		*count = 1;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL platform_info(cl_platform_id p, cl_platform_info what, size_t room, void *ret,
					size_t *ret_size)
{
	return tell_text(what == CL_PLATFORM_VERSION	      ? "OpenCL 3.0 empty"
			 : what == CL_PLATFORM_EXTENSIONS     ? "cl_khr_icd"
			 : what == CL_PLATFORM_ICD_SUFFIX_KHR ? "EMPTY"
							      : "empty",
			 room, ret, ret_size);
}

static cl_int CL_API_CALL get_devices(cl_platform_id p, cl_device_type type, cl_uint most, cl_device_id *ret,
				      cl_uint *count)
{
	if (ret && most)
		*ret = (cl_device_id)&device;
	if (count)
		*count = 1;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id d, cl_device_info what, size_t room, void *ret, size_t *ret_size)
{
	static const uint8_t uuid[16] = "an empty device";
	const char *on_bus = getenv("EMPTY_ICD_BUS"); /* it tells that bus's number instead of a UUID */
	cl_uint place[4] = { 0, on_bus ? (cl_uint)atoi(on_bus) : 0, 0, 0 };
	cl_ulong bytes = 16ull << 30, type = CL_DEVICE_TYPE_GPU;
	cl_platform_id of = (cl_platform_id)&platform;
	cl_uint zero = 0;
	void *none = NULL;

	switch (what) {
	case CL_DEVICE_TYPE:
		return tell(&type, sizeof type, room, ret, ret_size);
	case CL_DEVICE_GLOBAL_MEM_SIZE:
	case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
		return tell(&bytes, sizeof bytes, room, ret, ret_size);
	case CL_DEVICE_PLATFORM:
		return tell(&of, sizeof of, room, ret, ret_size);
	case CL_DEVICE_PARENT_DEVICE:
		return tell(&none, sizeof none, room, ret, ret_size);
	case CL_DEVICE_UUID_KHR:
		return tell(uuid, sizeof uuid, room, ret, ret_size);
	case 0x410f: /* CL_DEVICE_PCI_BUS_INFO_KHR */
		return tell(place, sizeof place, room, ret, ret_size);
	case CL_DEVICE_EXTENSIONS:
		return tell_text(on_bus ? "cl_khr_pci_bus_info" : "cl_khr_device_uuid", room, ret, ret_size);
	case CL_DEVICE_NAME:
	case CL_DEVICE_VENDOR:
	case CL_DEVICE_VERSION:
		return tell_text("empty", room, ret, ret_size);
	default:
		return tell(&zero, sizeof zero, room, ret, ret_size);
	}
}

static cl_context CL_API_CALL create_context(const cl_context_properties *p, cl_uint n, const cl_device_id *d,
					     void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *u,
					     cl_int *r)
{
	*r = CL_SUCCESS;
	return (cl_context)&context;
}

static cl_context CL_API_CALL create_context_of(const cl_context_properties *p, cl_device_type type,
						void(CL_CALLBACK *f)(const char *, const void *, size_t, void *),
						void *u, cl_int *r)
{
	return create_context(p, 1, NULL, f, u, r);
}

static cl_int CL_API_CALL context_info(cl_context c, cl_context_info what, size_t room, void *ret, size_t *ret_size)
{
	cl_device_id of = (cl_device_id)&device;

	return what == CL_CONTEXT_DEVICES ? tell(&of, sizeof of, room, ret, ret_size) : CL_INVALID_VALUE;
}

static cl_command_queue CL_API_CALL create_queue(cl_context c, cl_device_id d, const cl_queue_properties *p, cl_int *r)
{
	*r = CL_SUCCESS;
	return (cl_command_queue)&queue;
}

static cl_int CL_API_CALL queue_info(cl_command_queue q, cl_command_queue_info what, size_t room, void *ret,
				     size_t *ret_size)
{
	cl_device_id of = (cl_device_id)&device;

	return what == CL_QUEUE_DEVICE ? tell(&of, sizeof of, room, ret, ret_size) : CL_INVALID_VALUE;
}

static cl_mem CL_API_CALL create_buffer(cl_context c, cl_mem_flags flags, size_t size, void *host, cl_int *r)
{
	struct object *o = calloc(1, sizeof *o);

	o->dispatch = &table;
	*r = CL_SUCCESS;
	return (cl_mem)o;
}

static cl_mem CL_API_CALL create_with(cl_context c, const cl_mem_properties *properties, cl_mem_flags flags,
				      size_t size, void *host, cl_int *r)
{
	return create_buffer(c, flags, size, host, r);
}

static cl_int CL_API_CALL set_destructor(cl_mem mem, void(CL_CALLBACK *f)(cl_mem, void *), void *data)
{
	struct object *o = (struct object *)mem;

	o->gone = f;
	o->data = data;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL release_mem(cl_mem mem)
{
	struct object *o = (struct object *)mem;

	if (o->gone)
		o->gone(mem, o->data);
	free(o);
	return CL_SUCCESS;
}

static cl_program CL_API_CALL create_program(cl_context c, cl_uint n, const char **text, const size_t *lengths,
					     cl_int *r)
{
	*r = CL_SUCCESS;
	return (cl_program)&program;
}

static cl_int CL_API_CALL build(cl_program p, cl_uint n, const cl_device_id *d, const char *options,
				void(CL_CALLBACK *f)(cl_program, void *), void *u)
{
	return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create_kernel(cl_program p, const char *name, cl_int *r)
{
	*r = CL_SUCCESS;
	return (cl_kernel)&kernel;
}

static cl_int CL_API_CALL set_arg(cl_kernel k, cl_uint at, size_t size, const void *value)
{
	return CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
				  const size_t *global, const size_t *local, cl_uint n, const cl_event *list,
				  cl_event *event)
{
	return CL_SUCCESS;
}

static cl_int CL_API_CALL marker(cl_command_queue q, cl_uint n, const cl_event *list, cl_event *event)
{
	struct object *o = calloc(1, sizeof *o);
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	o->dispatch = &table;
	o->at_ns = (cl_ulong)t.tv_sec * 1000000000u + (cl_ulong)t.tv_nsec;
	*event = (cl_event)o;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL event_info(cl_event e, cl_event_info what, size_t room, void *ret, size_t *ret_size)
{
	cl_int done = CL_COMPLETE;

	return tell(&done, sizeof done, room, ret, ret_size);
}

static cl_int CL_API_CALL profiling(cl_event e, cl_profiling_info what, size_t room, void *ret, size_t *ret_size)
{
	return tell(&((struct object *)e)->at_ns, sizeof(cl_ulong), room, ret, ret_size);
}

static cl_int CL_API_CALL wait_events(cl_uint n, const cl_event *list)
{
	return CL_SUCCESS;
}

static cl_int CL_API_CALL keep_event(cl_event e)
{
	return CL_SUCCESS;
}

/* Nobody retains one here for longer than a call. */
static cl_int CL_API_CALL release_event(cl_event e)
{
	free(e);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL flush(cl_command_queue q)
{
	return CL_SUCCESS;
}

static void *CL_API_CALL by_name(const char *name);

#pragma GCC visibility push(default)
void *CL_API_CALL clGetExtensionFunctionAddress(const char *name);
cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint most, cl_platform_id *ret, cl_uint *count);
#pragma GCC visibility pop

__attribute__((constructor)) static void fill(void)
{
	table.clGetPlatformIDs = get_platforms;
	table.clGetPlatformInfo = platform_info;
	table.clGetDeviceIDs = get_devices;
	table.clGetDeviceInfo = device_info;
	table.clCreateContext = create_context;
	table.clCreateContextFromType = create_context_of;
	table.clGetContextInfo = context_info;
	table.clCreateCommandQueueWithProperties = create_queue;
	table.clGetCommandQueueInfo = queue_info;
	table.clCreateBuffer = create_buffer;
	table.clCreateBufferWithProperties = create_with;
	table.clSetMemObjectDestructorCallback = set_destructor;
	table.clReleaseMemObject = release_mem;
	table.clCreateProgramWithSource = create_program;
	table.clBuildProgram = build;
	table.clCreateKernel = create_kernel;
	table.clSetKernelArg = set_arg;
	table.clEnqueueNDRangeKernel = enqueue;
	table.clEnqueueMarkerWithWaitList = marker;
	table.clGetEventInfo = event_info;
	table.clGetEventProfilingInfo = profiling;
	table.clWaitForEvents = wait_events;
	table.clRetainEvent = keep_event;
	table.clReleaseEvent = release_event;
	table.clFlush = flush;
	table.clFinish = flush;
	table.clGetExtensionFunctionAddress = by_name;
}

/* As some drivers do, it calls an export of the loader while that looks for drivers; and takes its time then. */
static void call_loader(void)
{
	const char *ms = getenv("EMPTY_ICD_CALLS");
	cl_int (*release)(cl_context) = ms ? (cl_int(*)(cl_context))dlsym(RTLD_DEFAULT, "clReleaseContext") : NULL;

	if (!release)
		return;
	release(NULL);
	usleep((useconds_t)atoi(ms) * 1000);
}

cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint most, cl_platform_id *ret, cl_uint *count)
{
	call_loader();
	return get_platforms(most, ret, count);
}

static void *CL_API_CALL by_name(const char *name)
{
	return !strcmp(name, "clIcdGetPlatformIDsKHR") ? (void *)clIcdGetPlatformIDsKHR
	       : !strcmp(name, "clGetPlatformInfo")    ? (void *)platform_info
						       : NULL;
}

void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
	return by_name(name);
}
