/*
 * event_test.c: errors of the software device as NVML's events: those of this and of another process, to several who
 * wait, and of a device that is lost.
 */
#include "base/tap.h"
#include "nvml_types.h"
#include "softdev/segment_fault.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL(name, types, ...) ((nvmlReturn_t(*) types)dlsym(library, #name))(__VA_ARGS__)

static void *library;
static nvmlDevice_t device[2];
static struct segment_place place;

static nvmlReturn_t set_new(nvmlEventSet_t *set)
{
	return CALL(nvmlEventSetCreate, (nvmlEventSet_t *), set);
}

static nvmlReturn_t watch(nvmlDevice_t d, nvmlEventSet_t set)
{
	return CALL(nvmlDeviceRegisterEvents, (nvmlDevice_t, unsigned long long, nvmlEventSet_t), d,
		    NVML_EVENT_TYPE_XID_CRITICAL_ERROR, set);
}

static nvmlReturn_t wait_for(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int ms)
{
	return CALL(nvmlEventSetWait_v2, (nvmlEventSet_t, nvmlEventData_t *, unsigned int), set, data, ms);
}

static void test_event(void)
{
	nvmlEventData_t data = { 0 };
	nvmlEventSet_t set, other;

	segment_report(&place, 0, 13, SEGMENT_MAX_PROCESSES); /* before anybody listened */
	is(set_new(&set), NVML_SUCCESS);
	is(set_new(&other), NVML_SUCCESS);
	is(watch(device[0], set), NVML_SUCCESS);
	is(watch(device[1], other), NVML_SUCCESS);
	is(wait_for(set, &data, 0), NVML_ERROR_TIMEOUT);
	segment_report(&place, 0, 31, place.index);
	segment_report(&place, 1, 48, SEGMENT_MAX_PROCESSES);
	is(wait_for(set, &data, 5000), NVML_SUCCESS);
	is(data.eventData, 31);
	is(data.eventType, NVML_EVENT_TYPE_XID_CRITICAL_ERROR);
	ok(data.device == device[0]);
	is(data.gpuInstanceId, NVML_NO_INSTANCE);
	is(wait_for(set, &data, 1), NVML_ERROR_TIMEOUT);
	is(wait_for(other, &data, 5000), NVML_SUCCESS);
	is(data.eventData, 48);
	ok(data.device == device[1]);
	is(CALL(nvmlEventSetFree, (nvmlEventSet_t), set), NVML_SUCCESS);
	is(CALL(nvmlEventSetFree, (nvmlEventSet_t), other), NVML_SUCCESS);
}

/* Another process reports while we sleep; and more than the ring holds. */
static void test_others(void)
{
	nvmlEventData_t data = { 0 };
	nvmlEventSet_t set;
	unsigned int seen = 0;
	pid_t child;

	is(set_new(&set), NVML_SUCCESS);
	is(watch(device[0], set), NVML_SUCCESS);
	child = fork();
	if (!child) {
		struct segment_place mine;
		char why[200];

		if (segment_attach(SEGMENT_DRIVER, &mine, why, sizeof why))
			_exit(1);
		usleep(100000);
		for (unsigned int i = 0; i < 3 * SEGMENT_ERRORS; i++)
			segment_report(&mine, 0, 1000 + i, mine.index);
		_exit(0);
	}
	is(wait_for(set, &data, 30000), NVML_SUCCESS);
	waitpid(child, NULL, 0);
	while (data.eventData != 1000 + 3 * SEGMENT_ERRORS - 1 && wait_for(set, &data, 1000) == NVML_SUCCESS)
		seen++;
	is(data.eventData, 1000 + 3 * SEGMENT_ERRORS - 1); /* the newest are never lost */
	ok(seen >= 1);
	is(CALL(nvmlEventSetFree, (nvmlEventSet_t), set), NVML_SUCCESS);
}

static void test_lost(void)
{
	nvmlEventData_t data = { 0 };
	nvmlDevice_t handle;
	nvmlEventSet_t set;
	unsigned int n;

	is(set_new(&set), NVML_SUCCESS);
	is(watch(device[1], set), NVML_SUCCESS);
	segment_lose(&place, 1, true);
	is(wait_for(set, &data, 5000), NVML_SUCCESS);
	is(data.eventData, 79);
	is(wait_for(set, &data, 5000), NVML_ERROR_GPU_IS_LOST);
	is(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned int, nvmlDevice_t *), 1, &handle), NVML_ERROR_GPU_IS_LOST);
	is(CALL(nvmlDeviceGetIndex, (nvmlDevice_t, unsigned int *), device[1], &n), NVML_ERROR_GPU_IS_LOST);
	is(CALL(nvmlDeviceGetIndex, (nvmlDevice_t, unsigned int *), device[0], &n), NVML_SUCCESS);
	is(CALL(nvmlDeviceGetCount_v2, (unsigned int *), &n), NVML_SUCCESS);
	is(n, 2);
	is(watch(device[1], set), NVML_ERROR_GPU_IS_LOST);
	segment_lose(&place, 1, false);
	is(CALL(nvmlDeviceGetIndex, (nvmlDevice_t, unsigned int *), device[1], &n), NVML_SUCCESS);
	is(wait_for(set, &data, 0), NVML_ERROR_TIMEOUT);
	is(CALL(nvmlEventSetFree, (nvmlEventSet_t), set), NVML_SUCCESS);
}

static void test_bad(void)
{
	unsigned long long types = 0;
	nvmlEventData_t data;
	nvmlEventSet_t set;

	is(set_new(NULL), NVML_ERROR_INVALID_ARGUMENT);
	is(set_new(&set), NVML_SUCCESS);
	is(wait_for(set, NULL, 0), NVML_ERROR_INVALID_ARGUMENT);
	is(watch(NULL, set), NVML_ERROR_INVALID_ARGUMENT);
	is(watch(device[0], NULL), NVML_ERROR_INVALID_ARGUMENT);
	is(CALL(nvmlDeviceRegisterEvents, (nvmlDevice_t, unsigned long long, nvmlEventSet_t), device[0], 1, set),
	   NVML_ERROR_NOT_SUPPORTED);
	is(CALL(nvmlDeviceGetSupportedEventTypes, (nvmlDevice_t, unsigned long long *), device[0], &types),
	   NVML_SUCCESS);
	is(types, NVML_EVENT_TYPE_XID_CRITICAL_ERROR);
	is(CALL(nvmlEventSetFree, (nvmlEventSet_t), set), NVML_SUCCESS);
	is(CALL(nvmlEventSetFree, (nvmlEventSet_t), set), NVML_ERROR_INVALID_ARGUMENT);
	is(wait_for(set, &data, 0), NVML_ERROR_INVALID_ARGUMENT);
}

static void *wait_long(void *set)
{
	nvmlEventData_t data;

	return (void *)(uintptr_t)wait_for(set, &data, 60000);
}

/* Who waits does not wait for a library that was shut down. */
static void test_shutdown(void)
{
	pthread_t thread;
	nvmlEventSet_t set;
	void *r;

	is(set_new(&set), NVML_SUCCESS);
	is(watch(device[0], set), NVML_SUCCESS);
	pthread_create(&thread, NULL, wait_long, set);
	usleep(50000);
	is(CALL(nvmlShutdown, (void)), NVML_SUCCESS);
	pthread_join(thread, &r);
	is((uintptr_t)r, NVML_ERROR_UNINITIALIZED);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/mete-event-XXXXXX", command[64], why[200];

	if (argc < 2 || !mkdtemp(dir))
		return 1;
	setenv("METE_SOFT_DIR", dir, 1);
	setenv("METE_SOFT_MEMORY", "64M", 1);
	setenv("METE_SOFT_DEVICES", "2", 1);
	tap_begin();
	is(segment_attach(SEGMENT_DRIVER, &place, why, sizeof why), 0);
	library = dlopen(argv[1], RTLD_NOW);
	ok(library != NULL);
	if (!library)
		return tap_end();
	is(set_new(&(nvmlEventSet_t){ 0 }), NVML_ERROR_UNINITIALIZED);
	is(CALL(nvmlInit_v2, (void)), NVML_SUCCESS);
	for (unsigned int i = 0; i < 2; i++)
		is(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned int, nvmlDevice_t *), i, &device[i]), NVML_SUCCESS);
	test_event();
	test_others();
	test_lost();
	test_bad();
	test_shutdown();
	segment_detach(&place);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	ok(system(command) == 0);
	return tap_end();
}
