/*
 * device.c: the devices of the remote client's NVML. The only process that is shown is this one, when it has a context:
 * others of the tenant run on machines, or in namespaces, whose pids mean nothing here. What it uses is what its worker
 * is charged; a worker of an older release does not tell it, and then it is what the tenant uses.
 */
#include "remote/client/nvml/state.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* NVML_SUCCESS, with the device. */
static nvmlReturn_t enter(nvmlDevice_t device, const struct watch_calls **ret, int *ret_device)
{
	nvmlReturn_t r = state_enter(ret);

	return r == NVML_SUCCESS ? state_device(*ret, device, ret_device) : r;
}

static nvmlReturn_t facts_of(nvmlDevice_t device, struct watch_facts *ret)
{
	const struct watch_calls *w;
	int saved = errno, d;
	nvmlReturn_t r = enter(device, &w, &d);

	if (r == NVML_SUCCESS)
		r = state_error(w->facts(d, ret));
	errno = saved;
	return r;
}

/* ---- which there are ---- */

nvmlReturn_t soft_nvmlDeviceGetCount(unsigned int *count)
{
	const struct watch_calls *w;
	nvmlReturn_t r = state_enter(&w);

	return r == NVML_SUCCESS ? state_number(count, (unsigned int)w->count()) : r;
}

nvmlReturn_t soft_nvmlDeviceGetCount_v2(unsigned int *count)
{
	return soft_nvmlDeviceGetCount(count);
}

/* A plain 0, once NVML is there. */
static nvmlReturn_t none(unsigned int *count)
{
	const struct watch_calls *w;
	nvmlReturn_t r = state_enter(&w);

	return r == NVML_SUCCESS ? state_number(count, 0) : r;
}

nvmlReturn_t soft_nvmlUnitGetCount(unsigned int *count)
{
	return none(count);
}

nvmlReturn_t soft_nvmlGetExcludedDeviceCount(unsigned int *count)
{
	return none(count);
}

nvmlReturn_t soft_nvmlGetBlacklistDeviceCount(unsigned int *count)
{
	return none(count);
}

nvmlReturn_t soft_nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
	const struct watch_calls *w;
	nvmlReturn_t r = state_enter(&w);

	if (r != NVML_SUCCESS)
		return r;
	if (!device || index >= (unsigned int)w->count())
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = state_handle((int)index);
	return NVML_SUCCESS;
}

nvmlReturn_t soft_nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	return soft_nvmlDeviceGetHandleByIndex(index, device);
}

typedef bool (*match_fn)(const struct watch_facts *f, const void *what);

/* The first device that `is` says yes to. */
static nvmlReturn_t find(match_fn is, const void *what, nvmlDevice_t *device)
{
	const struct watch_calls *w;
	struct watch_facts f;
	int saved = errno;
	nvmlReturn_t r = state_enter(&w);

	if (r == NVML_SUCCESS)
		r = what && device ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT;
	for (int i = 0; r == NVML_ERROR_NOT_FOUND && i < w->count(); i++) {
		CUresult asked = w->facts(i, &f);

		if (asked != CUDA_SUCCESS) {
			r = state_error(asked);
		} else if (is(&f, what)) {
			*device = state_handle(i);
			r = NVML_SUCCESS;
		}
	}
	errno = saved;
	return r;
}

static void uuid_text(const uint8_t uuid[16], char ret[41])
{
	static const char hex[] = "0123456789abcdef";
	char *at = ret;

	memcpy(at, "GPU", 3);
	at += 3;
	for (unsigned int i = 0; i < 16; i++) {
		if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		*at++ = hex[uuid[i] >> 4];
		*at++ = hex[uuid[i] & 15];
	}
	*at = 0;
}

/* With the prefix, or without it as CUDA has it. */
static bool is_uuid(const struct watch_facts *f, const void *what)
{
	char text[41];

	uuid_text(f->uuid, text);
	return !strcmp(text, what) || !strcmp(text + sizeof("GPU-") - 1, what);
}

static bool is_uuid_bytes(const struct watch_facts *f, const void *what)
{
	return !memcmp(f->uuid, what, 16);
}

struct bus {
	unsigned int domain, bus, device, function;
};

/* "domain:bus:device.function" with any number of leading zeros; "bus:device.function" means domain 0. */
static bool bus_read(const char *text, struct bus *ret)
{
	*ret = (struct bus){ 0 };
	if (sscanf(text, "%x:%x:%x.%x", &ret->domain, &ret->bus, &ret->device, &ret->function) >= 3)
		return true;
	*ret = (struct bus){ 0 };
	return sscanf(text, "%x:%x.%x", &ret->bus, &ret->device, &ret->function) >= 2;
}

static bool is_bus(const struct watch_facts *f, const void *what)
{
	struct bus wanted, own;

	return bus_read(what, &wanted) && bus_read(f->bus_id, &own) && !memcmp(&wanted, &own, sizeof(own));
}

nvmlReturn_t soft_nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	return find(is_uuid, uuid, device);
}

nvmlReturn_t soft_nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, nvmlDevice_t *device)
{
	char text[sizeof(uuid->value.str) + 1];

	if (uuid && uuid->version != NVML_VERSION_WORD(nvmlUUID_v1_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (uuid && uuid->type == NVML_UUID_TYPE_BINARY)
		return find(is_uuid_bytes, uuid->value.bytes, device);
	if (!uuid || uuid->type != NVML_UUID_TYPE_ASCII)
		return find(is_uuid, NULL, device);
	memcpy(text, uuid->value.str, sizeof(uuid->value.str));
	text[sizeof(uuid->value.str)] = 0;
	return find(is_uuid, text, device);
}

static bool is_serial(const struct watch_facts *f, const void *what)
{
	(void)f;
	(void)what;
	return false; /* the driver API has no serial numbers, so none is known */
}

nvmlReturn_t soft_nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
	return find(is_serial, serial, device);
}

nvmlReturn_t soft_nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvmlDevice_t *device)
{
	return find(is_bus, bus_id, device);
}

nvmlReturn_t soft_nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device)
{
	return find(is_bus, bus_id, device);
}

/* ---- what one is ---- */

nvmlReturn_t soft_nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	struct watch_facts f;
	nvmlReturn_t r = facts_of(device, &f);

	return r == NVML_SUCCESS ? state_text(f.name, name, length) : r;
}

nvmlReturn_t soft_nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	struct watch_facts f;
	nvmlReturn_t r = facts_of(device, &f);
	char text[41];

	if (r != NVML_SUCCESS)
		return r;
	uuid_text(f.uuid, text);
	return state_text(text, uuid, length);
}

static nvmlReturn_t index_of(nvmlDevice_t device, unsigned int *ret)
{
	const struct watch_calls *w;
	int d = 0;
	nvmlReturn_t r = enter(device, &w, &d);

	return r == NVML_SUCCESS ? state_number(ret, (unsigned int)d) : r;
}

nvmlReturn_t soft_nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	return index_of(device, index);
}

/* There is no device node here; tools use the number to tell devices apart. */
nvmlReturn_t soft_nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor)
{
	return index_of(device, minor);
}

nvmlReturn_t soft_nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	struct watch_facts f;
	nvmlReturn_t r = major && minor ? facts_of(device, &f) : NVML_ERROR_INVALID_ARGUMENT;

	if (r == NVML_SUCCESS) {
		*major = f.major;
		*minor = f.minor;
	}
	return r;
}

/* A grant is of whole processes' making: no client of another mode gets in. */
nvmlReturn_t soft_nvmlDeviceGetComputeMode(nvmlDevice_t device, unsigned int *mode)
{
	unsigned int index;
	nvmlReturn_t r = index_of(device, &index);

	return r == NVML_SUCCESS ? state_number(mode, NVML_COMPUTEMODE_DEFAULT) : r;
}

/* To the client a partition is a device like others. */
nvmlReturn_t soft_nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *yes)
{
	unsigned int index;
	nvmlReturn_t r = index_of(device, &index);

	return r == NVML_SUCCESS ? state_number(yes, 0) : r;
}

/* Nothing of a fabric is reached on this way. Of the structure's two versions the second lacks the last member. */
nvmlReturn_t soft_nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
	const unsigned int second = offsetof(nvmlGpuFabricInfoV_t, healthSummary) | 2u << 24;
	unsigned int version = info ? info->version : 0, index;
	size_t bytes = version == second ? offsetof(nvmlGpuFabricInfoV_t, healthSummary) : sizeof(*info);
	nvmlGpuFabricInfoV_t none = { .version = version, .status = NVML_SUCCESS };
	nvmlReturn_t r;

	if (!info)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (version != second && version != NVML_VERSION_WORD(nvmlGpuFabricInfoV_t, 3))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	r = index_of(device, &index);
	if (r == NVML_SUCCESS)
		memcpy(info, &none, bytes);
	return r;
}

static nvmlReturn_t pci_of(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	struct watch_facts f;
	struct bus b;
	char text[48];
	nvmlReturn_t r = facts_of(device, &f);

	if (r != NVML_SUCCESS)
		return r;
	if (!bus_read(f.bus_id, &b))
		return NVML_ERROR_NOT_SUPPORTED;
	memset(pci, 0, sizeof(*pci));
	pci->domain = b.domain;
	pci->bus = b.bus;
	pci->device = b.device;
	snprintf(text, sizeof(text), "%04X:%02X:%02X.%X", b.domain & 0xffff, b.bus & 0xff, b.device & 0xff,
		 b.function & 7);
	memcpy(pci->busIdLegacy, text, strlen(text));
	snprintf(text, sizeof(text), "%08X:%02X:%02X.%X", b.domain, b.bus & 0xff, b.device & 0xff, b.function & 7);
	memcpy(pci->busId, text, strlen(text));
	return NVML_SUCCESS;
}

/* The older structures are shorter: the same up to the device's number (v1), up to the subsystem's (v2). */
static nvmlReturn_t pci_part(nvmlDevice_t device, void *pci, size_t bytes)
{
	nvmlPciInfo_t whole;
	nvmlReturn_t r = pci ? pci_of(device, &whole) : NVML_ERROR_INVALID_ARGUMENT;

	if (r == NVML_SUCCESS)
		memcpy(pci, &whole, bytes);
	return r;
}

nvmlReturn_t soft_nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	return pci_part(device, pci, sizeof(*pci));
}

nvmlReturn_t soft_nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	return pci_part(device, pci, offsetof(nvmlPciInfo_t, pciSubSystemId));
}

nvmlReturn_t soft_nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	return pci_part(device, pci, offsetof(nvmlPciInfo_t, busId));
}

nvmlReturn_t soft_nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t *pci)
{
	nvmlPciInfo_t whole;
	nvmlReturn_t r;

	if (!pci)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (pci->version != NVML_VERSION_WORD(nvmlPciInfoExt_v1_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	r = pci_of(device, &whole);
	if (r != NVML_SUCCESS)
		return r;
	*pci = (nvmlPciInfoExt_t){
		.version = pci->version, .domain = whole.domain, .bus = whole.bus, .device = whole.device
	};
	memcpy(pci->busId, whole.busId, sizeof(pci->busId));
	return NVML_SUCCESS;
}

/* ---- figures, which change ---- */

static nvmlReturn_t figures_of(nvmlDevice_t device, struct watch_figures *ret)
{
	const struct watch_calls *w;
	int saved = errno, d;
	nvmlReturn_t r = enter(device, &w, &d);

	if (r == NVML_SUCCESS)
		r = state_error(w->figures(d, ret));
	errno = saved;
	return r;
}

/* ---- the PCIe link ---- */

static nvmlReturn_t link_of(nvmlDevice_t device, struct watch_link *ret)
{
	struct watch_figures f = { 0 };
	nvmlReturn_t r = figures_of(device, &f);

	*ret = f.link;
	return r;
}

static nvmlReturn_t link_number(nvmlReturn_t r, uint32_t known, unsigned int *ret)
{
	return r == NVML_SUCCESS && !known ? NVML_ERROR_NOT_SUPPORTED
	       : r == NVML_SUCCESS	   ? state_number(ret, known)
					   : r;
}

#define LINK(name, field)                                                                                              \
	nvmlReturn_t soft_nvmlDeviceGet##name(nvmlDevice_t device, unsigned int *value)                                \
	{                                                                                                              \
		struct watch_link l;                                                                                   \
		nvmlReturn_t r = link_of(device, &l);                                                                  \
		return link_number(r, l.field, value);                                                                 \
	}
LINK(CurrPcieLinkGeneration, generation)
LINK(MaxPcieLinkGeneration, generation_most)
LINK(CurrPcieLinkWidth, lanes)
LINK(MaxPcieLinkWidth, lanes_most)

/* ---- memory ---- */

nvmlReturn_t soft_nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	struct watch_figures f = { 0 };
	nvmlReturn_t r = memory ? figures_of(device, &f) : NVML_ERROR_INVALID_ARGUMENT;

	if (r == NVML_SUCCESS)
		*memory = (nvmlMemory_t){ .total = f.total_bytes,
					  .free = f.free_bytes,
					  .used = f.total_bytes - f.free_bytes };
	return r;
}

nvmlReturn_t soft_nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	struct watch_figures f = { 0 };
	nvmlReturn_t r;

	if (!memory)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (memory->version != NVML_VERSION_WORD(nvmlMemory_v2_t, 2))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	r = figures_of(device, &f);
	if (r == NVML_SUCCESS)
		*memory = (nvmlMemory_v2_t){ .version = memory->version,
					     .total = f.total_bytes,
					     .free = f.free_bytes,
					     .used = f.total_bytes - f.free_bytes };
	return r;
}

/* ---- processes ---- */

/* This process, as a list shows it. */
struct own_use {
	bool put; /* the list has a place for it */
	unsigned int pid;
	unsigned long long bytes;
};

static nvmlReturn_t used_by_this(nvmlDevice_t device, struct own_use *ret)
{
	struct watch_figures f = { 0 };
	nvmlReturn_t r = figures_of(device, &f);

	ret->put = r == NVML_SUCCESS;
	ret->bytes = f.own_bytes != WATCH_UNKNOWN ? f.own_bytes : f.total_bytes - f.free_bytes;
	return r;
}

/* 1: this process has a context on the device, and there is room for one; NVML's way with sizes for the rest. */
static nvmlReturn_t list(nvmlDevice_t device, bool compute, unsigned int *count, const void *array, struct own_use *ret)
{
	const struct watch_calls *w;
	unsigned int room = count ? *count : 0;
	nvmlReturn_t r;
	int d;

	*ret = (struct own_use){ .pid = (unsigned int)getpid() };
	if (!count || (room && !array))
		return NVML_ERROR_INVALID_ARGUMENT;
	r = enter(device, &w, &d);
	if (r != NVML_SUCCESS)
		return r;
	*count = compute && w->computes(d);
	if (*count && room)
		return used_by_this(device, ret);
	return *count > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static nvmlReturn_t list_v1(nvmlDevice_t device, bool compute, unsigned int *count, nvmlProcessInfo_v1_t *infos)
{
	struct own_use own;
	nvmlReturn_t r = list(device, compute, count, infos, &own);

	if (own.put)
		*infos = (nvmlProcessInfo_v1_t){ .pid = own.pid, .usedGpuMemory = own.bytes };
	return r;
}

static nvmlReturn_t list_v2(nvmlDevice_t device, bool compute, unsigned int *count, nvmlProcessInfo_t *infos)
{
	struct own_use own;
	nvmlReturn_t r = list(device, compute, count, infos, &own);

	if (own.put)
		*infos = (nvmlProcessInfo_t){ .pid = own.pid,
					      .usedGpuMemory = own.bytes,
					      .gpuInstanceId = NVML_NO_INSTANCE,
					      .computeInstanceId = NVML_NO_INSTANCE };
	return r;
}

#define LIST(name, type, compute, body)                                                                                \
	nvmlReturn_t soft_##name(nvmlDevice_t device, unsigned int *count, type *infos)                                \
	{                                                                                                              \
		return body(device, compute, count, infos);                                                            \
	}
LIST(nvmlDeviceGetComputeRunningProcesses, nvmlProcessInfo_v1_t, true, list_v1)
LIST(nvmlDeviceGetComputeRunningProcesses_v2, nvmlProcessInfo_v2_t, true, list_v2)
LIST(nvmlDeviceGetComputeRunningProcesses_v3, nvmlProcessInfo_t, true, list_v2)
LIST(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t, false, list_v1)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_v2_t, false, list_v2)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_t, false, list_v2)
LIST(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t, false, list_v1)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_v2_t, false, list_v2)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_t, false, list_v2)

nvmlReturn_t soft_nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device, nvmlProcessDetailList_t *l)
{
	struct own_use own;
	nvmlReturn_t r;

	if (!l)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (l->version != NVML_VERSION_WORD(nvmlProcessDetailList_v1_t, 1))
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (l->mode > NVML_PROCESS_MODE_MPS)
		return NVML_ERROR_INVALID_ARGUMENT;
	r = list(device, l->mode == NVML_PROCESS_MODE_COMPUTE, &l->numProcArrayEntries, l->procArray, &own);
	if (own.put)
		*l->procArray = (nvmlProcessDetail_v1_t){ .pid = own.pid,
							  .usedGpuMemory = own.bytes,
							  .gpuInstanceId = NVML_NO_INSTANCE,
							  .computeInstanceId = NVML_NO_INSTANCE,
							  .usedGpuCcProtectedMemory =
								  (unsigned long long)NVML_VALUE_NOT_AVAILABLE };
	return r;
}

/* A field has an answer of its own: none of the fields is known here. */
nvmlReturn_t soft_nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	unsigned int index;
	nvmlReturn_t r = count < 0 || !values ? NVML_ERROR_INVALID_ARGUMENT : index_of(device, &index);

	for (int i = 0; r == NVML_SUCCESS && i < count; i++)
		values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
	return r;
}
