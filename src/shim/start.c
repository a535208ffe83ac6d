/*
 * start.c: see start.h.
 *
 * The driver is opened by absolute path: glibc takes that for another file than the shim, although both are called
 * libcuda.so.1. A path that leads back to the shim is recognised by the address of its cuInit and passed over.
 */
#include "shim/start.h"
#include "base/own_note.h"
#include "base/setting.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/faces.h"
#include "core/shape.h"
#include "shim/devices.h"
#include "shim/faults.h"
#include "core/log.h"
#include "shim/movable.h"
#include "shim/mover.h"
#include "shim/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

OWN_NOTE("the shim");

_Atomic bool start_metered;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards bound, initializing and the binding of the tables */
static bool bound;
static bool open_run; /* METE_OPEN: meted was out of reach when the program started, and it runs without a limit */
static void *bodies[CUDA_CALL_COUNT]; /* what shim_bind() put into shim_table */

/* Calls whose bodies matter only when some devices are hidden, or once a pool or a graph takes memory or an engine is
 * gated. */
static const enum cuda_call device_calls[] = {
#define X(symbol) CUDA_CALL_##symbol,
#include "shim/device_calls.h"
	CUDA_TREATED_devices(X)
#undef X
};
static const enum cuda_call late_calls[] = {
	CUDA_CALL_cuStreamSynchronize, CUDA_CALL_cuStreamSynchronize_ptsz, CUDA_CALL_cuCtxSynchronize,
	CUDA_CALL_cuCtxSynchronize_v2, CUDA_CALL_cuEventSynchronize,	   CUDA_CALL_cuEventQuery,
	CUDA_CALL_cuStreamQuery,       CUDA_CALL_cuStreamQuery_ptsz,	   CUDA_CALL_cuEventRecord,
	CUDA_CALL_cuEventRecord_ptsz,  CUDA_CALL_cuEventRecordWithFlags,   CUDA_CALL_cuEventRecordWithFlags_ptsz,
	CUDA_CALL_cuCtxRecordEvent,    CUDA_CALL_cuGreenCtxRecordEvent,
#define GATED(engine, symbol, kinds)
#define NOT_GATED(symbol, kinds)
#define TREATED(treat, symbol) CUDA_CALL_##symbol,
#include "cuda_gates.h"
#undef GATED
#undef NOT_GATED
#undef TREATED
	CUDA_CALL_cuGraphUpload,       CUDA_CALL_cuGraphUpload_ptsz,
};

/* Calls whose bodies matter only where memory may move. */
#define MOVABLE_ALONE 4u /* the others are device_calls as well */
static const enum cuda_call movable_calls[] = {
	CUDA_CALL_cuMemGetAddressRange_v2, CUDA_CALL_cuMemGetHandleForAddressRange,
	CUDA_CALL_cuMemPoolGetAttribute,   CUDA_CALL_cuMemPoolSetAttribute,
	CUDA_CALL_cuPointerGetAttribute,   CUDA_CALL_cuPointerGetAttributes,
	CUDA_CALL_cuMemSetAccess,	   CUDA_CALL_cuMemGetAllocationPropertiesFromHandle,
};

static const char *const usual_places[] = {
#if defined(__x86_64__)
	"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
#elif defined(__aarch64__)
	"/usr/lib/aarch64-linux-gnu/libcuda.so.1",
#endif
	"/usr/lib64/libcuda.so.1",
	"/usr/lib/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/run/opengl-driver/lib/libcuda.so.1",
};

static void *real(enum cuda_call call)
{
	return ((void **)&shim_real)[call];
}

void start_treat(enum cuda_call call)
{
	shim_put(call, bodies[call]);
}

void start_pass(enum cuda_call call)
{
	shim_put(call, real(call));
}

void start_put(enum cuda_call call, void *function)
{
	shim_put(call, function);
}

void *start_body(enum cuda_call call)
{
	void *door = shim_door(call);

	if (door)
		return door;
	return bodies[call] == real(call) ? NULL : bodies[call];
}

static void *try_driver(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), *init;

	if (!handle)
		return NULL;
	init = dlsym(handle, "cuInit");
	if (init && init != shape.init)
		return handle;
	dlclose(handle);
	return NULL;
}

static void *open_driver(void)
{
	const char *chosen = setting_get("METE_DRIVER");
	void *handle = NULL;

	if (shape.behind)
		return behind_find(shape.behind);
	if (chosen && *chosen) {
		if (*chosen == '/')
			handle = try_driver(chosen);
		if (!handle)
			log_line(
				"METE_DRIVER=%s is not the absolute path of a driver's libcuda; correct it or unset it",
				chosen);
		return handle;
	}
	for (size_t i = 0; !handle && i < sizeof usual_places / sizeof *usual_places; i++)
		handle = try_driver(usual_places[i]);
	if (!handle)
		log_line("no driver's libcuda.so.1 in the usual places; install the driver, or name it in METE_DRIVER");
	return handle;
}

static void *find_exported(void *symbols, const char *name)
{
	return symbols_find(symbols, name);
}

static void *find_symbol(void *symbols, const char *name)
{
	return shape_find(find_exported, symbols, name);
}

static void pass_all(void)
{
	for (unsigned int i = 0; i < CUDA_CALL_COUNT; i++)
		start_pass(i);
}

static void start_locked(void)
{
	struct symbols symbols;
	void *driver;

	account_init();
	driver = open_driver();
	if (attach_wanted() && !faces_join_as(face, shape.library))
		driver = NULL;
	if (!driver) {
		shim_refuse(CUDA_ERROR_NO_DEVICE);
		shape_pass(NULL, NULL);
		return;
	}
	symbols_open(&symbols, driver);
	shape_pass(find_exported, &symbols);
	shim_bind(find_symbol, &symbols);
	memcpy(bodies, &shim_table, sizeof bodies);
	if (!attach_wanted()) {
		pass_all();
		return;
	}
	if (movable_wanted())
		shim_use_doors();
	else
		for (size_t i = 0; i < MOVABLE_ALONE; i++)
			start_pass(movable_calls[i]);
	for (size_t i = 0; i < sizeof late_calls / sizeof *late_calls; i++)
		start_pass(late_calls[i]);
	faults_watch();
}

void **shim_start(void)
{
	int saved = errno;

	pthread_mutex_lock(&lock);
	if (!bound)
		start_locked();
	bound = true;
	pthread_mutex_unlock(&lock);
	errno = saved;
	return (void **)&shim_table;
}

/* The driver is initialised: whom it shows is compared with the grant. */
static CUresult meter_locked(void)
{
	int count = devices_match();

	if (count <= 0)
		return CUDA_ERROR_NO_DEVICE;
	if (devices_same())
		for (size_t i = 0; i < sizeof device_calls / sizeof *device_calls; i++)
			start_pass(device_calls[i]);
	for (size_t i = 0; movable_wanted() && i < sizeof movable_calls / sizeof *movable_calls; i++)
		start_treat(movable_calls[i]);
	atomic_store_explicit(&start_metered, true, memory_order_release);
	mover_start();
	return CUDA_SUCCESS;
}

/*
 * meted comes first: a driver that is initialised could be used. CUDA_ERROR_SYSTEM_NOT_READY is documented as "a system
 * component that the driver needs is not ready yet", which is what it is; a later cuInit tries again. So it does after
 * CUDA_ERROR_NOT_PERMITTED: meted is there, and lets no program of the grant begin.
 */
static CUresult init_locked(unsigned int flags)
{
	CUresult r;

	switch (faces_begin(face)) {
	case FACES_METERED:
		break;
	case FACES_SHUT_OUT:
		return CUDA_ERROR_NOT_PERMITTED;
	case FACES_REFUSED:
		return CUDA_ERROR_SYSTEM_NOT_READY;
	case FACES_OPEN:
		open_run = true;
		pass_all();
		return shim_real.cuInit(flags);
	}
	r = shim_real.cuInit(flags);
	return r == CUDA_SUCCESS ? meter_locked() : r;
}

CUresult shim_cuInit(unsigned int Flags)
{
	CUresult r;

	if (atomic_load_explicit(&start_metered, memory_order_acquire) || open_run || !attach_wanted())
		return shim_real.cuInit(Flags);
	pthread_mutex_lock(&lock);
	r = atomic_load_explicit(&start_metered, memory_order_relaxed) ? shim_real.cuInit(Flags) : init_locked(Flags);
	pthread_mutex_unlock(&lock);
	return r;
}

/* Somebody in this process has initialised the driver behind our back, or nobody has: then there is nothing to charge.
 */
bool start_meter(void)
{
	int count;

	if (open_run || !attach_wanted() || shim_real.cuDeviceGetCount(&count) != CUDA_SUCCESS)
		return false;
	return shim_cuInit(0) == CUDA_SUCCESS && atomic_load_explicit(&start_metered, memory_order_acquire);
}

bool start_refuses(void)
{
	int count;

	return !open_run && attach_wanted() && shim_real.cuDeviceGetCount(&count) == CUDA_SUCCESS;
}

void start_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
}
