/* enqueue.c: see enqueue.h. Kept short where nothing is limited: a look at the gate. */
#include "opencl/enqueue.h"
#include "core/copies.h"
#include "opencl/extensions.h"
#include "opencl/layer.h"
#include "opencl/queues.h"
#include "opencl_face.h"

#define COPY_SEED 0x6f636c63u
#define TASK_SEED 0x6f636c74u

/* The queue is held back by other work, which is not this one's time. */
static void wait_first(cl_command_queue queue, cl_uint event_count, const cl_event *events)
{
	if (!event_count || !events || !queues_in_order(queue))
		return;
	marks_break(queue, false, MARKS_NONE);
	opencl_real.clEnqueueBarrierWithWaitList(queue, event_count, events, NULL);
}

/* Copies ---------------------------------------------------------------------------------------------------------- */

void enqueue_copy_slow(struct launch *l, cl_command_queue queue, const char *what, uint64_t bytes, bool waits,
		       cl_uint event_count, const cl_event *events)
{
	struct work w;

	marks_break(queue, false, WIRE_COPY);
	if (!pace_gated(WIRE_COPY) || !queue)
		return;
	wait_first(queue, event_count, events);
	w = copies_work(estimate_mix(COPY_SEED, (uint64_t)(uintptr_t)what), bytes, queue, false, waits, what);
	copies_begin(l, &w);
}

cl_int enqueue_copy_done(struct launch *l, cl_command_queue queue, bool waits, cl_int r)
{
	if (!waits) {
		pace_end(l, r == CL_SUCCESS);
		return r;
	}
	if (r == CL_SUCCESS)
		marks_ended(queue, false);
	pace_end_host(l, r == CL_SUCCESS);
	return r;
}

/* Kernels --------------------------------------------------------------------------------------------------------- */

struct shape {
	cl_uint dims;
	uint64_t global[3], local[3];
};

static void shape_of(struct shape *s, cl_uint dims, const size_t *global, const size_t *local)
{
	*s = (struct shape){ .dims = dims < 3 ? dims : 3, .global = { 1, 1, 1 } };
	for (cl_uint i = 0; i < s->dims; i++) {
		s->global[i] = global ? global[i] : 1;
		s->local[i] = local ? local[i] : 0;
	}
}

/* Independent products: they overlap in the processor. */
static inline uint64_t kind_of(const void *kernel, const struct shape *s)
{
	uint64_t h = (uint64_t)(uintptr_t)kernel * 0x9e3779b97f4a7c15u + s->global[0] * 0xc2b2ae3d27d4eb4fu +
		     (s->global[1] ^ s->global[2] << 32) * 0x165667b19e3779f9u +
		     (s->local[0] ^ s->local[1] << 16 ^ s->local[2] << 32) * 0xd6e8feb86659fd93u;

	h ^= h >> 32;
	return h * 0xd6e8feb86659fd93u | 1;
}

static __attribute__((noinline)) void kernel_begin(struct launch *l, cl_command_queue queue, const void *kernel,
						   const char *what, const struct shape *s, cl_uint event_count,
						   const cl_event *events)
{
	uint64_t items = s->global[0] * s->global[1] * s->global[2], kind = kind_of(kernel, s);
	struct work w = { .engine = WIRE_COMPUTE,
			  .key = kind,
			  .family = (uint64_t)(uintptr_t)kernel,
			  .size = items,
			  .stream = queue,
			  .function = what ? NULL : (face_function)(uintptr_t)kernel,
			  .what = what,
			  .threads = items };

	l->pace = NULL;
	if (!queue)
		return;
	wait_first(queue, event_count, events);
	if (!pace_begin_fast(l, WIRE_COMPUTE, kind, queue))
		pace_begin_slow(l, &w);
}

static __attribute__((noinline)) cl_int range_gated(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
						    const size_t *offset, const size_t *global, const size_t *local,
						    cl_uint event_count, const cl_event *events, cl_event *event)
{
	struct launch l;
	struct shape s;
	cl_int r;

	shape_of(&s, dims, global, local);
	kernel_begin(&l, queue, kernel, NULL, &s, event_count, events);
	r = opencl_real.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, event_count, events, event);
	pace_end(&l, r == CL_SUCCESS);
	return r;
}

cl_int CL_API_CALL face_clEnqueueNDRangeKernel(cl_command_queue command_queue, cl_kernel kernel, cl_uint work_dim,
					       const size_t *global_work_offset, const size_t *global_work_size,
					       const size_t *local_work_size, cl_uint num_events_in_wait_list,
					       const cl_event *event_wait_list, cl_event *event)
{
	if (__builtin_expect(pace_gated(WIRE_COMPUTE), 0))
		return range_gated(command_queue, kernel, work_dim, global_work_offset, global_work_size,
				   local_work_size, num_events_in_wait_list, event_wait_list, event);
	return opencl_real.clEnqueueNDRangeKernel(command_queue, kernel, work_dim, global_work_offset, global_work_size,
						  local_work_size, num_events_in_wait_list, event_wait_list, event);
}

static void other_begin(struct launch *l, cl_command_queue queue, const void *kernel, const char *what,
			cl_uint event_count, const cl_event *events)
{
	struct shape s;

	l->pace = NULL;
	if (!pace_gated(WIRE_COMPUTE))
		return;
	shape_of(&s, 0, NULL, NULL);
	kernel_begin(l, queue, kernel, what, &s, event_count, events);
}

cl_int CL_API_CALL face_clEnqueueTask(cl_command_queue command_queue, cl_kernel kernel, cl_uint num_events_in_wait_list,
				      const cl_event *event_wait_list, cl_event *event)
{
	struct launch l;
	cl_int r;

	other_begin(&l, command_queue, kernel, NULL, num_events_in_wait_list, event_wait_list);
	r = opencl_real.clEnqueueTask(command_queue, kernel, num_events_in_wait_list, event_wait_list, event);
	pace_end(&l, r == CL_SUCCESS);
	return r;
}

cl_int CL_API_CALL face_clEnqueueNativeKernel(cl_command_queue command_queue, opencl_native_fn *user_func, void *args,
					      size_t cb_args, cl_uint num_mem_objects, const cl_mem *mem_list,
					      const void **args_mem_loc, cl_uint num_events_in_wait_list,
					      const cl_event *event_wait_list, cl_event *event)
{
	struct launch l;
	cl_int r;

	other_begin(&l, command_queue, (const void *)(uintptr_t)user_func, "native kernel", num_events_in_wait_list,
		    event_wait_list);
	r = opencl_real.clEnqueueNativeKernel(command_queue, user_func, args, cb_args, num_mem_objects, mem_list,
					      args_mem_loc, num_events_in_wait_list, event_wait_list, event);
	pace_end(&l, r == CL_SUCCESS);
	return r;
}

/* cl_khr_command_buffer: commands are recorded without a queue seeing them; all of them start here, as one. */
typedef cl_int(CL_API_CALL *command_buffer_fn)(cl_uint, cl_command_queue *, cl_command_buffer_khr, cl_uint,
					       const cl_event *, cl_event *);

static cl_command_queue queue_of(cl_command_buffer_khr buffer)
{
	cl_int(CL_API_CALL * info)(cl_command_buffer_khr, cl_command_buffer_info_khr, size_t, void *, size_t *);
	cl_command_queue queue = NULL;

	*(void **)&info = extensions_real(OPENCL_clGetCommandBufferInfoKHR, buffer);
	if (info && info(buffer, CL_COMMAND_BUFFER_QUEUES_KHR, sizeof queue, &queue, NULL) == CL_SUCCESS)
		return queue;
	return NULL;
}

cl_int CL_API_CALL face_clGetCommandBufferInfoKHR(cl_command_buffer_khr command_buffer,
						  cl_command_buffer_info_khr param_name, size_t param_value_size,
						  void *param_value, size_t *param_value_size_ret)
{
	cl_int(CL_API_CALL * info)(cl_command_buffer_khr, cl_command_buffer_info_khr, size_t, void *, size_t *);

	*(void **)&info = extensions_real(OPENCL_clGetCommandBufferInfoKHR, command_buffer);
	if (!info)
		return CL_INVALID_OPERATION;
	return info(command_buffer, param_name, param_value_size, param_value, param_value_size_ret);
}

cl_int CL_API_CALL face_clEnqueueCommandBufferKHR(cl_uint num_queues, cl_command_queue *queues,
						  cl_command_buffer_khr command_buffer, cl_uint num_events_in_wait_list,
						  const cl_event *event_wait_list, cl_event *event)
{
	command_buffer_fn real = (command_buffer_fn)extensions_real(OPENCL_clEnqueueCommandBufferKHR, command_buffer);
	cl_command_queue queue = num_queues && queues ? queues[0] : command_buffer ? queue_of(command_buffer) : NULL;
	struct launch l;
	cl_int r;

	if (!real)
		return CL_INVALID_OPERATION;
	other_begin(&l, queue, command_buffer, "command buffer", num_events_in_wait_list, event_wait_list);
	r = real(num_queues, queues, command_buffer, num_events_in_wait_list, event_wait_list, event);
	pace_end(&l, r == CL_SUCCESS);
	return r;
}

/* The end of work, as the program learns of it -------------------------------------------------------------------- */

cl_int CL_API_CALL face_clFinish(cl_command_queue command_queue)
{
	cl_int r = opencl_real.clFinish(command_queue);

	if (r == CL_SUCCESS && command_queue && layer_is_metered())
		marks_ended(command_queue, false);
	return r;
}

cl_int CL_API_CALL face_clWaitForEvents(cl_uint num_events, const cl_event *event_list)
{
	cl_int r = opencl_real.clWaitForEvents(num_events, event_list);

	if (r == CL_SUCCESS && layer_is_metered())
		marks_ended_all();
	return r;
}
