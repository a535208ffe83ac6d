/* queues.c: see queues.h. */
#include "opencl/queues.h"
#include "core/map.h"
#include "core/marks.h"
#include "opencl/layer.h"
#include "opencl_face.h"

#include <pthread.h>
#include <string.h>

#define PROPERTIES 32u /* words of a list of properties; a longer one goes to the driver as it is */

enum queue_hides {
	HIDES_PROFILING = 1 << 0, /* the program has not asked for it */
	HIDES_WORDS = 1 << 1,	  /* its list of properties had no CL_QUEUE_PROPERTIES */
	OUT_OF_ORDER = 1 << 2,
	HIDES_LIST = 1 << 3, /* it gave no list at all */
};

/* Values of an entry of the map. */
enum { REFERENCES, HIDES };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the map */
static struct map queues;

static void add(cl_command_queue queue, uint64_t hides)
{
	struct map_entry e = { .key = (uint64_t)(uintptr_t)queue, .value = { 1, hides } };

	pthread_mutex_lock(&lock);
	map_add(&queues, &e);
	pthread_mutex_unlock(&lock);
}

/* Of a queue that we do not know nothing is hidden. */
static uint64_t hides(cl_command_queue queue)
{
	struct map_entry *e;
	uint64_t is;

	pthread_mutex_lock(&lock);
	e = map_find(&queues, (uint64_t)(uintptr_t)queue);
	is = e ? e->value[HIDES] : 0;
	pthread_mutex_unlock(&lock);
	return is;
}

static void change(cl_command_queue queue, uint64_t clear, uint64_t set)
{
	struct map_entry *e;

	pthread_mutex_lock(&lock);
	e = map_find(&queues, (uint64_t)(uintptr_t)queue);
	if (e)
		e->value[HIDES] = (e->value[HIDES] & ~clear) | set;
	pthread_mutex_unlock(&lock);
}

bool queues_in_order(cl_command_queue queue)
{
	return !(hides(queue) & OUT_OF_ORDER);
}

void queues_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	queues = (struct map){ 0 };
}

static uint64_t hides_of(cl_command_queue_properties asked)
{
	return (asked & CL_QUEUE_PROFILING_ENABLE ? 0 : HIDES_PROFILING) |
	       (asked & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? OUT_OF_ORDER : 0);
}

cl_command_queue CL_API_CALL face_clCreateCommandQueue(cl_context context, cl_device_id device,
						       cl_command_queue_properties properties, cl_int *errcode_ret)
{
	cl_command_queue made = NULL;

	if (layer_is_metered())
		made = opencl_real.clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE,
							errcode_ret);
	if (made) {
		add(made, hides_of(properties));
		return made;
	}
	made = opencl_real.clCreateCommandQueue(context, device, properties, errcode_ret);
	if (made && layer_is_metered())
		add(made, hides_of(properties) & OUT_OF_ORDER);
	return made;
}

/* A copy of the list with profiling. False: too long, or nothing that profiling is for. */
static bool with_profiling(const cl_queue_properties *list, cl_queue_properties copy[PROPERTIES + 2],
			   uint64_t *ret_hides)
{
	cl_queue_properties asked = 0;
	unsigned int n = 0;
	bool found = false;

	for (; list && list[n]; n += 2) {
		if (n + 2 > PROPERTIES - 1)
			return false;
		copy[n] = list[n];
		copy[n + 1] = list[n + 1];
		if (list[n] != CL_QUEUE_PROPERTIES)
			continue;
		found = true;
		asked = list[n + 1];
		copy[n + 1] |= CL_QUEUE_PROFILING_ENABLE;
	}
	/* Of the device's own queues, which kernels enqueue into, we see nothing. */
	if (asked & CL_QUEUE_ON_DEVICE)
		return false;
	if (!found) {
		copy[n++] = CL_QUEUE_PROPERTIES;
		copy[n++] = CL_QUEUE_PROFILING_ENABLE;
	}
	copy[n] = 0;
	*ret_hides = hides_of(asked) | (found ? 0 : HIDES_WORDS) | (list ? 0 : HIDES_LIST);
	return true;
}

cl_command_queue CL_API_CALL face_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
								     const cl_queue_properties *properties,
								     cl_int *errcode_ret)
{
	cl_queue_properties copy[PROPERTIES + 2];
	cl_command_queue made = NULL;
	uint64_t is = 0;

	if (layer_is_metered() && with_profiling(properties, copy, &is))
		made = opencl_real.clCreateCommandQueueWithProperties(context, device, copy, errcode_ret);
	if (made) {
		add(made, is);
		return made;
	}
	made = opencl_real.clCreateCommandQueueWithProperties(context, device, properties, errcode_ret);
	/* Known all the same: nobody touches it after its release. */
	if (made && layer_is_metered())
		add(made, 0);
	return made;
}

cl_int CL_API_CALL face_clRetainCommandQueue(cl_command_queue command_queue)
{
	cl_int r = opencl_real.clRetainCommandQueue(command_queue);
	struct map_entry *e;

	if (r != CL_SUCCESS)
		return r;
	pthread_mutex_lock(&lock);
	e = map_find(&queues, (uint64_t)(uintptr_t)command_queue);
	if (e)
		e->value[REFERENCES]++;
	pthread_mutex_unlock(&lock);
	return r;
}

/* The program lets go of its last reference: its work is marked, and from then on nobody here touches the queue. */
cl_int CL_API_CALL face_clReleaseCommandQueue(cl_command_queue command_queue)
{
	struct map_entry *e;
	bool last;

	pthread_mutex_lock(&lock);
	e = map_find(&queues, (uint64_t)(uintptr_t)command_queue);
	last = e && !--e->value[REFERENCES];
	if (last)
		map_remove(&queues, (uint64_t)(uintptr_t)command_queue, NULL);
	pthread_mutex_unlock(&lock);
	if (last)
		marks_queue_goes(command_queue);
	return opencl_real.clReleaseCommandQueue(command_queue);
}

/* The list that the program gave: without what we have added. */
static size_t strip(cl_queue_properties *list, size_t bytes, uint64_t is)
{
	size_t n = bytes / sizeof *list;

	for (size_t i = 0; i + 1 < n; i += 2) {
		if (list[i] != CL_QUEUE_PROPERTIES)
			continue;
		list[i + 1] &= ~(cl_queue_properties)CL_QUEUE_PROFILING_ENABLE;
		if (!(is & HIDES_WORDS))
			continue;
		memmove(&list[i], &list[i + 2], (n - i - 2) * sizeof *list);
		return bytes - 2 * sizeof *list;
	}
	return bytes;
}

cl_int CL_API_CALL face_clGetCommandQueueInfo(cl_command_queue command_queue, cl_command_queue_info param_name,
					      size_t param_value_size, void *param_value, size_t *param_value_size_ret)
{
	cl_queue_properties list[PROPERTIES + 2];
	size_t size = 0;
	uint64_t is;
	cl_int r;

	r = opencl_real.clGetCommandQueueInfo(command_queue, param_name, param_value_size, param_value,
					      param_value_size_ret);
	if (param_name == CL_QUEUE_PROPERTIES && r == CL_SUCCESS && param_value &&
	    hides(command_queue) & HIDES_PROFILING)
		*(cl_command_queue_properties *)param_value &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	if (param_name != CL_QUEUE_PROPERTIES_ARRAY || !((is = hides(command_queue)) & HIDES_PROFILING))
		return r;
	if (opencl_real.clGetCommandQueueInfo(command_queue, param_name, sizeof list, list, &size) != CL_SUCCESS)
		return r;
	size = is & HIDES_LIST ? 0 : strip(list, size, is);
	if (param_value && param_value_size < size)
		return CL_INVALID_VALUE;
	if (param_value)
		memcpy(param_value, list, size);
	if (param_value_size_ret)
		*param_value_size_ret = size;
	return CL_SUCCESS;
}

/* Of OpenCL 1.0: profiling stays on, whatever the program thinks of it. */
cl_int CL_API_CALL face_clSetCommandQueueProperty(cl_command_queue command_queue,
						  cl_command_queue_properties properties, cl_bool enable,
						  cl_command_queue_properties *old_properties)
{
	cl_command_queue_properties others = properties & ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	uint64_t is = hides(command_queue);
	cl_int r;

	if (!layer_is_metered() || enable || !(properties & CL_QUEUE_PROFILING_ENABLE))
		others = properties;
	r = opencl_real.clSetCommandQueueProperty(command_queue, others, enable, old_properties);
	if (r != CL_SUCCESS)
		return r;
	if (old_properties && is & HIDES_PROFILING)
		*old_properties &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	if (properties & CL_QUEUE_PROFILING_ENABLE)
		change(command_queue, HIDES_PROFILING, enable ? 0 : HIDES_PROFILING);
	return r;
}

cl_int CL_API_CALL face_clGetEventProfilingInfo(cl_event event, cl_profiling_info param_name, size_t param_value_size,
						void *param_value, size_t *param_value_size_ret)
{
	cl_command_queue queue = NULL;

	if (layer_is_metered() &&
	    opencl_real.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL) == CL_SUCCESS &&
	    queue && hides(queue) & HIDES_PROFILING)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return opencl_real.clGetEventProfilingInfo(event, param_name, param_value_size, param_value,
						   param_value_size_ret);
}
