/* memory.c: see memory.h. */
#include "opencl/memory.h"
#include "core/account.h"
#include "core/charge.h"
#include "core/gate.h"
#include "core/records.h"
#include "opencl/devices.h"
#include "opencl/extensions.h"
#include "opencl/layer.h"
#include "opencl_face.h"

#include <stdlib.h>
#include <string.h>

/* What was charged: its argument as the driver keeps it. */
#define MASK_BITS 16u
#define FORK_BITS 16u

_Static_assert(WIRE_MAX_DEVICES <= MASK_BITS, "a mask has one bit for each device");
_Static_assert(sizeof(void *) == 8, "units, mask and forks fit into a pointer");

static uint64_t forks; /* this process is so many generations from the first */

static void *pack(uint32_t mask, uint32_t units)
{
	return (void *)(uintptr_t)((uint64_t)units << 32 | (forks & 0xffff) << MASK_BITS | mask);
}

/* Inside the gate: a word that is given back while the page is replaced (attach.h) would be lost. */
static void give(uint32_t mask, uint32_t units)
{
	gate_enter();
	for (unsigned int d = 0; mask; d++, mask >>= 1) {
		if (!(mask & 1))
			continue;
		account_apart(d, -(int64_t)units);
		account_give(d, units);
	}
	gate_leave();
}

/* On each device of the mask. False: one has no room, and nothing is taken. Outside the gate. */
static bool take(uint32_t mask, uint64_t units)
{
	struct charge c = { 0 };

	for (unsigned int d = 0; d < WIRE_MAX_DEVICES; d++) {
		if (!(mask & 1u << d))
			continue;
		if (units > WIRE_MAX_UNITS || charge_begin_units(&c, d, units) != CHARGE_HELD) {
			give(mask & ((1u << d) - 1), (uint32_t)units);
			return false;
		}
		account_apart(d, (int64_t)units);
		gate_leave();
	}
	return true;
}

static void CL_CALLBACK let_go(cl_mem object, void *data)
{
	uint64_t word = (uint64_t)(uintptr_t)data;

	(void)object;
	if ((word >> MASK_BITS & 0xffff) == (forks & 0xffff))
		give(word & 0xffff, (uint32_t)(word >> 32));
}

static void *answer(void *object, cl_int r, cl_int *errcode_ret)
{
	if (errcode_ret)
		*errcode_ret = r;
	return object;
}

/* The object is there: its charge hangs on it. Value: what the program gets. */
static cl_mem hand_on(cl_mem object, uint32_t mask, uint32_t units, cl_int *errcode_ret)
{
	cl_int r = opencl_real.clSetMemObjectDestructorCallback(object, let_go, pack(mask, units));

	if (r == CL_SUCCESS)
		return answer(object, CL_SUCCESS, errcode_ret);
	/* A driver before OpenCL 1.1, or one that has no memory: nobody would tell when it goes. */
	opencl_real.clReleaseMemObject(object);
	give(mask, units);
	return answer(NULL, CL_OUT_OF_RESOURCES, errcode_ret);
}

/* Buffers -----------------------------------------------------------------------------------------------------------
 */

/* Where a buffer of these flags takes memory. */
static uint32_t mask_of(cl_context context, cl_mem_flags flags)
{
	uint32_t mask = layer_is_metered() ? devices_of_context(context) : 0;

	return flags & CL_MEM_USE_HOST_PTR && devices_unified(mask) ? 0 : mask;
}

cl_mem CL_API_CALL face_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host_ptr,
				       cl_int *errcode_ret)
{
	uint32_t mask = mask_of(context, flags), units;
	cl_mem made;

	if (!mask || !size)
		return opencl_real.clCreateBuffer(context, flags, size, host_ptr, errcode_ret);
	if (!take(mask, wire_units(size)))
		return answer(NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE, errcode_ret);
	units = (uint32_t)wire_units(size);
	gate_enter();
	made = opencl_real.clCreateBuffer(context, flags, size, host_ptr, errcode_ret);
	gate_leave();
	if (made)
		return hand_on(made, mask, units, errcode_ret);
	give(mask, units);
	return NULL;
}

/*
 * Memory of another API or process (cl_khr_external_memory) is charged as any other: the driver keeps it for as long as
 * the object is there, whatever becomes of what it was imported from.
 */
cl_mem CL_API_CALL face_clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
						     cl_mem_flags flags, size_t size, void *host_ptr,
						     cl_int *errcode_ret)
{
	uint32_t mask = mask_of(context, flags), units;
	cl_mem made;

	if (!mask || !size)
		return opencl_real.clCreateBufferWithProperties(context, properties, flags, size, host_ptr,
								errcode_ret);
	if (!take(mask, wire_units(size)))
		return answer(NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE, errcode_ret);
	units = (uint32_t)wire_units(size);
	gate_enter();
	made = opencl_real.clCreateBufferWithProperties(context, properties, flags, size, host_ptr, errcode_ret);
	gate_leave();
	if (made)
		return hand_on(made, mask, units, errcode_ret);
	give(mask, units);
	return NULL;
}

/* Images and pipes --------------------------------------------------------------------------------------------------
 */

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t channels(cl_channel_order order)
{
	switch (order) {
	case CL_R:
	case CL_A:
	case CL_INTENSITY:
	case CL_LUMINANCE:
	case CL_DEPTH:
	case CL_Rx:
		return 1;
	case CL_RG:
	case CL_RA:
	case CL_RGx:
		return 2;
	default:
		return 4;
	}
}

/* Of one pixel; of a format that is not known, the largest there is. */
static uint64_t pixel_bytes(const cl_image_format *f)
{
	switch (f->image_channel_data_type) {
	case CL_UNORM_SHORT_565:
	case CL_UNORM_SHORT_555:
		return 2;
	case CL_UNORM_INT_101010:
	case CL_UNORM_INT_101010_2:
		return 4;
	case CL_SNORM_INT8:
	case CL_UNORM_INT8:
	case CL_SIGNED_INT8:
	case CL_UNSIGNED_INT8:
		return channels(f->image_channel_order);
	case CL_SNORM_INT16:
	case CL_UNORM_INT16:
	case CL_SIGNED_INT16:
	case CL_UNSIGNED_INT16:
	case CL_HALF_FLOAT:
		return 2 * channels(f->image_channel_order);
	default:
		return 4 * channels(f->image_channel_order);
	}
}

static uint64_t image_bytes(const cl_image_format *format, const cl_image_desc *desc)
{
	uint64_t rows = desc->image_height ? desc->image_height : 1, slices = desc->image_depth ? desc->image_depth : 1;
	uint64_t bytes;

	if (desc->image_type == CL_MEM_OBJECT_IMAGE1D || desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY)
		rows = 1;
	if (desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY || desc->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY)
		slices = desc->image_array_size;
	else if (desc->image_type != CL_MEM_OBJECT_IMAGE3D)
		slices = 1;
	bytes = times(times(times(desc->image_width, rows), slices), pixel_bytes(format));
	return desc->num_mip_levels > 1 ? times(bytes, 2) : bytes;
}

/* What the driver says that the object takes; 0: it does not. */
static uint64_t told_bytes(cl_mem object)
{
	size_t bytes = 0;

	return opencl_real.clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof bytes, &bytes, NULL) == CL_SUCCESS ? bytes
													     : 0;
}

/* Settles the charge of what the driver has made at what it says of it. */
static cl_mem settle(cl_mem made, uint32_t mask, uint32_t units, cl_int *errcode_ret)
{
	uint64_t told = wire_units(told_bytes(made));

	if (told > units && !take(mask, told - units)) {
		opencl_real.clReleaseMemObject(made);
		give(mask, units);
		return answer(NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE, errcode_ret);
	}
	if (told && told < units)
		give(mask, units - (uint32_t)told);
	return hand_on(made, mask, told ? (uint32_t)told : units, errcode_ret);
}

cl_mem CL_API_CALL face_clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format *image_format,
				      const cl_image_desc *image_desc, void *host_ptr, cl_int *errcode_ret)
{
	/* An image of a buffer's memory takes none. */
	uint32_t mask = image_format && image_desc && !image_desc->mem_object ? mask_of(context, flags) : 0;
	uint64_t units = mask ? wire_units(image_bytes(image_format, image_desc)) : 0;
	cl_mem made;

	if (!units)
		return opencl_real.clCreateImage(context, flags, image_format, image_desc, host_ptr, errcode_ret);
	if (!take(mask, units))
		return answer(NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE, errcode_ret);
	gate_enter();
	made = opencl_real.clCreateImage(context, flags, image_format, image_desc, host_ptr, errcode_ret);
	gate_leave();
	if (made)
		return settle(made, mask, (uint32_t)units, errcode_ret);
	give(mask, (uint32_t)units);
	return NULL;
}

cl_mem CL_API_CALL face_clCreateImageWithProperties(cl_context context, const cl_mem_properties *properties,
						    cl_mem_flags flags, const cl_image_format *image_format,
						    const cl_image_desc *image_desc, void *host_ptr,
						    cl_int *errcode_ret)
{
	bool takes = image_format && image_desc && !image_desc->mem_object;
	uint32_t mask = takes ? mask_of(context, flags) : 0;
	uint64_t units = mask ? wire_units(image_bytes(image_format, image_desc)) : 0;
	cl_mem made;

	if (!units)
		return opencl_real.clCreateImageWithProperties(context, properties, flags, image_format, image_desc,
							       host_ptr, errcode_ret);
	if (!take(mask, units))
		return answer(NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE, errcode_ret);
	gate_enter();
	made = opencl_real.clCreateImageWithProperties(context, properties, flags, image_format, image_desc, host_ptr,
						       errcode_ret);
	gate_leave();
	if (made)
		return settle(made, mask, (uint32_t)units, errcode_ret);
	give(mask, (uint32_t)units);
	return NULL;
}

/* The calls of OpenCL 1.0 and 1.1. */
static bool take_image(cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
		       size_t height, size_t depth, uint32_t *ret_mask, uint32_t *ret_units)
{
	uint64_t units;

	*ret_mask = format ? mask_of(context, flags) : 0;
	units = *ret_mask ? wire_units(times(times(times(width, height), depth), pixel_bytes(format))) : 0;
	if (!units)
		*ret_mask = 0;
	*ret_units = (uint32_t)units;
	return take(*ret_mask, units);
}

cl_mem CL_API_CALL face_clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format *image_format,
					size_t image_width, size_t image_height, size_t image_row_pitch, void *host_ptr,
					cl_int *errcode_ret)
{
	uint32_t mask, units;
	cl_mem made;

	if (!take_image(context, flags, image_format, image_width, image_height, 1, &mask, &units))
		return answer(NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE, errcode_ret);
	made = opencl_real.clCreateImage2D(context, flags, image_format, image_width, image_height, image_row_pitch,
					   host_ptr, errcode_ret);
	if (made && mask)
		return settle(made, mask, units, errcode_ret);
	give(mask, units);
	return made;
}

cl_mem CL_API_CALL face_clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format *image_format,
					size_t image_width, size_t image_height, size_t image_depth,
					size_t image_row_pitch, size_t image_slice_pitch, void *host_ptr,
					cl_int *errcode_ret)
{
	uint32_t mask, units;
	cl_mem made;

	if (!take_image(context, flags, image_format, image_width, image_height, image_depth, &mask, &units))
		return answer(NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE, errcode_ret);
	made = opencl_real.clCreateImage3D(context, flags, image_format, image_width, image_height, image_depth,
					   image_row_pitch, image_slice_pitch, host_ptr, errcode_ret);
	if (made && mask)
		return settle(made, mask, units, errcode_ret);
	give(mask, units);
	return made;
}

cl_mem CL_API_CALL face_clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint pipe_packet_size,
				     cl_uint pipe_max_packets, const cl_pipe_properties *properties,
				     cl_int *errcode_ret)
{
	uint64_t units = wire_units((uint64_t)pipe_packet_size * pipe_max_packets);
	uint32_t mask = units ? mask_of(context, 0) : 0;
	cl_mem made;

	if (!mask)
		return opencl_real.clCreatePipe(context, flags, pipe_packet_size, pipe_max_packets, properties,
						errcode_ret);
	if (!take(mask, units))
		return answer(NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE, errcode_ret);
	made = opencl_real.clCreatePipe(context, flags, pipe_packet_size, pipe_max_packets, properties, errcode_ret);
	if (made)
		return settle(made, mask, (uint32_t)units, errcode_ret);
	give(mask, (uint32_t)units);
	return NULL;
}

/* Shared virtual memory: pointers, without an object that could tell of its end
 * ---------------------------------------- */

static bool remember(void *pointer, cl_context context, uint32_t mask, uint32_t units)
{
	struct record r = { .key = record_pointer((uint64_t)(uintptr_t)pointer),
			    .context = context,
			    .units = units,
			    .extra = mask,
			    .kind = RECORD_SVM };

	return records_add(&r);
}

/* It goes before the driver is asked: from then on the address may be another thread's. Value: what to give back. */
static bool forget(void *pointer, uint32_t *ret_mask, uint32_t *ret_units)
{
	struct record r;

	if (!pointer || !records_take(record_pointer((uint64_t)(uintptr_t)pointer), &r))
		return false;
	*ret_mask = r.extra;
	*ret_units = r.units;
	return true;
}

void *CL_API_CALL face_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
	uint32_t mask = size && layer_is_metered() ? devices_of_context(context) : 0;
	uint32_t units;
	void *made;

	if (!mask)
		return opencl_real.clSVMAlloc(context, flags, size, alignment);
	if (!take(mask, wire_units(size)))
		return NULL;
	units = (uint32_t)wire_units(size);
	gate_enter();
	made = opencl_real.clSVMAlloc(context, flags, size, alignment);
	gate_leave();
	if (made && remember(made, context, mask, units))
		return made;
	if (made)
		opencl_real.clSVMFree(context, made);
	give(mask, units);
	return NULL;
}

void CL_API_CALL face_clSVMFree(cl_context context, void *svm_pointer)
{
	uint32_t mask = 0, units = 0;
	bool ours = forget(svm_pointer, &mask, &units);

	opencl_real.clSVMFree(context, svm_pointer);
	if (ours)
		give(mask, units);
}

/* What goes back when the queue has come to it. */
struct freeing {
	uint32_t count;
	struct {
		uint32_t mask, units;
	} part[];
};

static void CL_CALLBACK freed(cl_event event, cl_int status, void *data)
{
	struct freeing *f = data;

	(void)event;
	(void)status;
	for (uint32_t i = 0; i < f->count; i++)
		give(f->part[i].mask, f->part[i].units);
	free(f);
}

/* The records go before the driver is asked, as in clSVMFree. NULL: no memory, and they stay. */
static struct freeing *freeing_new(uint32_t count, void *const *pointers)
{
	struct freeing *f = calloc(1, sizeof *f + count * sizeof f->part[0]);

	if (!f)
		return NULL;
	f->count = count;
	for (uint32_t i = 0; i < count; i++)
		forget(pointers[i], &f->part[i].mask, &f->part[i].units);
	return f;
}

/* The driver has not taken it. */
static void freeing_undo(struct freeing *f, void *const *pointers)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (f->part[i].mask && !remember(pointers[i], NULL, f->part[i].mask, f->part[i].units))
			give(f->part[i].mask, f->part[i].units);
	free(f);
}

/* With a function of the program's own it frees for itself, by clSVMFree. */
cl_int CL_API_CALL face_clEnqueueSVMFree(cl_command_queue command_queue, cl_uint num_svm_pointers, void **svm_pointers,
					 opencl_svm_free_fn *pfn_free_func, void *user_data,
					 cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
					 cl_event *event)
{
	bool frees = !pfn_free_func && svm_pointers && layer_is_metered();
	struct freeing *f = frees ? freeing_new(num_svm_pointers, svm_pointers) : NULL;
	cl_event done = NULL;
	cl_int r;

	r = opencl_real.clEnqueueSVMFree(command_queue, num_svm_pointers, svm_pointers, pfn_free_func, user_data,
					 num_events_in_wait_list, event_wait_list, f ? &done : event);
	if (!f)
		return r;
	if (r != CL_SUCCESS) {
		freeing_undo(f, svm_pointers);
		return r;
	}
	if (opencl_real.clSetEventCallback(done, CL_COMPLETE, freed, f) != CL_SUCCESS)
		freed(NULL, CL_COMPLETE, f);
	if (event)
		*event = done;
	else
		opencl_real.clReleaseEvent(done);
	return CL_SUCCESS;
}

/* cl_intel_unified_shared_memory -------------------------------------------------------------------------------------
 */

typedef void *(CL_API_CALL *alloc_fn)(cl_context, cl_device_id, const cl_mem_properties_intel *, size_t, cl_uint,
				      cl_int *);
typedef cl_int(CL_API_CALL *free_fn)(cl_context, void *);

static void *usm_alloc(enum opencl_call call, cl_context context, cl_device_id device,
		       const cl_mem_properties_intel *properties, size_t size, cl_uint alignment, cl_int *errcode_ret)
{
	alloc_fn real = (alloc_fn)extensions_real(call, context);
	uint32_t mask = size && layer_is_metered() ? devices_of_context(context) : 0, units;
	unsigned int is;
	void *made;

	if (!real)
		return answer(NULL, CL_INVALID_OPERATION, errcode_ret);
	if (device && mask)
		mask = devices_find(device, &is) ? 1u << is : 0;
	if (!mask)
		return real(context, device, properties, size, alignment, errcode_ret);
	if (!take(mask, wire_units(size)))
		return answer(NULL, CL_OUT_OF_RESOURCES, errcode_ret);
	units = (uint32_t)wire_units(size);
	made = real(context, device, properties, size, alignment, errcode_ret);
	if (!made) {
		give(mask, units);
		return NULL;
	}
	if (remember(made, context, mask, units))
		return made;
	if (extensions_real(OPENCL_clMemFreeINTEL, context))
		((free_fn)extensions_real(OPENCL_clMemFreeINTEL, context))(context, made);
	give(mask, units);
	return answer(NULL, CL_OUT_OF_RESOURCES, errcode_ret);
}

void *CL_API_CALL face_clDeviceMemAllocINTEL(cl_context context, cl_device_id device,
					     const cl_mem_properties_intel *properties, size_t size, cl_uint alignment,
					     cl_int *errcode_ret)
{
	return usm_alloc(OPENCL_clDeviceMemAllocINTEL, context, device, properties, size, alignment, errcode_ret);
}

void *CL_API_CALL face_clSharedMemAllocINTEL(cl_context context, cl_device_id device,
					     const cl_mem_properties_intel *properties, size_t size, cl_uint alignment,
					     cl_int *errcode_ret)
{
	return usm_alloc(OPENCL_clSharedMemAllocINTEL, context, device, properties, size, alignment, errcode_ret);
}

static cl_int usm_free(enum opencl_call call, cl_context context, void *ptr)
{
	free_fn real = (free_fn)extensions_real(call, context);
	uint32_t mask = 0, units = 0;
	bool ours;
	cl_int r;

	if (!real)
		return CL_INVALID_OPERATION;
	ours = forget(ptr, &mask, &units);
	r = real(context, ptr);
	if (ours && r == CL_SUCCESS)
		give(mask, units);
	else if (ours && !remember(ptr, context, mask, units))
		give(mask, units);
	return r;
}

cl_int CL_API_CALL face_clMemFreeINTEL(cl_context context, void *ptr)
{
	return usm_free(OPENCL_clMemFreeINTEL, context, ptr);
}

cl_int CL_API_CALL face_clMemBlockingFreeINTEL(cl_context context, void *ptr)
{
	return usm_free(OPENCL_clMemBlockingFreeINTEL, context, ptr);
}

void memory_forget(void)
{
	forks++;
	for (unsigned int d = 0; d < WIRE_MAX_DEVICES; d++)
		atomic_store_explicit(&accounts[d].apart_units, 0, memory_order_relaxed);
}
