/* serve_dnn.c: kernels of cuDNN at the worker, as the client's twin sends them (twin_dnn.c). */
#include "libs/common/device.h"
#include "remote/libs/recipe_serve.h"

int dnn_serve(struct forward_work *work);
int far_serve(struct forward_work *work);
extern void *cudnn_more; /* mete_library_work() of mete's own cuDNN */

static int kernel(struct forward_work *w)
{
	_Alignas(16) char params[DEVICE_PARAM_BYTES] = { 0 };
	int (*run)(void *handle, const void *params, size_t bytes) = (int (*)(void *, const void *, size_t))cudnn_more;

	forward_get(w, params, sizeof(params));
	if (!forward_ready(w))
		return forward_refuse(w);
	w->status = run(w->handle, params, sizeof(params));
	return 0;
}

int dnn_serve(struct forward_work *w)
{
	return w->call == CUDNN_CALL_cudnnBackendExecute && cudnn_more ? kernel(w) : far_serve(w);
}
