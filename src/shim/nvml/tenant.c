/*
 * tenant.c: what meted says of this tenant, and which of the driver's handles are its devices.
 *
 * Devices are known by UUID alone: neither the driver's indices nor the order in the grant mean anything to the other.
 * The driver is never called with the lock held; two threads may both work out the handles, and get the same.
 */
#include "shim/nvml/shim.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;	 /* guards all below */
	bool known;		 /* devices holds for this generation */
	unsigned int generation; /* counts nvmlInit and nvmlShutdown */
	struct tenant_devices devices;
} tenant = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Atomic bool runs_open;
static _Atomic bool fork_watched;

static void child_after_fork(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	tenant.lock = unlocked; /* whoever held it is not in this process */
	attach_forget(false);
}

bool tenant_is(void)
{
	return attach_wanted() && !atomic_load_explicit(&runs_open, memory_order_relaxed);
}

nvmlReturn_t tenant_attach(void)
{
	if (!tenant_is())
		return NVML_SUCCESS;
	if (!atomic_exchange_explicit(&fork_watched, true, memory_order_relaxed))
		pthread_atfork(NULL, NULL, child_after_fork);
	if (attach_open() == 0)
		return NVML_SUCCESS;
	if (!attach_may_run_open())
		return NVML_ERROR_UNKNOWN;
	atomic_store_explicit(&runs_open, true, memory_order_relaxed);
	return NVML_SUCCESS;
}

void tenant_forget_handles(void)
{
	pthread_mutex_lock(&tenant.lock);
	tenant.known = false;
	tenant.generation++;
	pthread_mutex_unlock(&tenant.lock);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* "GPU-01234567-89ab-..." or the same with another first word. */
static bool uuid_parse(const char *text, uint8_t ret[16])
{
	unsigned int digits = 0;
	int digit;

	text = strchr(text, '-');
	if (!text)
		return false;
	for (; *text; text++) {
		if (*text == '-')
			continue;
		digit = hex_digit(*text);
		if (digit < 0 || digits == 32)
			return false;
		ret[digits / 2] = (uint8_t)(digits % 2 ? ret[digits / 2] << 4 | digit : digit);
		digits++;
	}
	return digits == 32;
}

static void uuid_format(const char *word, const uint8_t uuid[16], char ret[64])
{
	static const char hex[] = "0123456789abcdef";
	size_t n = strlen(word);

	memcpy(ret, word, n);
	for (unsigned int i = 0; i < 16; i++) {
		if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10)
			ret[n++] = '-';
		ret[n++] = hex[uuid[i] >> 4];
		ret[n++] = hex[uuid[i] & 15];
	}
	ret[n] = 0;
}

static int grant_index_of(nvmlDevice_t handle)
{
	const struct wire_welcome *welcome = attach_welcome();
	uint8_t uuid[16];
	char text[96];

	if (shim_real.nvmlDeviceGetUUID(handle, text, sizeof text) != NVML_SUCCESS || !uuid_parse(text, uuid))
		return -1;
	for (uint32_t i = 0; i < welcome->device_count; i++)
		if (!memcmp(welcome->device[i].uuid, uuid, sizeof uuid))
			return (int)i;
	return -1;
}

static nvmlReturn_t driver_count(unsigned int *ret)
{
	nvmlReturn_t r = shim_real.nvmlDeviceGetCount_v2(ret);

	return r == NVML_ERROR_FUNCTION_NOT_FOUND ? shim_real.nvmlDeviceGetCount(ret) : r;
}

static nvmlReturn_t driver_by_index(unsigned int index, nvmlDevice_t *ret)
{
	nvmlReturn_t r = shim_real.nvmlDeviceGetHandleByIndex_v2(index, ret);

	return r == NVML_ERROR_FUNCTION_NOT_FOUND ? shim_real.nvmlDeviceGetHandleByIndex(index, ret) : r;
}

/* A granted partition has a UUID of its own that no index leads to. */
static bool partition_find(const uint8_t uuid[16], nvmlDevice_t *ret)
{
	char text[64];

	uuid_format("MIG", uuid, text);
	return shim_real.nvmlDeviceGetHandleByUUID(text, ret) == NVML_SUCCESS;
}

static nvmlReturn_t devices_collect(struct tenant_devices *ret)
{
	const struct wire_welcome *welcome;
	uint32_t seen = 0;
	unsigned int n = 0;
	nvmlDevice_t handle;
	nvmlReturn_t r;
	int g;

	memset(ret, 0, sizeof *ret);
	r = driver_count(&n);
	if (r != NVML_SUCCESS)
		return r;
	if (!attach_page() && attach_open() < 0)
		return NVML_ERROR_UNKNOWN;
	welcome = attach_welcome();
	for (unsigned int i = 0; i < n && ret->count < WIRE_MAX_DEVICES; i++) {
		if (driver_by_index(i, &handle) != NVML_SUCCESS)
			continue; /* a device that this process may not open or that is lost is not the tenant's either
				   */
		g = grant_index_of(handle);
		if (g < 0)
			continue;
		seen |= 1u << g;
		ret->device[ret->count++] = (struct tenant_device){ .handle = handle, .grant_index = (uint32_t)g };
	}
	for (uint32_t i = 0; i < welcome->device_count && ret->count < WIRE_MAX_DEVICES; i++) {
		if (seen & 1u << i || !partition_find(welcome->device[i].uuid, &handle))
			continue;
		ret->device[ret->count++] = (struct tenant_device){ .handle = handle, .grant_index = i };
	}
	return NVML_SUCCESS;
}

nvmlReturn_t tenant_devices_get(struct tenant_devices *ret)
{
	unsigned int generation;
	nvmlReturn_t r;
	bool known;

	pthread_mutex_lock(&tenant.lock);
	known = tenant.known;
	generation = tenant.generation;
	if (known)
		*ret = tenant.devices;
	pthread_mutex_unlock(&tenant.lock);
	if (known)
		return NVML_SUCCESS;
	r = devices_collect(ret);
	if (r != NVML_SUCCESS)
		return r;
	pthread_mutex_lock(&tenant.lock);
	if (tenant.generation == generation) {
		tenant.devices = *ret;
		tenant.known = true;
	}
	pthread_mutex_unlock(&tenant.lock);
	return NVML_SUCCESS;
}

static bool is_partition(nvmlDevice_t handle)
{
	unsigned int yes = 0;

	return shim_real.nvmlDeviceIsMigDeviceHandle(handle, &yes) == NVML_SUCCESS && yes;
}

nvmlReturn_t tenant_device_find(nvmlDevice_t handle, uint32_t *ret_grant_index)
{
	struct tenant_devices devices;
	nvmlReturn_t r = tenant_devices_get(&devices);
	nvmlDevice_t parent;
	int g;

	if (r != NVML_SUCCESS)
		return r;
	for (unsigned int i = 0; i < devices.count; i++) {
		if (devices.device[i].handle == handle) {
			*ret_grant_index = devices.device[i].grant_index;
			return NVML_SUCCESS;
		}
	}
	if (!handle)
		return NVML_ERROR_INVALID_ARGUMENT;
	g = grant_index_of(handle); /* the driver may have two handles for one device */
	if (g >= 0) {
		*ret_grant_index = (uint32_t)g;
		return NVML_SUCCESS;
	}
	if (!is_partition(handle) ||
	    shim_real.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle, &parent) != NVML_SUCCESS ||
	    (g = grant_index_of(parent)) < 0)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret_grant_index = (uint32_t)g | TENANT_PART;
	return NVML_SUCCESS;
}

static uint64_t own_held_bytes(uint32_t grant_index)
{
	struct wire_page *page = attach_page();
	uint64_t word;

	if (!page || grant_index >= WIRE_MAX_DEVICES)
		return 0;
	word = atomic_load_explicit(&page->account[grant_index].word, memory_order_relaxed);
	return (uint64_t)wire_held(word) * WIRE_UNIT_BYTES;
}

void tenant_memory_get(uint32_t grant_index, struct tenant_memory *ret)
{
	struct wire_info ask = { .head = { .type = WIRE_INFO, .size = sizeof ask }, .device = grant_index };
	struct wire_info_is is;
	struct wire_page *page;

	if (attach_ask(&ask, &is, sizeof is, 0) == WIRE_OK) {
		ret->quota_bytes = is.quota_bytes;
		ret->held_bytes = is.held_bytes;
	} else {
		page = attach_page();
		ret->quota_bytes =
			page ? atomic_load_explicit(&page->account[grant_index].quota_bytes, memory_order_relaxed)
			     : attach_welcome()->device[grant_index].quota_bytes;
		ret->held_bytes = own_held_bytes(grant_index);
	}
	if (ret->held_bytes > ret->quota_bytes)
		ret->held_bytes = ret->quota_bytes;
}

void tenant_processes_get(uint32_t grant_index, struct tenant_processes *ret)
{
	struct wire_processes ask = { .head = { .type = WIRE_PROCESSES, .size = sizeof ask }, .device = grant_index };
	const struct wire_welcome *welcome = attach_welcome();
	struct wire_processes_are are;

	ret->count = 0;
	if (attach_ask(&ask, &are, sizeof are, 0) == WIRE_OK) {
		for (uint32_t i = 0; i < are.count && i < WIRE_MAX_PROCESSES; i++) {
			ret->process[i].pid = (unsigned int)are.process[i].pid;
			ret->process[i].held_bytes = (uint64_t)are.process[i].held_units * WIRE_UNIT_BYTES;
			ret->count++;
		}
		return;
	}
	ret->process[0].pid = (unsigned int)(welcome->host_pid ? welcome->host_pid : (int)syscall(SYS_getpid));
	ret->process[0].held_bytes = own_held_bytes(grant_index);
	ret->count = 1;
}

const struct tenant_process *tenant_process_find(const struct tenant_processes *p, unsigned int pid)
{
	for (unsigned int i = 0; i < p->count; i++)
		if (p->process[i].pid == pid)
			return &p->process[i];
	return NULL;
}
