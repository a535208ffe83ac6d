/*
 * layer.c: see layer.h.
 *
 * The loader calls clInitLayer within the program's first call of OpenCL, under its own locks: meted is asked later, by
 * the first call that wants devices or a context. Everything else needs one of these, so it comes after.
 */
#include "opencl/layer.h"
#include "core/account.h"
#include "core/attach.h"

#include <pthread.h>
#include <string.h>

#define ENTRIES (sizeof(struct _cl_icd_dispatch) / sizeof(void *))

struct _cl_icd_dispatch opencl_real;
_Atomic bool layer_metered;

static struct _cl_icd_dispatch ours;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards filled and the tables */
static bool filled;

#pragma GCC visibility push(default)
cl_int CL_API_CALL clGetLayerInfo(cl_layer_info param_name, size_t param_value_size, void *param_value,
				  size_t *param_value_size_ret);
cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const struct _cl_icd_dispatch *target_dispatch,
			       cl_uint *num_entries_ret, const struct _cl_icd_dispatch **layer_dispatch_ret);
cl_int CL_API_CALL clInitLayerWithProperties(cl_uint num_entries, const struct _cl_icd_dispatch *target_dispatch,
					     cl_uint *num_entries_ret,
					     const struct _cl_icd_dispatch **layer_dispatch_ret,
					     const cl_properties *properties);
cl_int CL_API_CALL clDeinitLayer(void);
#pragma GCC visibility pop

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

cl_int CL_API_CALL clGetLayerInfo(cl_layer_info param_name, size_t param_value_size, void *param_value,
				  size_t *param_value_size_ret)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	static const char name[] = "mete";

	if (param_name == CL_LAYER_API_VERSION)
		return tell(&version, sizeof version, param_value_size, param_value, param_value_size_ret);
	if (param_name == CL_LAYER_NAME)
		return tell(name, sizeof name, param_value_size, param_value, param_value_size_ret);
	return CL_INVALID_VALUE;
}

/* `known` entries of the table are there. Value: what programs are to reach. */
static const struct _cl_icd_dispatch *take_locked(const struct _cl_icd_dispatch *target, size_t known)
{
	if (!filled) {
		account_init();
		filled = true;
		memcpy(&opencl_real, target, known * sizeof(void *));
		memcpy(&ours, &opencl_real, sizeof ours);
		layer_fill(&ours);
	}
	return attach_wanted() ? &ours : target;
}

/* A table that is shorter than ours comes from an older loader: what lies beyond it is never called. */
cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const struct _cl_icd_dispatch *target_dispatch,
			       cl_uint *num_entries_ret, const struct _cl_icd_dispatch **layer_dispatch_ret)
{
	size_t known = num_entries < ENTRIES ? num_entries : ENTRIES;

	if (!target_dispatch || !num_entries_ret || !layer_dispatch_ret)
		return CL_INVALID_VALUE;
	*num_entries_ret = (cl_uint)known;
	pthread_mutex_lock(&lock);
	*layer_dispatch_ret = take_locked(target_dispatch, known);
	pthread_mutex_unlock(&lock);
	return CL_SUCCESS;
}

/*
 * Khronos' loaders since 2025 ask for this one alone. What their properties say is when the layer ends, and it ends
 * with the process: a driver may let go of memory after the loader has said that it is over.
 */
cl_int CL_API_CALL clInitLayerWithProperties(cl_uint num_entries, const struct _cl_icd_dispatch *target_dispatch,
					     cl_uint *num_entries_ret,
					     const struct _cl_icd_dispatch **layer_dispatch_ret,
					     const cl_properties *properties)
{
	(void)properties;
	return clInitLayer(num_entries, target_dispatch, num_entries_ret, layer_dispatch_ret);
}

const struct _cl_icd_dispatch *layer_front(const struct _cl_icd_dispatch *loader)
{
	const struct _cl_icd_dispatch *table = loader;

	pthread_mutex_lock(&lock);
	if (!filled)
		table = take_locked(loader, ENTRIES);
	pthread_mutex_unlock(&lock);
	return table;
}

cl_int CL_API_CALL clDeinitLayer(void)
{
	return CL_SUCCESS;
}

enum faces_state layer_start(void)
{
	enum faces_state state;

	if (layer_is_metered())
		return FACES_METERED;
	if (!faces_join_as(face, "libmete-opencl.so"))
		return FACES_REFUSED;
	state = faces_begin(face);
	if (state == FACES_METERED)
		atomic_store_explicit(&layer_metered, true, memory_order_release);
	return state;
}
