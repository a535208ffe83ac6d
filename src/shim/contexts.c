/* contexts.c: see contexts.h. */
#include "shim/contexts.h"
#include "cuda_shim.h"
#include "core/account.h"
#include "core/charge.h"
#include "shim/cuda_figure.h"
#include "shim/devices.h"
#include "shim/faults.h"
#include "core/gate.h"
#include "core/map.h"
#include "core/marks.h"
#include "core/measured.h"
#include "shim/later.h"
#include "shim/memory.h"
#include "shim/modules.h"
#include "shim/movable.h"
#include "shim/mover.h"
#include "shim/pools.h"
#include "core/records.h"
#include "core/sharing.h"
#include "shim/start.h"
#include "shim/vmm.h"
#include "wire/page.h"
#include "wire/soft_usage.h"

#include <pthread.h>
#include <stdatomic.h>

/* context -> [0] device, [1] units that its creation took, [2] usage count of cuCtxAttach and cuCtxDetach */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards both */
static struct map contexts;
static CUcontext primary[WIRE_MAX_DEVICES];
static pthread_mutex_t limits = PTHREAD_MUTEX_INITIALIZER; /* held while a limit changes; taken before the gate */
static _Atomic(CUcontext) sole;				   /* written with the lock held */
static _Atomic uint32_t on_devices;			   /* the same */

/* Which symbol, and what it was called with. */
struct create {
	enum cuda_call call;
	unsigned int flags;
	CUdevice device; /* the driver's */
	CUexecAffinityParam *affinity;
	int affinity_count;
	CUctxCreateParams *params;
	CUdevResourceDesc resources;
	uint32_t vdp;
	void *vdp_lookup;
};

static CUresult ask_driver(void *ret, const struct create *a)
{
	switch (a->call) {
	case CUDA_CALL_cuDevicePrimaryCtxRetain:
		return shim_real.cuDevicePrimaryCtxRetain(ret, a->device);
	case CUDA_CALL_cuCtxCreate:
		return shim_real.cuCtxCreate(ret, a->flags, a->device);
	case CUDA_CALL_cuCtxCreate_v2:
		return shim_real.cuCtxCreate_v2(ret, a->flags, a->device);
	case CUDA_CALL_cuCtxCreate_v3:
		return shim_real.cuCtxCreate_v3(ret, a->affinity, a->affinity_count, a->flags, a->device);
	case CUDA_CALL_cuCtxCreate_v4:
		return shim_real.cuCtxCreate_v4(ret, a->params, a->flags, a->device);
	case CUDA_CALL_cuGreenCtxCreate:
		return shim_real.cuGreenCtxCreate(ret, a->resources, a->device, a->flags);
	case CUDA_CALL_cuGLCtxCreate:
		return shim_real.cuGLCtxCreate(ret, a->flags, a->device);
	case CUDA_CALL_cuGLCtxCreate_v2:
		return shim_real.cuGLCtxCreate_v2(ret, a->flags, a->device);
	case CUDA_CALL_cuVDPAUCtxCreate:
		return shim_real.cuVDPAUCtxCreate(ret, a->flags, a->device, a->vdp, a->vdp_lookup);
	case CUDA_CALL_cuVDPAUCtxCreate_v2:
		return shim_real.cuVDPAUCtxCreate_v2(ret, a->flags, a->device, a->vdp, a->vdp_lookup);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static void undo(void *made, const struct create *a)
{
	switch (a->call) {
	case CUDA_CALL_cuDevicePrimaryCtxRetain:
		shim_real.cuDevicePrimaryCtxRelease_v2(a->device);
		break;
	case CUDA_CALL_cuGreenCtxCreate:
		shim_real.cuGreenCtxDestroy(made);
		break;
	default:
		shim_real.cuCtxDestroy_v2(made);
	}
}

static bool add_device(const struct map_entry *e, void *data)
{
	*(uint32_t *)data |= 1u << e->value[0];
	return false;
}

static void find_devices_locked(void)
{
	uint32_t devices = 0;

	map_sweep(&contexts, add_device, &devices);
	atomic_store_explicit(&on_devices, devices, memory_order_release);
}

uint32_t contexts_devices(void)
{
	return atomic_load_explicit(&on_devices, memory_order_acquire);
}

/* False: no memory for it; then the context must not stay. */
static bool remember(void *made, const struct create *a, unsigned int device, uint32_t units)
{
	bool good;

	pthread_mutex_lock(&lock);
	good = map_add(&contexts,
		       &(struct map_entry){ .key = (uint64_t)(uintptr_t)made, .value = { device, units, 1 } });
	if (good && a->call == CUDA_CALL_cuDevicePrimaryCtxRetain)
		primary[device] = made;
	atomic_store_explicit(&sole, good && contexts.count == 1 ? made : NULL, memory_order_release);
	find_devices_locked();
	pthread_mutex_unlock(&lock);
	return good;
}

/* What its creation took is known. It may be gone already. */
static void remember_units(const void *made, uint32_t units)
{
	struct map_entry *e;

	pthread_mutex_lock(&lock);
	e = map_find(&contexts, (uint64_t)(uintptr_t)made);
	if (e)
		e->value[1] = units;
	pthread_mutex_unlock(&lock);
}

static void forget(const void *context, unsigned int device)
{
	pthread_mutex_lock(&lock);
	map_remove(&contexts, (uint64_t)(uintptr_t)context, NULL);
	atomic_store_explicit(&sole, NULL, memory_order_release);
	find_devices_locked();
	if (primary[device] == context)
		primary[device] = NULL;
	pthread_mutex_unlock(&lock);
	faults_forget(context);
}

static bool primary_active(CUdevice device)
{
	unsigned int flags;
	int active = 0;

	return shim_real.cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active;
}

static bool is_primary(const void *context, unsigned int device)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = primary[device] == context;
	pthread_mutex_unlock(&lock);
	return is;
}

/*
 * The context was there before the process had its grant: it is charged now. With the gate closed: another thread may
 * have been quicker, or have reset it.
 */
static CUresult adopt(void *made, const struct create *a, unsigned int device)
{
	struct measured m;
	uint32_t units;

	if (measured_begin_adopted(&m, device) != MEASURED_READY) {
		undo(made, a);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (is_primary(made, device) || !primary_active(a->device)) {
		measured_cancel(&m);
		return CUDA_SUCCESS;
	}
	if (!remember(made, a, device, 0) || measured_end(&m, &units) == MEASURED_OVER) {
		forget(made, device);
		undo(made, a);
		measured_cancel(&m);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	remember_units(made, units);
	return CUDA_SUCCESS;
}

/*
 * One more reference to a primary context that is there takes nothing. Inside the gate, so that its last reference does
 * not go between question and answer. False: it is not there.
 */
static bool retain_again(void *ret, const struct create *a, unsigned int device, CUresult *ret_r)
{
	bool active, known = true;

	gate_enter();
	active = primary_active(a->device);
	if (active)
		*ret_r = ask_driver(ret, a);
	if (active && *ret_r == CUDA_SUCCESS)
		known = is_primary(*(void **)ret, device);
	gate_leave();
	if (!known)
		*ret_r = adopt(*(void **)ret, a, device);
	return active;
}

static void take_back(void *made, const struct create *a);

/* Units that a context takes; MEASURED_UNKNOWN: only the software device says it beforehand. */
static uint64_t context_units(const struct create *a, unsigned int device)
{
	const struct soft_usage_table *soft = cuda_figure_soft(device);

	return soft && a->call != CUDA_CALL_cuGreenCtxCreate ? wire_units(soft->context_bytes(a->device))
							     : MEASURED_UNKNOWN;
}

/* A green context is no context: it goes by the one that stands for it. */
static CUcontext of_green(CUgreenCtx green)
{
	CUcontext context = NULL;

	return green && shim_has(CUDA_CALL_cuCtxFromGreenCtx) &&
			       shim_real.cuCtxFromGreenCtx(&context, green) == CUDA_SUCCESS
		       ? context
		       : NULL;
}

static void *context_made(void *made, const struct create *a)
{
	return a->call == CUDA_CALL_cuGreenCtxCreate ? of_green(made) : made;
}

static CUresult create(void *ret, const struct create *a)
{
	struct measured m;
	unsigned int device;
	void *made = NULL, *context;
	uint64_t most;
	uint32_t units;
	CUresult r;

	if (!ret || !start_is_metered() || !devices_find(a->device, &device))
		return ask_driver(ret, a);
	if (a->call == CUDA_CALL_cuDevicePrimaryCtxRetain && retain_again(ret, a, device, &r))
		return r;
	most = context_units(a, device);
	if (measured_begin(&m, device, most == MEASURED_UNKNOWN ? 0 : most, most) != MEASURED_READY)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = ask_driver(&made, a);
	if (r != CUDA_SUCCESS) {
		measured_cancel(&m);
		return r;
	}
	context = context_made(made, a);
	/* Before the gate is open: nobody else ends what is not known here. */
	if (!context || !remember(context, a, device, 0) || measured_end(&m, &units) == MEASURED_OVER) {
		forget(context, device);
		undo(made, a);
		measured_cancel(&m);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	remember_units(context, units);
	if (a->call != CUDA_CALL_cuGreenCtxCreate && !modules_enter(made)) {
		take_back(made, a);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*(void **)ret = made;
	return CUDA_SUCCESS;
}

CUresult shim_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	return create(pctx, &(struct create){ .call = CUDA_CALL_cuDevicePrimaryCtxRetain, .device = devices_in(dev) });
}

CUresult shim_cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	return create(pctx,
		      &(struct create){ .call = CUDA_CALL_cuCtxCreate, .flags = flags, .device = devices_in(dev) });
}

CUresult shim_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	return create(pctx,
		      &(struct create){ .call = CUDA_CALL_cuCtxCreate_v2, .flags = flags, .device = devices_in(dev) });
}

CUresult shim_cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams, unsigned int flags,
			     CUdevice dev)
{
	return create(pctx, &(struct create){ .call = CUDA_CALL_cuCtxCreate_v3,
					      .flags = flags,
					      .device = devices_in(dev),
					      .affinity = paramsArray,
					      .affinity_count = numParams });
}

CUresult shim_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev)
{
	return create(pctx, &(struct create){ .call = CUDA_CALL_cuCtxCreate_v4,
					      .flags = flags,
					      .device = devices_in(dev),
					      .params = ctxCreateParams });
}

CUresult shim_cuGLCtxCreate(CUcontext *pCtx, unsigned int Flags, CUdevice device)
{
	return create(pCtx, &(struct create){
				    .call = CUDA_CALL_cuGLCtxCreate, .flags = Flags, .device = devices_in(device) });
}

CUresult shim_cuGLCtxCreate_v2(CUcontext *pCtx, unsigned int Flags, CUdevice device)
{
	return create(pCtx, &(struct create){
				    .call = CUDA_CALL_cuGLCtxCreate_v2, .flags = Flags, .device = devices_in(device) });
}

CUresult shim_cuVDPAUCtxCreate(CUcontext *pCtx, unsigned int flags, CUdevice device, uint32_t vdpDevice,
			       void *vdpGetProcAddress)
{
	return create(pCtx, &(struct create){ .call = CUDA_CALL_cuVDPAUCtxCreate,
					      .flags = flags,
					      .device = devices_in(device),
					      .vdp = vdpDevice,
					      .vdp_lookup = vdpGetProcAddress });
}

CUresult shim_cuVDPAUCtxCreate_v2(CUcontext *pCtx, unsigned int flags, CUdevice device, uint32_t vdpDevice,
				  void *vdpGetProcAddress)
{
	return create(pCtx, &(struct create){ .call = CUDA_CALL_cuVDPAUCtxCreate_v2,
					      .flags = flags,
					      .device = devices_in(device),
					      .vdp = vdpDevice,
					      .vdp_lookup = vdpGetProcAddress });
}

CUresult shim_cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags)
{
	return create(phCtx, &(struct create){ .call = CUDA_CALL_cuGreenCtxCreate,
					       .flags = flags,
					       .device = devices_in(dev),
					       .resources = desc });
}

/* What a context leaves behind: its records are refunded with the gate closed, shared objects are dropped after. */
struct estate {
	const void *context;
	uint64_t refunded_units;
	uint64_t known_units; /* of arrays */
	uint32_t objects[WIRE_MAX_OBJECTS];
	unsigned int object_count;
};

static bool inherit(const struct record *r, void *data)
{
	struct estate *estate = data;

	if (r->context != estate->context || r->kind == RECORD_POOL)
		return false;
	if ((r->flags & RECORD_SHARED || (r->kind == RECORD_IMPORTED && r->extra != SHARING_OWN)) &&
	    estate->object_count < WIRE_MAX_OBJECTS)
		estate->objects[estate->object_count++] = r->extra;
	estate->refunded_units += memory_refund(r);
	if (r->kind == RECORD_ARRAY && !(r->flags & RECORD_EXACT))
		estate->known_units += r->units;
	return true;
}

/* One release of a context. `goes`: asked after the driver did it, whether the context is gone. */
struct leaving {
	void *context;
	unsigned int device;
	uint64_t known_units;
	bool (*goes)(const struct leaving *l);
	CUdevice real;
	CUgreenCtx green; /* that `context` stands for */
};

static bool always(const struct leaving *l)
{
	return true;
}

static bool if_inactive(const struct leaving *l)
{
	return !primary_active(l->real);
}

/* cuCtxDetach counts down what cuCtxCreate and cuCtxAttach counted up. */
static bool if_uncounted(const struct leaving *l)
{
	struct map_entry *e;
	bool last = true;

	pthread_mutex_lock(&lock);
	e = map_find(&contexts, (uint64_t)(uintptr_t)l->context);
	if (e && e->value[2] > 1) {
		e->value[2]--;
		last = false;
	}
	pthread_mutex_unlock(&lock);
	return last;
}

static bool find_context(void *context, struct leaving *l)
{
	struct map_entry *e;

	if (!context || !start_is_metered())
		return false;
	pthread_mutex_lock(&lock);
	e = map_find(&contexts, (uint64_t)(uintptr_t)context);
	if (e) {
		l->context = context;
		l->device = (unsigned int)e->value[0];
		l->known_units = e->value[1];
	}
	pthread_mutex_unlock(&lock);
	return e;
}

/* What was allocated in a green context is the primary context's, and stays with it. */
static const void *owner_of(const struct leaving *l)
{
	return l->green ? (const void *)l->green : l->context;
}

static CUresult leave_context(struct leaving *l, CUresult (*call)(const struct leaving *l))
{
	const void *owner = owner_of(l);
	struct estate estate = { .context = owner };
	struct measured m;
	uint64_t known = 0, mapped = 0;
	bool gone;
	CUresult r;

	mover_let_go(l->context);
	marks_context_leaves(l->context);
	modules_hold();
	measured_begin_release(&m, l->device);
	find_context(l->context, l); /* another thread may have ended it meanwhile, and made one under its number */
	r = call(l);
	gone = r == CUDA_SUCCESS && l->goes(l);
	marks_context_left(l->context, gone);
	if (gone) {
		mapped = vmm_context_leaves(owner);
		records_sweep(inherit, &estate);
		estate.refunded_units += later_forget(owner);
		known = l->known_units + estate.known_units + modules_forget(owner);
		forget(l->context, l->device);
	}
	measured_end_release(&m, estate.refunded_units, known);
	modules_release();
	for (unsigned int i = 0; i < estate.object_count; i++)
		sharing_drop(estate.objects[i]);
	vmm_array_left(mapped, NULL, true);
	movable_trim(false);
	pools_settle(l->device);
	return r;
}

static CUresult destroy_v1(const struct leaving *l)
{
	return shim_real.cuCtxDestroy(l->context);
}

static CUresult destroy_v2(const struct leaving *l)
{
	return shim_real.cuCtxDestroy_v2(l->context);
}

static CUresult detach(const struct leaving *l)
{
	return shim_real.cuCtxDetach(l->context);
}

static CUresult destroy_green(const struct leaving *l)
{
	return shim_real.cuGreenCtxDestroy(l->green);
}

/*
 * One that is not known may be on its way: made by the driver, under a number that was another's, and not remembered
 * yet. With the gate closed there is none of those.
 */
static CUresult leave(struct leaving *l, CUresult (*call)(const struct leaving *l))
{
	CUresult r = CUDA_SUCCESS;
	bool known;

	if (!start_is_metered())
		return call(l);
	if (find_context(l->context, l))
		return leave_context(l, call);
	gate_close();
	known = find_context(l->context, l);
	if (!known)
		r = call(l);
	gate_open();
	return known ? leave_context(l, call) : r;
}

CUresult shim_cuCtxDestroy(CUcontext ctx)
{
	return leave(&(struct leaving){ .context = ctx, .goes = always }, destroy_v1);
}

CUresult shim_cuCtxDestroy_v2(CUcontext ctx)
{
	return leave(&(struct leaving){ .context = ctx, .goes = always }, destroy_v2);
}

CUresult shim_cuCtxDetach(CUcontext ctx)
{
	return leave(&(struct leaving){ .context = ctx, .goes = if_uncounted }, detach);
}

CUresult shim_cuGreenCtxDestroy(CUgreenCtx hCtx)
{
	return leave(&(struct leaving){ .context = start_is_metered() ? of_green(hCtx) : NULL,
					.goes = always,
					.green = hCtx },
		     destroy_green);
}

CUresult shim_cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
	CUresult r = shim_real.cuCtxAttach(pctx, flags);
	struct map_entry *e;

	if (r != CUDA_SUCCESS || !pctx)
		return r;
	pthread_mutex_lock(&lock);
	e = map_find(&contexts, (uint64_t)(uintptr_t)*pctx);
	if (e)
		e->value[2]++;
	pthread_mutex_unlock(&lock);
	return r;
}

static CUresult release_v1(const struct leaving *l)
{
	return shim_real.cuDevicePrimaryCtxRelease(l->real);
}

static CUresult release_v2(const struct leaving *l)
{
	return shim_real.cuDevicePrimaryCtxRelease_v2(l->real);
}

static CUresult reset_v1(const struct leaving *l)
{
	return shim_real.cuDevicePrimaryCtxReset(l->real);
}

static CUresult reset_v2(const struct leaving *l)
{
	return shim_real.cuDevicePrimaryCtxReset_v2(l->real);
}

static bool find_primary(unsigned int device, struct leaving *l)
{
	CUcontext context;

	pthread_mutex_lock(&lock);
	context = primary[device];
	pthread_mutex_unlock(&lock);
	return find_context(context, l);
}

static CUresult leave_primary(CUdevice seen, CUresult (*call)(const struct leaving *l),
			      bool (*goes)(const struct leaving *l))
{
	struct leaving l = { .goes = goes, .real = devices_in(seen) };
	struct measured m;
	unsigned int device;
	bool known;
	CUresult r = CUDA_SUCCESS;

	if (!start_is_metered() || !devices_find(l.real, &device))
		return call(&l);
	if (find_primary(device, &l))
		return leave_context(&l, call);
	/* Not known, or on its way (leave()): nothing is measured beside it, and what was found of it goes back. */
	measured_begin_release(&m, device);
	known = find_primary(device, &l);
	if (!known)
		r = call(&l);
	measured_end_release(&m, 0, 0);
	return known ? leave_context(&l, call) : r;
}

CUresult shim_cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return leave_primary(dev, release_v1, if_inactive);
}

CUresult shim_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	return leave_primary(dev, release_v2, if_inactive);
}

CUresult shim_cuDevicePrimaryCtxReset(CUdevice dev)
{
	return leave_primary(dev, reset_v1, always);
}

CUresult shim_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	return leave_primary(dev, reset_v2, always);
}

/* Flags of a context that is there may change what its launches take: not beside a call that is measured. */
CUresult shim_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	CUresult r;

	gate_enter();
	r = shim_real.cuDevicePrimaryCtxSetFlags(devices_in(dev), flags);
	gate_leave();
	return r;
}

CUresult shim_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	CUresult r;

	gate_enter();
	r = shim_real.cuDevicePrimaryCtxSetFlags_v2(devices_in(dev), flags);
	gate_leave();
	return r;
}

/* A context that was made, but for which there is no room after all. */
static void take_back(void *made, const struct create *a)
{
	bool is_primary = a->call == CUDA_CALL_cuDevicePrimaryCtxRetain;
	struct leaving l = { .goes = is_primary ? if_inactive : always, .real = a->device };

	if (find_context(made, &l))
		leave_context(&l, is_primary ? release_v2 : destroy_v2);
}

CUcontext contexts_sole(void)
{
	return atomic_load_explicit(&sole, memory_order_acquire);
}

struct context_list {
	void **list;
	unsigned int count, most;
};

static bool list_context(const struct map_entry *e, void *data)
{
	struct context_list *l = data;

	if (l->count < l->most)
		l->list[l->count++] = (void *)(uintptr_t)e->key;
	return false;
}

unsigned int contexts_list(void **ret, unsigned int most)
{
	struct context_list l = { ret, 0, most };

	pthread_mutex_lock(&lock);
	map_sweep(&contexts, list_context, &l);
	pthread_mutex_unlock(&lock);
	return l.count;
}

bool contexts_device(const void *context, unsigned int *ret_device)
{
	struct map_entry *e;

	pthread_mutex_lock(&lock);
	e = map_find(&contexts, (uint64_t)(uintptr_t)context);
	if (e)
		*ret_device = (unsigned int)e->value[0];
	pthread_mutex_unlock(&lock);
	return e;
}

bool contexts_lack(CUresult *ret_r)
{
	CUdevice device;

	if (!start_is_metered())
		return false;
	*ret_r = shim_real.cuCtxGetDevice(&device);
	if (*ret_r == CUDA_SUCCESS) /* it came back just now */
		*ret_r = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return true;
}

/* A limit that is no lower than `old`: what more of it takes is measured. */
static CUresult raise_limit(CUlimit limit, size_t value, size_t old, unsigned int device)
{
	/* Of the heap for malloc in kernels it is known what more of it takes. */
	uint64_t least = limit == CU_LIMIT_MALLOC_HEAP_SIZE ? wire_units(value - old) : 0;
	struct measured m;
	uint32_t units;
	CUresult r;

	if (measured_begin(&m, device, least, cuda_figure_soft(device) ? least : MEASURED_UNKNOWN) != MEASURED_READY)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = shim_real.cuCtxSetLimit(limit, value);
	if (r == CUDA_SUCCESS && measured_end(&m, &units) == MEASURED_READY)
		return r;
	if (r == CUDA_SUCCESS) {
		shim_real.cuCtxSetLimit(limit, old);
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	measured_cancel(&m);
	return r;
}

static CUresult lower_limit(CUlimit limit, size_t value, unsigned int device)
{
	struct measured m;
	CUresult r;

	measured_begin_release(&m, device);
	r = shim_real.cuCtxSetLimit(limit, value);
	measured_end_release(&m, 0, MEASURED_UNKNOWN);
	return r;
}

/* Heap, printf buffer and stacks lie in device memory. Of two threads each sees what the other has set. */
CUresult shim_cuCtxSetLimit(CUlimit limit, size_t value)
{
	unsigned int device;
	face_context context;
	size_t old = 0;
	CUresult r;

	switch (charge_current(&context, &device)) {
	case CHARGE_HELD:
		break;
	case CHARGE_REFUSED:
		return shim_real.cuCtxSetLimit(limit, value);
	default:
		return contexts_lack(&r) ? r : shim_real.cuCtxSetLimit(limit, value);
	}
	pthread_mutex_lock(&limits);
	r = shim_real.cuCtxGetLimit(&old, limit);
	if (r == CUDA_SUCCESS)
		r = value < old ? lower_limit(limit, value, device) : raise_limit(limit, value, old, device);
	pthread_mutex_unlock(&limits);
	return r;
}

void contexts_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = limits = unlocked;
	map_clear(&contexts);
	atomic_store_explicit(&sole, NULL, memory_order_relaxed);
	atomic_store_explicit(&on_devices, 0, memory_order_relaxed);
	for (unsigned int i = 0; i < WIRE_MAX_DEVICES; i++)
		primary[i] = NULL;
}
