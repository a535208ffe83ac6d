/*
 * device.c: what a device is, as far as the software device has it.
 *
 * The address on the bus and the serial number are names, so that tools can tell devices apart; no hardware is behind
 * them: vendor and device numbers on the bus are 0.
 */
#include "softdev/nvml/state.h"
#include "softdev/segment_fault.h"
#include "wire/soft_card.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enters, finds the device, runs `...` with `p`, `d` (its index) and `c` (its configuration), leaves. Value: of `r`. */
#define WITH_DEVICE(handle, ...)                                                                                       \
	do {                                                                                                           \
		struct segment_place *p;                                                                               \
		nvmlReturn_t r = state_enter(&p);                                                                      \
		uint32_t d = 0;                                                                                        \
		if (r != NVML_SUCCESS)                                                                                 \
			return r;                                                                                      \
		r = state_device(p, handle, &d);                                                                       \
		if (r == NVML_SUCCESS) {                                                                               \
			const struct segment_config *c = &p->segment->device[d].config;                                \
			(void)c;                                                                                       \
			__VA_ARGS__;                                                                                   \
		}                                                                                                      \
		state_leave();                                                                                         \
		return r;                                                                                              \
	} while (0)

static nvmlReturn_t number(unsigned int *ret, unsigned int value)
{
	if (!ret)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret = value;
	return NVML_SUCCESS;
}

static nvmlReturn_t count_devices(unsigned int *count)
{
	struct segment_place *p;
	nvmlReturn_t r = state_enter(&p);

	if (r != NVML_SUCCESS)
		return r;
	r = number(count, p->segment->device_count);
	state_leave();
	return r;
}

nvmlReturn_t soft_nvmlDeviceGetCount(unsigned int *count)
{
	return count_devices(count);
}

nvmlReturn_t soft_nvmlDeviceGetCount_v2(unsigned int *count)
{
	return count_devices(count);
}

/* There are no units (racks of boards), and no devices that a driver was told to leave out. */
nvmlReturn_t soft_nvmlUnitGetCount(unsigned int *count)
{
	return number(count, 0);
}

nvmlReturn_t soft_nvmlGetExcludedDeviceCount(unsigned int *count)
{
	return number(count, 0);
}

nvmlReturn_t soft_nvmlGetBlacklistDeviceCount(unsigned int *count)
{
	return number(count, 0);
}

/* ---- finding a device ---- */

static nvmlReturn_t by_index(unsigned int index, nvmlDevice_t *device)
{
	struct segment_place *p;
	nvmlReturn_t r = state_enter(&p);

	if (r != NVML_SUCCESS)
		return r;
	if (!device || index >= p->segment->device_count)
		r = NVML_ERROR_INVALID_ARGUMENT;
	else if (segment_lost(p->segment, index))
		r = NVML_ERROR_GPU_IS_LOST;
	else
		*device = state_handle(index);
	state_leave();
	return r;
}

nvmlReturn_t soft_nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
	return by_index(index, device);
}

nvmlReturn_t soft_nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	return by_index(index, device);
}

/* The first device that `is` says yes to. */
static nvmlReturn_t find(int (*is)(const struct segment_config *c, uint32_t index, const void *what), const void *what,
			 nvmlDevice_t *device)
{
	struct segment_place *p;
	nvmlReturn_t r = state_enter(&p);

	if (r != NVML_SUCCESS)
		return r;
	r = what && device ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT;
	for (uint32_t i = 0; r == NVML_ERROR_NOT_FOUND && i < p->segment->device_count; i++) {
		if (!is(&p->segment->device[i].config, i, what))
			continue;
		r = segment_lost(p->segment, i) ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
		if (r == NVML_SUCCESS)
			*device = state_handle(i);
	}
	state_leave();
	return r;
}

static void serial_of(uint32_t index, char ret[30])
{
	snprintf(ret, 30, "mete-soft-%u", index);
}

/* NVML takes a UUID as CUDA has it too, without the prefix: cuda-core's Device.to_system_device() asks so. */
static int is_uuid(const struct segment_config *c, uint32_t index, const void *what)
{
	char text[41];

	(void)index;
	state_uuid(c->uuid, text);
	return !strcmp(text, what) || !strcmp(text + sizeof("GPU-") - 1, what);
}

static int is_uuid_bytes(const struct segment_config *c, uint32_t index, const void *what)
{
	(void)index;
	return !memcmp(c->uuid, what, 16);
}

static int is_serial(const struct segment_config *c, uint32_t index, const void *what)
{
	char text[30];

	(void)c;
	serial_of(index, text);
	return !strcmp(text, what);
}

/* "domain:bus:device.function" with any number of leading zeros; "bus:device.function" means domain 0. */
static int is_bus_id(const struct segment_config *c, uint32_t index, const void *what)
{
	unsigned int domain, bus, device, function = 0;

	(void)index;
	if (sscanf(what, "%x:%x:%x.%x", &domain, &bus, &device, &function) < 3) {
		domain = 0;
		if (sscanf(what, "%x:%x.%x", &bus, &device, &function) < 2)
			return 0;
	}
	return domain == c->pci_domain && bus == c->pci_bus && device == c->pci_device && function == 0;
}

nvmlReturn_t soft_nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	return find(is_uuid, uuid, device);
}

nvmlReturn_t soft_nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, nvmlDevice_t *device)
{
	char text[sizeof uuid->value.str + 1];

	if (uuid && uuid->version != NVML_VERSION_WORD(nvmlUUID_v1_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (uuid && uuid->type == NVML_UUID_TYPE_BINARY)
		return find(is_uuid_bytes, uuid->value.bytes, device);
	if (!uuid || uuid->type != NVML_UUID_TYPE_ASCII)
		return find(is_uuid, NULL, device);
	memcpy(text, uuid->value.str, sizeof uuid->value.str);
	text[sizeof uuid->value.str] = 0;
	return find(is_uuid, text, device);
}

nvmlReturn_t soft_nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
	return find(is_serial, serial, device);
}

nvmlReturn_t soft_nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvmlDevice_t *device)
{
	return find(is_bus_id, bus_id, device);
}

nvmlReturn_t soft_nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device)
{
	return find(is_bus_id, bus_id, device);
}

/* ---- identity ---- */

nvmlReturn_t soft_nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	WITH_DEVICE(device, r = state_text(c->name, name, length));
}

nvmlReturn_t soft_nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	char text[41];

	WITH_DEVICE(device, state_uuid(c->uuid, text); r = state_text(text, uuid, length));
}

nvmlReturn_t soft_nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int length)
{
	char text[30];

	WITH_DEVICE(device, serial_of(d, text); r = state_text(text, serial, length));
}

nvmlReturn_t soft_nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	WITH_DEVICE(device, r = number(index, d));
}

nvmlReturn_t soft_nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor)
{
	WITH_DEVICE(device, r = number(minor, d));
}

nvmlReturn_t soft_nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned int *board)
{
	WITH_DEVICE(device, r = number(board, c->pci_domain << 16 | c->pci_bus << 8 | c->pci_device));
}

nvmlReturn_t soft_nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned int *generation)
{
	WITH_DEVICE(device, r = number(generation, SOFT_CARD_LINK_GENERATION));
}

nvmlReturn_t soft_nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int *generation)
{
	WITH_DEVICE(device, r = number(generation, SOFT_CARD_LINK_GENERATION));
}

nvmlReturn_t soft_nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int *generation)
{
	WITH_DEVICE(device, r = number(generation, SOFT_CARD_LINK_GENERATION));
}

nvmlReturn_t soft_nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int *lanes)
{
	WITH_DEVICE(device, r = number(lanes, SOFT_CARD_LINK_LANES));
}

nvmlReturn_t soft_nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int *lanes)
{
	WITH_DEVICE(device, r = number(lanes, SOFT_CARD_LINK_LANES));
}

/* In no fabric. Of the structure's two versions the second lacks the last member. */
nvmlReturn_t soft_nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
	const unsigned int second = offsetof(nvmlGpuFabricInfoV_t, healthSummary) | 2u << 24;
	unsigned int version = info ? info->version : 0;
	size_t bytes = version == second ? offsetof(nvmlGpuFabricInfoV_t, healthSummary) : sizeof(*info);
	nvmlGpuFabricInfoV_t none = { .version = version, .status = NVML_SUCCESS };

	if (!info)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (version != second && version != NVML_VERSION_WORD(nvmlGpuFabricInfoV_t, 3))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	WITH_DEVICE(device, memcpy(info, &none, bytes));
}

nvmlReturn_t soft_nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned int *multi)
{
	WITH_DEVICE(device, r = number(multi, 0));
}

nvmlReturn_t soft_nvmlDeviceOnSameBoard(nvmlDevice_t device1, nvmlDevice_t device2, int *same)
{
	uint32_t other;

	if (!same)
		return NVML_ERROR_INVALID_ARGUMENT;
	WITH_DEVICE(device1, r = state_device(p, device2, &other); if (r == NVML_SUCCESS) *same = d == other);
}

nvmlReturn_t soft_nvmlDeviceGetBrand(nvmlDevice_t device, unsigned int *brand)
{
	WITH_DEVICE(device, r = number(brand, NVML_BRAND_UNKNOWN));
}

nvmlReturn_t soft_nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned int *arch)
{
	WITH_DEVICE(device, r = number(arch, NVML_DEVICE_ARCH_UNKNOWN));
}

nvmlReturn_t soft_nvmlDeviceGetBusType(nvmlDevice_t device, unsigned int *type)
{
	WITH_DEVICE(device, r = number(type, NVML_BUS_TYPE_UNKNOWN));
}

nvmlReturn_t soft_nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, unsigned int *mode)
{
	WITH_DEVICE(device, r = number(mode, NVML_GPU_VIRTUALIZATION_MODE_NONE));
}

nvmlReturn_t soft_nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	if (!major || !minor)
		return NVML_ERROR_INVALID_ARGUMENT;
	WITH_DEVICE(device, *major = (int)c->cc_major; *minor = (int)c->cc_minor);
}

/* ---- modes: what is fixed ---- */

nvmlReturn_t soft_nvmlDeviceGetComputeMode(nvmlDevice_t device, unsigned int *mode)
{
	WITH_DEVICE(device, r = number(mode, NVML_COMPUTEMODE_DEFAULT));
}

/* The device goes with its last process. */
nvmlReturn_t soft_nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned int *mode)
{
	WITH_DEVICE(device, r = number(mode, 0));
}

nvmlReturn_t soft_nvmlDeviceGetDisplayMode(nvmlDevice_t device, unsigned int *mode)
{
	WITH_DEVICE(device, r = number(mode, 0));
}

nvmlReturn_t soft_nvmlDeviceGetDisplayActive(nvmlDevice_t device, unsigned int *active)
{
	WITH_DEVICE(device, r = number(active, 0));
}

nvmlReturn_t soft_nvmlDeviceGetAccountingMode(nvmlDevice_t device, unsigned int *mode)
{
	WITH_DEVICE(device, r = number(mode, 0));
}

nvmlReturn_t soft_nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *yes)
{
	WITH_DEVICE(device, r = number(yes, 0));
}

nvmlReturn_t soft_nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
	WITH_DEVICE(device, r = number(count, 0));
}

/* ---- place ---- */

/* The device computes on the processors that this process may use. */
nvmlReturn_t soft_nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int size, unsigned long *set)
{
	unsigned long mask[1024 / (8 * sizeof(long))] = { 0 };

	if (!set || !size)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (sched_getaffinity(0, sizeof mask, (cpu_set_t *)mask) < 0)
		return NVML_ERROR_UNKNOWN;
	WITH_DEVICE(device, memset(set, 0, size * sizeof *set);
		    memcpy(set, mask, size * sizeof *set < sizeof mask ? size * sizeof *set : sizeof mask));
}

struct bus_id {
	char legacy[16];
	char full[32];
};

static struct bus_id bus_id_of(const struct segment_config *c)
{
	unsigned int bus = c->pci_bus & 0xff, device = c->pci_device & 0xff;
	struct bus_id id = { 0 };

	snprintf(id.legacy, sizeof id.legacy, "%04X:%02X:%02X.0", c->pci_domain & 0xffff, bus, device);
	snprintf(id.full, sizeof id.full, "%08X:%02X:%02X.0", c->pci_domain, bus, device);
	return id;
}

static void pci_fill(const struct segment_config *c, nvmlPciInfo_t *pci)
{
	struct bus_id id = bus_id_of(c);

	memset(pci, 0, sizeof *pci);
	memcpy(pci->busIdLegacy, id.legacy, sizeof pci->busIdLegacy);
	pci->domain = c->pci_domain;
	pci->bus = c->pci_bus;
	pci->device = c->pci_device;
	memcpy(pci->busId, id.full, sizeof pci->busId);
}

nvmlReturn_t soft_nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	if (!pci)
		return NVML_ERROR_INVALID_ARGUMENT;
	WITH_DEVICE(device, pci_fill(c, pci));
}

/* The older structures are shorter: the same up to the device's number (v1), up to the subsystem's (v2). */
static nvmlReturn_t pci_older(nvmlDevice_t device, void *pci, size_t bytes)
{
	nvmlPciInfo_t whole;

	if (!pci)
		return NVML_ERROR_INVALID_ARGUMENT;
	WITH_DEVICE(device, pci_fill(c, &whole); memcpy(pci, &whole, bytes));
}

nvmlReturn_t soft_nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	return pci_older(device, pci, offsetof(nvmlPciInfo_t, pciSubSystemId));
}

nvmlReturn_t soft_nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	return pci_older(device, pci, offsetof(nvmlPciInfo_t, busId));
}

nvmlReturn_t soft_nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t *pci)
{
	struct bus_id id;

	if (!pci)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (pci->version != NVML_VERSION_WORD(nvmlPciInfoExt_v1_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	WITH_DEVICE(device, id = bus_id_of(c); *pci = (nvmlPciInfoExt_t){ .version = pci->version };
		    pci->domain = c->pci_domain; pci->bus = c->pci_bus; pci->device = c->pci_device;
		    memcpy(pci->busId, id.full, sizeof pci->busId));
}
