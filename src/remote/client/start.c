/* start.c: see start.h. cuInit, versions, fork. */
#include "remote/client/start.h"

#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/captures.h"
#include "remote/client/context.h"
#include "remote/client/gate.h"
#include "remote/client/graphs.h"
#include "remote/client/ranges.h"
#include "remote/client/recordings.h"
#include "remote/client/session.h"
#include "remote/client/textures.h"
#include "remote/client/thread.h"
#include "remote/client/unified.h"
#include "remote/client/vmm.h"
#include "core/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define API_VERSION 13050

_Atomic int start_state;
_Bool start_waits;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one thread opens */
static bool watched;
static bool opened; /* the sessions are there, for the API or for an NVML */

/* Every lock is made anew, because its holder may be a thread that the child does not have. */
static void in_child(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
	int saved = errno;

	lock = unlocked;
	gate_forget();
	thread_forget();
	if (atomic_load_explicit(&start_state, memory_order_relaxed) == START_READY)
		atomic_store_explicit(&start_state, START_FORKED, memory_order_relaxed);
	if (opened) {
		opened = false;
		session_forget_all();
		context_forget();
		ranges_forget();
		physical_forget();
		textures_forget();
		unified_forget();
		captures_forget();
		recordings_forget();
		graphs_forget();
	}
	errno = saved;
}

static CUresult sessions_locked(void)
{
	const char *waits = getenv("METE_REMOTE_WAIT");
	CUresult r;

	if (opened)
		return CUDA_SUCCESS;
	log_init();
	if (!watched)
		watched = !pthread_atfork(NULL, NULL, in_child);
	start_waits = waits && strcmp(waits, "1") == 0;
	r = session_open_all();
	opened = r == CUDA_SUCCESS;
	return r;
}

/* Sessions that an NVML had opened stay when no device is left for the program. */
static CUresult open_locked(void)
{
	bool before = opened;
	CUresult r = sessions_locked();

	if (r != CUDA_SUCCESS)
		return r;
	r = session_choose();
	if (r == CUDA_SUCCESS)
		r = context_open();
	if (r == CUDA_SUCCESS) {
		atomic_store_explicit(&start_state, START_READY, memory_order_release);
	} else if (!before) {
		session_close_all();
		opened = false;
	}
	return r;
}

CUresult start_open(void)
{
	CUresult r = CUDA_SUCCESS;
	int saved = errno;

	if (start_ready() == CUDA_SUCCESS)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	if (start_state == START_FORKED)
		r = CUDA_ERROR_NOT_INITIALIZED;
	else if (start_state == START_NEW)
		r = open_locked();
	pthread_mutex_unlock(&lock);
	errno = saved;
	return r;
}

CUresult start_watch(void)
{
	int saved = errno;
	CUresult r;

	pthread_mutex_lock(&lock);
	r = sessions_locked();
	pthread_mutex_unlock(&lock);
	errno = saved;
	return r;
}

CUresult client_cuInit(unsigned int Flags)
{
	return Flags ? CUDA_ERROR_INVALID_VALUE : start_open();
}

/* Asked before cuInit as well; the oldest of the drivers counts. */
CUresult client_cuDriverGetVersion(int *driverVersion)
{
	CUresult r = start_open();

	if (!driverVersion)
		return CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS) {
		*driverVersion = API_VERSION;
		return r;
	}
	return start_version(driverVersion);
}

CUresult start_version(int *ret)
{
	CUresult r = CUDA_SUCCESS;

	*ret = API_VERSION;
	for (unsigned int i = 0; r == CUDA_SUCCESS && i < session_count; i++) {
		struct client_call c;
		int32_t version = 0;

		client_request_to(&c, CUDA_CALL_cuDriverGetVersion, sessions[i]);
		if (client_begin_memo(&c)) {
			remote_put_present(&c.out, &version);
			client_send(&c);
			remote_get(&c.in, &version, sizeof(version));
		}
		r = client_end(&c);
		if (r == CUDA_SUCCESS && version < *ret)
			*ret = version;
	}
	return r;
}

void client_refused(enum cuda_call call)
{
	static _Atomic unsigned char told[CUDA_CALL_COUNT];

	/* The attributes say that no kind of handle can be exported. PyTorch tries all the same and goes on. */
	if (call != CUDA_CALL_cuMemExportToShareableHandle &&
	    !atomic_exchange_explicit(&told[call], 1, memory_order_relaxed))
		log_line("%s: not there on the way to a remote device; the program gets CUDA_ERROR_NOT_SUPPORTED",
			 cuda_call_name[call]);
}
