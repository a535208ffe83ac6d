/* driver.c: see driver.h. cuInit, versions, visible devices, calls that do not exist. */
#include "softdev/driver.h"

#include "base/own_note.h"
#include "softdev/arena.h"
#include "softdev/check.h"
#include "softdev/checkpoint.h"
#include "softdev/config.h"
#include "softdev/context.h"
#include "softdev/duration.h"
#include "softdev/log.h"
#include "softdev/logs.h"
#include "softdev/mempool.h"
#include "softdev/profile.h"
#include "softdev/ptx/ptx.h"
#include "softdev/segment_fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

OWN_NOTE("the software device");

struct driver driver;
__thread bool driver_in_callback;
__thread bool soft_per_thread;

static pthread_mutex_t init_mutex = PTHREAD_MUTEX_INITIALIZER;

static void driver_after_fork(void)
{
	if (driver.state == DRIVER_READY)
		driver.state = DRIVER_FORKED;
	pthread_mutex_init(&init_mutex, NULL);
	checkpoint_forked();
}

__attribute__((constructor)) static void driver_load(void)
{
	pthread_atfork(NULL, NULL, driver_after_fork);
}

int driver_version(void)
{
	char why[256];
	int version;

	config_driver_version(&version, why, sizeof(why));
	return version;
}

CUresult driver_ready(void)
{
	if (__builtin_expect(driver.state != DRIVER_READY, 0))
		return CUDA_ERROR_NOT_INITIALIZED;
	return __builtin_expect(driver_in_callback, 0) ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

/* ---- visible devices ---- */

static void uuid_text(const uint8_t uuid[16], char text[48])
{
	const uint8_t *u = uuid;

	snprintf(text, 48, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2],
		 u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

/* The device that one entry of CUDA_VISIBLE_DEVICES names: an index, a UUID or the unique beginning of one. Or -1. */
static int visible_entry(const struct segment *s, const char *entry, size_t n)
{
	int found = -1;

	if (n && entry[0] >= '0' && entry[0] <= '9') {
		unsigned long index = 0;

		for (size_t i = 0; i < n; i++) {
			if (entry[i] < '0' || entry[i] > '9' || index > SEGMENT_MAX_DEVICES)
				return -1;
			index = index * 10 + (unsigned long)(entry[i] - '0');
		}
		return index < s->device_count ? (int)index : -1;
	}
	if (n < 5 || strncasecmp(entry, "GPU-", 4))
		return -1;
	for (uint32_t d = 0; d < s->device_count; d++) {
		char text[48];

		uuid_text(s->device[d].config.uuid, text);
		if (n > strlen(text) || strncasecmp(text, entry, n))
			continue;
		if (found >= 0)
			return -1;
		found = (int)d;
	}
	return found;
}

/* The devices in visible order. A bad entry ends the list; an entry given twice makes the whole list empty. */
static uint32_t visible_devices(const struct segment *s, uint32_t index[SEGMENT_MAX_DEVICES])
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	uint32_t count = 0;

	if (!list) {
		for (; count < s->device_count; count++)
			index[count] = count;
		return count;
	}
	for (;;) {
		size_t n;
		int d;

		list += strspn(list, " \t");
		n = strcspn(list, ",");
		while (n && (list[n - 1] == ' ' || list[n - 1] == '\t'))
			n--;
		d = visible_entry(s, list, n);
		if (d < 0)
			return count;
		for (uint32_t i = 0; i < count; i++)
			if (index[i] == (uint32_t)d)
				return 0;
		index[count++] = (uint32_t)d;
		list += strcspn(list, ",");
		if (!*list++)
			return count;
	}
}

/* ---- cuInit ---- */

static CUresult device_open(struct device *d, uint32_t index, uint32_t ordinal)
{
	d->index = index;
	d->ordinal = (CUdevice)ordinal;
	d->config = &driver.place.segment->device[index].config;
	d->arena = arena_new(d->config->total_bytes);
	d->primary = context_new(d, true);
	d->default_pool = mempool_new(d);
	d->pool = d->default_pool;
	return d->arena && d->primary && d->default_pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult driver_threads(void)
{
	const char *text = getenv("METE_SOFT_THREADS");
	char *end;
	unsigned long n;

	if (!text || !text[0])
		return CUDA_SUCCESS;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9' || n < 1 || n > 1024) {
		log_line("METE_SOFT_THREADS=%s: give a whole number from 1 to 1024", text);
		return CUDA_ERROR_INVALID_VALUE;
	}
	driver.threads = (unsigned)n;
	return CUDA_SUCCESS;
}

static CUresult driver_compile(void)
{
	static const char *const names[] = { "off", "on", "always" };
	const char *text = getenv("METE_SOFT_COMPILE");

	driver.compile = PTX_COMPILE_HOT;
	if (!text || !text[0])
		return CUDA_SUCCESS;
	for (int i = 0; i < 3; i++)
		if (!strcmp(text, names[i])) {
			driver.compile = i;
			return CUDA_SUCCESS;
		}
	log_line("METE_SOFT_COMPILE=%s: give on, off or always", text);
	return CUDA_ERROR_INVALID_VALUE;
}

static void context_end(void *context, void *unused)
{
	report_leaks(context);
}

/*
 * The process exits. What runs on a device ends, as on hardware: the program's own handlers, which come later, may wait
 * for the device, and a kernel without end must not keep the process alive.
 */
static void driver_exit(void)
{
	if (driver.state != DRIVER_READY)
		return;
	atomic_store(&driver.ending, true);
	for (uint32_t d = 0; d < driver.device_count; d++)
		atomic_store(segment_cancel(&driver.place, driver.device[d].index), true);
	handle_each(HANDLE_CONTEXT, context_end, NULL);
	profile_end();
}

static CUresult driver_open_locked(void)
{
	uint32_t index[SEGMENT_MAX_DEVICES], count;
	char why[512];
	CUresult e = driver_threads();
	int r, version;

	if (!e)
		e = driver_compile();

	if (!e && config_driver_version(&version, why, sizeof(why))) {
		log_line("%s", why);
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (!e)
		e = check_read();
	if (!e)
		e = duration_read();
	if (e)
		return e;
	if (!driver.place.segment) {
		r = segment_attach(SEGMENT_DRIVER, &driver.place, why, sizeof(why));
		if (r) {
			log_line("%s", why);
			return r == -EINVAL   ? CUDA_ERROR_INVALID_VALUE
			       : r == -EUSERS ? CUDA_ERROR_OUT_OF_MEMORY
					      : CUDA_ERROR_OPERATING_SYSTEM;
		}
	}
	count = visible_devices(driver.place.segment, index);
	if (!count)
		return CUDA_ERROR_NO_DEVICE;
	for (uint32_t i = 0; i < count; i++)
		if ((e = device_open(&driver.device[i], index[i], i)))
			return e;
	driver.device_count = count;
	profile_read();
	atexit(driver_exit);
	logs_begin();
	checkpoint_begin();
	atomic_store_explicit(&driver.state, DRIVER_READY, memory_order_release);
	return CUDA_SUCCESS;
}

CUresult soft_cuInit(unsigned int flags)
{
	CUresult e = CUDA_SUCCESS;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (driver.state == DRIVER_READY)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&init_mutex);
	if (driver.state == DRIVER_FORKED)
		e = CUDA_ERROR_NOT_INITIALIZED;
	else if (driver.state == DRIVER_NEW)
		e = driver_open_locked();
	pthread_mutex_unlock(&init_mutex);
	return e;
}

CUresult soft_cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = driver_version();
	return CUDA_SUCCESS;
}

/* Each call that is not there is reported once. */
void soft_unsupported(enum cuda_call call)
{
	static atomic_uchar told[CUDA_CALL_COUNT];

	if (!atomic_exchange(&told[call], 1))
		log_line("%s: not there on the software device; the program gets CUDA_ERROR_NOT_SUPPORTED",
			 cuda_call_name[call]);
}
