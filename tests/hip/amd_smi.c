/*
 * amd_smi.c: a library that tells what AMD's librocm_smi64 and libamd_smi tell of a card's memory, for tests: one card
 * of 16 GiB, at AMD_SMI_ADDRESS (the number that both tell) or 0000:03:00.0, with 5 GiB in use by others.
 */
#include <stdint.h>
#include <stdlib.h>

#define GIB (1ull << 30)
#define CALL(name, ...) __attribute__((visibility("default"))) int name(__VA_ARGS__);                                    \
	int name(__VA_ARGS__)

static int place(uint64_t *ret)
{
	const char *address = getenv("AMD_SMI_ADDRESS");

	*ret = address ? strtoull(address, NULL, 0) : 0x300;
	return 0;
}

CALL(rsmi_dev_pci_id_get, uint32_t device, uint64_t *ret)
{
	return device ? 2 : place(ret);
}

CALL(rsmi_dev_memory_total_get, uint32_t device, int kind, uint64_t *ret)
{
	*ret = kind ? 3 * GIB : 16 * GIB;
	return device ? 2 : 0;
}

CALL(rsmi_dev_memory_usage_get, uint32_t device, int kind, uint64_t *ret)
{
	*ret = kind ? GIB : 5 * GIB;
	return device ? 2 : 0;
}

CALL(rsmi_num_monitor_devices, uint32_t *ret)
{
	*ret = 1;
	return 0;
}

CALL(amdsmi_get_gpu_bdf_id, void *device, uint64_t *ret)
{
	return device ? place(ret) : 1;
}

CALL(amdsmi_get_gpu_memory_total, void *device, int kind, uint64_t *ret)
{
	return rsmi_dev_memory_total_get(!device, kind, ret);
}

CALL(amdsmi_get_gpu_memory_usage, void *device, int kind, uint64_t *ret)
{
	return rsmi_dev_memory_usage_get(!device, kind, ret);
}

CALL(amdsmi_get_gpu_vram_usage, void *device, uint32_t ret[2])
{
	ret[0] = 16 * 1024;
	ret[1] = 5 * 1024;
	return device ? 0 : 1;
}
