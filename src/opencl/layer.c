/*
 * layer.c: see layer.h.
 *
 * The loader calls clInitLayer within the program's first call of OpenCL, under its own locks: meted is asked later, by
 * the first call that wants devices or a context. Everything else needs one of these, so it comes after.
 */
#include "opencl/layer.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/faces.h"
#include "core/fork.h"
#include "core/log.h"
#include "opencl/devices.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define ENTRIES (sizeof(struct _cl_icd_dispatch) / sizeof(void *))

struct _cl_icd_dispatch opencl_real;
_Atomic bool layer_metered;

static struct _cl_icd_dispatch ours;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the start */
static bool open_run, joined;

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

/* A table that is shorter than ours comes from an older loader: what lies beyond it is never called. */
cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const struct _cl_icd_dispatch *target_dispatch,
			       cl_uint *num_entries_ret, const struct _cl_icd_dispatch **layer_dispatch_ret)
{
	size_t known = num_entries < ENTRIES ? num_entries : ENTRIES;

	if (!target_dispatch || !num_entries_ret || !layer_dispatch_ret)
		return CL_INVALID_VALUE;
	*num_entries_ret = (cl_uint)known;
	*layer_dispatch_ret = target_dispatch;
	pthread_mutex_lock(&lock);
	if (!joined) {
		account_init();
		joined = true;
		memcpy(&opencl_real, target_dispatch, known * sizeof(void *));
		memcpy(&ours, &opencl_real, sizeof ours);
		layer_fill(&ours);
	}
	pthread_mutex_unlock(&lock);
	if (attach_wanted())
		*layer_dispatch_ret = &ours;
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

cl_int CL_API_CALL clDeinitLayer(void)
{
	return CL_SUCCESS;
}

static enum layer_state start_locked(void)
{
	int r;

	if (layer_is_metered())
		return LAYER_METERED;
	if (open_run)
		return LAYER_OPEN;
	if (!faces_join(face)) {
		log_line("libmete-opencl.so and libmete-core.so are of different releases; install mete whole");
		return LAYER_REFUSED;
	}
	r = account_attach();
	if (r == 0) {
		fork_watch();
		atomic_store_explicit(&layer_metered, true, memory_order_release);
		return LAYER_METERED;
	}
	if (attach_shut_out(r) || !attach_may_run_open())
		return LAYER_REFUSED;
	log_line("METE_OPEN=1: OpenCL runs without a limit in this program");
	open_run = true;
	return LAYER_OPEN;
}

enum layer_state layer_start(void)
{
	enum layer_state state;
	int saved = errno;

	if (layer_is_metered())
		return LAYER_METERED;
	pthread_mutex_lock(&lock);
	state = start_locked();
	pthread_mutex_unlock(&lock);
	errno = saved;
	return state;
}
