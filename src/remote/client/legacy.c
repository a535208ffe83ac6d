/*
 * legacy.c: the oldest way to launch: shape and parameters are set one by one and kept with the function; here, with
 * its record, until the launch.
 */
#include "remote/client/functions.h"

#include "cuda_remote.h"

#include <stdlib.h>
#include <string.h>

struct legacy {
	unsigned int block[3];
	unsigned int shared_bytes;
	unsigned int param_bytes;
	unsigned char param[4096];
};

/* Of the function that a call is about; NULL: c->result says why. */
static struct legacy *legacy_use(struct client_call *c, enum cuda_call call, CUfunction f)
{
	struct legacy *l = NULL, *made;
	struct function *of;

	client_call(c, call);
	client_use_current(c);
	of = function_use(c, f);
	if (!of)
		return NULL;
	l = atomic_load(&of->legacy);
	if (l)
		return l;
	made = calloc(1, sizeof(*made));
	if (!made) {
		c->result = CUDA_ERROR_OUT_OF_MEMORY;
		return NULL;
	}
	if (atomic_compare_exchange_strong(&of->legacy, &l, made))
		return made;
	free(made);
	return l;
}

CUresult client_cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z)
{
	struct client_call c;
	struct legacy *l = legacy_use(&c, CUDA_CALL_cuFuncSetBlockShape, hfunc);

	if (l && (x <= 0 || y <= 0 || z <= 0 || x > 1024 || y > 1024 || z > 64))
		c.result = CUDA_ERROR_INVALID_VALUE;
	else if (l) {
		l->block[0] = (unsigned int)x;
		l->block[1] = (unsigned int)y;
		l->block[2] = (unsigned int)z;
	}
	return client_end(&c);
}

CUresult client_cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes)
{
	struct client_call c;
	struct legacy *l = legacy_use(&c, CUDA_CALL_cuFuncSetSharedSize, hfunc);

	if (l)
		l->shared_bytes = bytes;
	return client_end(&c);
}

CUresult client_cuParamSetSize(CUfunction hfunc, unsigned int numbytes)
{
	struct client_call c;
	struct legacy *l = legacy_use(&c, CUDA_CALL_cuParamSetSize, hfunc);

	if (l && numbytes > sizeof(l->param))
		c.result = CUDA_ERROR_INVALID_VALUE;
	else if (l)
		l->param_bytes = numbytes;
	return client_end(&c);
}

static CUresult param_set(enum cuda_call call, CUfunction f, int offset, const void *from, unsigned int bytes)
{
	struct client_call c;
	struct legacy *l = legacy_use(&c, call, f);

	if (l && (offset < 0 || !from || (size_t)offset > sizeof(l->param) ||
		  bytes > sizeof(l->param) - (size_t)offset))
		c.result = CUDA_ERROR_INVALID_VALUE;
	else if (l)
		memcpy(l->param + offset, from, bytes);
	return client_end(&c);
}

CUresult client_cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes)
{
	return param_set(CUDA_CALL_cuParamSetv, hfunc, offset, ptr, numbytes);
}

CUresult client_cuParamSeti(CUfunction hfunc, int offset, unsigned int value)
{
	return param_set(CUDA_CALL_cuParamSeti, hfunc, offset, &value, sizeof(value));
}

CUresult client_cuParamSetf(CUfunction hfunc, int offset, float value)
{
	return param_set(CUDA_CALL_cuParamSetf, hfunc, offset, &value, sizeof(value));
}

CUresult client_cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream)
{
	LOOKING;
	struct client_call c;
	struct legacy *l = legacy_use(&c, CUDA_CALL_cuLaunchGridAsync, f);
	size_t bytes = l ? l->param_bytes : 0;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, l ? l->param : NULL, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			  CU_LAUNCH_PARAM_END };

	if (l && (grid_width <= 0 || grid_height <= 0))
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (client_end(&c) != CUDA_SUCCESS)
		return c.result;
	return client_cuLaunchKernel(f, (unsigned int)grid_width, (unsigned int)grid_height, 1, l->block[0],
				     l->block[1], l->block[2], l->shared_bytes, hStream, NULL, extra);
}

CUresult client_cuLaunchGrid(CUfunction f, int grid_width, int grid_height)
{
	return client_cuLaunchGridAsync(f, grid_width, grid_height, NULL);
}

CUresult client_cuLaunch(CUfunction f)
{
	return client_cuLaunchGridAsync(f, 1, 1, NULL);
}
