/* device_test.c: what a program learns about its devices before it makes a context. */
#include "kit.h"

/* Attributes that the CUDA runtime asks for at its start; a refusal of one stops it. */
static const int asked[] = {
	1,  2,	3,  4,	5,   6,	  7,   8,   9,	 10,  11,  12,	14,  16,  18,  19,  21,	 22,  23,  24,	25,  26,
	27, 28, 29, 30, 31,  32,  33,  34,  35,	 37,  38,  39,	40,  41,  42,  43,  45,	 46,  47,  48,	49,  50,
	51, 52, 53, 54, 55,  56,  57,  58,  59,	 60,  61,  62,	63,  64,  65,  66,  67,	 68,  70,  71,	72,  73,
	74, 75, 76, 77, 78,  79,  80,  81,  82,	 83,  84,  85,	86,  87,  88,  89,  90,	 91,  92,  93,	94,  95,
	96, 97, 98, 99, 100, 101, 106, 108, 109, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 125,
};

static int attribute(CUdevice_attribute which, CUdevice dev)
{
	int value = -1;

	works(cuDeviceGetAttribute(&value, which, dev));
	return value;
}

static void device_facts(CUdevice dev)
{
	char name[256] = "", pci[64] = "";
	size_t total = 0;
	CUuuid id = { { 0 } }, none = { { 0 } };
	CUdevice again = -1;
	int refused = 0, value;

	works(cuDeviceGetName(name, sizeof name, dev));
	ok(name[0]);
	works(cuDeviceTotalMem(&total, dev));
	ok(total > 0);
	works(cuDeviceGetUuid(&id, dev));
	ok(memcmp(&id, &none, sizeof id));
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		if (cuDeviceGetAttribute(&value, (CUdevice_attribute)asked[i], dev) != CUDA_SUCCESS) {
			printf("# attribute %d is refused\n", asked[i]);
			refused++;
		}
	}
	is(refused, 0);
	is(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE, dev), 32);
	is(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, dev), 1024);
	ok(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev) > 0);
	ok(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev) >= 5);
	works(cuDeviceGetPCIBusId(pci, sizeof pci, dev));
	works(cuDeviceGetByPCIBusId(&again, pci));
	is(again, dev);
}

static void bad_arguments(int count)
{
	CUdevice dev = 77;
	int value;

	answers(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&dev, count));
	answers(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&dev, -1));
	is(dev, 77);
	answers(CUDA_ERROR_INVALID_VALUE, cuDeviceGet(NULL, 0));
	answers(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, (CUdevice_attribute)100000, 0));
	answers(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
	answers(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, count));
}

/* The second version answers success and says in the status why there is nothing. */
static void lookup(void)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	void *f = &status, *versions[2] = { NULL, NULL };

	works(cuGetProcAddress("cuNoSuchFunction", &f, 12000, 0, &status));
	is(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	ok(f == NULL);
	works(cuGetProcAddress("cuMemAllocAsync", &f, 3020, 0, &status));
	is(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	ok(f == NULL);
	works(cuGetProcAddress("cuMemAlloc", &versions[0], 2000, 0, NULL));
	works(cuGetProcAddress("cuMemAlloc", &versions[1], 3020, 0, NULL));
	ok(versions[1] && versions[0] != versions[1]);
	works(cuGetProcAddress("cuMemAlloc_v2", &f, 12000, 0, &status));
	ok(f == NULL);
	works(cuGetProcAddress("cuGetProcAddress", &f, 12000, 0, &status));
	ok(f != NULL);
	works(cuGetProcAddress("cuMemcpyHtoD", &versions[0], 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
			       NULL));
	works(cuGetProcAddress("cuMemcpyHtoD", &versions[1], 7000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL));
	ok(versions[0] && versions[1] && versions[0] != versions[1]);
}

static int before_init(void)
{
	int count = 0;

	return cuDeviceGetCount(&count) != CUDA_ERROR_NOT_INITIALIZED;
}

int main(void)
{
	size_t free_bytes, total_bytes, device_total;
	int count = 0;
	CUresult r;

	tap_ok(kit_child(before_init) == 0, "before cuInit calls answer CUDA_ERROR_NOT_INITIALIZED");
	answers(CUDA_ERROR_INVALID_VALUE, cuInit(1));
	kit_begin();
	needs(cuDeviceGetCount(&count));
	ok(count >= 1);
	for (int i = 0; i < count; i++)
		device_facts(i);
	bad_arguments(count);
	lookup();
	ok(kit.driver >= 11000);
	works(cuMemGetInfo(&free_bytes, &total_bytes));
	works(cuDeviceTotalMem(&device_total, kit.dev));
	ok(free_bytes <= total_bytes);
	if (kit.soft || kit.shim)
		is(total_bytes, device_total);
	r = cuMemGetInfo(NULL, &total_bytes);
	ok(r == CUDA_SUCCESS || r == CUDA_ERROR_INVALID_VALUE);
	return kit_end();
}
