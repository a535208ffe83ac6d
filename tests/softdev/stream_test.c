/* stream_test.c: streams and events: order, dependencies, the default streams, host functions. */
#include "softdev/soft.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static atomic_int clock_now; /* counts host functions as they run */
static atomic_int gate;	     /* host functions wait until it is 1 */

static void nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static void stamp(void *p)
{
	*(int *)p = ++clock_now;
}

static void wait_gate(void *unused)
{
	while (!gate)
		nap(100000);
}

static void order(void)
{
	int at[100];
	CUstream s;
	int wrong = 0;

	clock_now = 0;
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 100; i++)
		cuLaunchHostFunc(s, stamp, &at[i]);
	CU(cuStreamSynchronize(s));
	for (int i = 0; i < 100; i++)
		wrong += at[i] != i + 1;
	is(wrong, 0);
	CU(cuStreamDestroy(s));
	FAILS(cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
}

static void asynchronous(void)
{
	CUstream s, t;
	int a = 0, b = 0;
	CUevent e;

	gate = clock_now = 0;
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&e, CU_EVENT_DEFAULT));
	CU(cuEventQuery(e));
	CU(cuLaunchHostFunc(s, wait_gate, NULL));
	CU(cuLaunchHostFunc(s, stamp, &a));
	CU(cuEventRecord(e, s));
	FAILS(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	FAILS(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	CU(cuStreamWaitEvent(t, e, 0));
	CU(cuLaunchHostFunc(t, stamp, &b));
	nap(2000000);
	FAILS(cuStreamQuery(t), CUDA_ERROR_NOT_READY);
	is(b, 0);
	gate = 1;
	CU(cuStreamSynchronize(t));
	is(a, 1);
	is(b, 2);
	CU(cuEventQuery(e));
	CU(cuStreamQuery(s));
	CU(cuEventDestroy(e));
	CU(cuStreamDestroy(s));
	CU(cuStreamDestroy(t));
}

/* A destroyed stream finishes what it was given. */
static void destroyed(void)
{
	CUstream s;
	int a = 0;

	gate = clock_now = 0;
	CU(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	CU(cuLaunchHostFunc(s, wait_gate, NULL));
	CU(cuLaunchHostFunc(s, stamp, &a));
	CU(cuStreamDestroy(s));
	gate = 1;
	CU(cuCtxSynchronize());
	is(a, 1);
}

/* The legacy stream waits for blocking streams and they for it; a non-blocking stream does neither. */
static void legacy(void)
{
	CUstream blocking, free_one;
	int a = 0, b = 0, c = 0, d = 0;

	gate = clock_now = 0;
	CU(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	CU(cuStreamCreate(&free_one, CU_STREAM_NON_BLOCKING));
	CU(cuLaunchHostFunc(blocking, wait_gate, NULL));
	CU(cuLaunchHostFunc(blocking, stamp, &a));
	CU(cuLaunchHostFunc(NULL, stamp, &b));
	CU(cuLaunchHostFunc(blocking, stamp, &c));
	CU(cuLaunchHostFunc(free_one, stamp, &d));
	CU(cuStreamSynchronize(free_one));
	is(d, 1);
	is(b, 0);
	gate = 1;
	CU(cuCtxSynchronize());
	ok(a == 2 && b == 3 && c == 4);
	CU(cuStreamDestroy(blocking));
	CU(cuStreamDestroy(free_one));
}

static void *other_thread(void *p)
{
	CUcontext c = p;
	unsigned long long id = 0, own = 0;

	cuCtxSetCurrent(c);
	cuStreamGetId(CU_STREAM_PER_THREAD, &id);
	cuStreamGetId_ptsz(NULL, &own);
	return id && id == own ? (void *)(uintptr_t)id : NULL;
}

extern CUresult cuStreamGetId_ptsz(CUstream s, unsigned long long *id);

static void per_thread(CUcontext c)
{
	unsigned long long mine, legacy_id;
	pthread_t thread;
	void *theirs;

	CU(cuStreamGetId(CU_STREAM_PER_THREAD, &mine));
	CU(cuStreamGetId(NULL, &legacy_id));
	ok(mine != legacy_id);
	pthread_create(&thread, NULL, other_thread, c);
	pthread_join(thread, &theirs);
	ok(theirs && (uintptr_t)theirs != mine && (uintptr_t)theirs != legacy_id);
}

static CUresult inside;

static void call_inside(void *unused)
{
	inside = cuStreamSynchronize(NULL);
}

static void called_back(CUstream s, CUresult status, void *p)
{
	*(CUresult *)p = status;
}

static void callbacks(void)
{
	CUresult status = CUDA_ERROR_UNKNOWN;

	CU(cuLaunchHostFunc(NULL, call_inside, NULL));
	CU(cuStreamAddCallback(NULL, called_back, &status, 0));
	CU(cuStreamSynchronize(NULL));
	is(inside, CUDA_ERROR_NOT_PERMITTED);
	is(status, CUDA_SUCCESS);
	FAILS(cuLaunchHostFunc(NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamAddCallback(NULL, called_back, NULL, 1), CUDA_ERROR_INVALID_VALUE);
}

static void timing(void)
{
	CUevent a, b, quiet;
	float ms = -1;

	CU(cuEventCreate(&a, CU_EVENT_DEFAULT));
	CU(cuEventCreate(&b, CU_EVENT_DEFAULT));
	CU(cuEventCreate(&quiet, CU_EVENT_DISABLE_TIMING));
	FAILS(cuEventElapsedTime(&ms, a, b), CUDA_ERROR_INVALID_HANDLE);
	gate = 0;
	CU(cuEventRecord(a, NULL));
	CU(cuLaunchHostFunc(NULL, wait_gate, NULL));
	CU(cuEventRecord(b, NULL));
	CU(cuEventRecord(quiet, NULL));
	FAILS(cuEventElapsedTime(&ms, a, b), CUDA_ERROR_NOT_READY);
	CU(cuEventSynchronize(a));
	nap(5000000);
	gate = 1;
	CU(cuEventSynchronize(b));
	CU(cuEventElapsedTime(&ms, a, b));
	ok(ms >= 4 && ms < 5000);
	FAILS(cuEventElapsedTime(&ms, a, quiet), CUDA_ERROR_INVALID_HANDLE);
	CU(cuEventDestroy(a));
	CU(cuEventDestroy(b));
	CU(cuEventDestroy(quiet));
	FAILS(cuEventQuery(a), CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuEventCreate(&a, 64), CUDA_ERROR_INVALID_VALUE);
}

/* The program may change pageable memory as soon as an asynchronous copy has returned. */
static void pageable(void)
{
	char buffer[1000], back = 0;
	CUdeviceptr d;
	CUstream s;

	gate = 0;
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&d, sizeof(buffer)));
	memset(buffer, 5, sizeof(buffer));
	CU(cuLaunchHostFunc(s, wait_gate, NULL));
	CU(cuMemcpyHtoDAsync(d, buffer, sizeof(buffer), s));
	memset(buffer, 6, sizeof(buffer));
	gate = 1;
	CU(cuMemcpyDtoHAsync(&back, d + 999, 1, s));
	is(back, 5);
	CU(cuMemFree(d));
	CU(cuStreamDestroy(s));
}

static void values(void)
{
	CUdeviceptr d;
	CUstream s, t;
	int a = 0;

	clock_now = 0;
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&d, 8));
	CU(cuStreamWaitValue32(s, d, 7, CU_STREAM_WAIT_VALUE_EQ));
	CU(cuLaunchHostFunc(s, stamp, &a));
	nap(2000000);
	is(a, 0);
	CU(cuStreamWriteValue32(t, d, 7, 0));
	CU(cuStreamSynchronize(s));
	is(a, 1);
	FAILS(cuStreamWaitValue32(s, d + 8, 7, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuStreamWaitValue32(s, d + 1, 7, 0), CUDA_ERROR_INVALID_VALUE);
	CU(cuStreamDestroy(s));
	CU(cuStreamDestroy(t));
	CU(cuMemFree(d));
}

static void *hammer(void *p)
{
	CUcontext c = p;
	uintptr_t bad = 0;
	CUdeviceptr d;
	CUstream s;
	CUevent e;
	int n[2];

	cuCtxSetCurrent(c);
	bad += !!cuStreamCreate(&s, CU_STREAM_DEFAULT);
	bad += !!cuEventCreate(&e, CU_EVENT_DEFAULT);
	for (int i = 0; i < 200; i++) {
		bad += !!cuMemAlloc(&d, 64);
		bad += !!cuMemsetD32Async(d, (unsigned)i, 2, s);
		bad += !!cuEventRecord(e, s);
		bad += !!cuStreamWaitEvent(NULL, e, 0);
		bad += !!cuMemcpyDtoH(n, d, 8);
		bad += n[0] != i || n[1] != i;
		bad += !!cuMemFree(d);
	}
	bad += !!cuStreamDestroy(s);
	bad += !!cuEventDestroy(e);
	return (void *)bad;
}

static void threads(CUcontext c)
{
	pthread_t thread[4];
	uintptr_t bad = 0;
	void *r;

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, hammer, c);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &r);
		bad += (uintptr_t)r;
	}
	is(bad, 0);
}

static void note_thread(void *p)
{
	*(pid_t *)p = gettid();
}

/* Of several idle workers the one that worked last is woken: work that comes now and then stays on one thread. */
static void last_worker(void)
{
	CUstream s[4];
	pid_t before = 0, now = 0;
	int same = 0;

	gate = 0;
	for (int i = 0; i < 4; i++) {
		CU(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
		CU(cuLaunchHostFunc(s[i], wait_gate, NULL));
	}
	nap(2000000);
	gate = 1;
	CU(cuCtxSynchronize());
	for (int i = 0; i < 41; i++) {
		nap(2000000);
		CU(cuLaunchHostFunc(s[0], note_thread, &now));
		CU(cuStreamSynchronize(s[0]));
		same += now == before;
		before = now;
	}
	ok(same >= 30);
	for (int i = 0; i < 4; i++)
		CU(cuStreamDestroy(s[i]));
}

int main(void)
{
	CUcontext c;

	soft_begin("1", "64M");
	c = soft_context();
	order();
	asynchronous();
	destroyed();
	legacy();
	per_thread(c);
	callbacks();
	timing();
	pageable();
	values();
	threads(c);
	last_worker();
	FAILS(cuStreamSynchronize((CUstream)(uintptr_t)0x12345678), CUDA_ERROR_INVALID_HANDLE);
	FAILS(cuEventSynchronize((CUevent)(uintptr_t)c), CUDA_ERROR_INVALID_HANDLE);
	return soft_end();
}
