/*
 * nvml_test.c: what an NVML client gets, with the library opened as monitoring tools open it: by name, at run time.
 *
 * The same program runs on the software device, through the shim outside a grant (every answer must be the device's
 * own) and under a grant. METE_TEST_DEVICES says what it must see: "UUID=BYTES ..." in order. With a second argument,
 * "list", it prints that instead.
 */
#include "base/tap.h"
#include "nvml_types.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#define MAX 16

static void *library;
static bool far; /* the device is a worker's: METE_TEST_FAR */

/* Calls a function of the library by name; the type is the caller's word. */
#define CALL(name, types, ...) ((nvmlReturn_t(*) types)must(#name))(__VA_ARGS__)

static void *must(const char *name)
{
	void *f = dlsym(library, name);

	if (!f) {
		printf("Bail out! the library has no %s\n", name);
		exit(1);
	}
	return f;
}

struct expected {
	unsigned int count;
	char uuid[MAX][64];
	unsigned long long bytes[MAX];
};

static struct expected expected_read(void)
{
	const char *text = getenv("METE_TEST_DEVICES");
	struct expected e = { 0 };
	int n;

	while (text && e.count < MAX && sscanf(text, " %63[^=]=%llu%n", e.uuid[e.count], &e.bytes[e.count], &n) == 2) {
		text += n;
		e.count++;
	}
	return e;
}

static void test_before_init(void)
{
	unsigned int n = 77;
	nvmlMemory_t memory;

	is(CALL(nvmlDeviceGetCount_v2, (unsigned int *), &n), NVML_ERROR_UNINITIALIZED);
	is(n, 77);
	is(CALL(nvmlDeviceGetMemoryInfo, (nvmlDevice_t, nvmlMemory_t *), NULL, &memory), NVML_ERROR_UNINITIALIZED);
	is(CALL(nvmlShutdown, (void)), NVML_ERROR_UNINITIALIZED);
}

/* As programs take it apart: numbers between full stops, two at least. */
static bool is_number(const char *text)
{
	unsigned int parts = 0;

	for (;;) {
		size_t n = strspn(text, "0123456789");

		parts += n > 0;
		text += n;
		if (!n || *text != '.')
			return n && !*text && parts >= 2;
		text++;
	}
}

static void test_system(void)
{
	char text[96] = "";
	int version = 0;

	is(CALL(nvmlSystemGetDriverVersion, (char *, unsigned int), text, sizeof text), NVML_SUCCESS);
	ok(is_number(text));
	is(CALL(nvmlSystemGetDriverVersion, (char *, unsigned int), text, 3), NVML_ERROR_INSUFFICIENT_SIZE);
	is(CALL(nvmlSystemGetDriverVersion, (char *, unsigned int), NULL, 80), NVML_ERROR_INVALID_ARGUMENT);
	is(CALL(nvmlSystemGetNVMLVersion, (char *, unsigned int), text, sizeof text), NVML_SUCCESS);
	is(CALL(nvmlSystemGetCudaDriverVersion_v2, (int *), &version), NVML_SUCCESS);
	ok(version >= 12000 && version < 20000);
	is(CALL(nvmlSystemGetProcessName, (unsigned int, char *, unsigned int), (unsigned int)getpid(), text,
		sizeof text),
	   NVML_SUCCESS);
	ok(strstr(text, "nvml_test") != NULL);
	is_str(((const char *(*)(nvmlReturn_t))must("nvmlErrorString"))(NVML_ERROR_NOT_FOUND), "Not Found");
}

/* It is in no fabric. The structure's second version lacks the last member. */
static void test_fabric(nvmlDevice_t device)
{
	nvmlGpuFabricInfoV_t fabric = { .version = NVML_VERSION_WORD(nvmlGpuFabricInfoV_t, 3), .state = 9 };

	is(CALL(nvmlDeviceGetGpuFabricInfoV, (nvmlDevice_t, nvmlGpuFabricInfoV_t *), device, &fabric), NVML_SUCCESS);
	ok(!fabric.state && fabric.status == NVML_SUCCESS && !fabric.healthSummary);
	fabric = (nvmlGpuFabricInfoV_t){ .version = 36 | 2u << 24, .state = 9, .healthSummary = 9 };
	is(CALL(nvmlDeviceGetGpuFabricInfoV, (nvmlDevice_t, nvmlGpuFabricInfoV_t *), device, &fabric), NVML_SUCCESS);
	ok(!fabric.state && fabric.healthSummary == 9);
	fabric.version = 36;
	is(CALL(nvmlDeviceGetGpuFabricInfoV, (nvmlDevice_t, nvmlGpuFabricInfoV_t *), device, &fabric),
	   NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

static void test_finding(const struct expected *e, unsigned int index)
{
	nvmlDevice_t device = NULL, again = NULL;
	unsigned int seen = 99, i, value = 0, most = 0;
	char uuid[96], serial[40];
	nvmlUUID_t versioned = { .version = NVML_VERSION_WORD(nvmlUUID_v1_t, 1), .type = NVML_UUID_TYPE_ASCII };
	nvmlPciInfo_t pci;

	is(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned int, nvmlDevice_t *), index, &device), NVML_SUCCESS);
	ok(device != NULL);
	is(CALL(nvmlDeviceGetUUID, (nvmlDevice_t, char *, unsigned int), device, uuid, sizeof uuid), NVML_SUCCESS);
	is_str(uuid, e->uuid[index]);
	is(CALL(nvmlDeviceGetUUID, (nvmlDevice_t, char *, unsigned int), device, uuid, 40),
	   NVML_ERROR_INSUFFICIENT_SIZE);
	is(CALL(nvmlDeviceGetIndex, (nvmlDevice_t, unsigned int *), device, &seen), NVML_SUCCESS);
	is(seen, index);
	is(CALL(nvmlDeviceGetHandleByUUID, (const char *, nvmlDevice_t *), e->uuid[index], &again), NVML_SUCCESS);
	ok(again == device);
	again = NULL;
	is(CALL(nvmlDeviceGetHandleByUUID, (const char *, nvmlDevice_t *), e->uuid[index] + 4, &again), NVML_SUCCESS);
	ok(again == device); /* as CUDA has it: without GPU- */
	for (i = 0; e->uuid[index][i] && i < sizeof versioned.value.str - 1; i++)
		versioned.value.str[i] = e->uuid[index][i];
	again = NULL;
	is(CALL(nvmlDeviceGetHandleByUUIDV, (const nvmlUUID_t *, nvmlDevice_t *), &versioned, &again), NVML_SUCCESS);
	ok(again == device);
	is(CALL(nvmlDeviceGetCurrPcieLinkGeneration, (nvmlDevice_t, unsigned *), device, &value), NVML_SUCCESS);
	is(CALL(nvmlDeviceGetMaxPcieLinkGeneration, (nvmlDevice_t, unsigned *), device, &most), NVML_SUCCESS);
	ok(value >= 1 && value <= most);
	is(CALL(nvmlDeviceGetCurrPcieLinkWidth, (nvmlDevice_t, unsigned *), device, &value), NVML_SUCCESS);
	is(CALL(nvmlDeviceGetMaxPcieLinkWidth, (nvmlDevice_t, unsigned *), device, &most), NVML_SUCCESS);
	ok(value >= 1 && value <= most);
	again = NULL;
	if (!far)
		test_fabric(device);
	is(CALL(nvmlDeviceGetSerial, (nvmlDevice_t, char *, unsigned int), device, serial, sizeof serial),
	   far ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS);
	is(CALL(nvmlDeviceGetHandleBySerial, (const char *, nvmlDevice_t *), far ? "none" : serial, &again),
	   far ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS);
	ok(far ? !again : again == device);
	is(CALL(nvmlDeviceGetPciInfo_v3, (nvmlDevice_t, nvmlPciInfo_t *), device, &pci), NVML_SUCCESS);
	again = NULL;
	is(CALL(nvmlDeviceGetHandleByPciBusId_v2, (const char *, nvmlDevice_t *), pci.busId, &again), NVML_SUCCESS);
	ok(again == device);
	is(CALL(nvmlDeviceGetHandleByPciBusId_v2, (const char *, nvmlDevice_t *), pci.busIdLegacy, &again),
	   NVML_SUCCESS);
}

static void test_memory(const struct expected *e, unsigned int index, nvmlDevice_t device)
{
	nvmlMemory_v2_t second = { .version = NVML_VERSION_WORD(nvmlMemory_v2_t, 2) };
	nvmlMemory_t first;

	is(CALL(nvmlDeviceGetMemoryInfo, (nvmlDevice_t, nvmlMemory_t *), device, &first), NVML_SUCCESS);
	is(first.total, e->bytes[index]);
	is(first.free + first.used, first.total);
	is(CALL(nvmlDeviceGetMemoryInfo_v2, (nvmlDevice_t, nvmlMemory_v2_t *), device, &second), NVML_SUCCESS);
	is(second.total, e->bytes[index]);
	is(second.free + second.used + second.reserved, second.total);
	second.version = 1;
	is(CALL(nvmlDeviceGetMemoryInfo_v2, (nvmlDevice_t, nvmlMemory_v2_t *), device, &second),
	   NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
	is(CALL(nvmlDeviceGetMemoryInfo, (nvmlDevice_t, nvmlMemory_t *), device, NULL), NVML_ERROR_INVALID_ARGUMENT);
	is(CALL(nvmlDeviceGetMemoryInfo, (nvmlDevice_t, nvmlMemory_t *), (nvmlDevice_t)(uintptr_t)12345, &first),
	   NVML_ERROR_INVALID_ARGUMENT);
}

static void test_processes(nvmlDevice_t device)
{
	static const char *const lists[] = { "nvmlDeviceGetComputeRunningProcesses_v3",
					     "nvmlDeviceGetGraphicsRunningProcesses_v3",
					     "nvmlDeviceGetMPSComputeRunningProcesses_v3",
					     "nvmlDeviceGetComputeRunningProcesses_v2" };
	nvmlProcessDetailList_t details = { .version = NVML_VERSION_WORD(nvmlProcessDetailList_v1_t, 1),
					    .mode = NVML_PROCESS_MODE_COMPUTE };
	nvmlProcessInfo_t some[4];
	unsigned int n;

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		nvmlReturn_t (*list)(nvmlDevice_t, unsigned int *, nvmlProcessInfo_t *) = must(lists[i]);

		n = 0;
		is(list(device, &n, NULL), NVML_SUCCESS); /* nobody computes here: the question has an answer already */
		is(n, 0);
		n = 4;
		is(list(device, &n, some), NVML_SUCCESS);
		is(n, 0);
		is(list(device, NULL, some), NVML_ERROR_INVALID_ARGUMENT);
	}
	is(CALL(nvmlDeviceGetRunningProcessDetailList, (nvmlDevice_t, nvmlProcessDetailList_t *), device, &details),
	   NVML_SUCCESS);
	is(details.numProcArrayEntries, 0);
	details.version = 7;
	is(CALL(nvmlDeviceGetRunningProcessDetailList, (nvmlDevice_t, nvmlProcessDetailList_t *), device, &details),
	   NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

/* What the software device has, and what it says of what it has not. */
static void test_rest(nvmlDevice_t device)
{
	static const char *const has_not[] = { "nvmlDeviceGetTemperature",	"nvmlDeviceGetPowerUsage",
					       "nvmlDeviceGetClockInfo",	"nvmlDeviceGetFanSpeed",
					       "nvmlDeviceGetEccMode",		"nvmlDeviceGetMigMode",
					       "nvmlDeviceGetPerformanceState", "nvmlDeviceGetBAR1MemoryInfo",
					       "nvmlDeviceGetNvLinkState",	"nvmlDeviceGetTotalEnergyConsumption" };
	nvmlFieldValue_t field = { .fieldId = 82, .nvmlReturn = NVML_SUCCESS };
	unsigned int mode = 9, room[16] = { 0 };
	nvmlUtilization_t utilization = { 101, 101 };
	int major = -1, minor = -1;

	is(CALL(nvmlDeviceGetCudaComputeCapability, (nvmlDevice_t, int *, int *), device, &major, &minor),
	   NVML_SUCCESS);
	ok(major > 0 && minor >= 0);
	is(CALL(nvmlDeviceGetUtilizationRates, (nvmlDevice_t, nvmlUtilization_t *), device, &utilization),
	   far ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS);
	is(utilization.gpu, far ? 101 : 0);
	is(utilization.memory, far ? 101 : 0);
	is(CALL(nvmlDeviceGetComputeMode, (nvmlDevice_t, unsigned int *), device, &mode), NVML_SUCCESS);
	is(mode, NVML_COMPUTEMODE_DEFAULT);
	is(CALL(nvmlDeviceIsMigDeviceHandle, (nvmlDevice_t, unsigned int *), device, &mode), NVML_SUCCESS);
	is(mode, 0);
	is(CALL(nvmlDeviceGetFieldValues, (nvmlDevice_t, int, nvmlFieldValue_t *), device, 1, &field), NVML_SUCCESS);
	is(field.nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
	for (size_t i = 0; i < sizeof has_not / sizeof *has_not; i++) {
		nvmlReturn_t (*call)(nvmlDevice_t, void *, void *, void *) = must(has_not[i]);

		tap_ok(call(device, room, room, room) == NVML_ERROR_NOT_SUPPORTED, "%s is not supported", has_not[i]);
	}
}

static void test_strangers(const struct expected *e)
{
	const char *other =
		getenv("METE_TEST_OTHER"); /* a device of the machine that must not be seen; may be missing */
	nvmlDevice_t device = NULL;
	unsigned int n = 0;

	is(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned int, nvmlDevice_t *), e->count, &device),
	   NVML_ERROR_INVALID_ARGUMENT);
	is(CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned int, nvmlDevice_t *), 0, NULL), NVML_ERROR_INVALID_ARGUMENT);
	is(CALL(nvmlDeviceGetHandleByUUID, (const char *, nvmlDevice_t *), "GPU-01234567-0000-0000-0000-000000000000",
		&device),
	   NVML_ERROR_NOT_FOUND);
	is(CALL(nvmlDeviceGetHandleBySerial, (const char *, nvmlDevice_t *), "none", &device), NVML_ERROR_NOT_FOUND);
	is(CALL(nvmlDeviceGetHandleByPciBusId_v2, (const char *, nvmlDevice_t *), "0000:FF:1F.7", &device),
	   NVML_ERROR_NOT_FOUND);
	if (other) {
		is(CALL(nvmlDeviceGetHandleByUUID, (const char *, nvmlDevice_t *), other, &device),
		   NVML_ERROR_NOT_FOUND);
		ok(device == NULL);
	}
	is(CALL(nvmlUnitGetCount, (unsigned int *), &n), NVML_SUCCESS);
	is(n, 0);
}

static int list(void)
{
	unsigned int n = 0;
	nvmlReturn_t r = CALL(nvmlInit_v2, (void));

	if (r == NVML_SUCCESS)
		r = CALL(nvmlDeviceGetCount_v2, (unsigned int *), &n);
	for (unsigned int i = 0; r == NVML_SUCCESS && i < n; i++) {
		nvmlDevice_t device;
		nvmlMemory_t memory;
		char uuid[96];

		r = CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned int, nvmlDevice_t *), i, &device);
		if (r == NVML_SUCCESS)
			r = CALL(nvmlDeviceGetUUID, (nvmlDevice_t, char *, unsigned int), device, uuid, sizeof uuid);
		if (r == NVML_SUCCESS)
			r = CALL(nvmlDeviceGetMemoryInfo, (nvmlDevice_t, nvmlMemory_t *), device, &memory);
		if (r == NVML_SUCCESS)
			printf("%s=%llu\n", uuid, memory.total);
	}
	return r == NVML_SUCCESS ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct expected e = expected_read();
	unsigned int n = 0;

	far = getenv("METE_TEST_FAR") != NULL;
	if (argc > 1)
		library = dlopen(argv[1], RTLD_NOW);
	if (!library) {
		printf("Bail out! %s: %s\n", argc > 1 ? argv[1] : "no library named", dlerror());
		return 1;
	}
	if (argc > 2 && !strcmp(argv[2], "list"))
		return list();
	test_before_init();
	is(CALL(nvmlInit_v2, (void)), NVML_SUCCESS);
	is(CALL(nvmlShutdown, (void)), NVML_SUCCESS);
	tap_begin(); /* from here on: a connection to meted stays for the life of the process */
	is(CALL(nvmlInit_v2, (void)), NVML_SUCCESS);
	is(CALL(nvmlInitWithFlags, (unsigned int), 0), NVML_SUCCESS); /* counts */
	is(CALL(nvmlDeviceGetCount_v2, (unsigned int *), &n), NVML_SUCCESS);
	is(n, e.count);
	is(CALL(nvmlDeviceGetCount, (unsigned int *), &n), NVML_SUCCESS);
	is(n, e.count);
	test_system();
	for (unsigned int i = 0; i < n; i++) {
		nvmlDevice_t device = NULL;

		test_finding(&e, i);
		CALL(nvmlDeviceGetHandleByIndex_v2, (unsigned int, nvmlDevice_t *), i, &device);
		test_memory(&e, i, device);
		test_processes(device);
		test_rest(device);
	}
	test_strangers(&e);
	is(CALL(nvmlShutdown, (void)), NVML_SUCCESS);
	is(CALL(nvmlDeviceGetCount_v2, (unsigned int *), &n), NVML_SUCCESS); /* one nvmlInit is left */
	is(CALL(nvmlShutdown, (void)), NVML_SUCCESS);
	is(CALL(nvmlDeviceGetCount_v2, (unsigned int *), &n), NVML_ERROR_UNINITIALIZED);
	return tap_end();
}
