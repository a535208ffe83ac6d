/* watch.c: see watch.h. */
#include "remote/client/watch.h"

#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/context.h"
#include "remote/client/parked.h"
#include "remote/client/session.h"
#include "remote/client/start.h"
#include "remote/client/visible.h"
#include "core/log.h"

#include <errno.h>
#include <stddef.h>

/* One question about a device whose answer does not change: `before` the device (-1: nothing) goes one number. */
static CUresult fact(int device, enum cuda_call call, int32_t before, void *ret, size_t bytes)
{
	struct client_call c;
	int32_t local;
	struct session *s = visible_all(device, &local);

	if (!s)
		return CUDA_ERROR_INVALID_DEVICE;
	client_request_to(&c, (uint16_t)call, s);
	if (client_begin_memo(&c)) {
		if (before >= 0)
			remote_put(&c.out, &before, sizeof before);
		remote_put(&c.out, &local, sizeof local);
		remote_put_present(&c.out, ret);
		client_send(&c);
	}
	if (c.result == CUDA_SUCCESS)
		remote_get(&c.in, ret, bytes);
	return client_end(&c);
}

static CUresult facts(int device, struct watch_facts *ret)
{
	const int32_t room = SNAPSHOT_NAME_BYTES;
	CUresult r = fact(device, CUDA_CALL_cuDeviceGetName, room, ret->name, sizeof ret->name);

	if (r == CUDA_SUCCESS)
		r = fact(device, CUDA_CALL_cuDeviceGetPCIBusId, room, ret->bus_id, sizeof ret->bus_id);
	if (r == CUDA_SUCCESS)
		r = fact(device, CUDA_CALL_cuDeviceGetUuid_v2, -1, ret->uuid, sizeof ret->uuid);
	if (r == CUDA_SUCCESS)
		r = fact(device, CUDA_CALL_cuDeviceGetAttribute, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
			 &ret->major, sizeof ret->major);
	if (r == CUDA_SUCCESS)
		r = fact(device, CUDA_CALL_cuDeviceGetAttribute, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
			 &ret->minor, sizeof ret->minor);
	ret->name[sizeof ret->name - 1] = ret->bus_id[sizeof ret->bus_id - 1] = 0;
	return r;
}

/* What is parked here counts as free: the program has given it back, and cuMemGetInfo says so. */
static CUresult figures(int device, struct watch_figures *ret)
{
	struct client_call c;
	int32_t local;
	struct session *s = visible_all(device, &local);

	if (!s)
		return CUDA_ERROR_INVALID_DEVICE;
	if (start_ready() == CUDA_SUCCESS)
		parked_look(CUDA_CALL_cuMemGetInfo_v2);
	client_request_to(&c, CALL_WATCH, s);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &local, sizeof local);
		client_send(&c);
	}
	ret->own_bytes = WATCH_UNKNOWN;
	if (c.result == CUDA_SUCCESS)
		remote_get(&c.in, ret, offsetof(struct watch_figures, own_bytes));
	if (c.result == CUDA_SUCCESS && c.in.used < c.in.size) /* a worker of an older release ends here */
		remote_get(&c.in, &ret->own_bytes, sizeof ret->own_bytes);
	ret->driver_version[sizeof ret->driver_version - 1] = 0;
	return client_end(&c);
}

static bool computes(int device)
{
	int32_t local;
	struct session *s = visible_all(device, &local);

	return s && start_ready() == CUDA_SUCCESS && context_any(visible_name(s, local));
}

__attribute__((visibility("default"))) extern const struct watch_calls mete_remote_watch;

const struct watch_calls mete_remote_watch = {
	.size = sizeof(struct watch_calls),
	.fingerprint = CUDA_REMOTE_FINGERPRINT,
	.open = start_watch,
	.count = visible_all_count,
	.facts = facts,
	.figures = figures,
	.version = start_version,
	.computes = computes,
	.log = log_line,
};
