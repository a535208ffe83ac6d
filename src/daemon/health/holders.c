/* holders.c: see holders.h. NVML's few names are declared here as its documentation gives them. */
#include "daemon/health/holders.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEVICES 64u
#define LISTS 2u
#define LIST_MOST 4096u
#define TOO_SMALL 7 /* NVML_ERROR_INSUFFICIENT_SIZE */

struct listed { /* nvmlProcessInfo_t */
	unsigned int pid;
	unsigned long long used_bytes; /* all ones: not known */
	unsigned int gpu_instance, compute_instance;
};

typedef int (*list_fn)(void *device, unsigned int *count, struct listed *list);

static list_fn lists[LISTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows, and NVML from being closed */
static bool is_open;
static void *devices[DEVICES];
static unsigned int device_count;
static struct listed *found;
static unsigned int found_count, found_room;
static void (*tell)(const char *line, size_t length);

void holders_find(void *library)
{
	static const char *const names[LISTS][2] = {
		{ "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2" },
		{ "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2" },
	};

	for (unsigned int i = 0; i < LISTS; i++) {
		*(void **)&lists[i] = dlsym(library, names[i][0]);
		if (!lists[i])
			*(void **)&lists[i] = dlsym(library, names[i][1]);
	}
}

void holders_add(void *device)
{
	pthread_mutex_lock(&lock);
	if (device_count < DEVICES)
		devices[device_count++] = device;
	pthread_mutex_unlock(&lock);
}

void holders_open(void)
{
	pthread_mutex_lock(&lock);
	is_open = true;
	pthread_mutex_unlock(&lock);
}

void holders_close(void)
{
	pthread_mutex_lock(&lock);
	is_open = false;
	device_count = 0;
	pthread_mutex_unlock(&lock);
}

static bool reserve(unsigned int room)
{
	struct listed *more = room > found_room ? realloc(found, room * sizeof(*found)) : found;

	if (!more)
		return false;
	found = more;
	found_room = room > found_room ? room : found_room;
	return true;
}

/* A device that cannot be asked counts nothing: what it had is lost. False: no memory. */
static bool add_list(list_fn list, void *device)
{
	unsigned int count;
	int r;

	do {
		if (!reserve(found_count + 64))
			return false;
		count = found_room - found_count;
		r = list(device, &count, found + found_count);
	} while (r == TOO_SMALL && found_room < LIST_MOST && reserve(found_room * 2));
	if (!r)
		found_count += count;
	return r != TOO_SMALL;
}

static bool read_lists(void)
{
	bool whole = is_open;

	found_count = 0;
	for (unsigned int d = 0; whole && d < device_count; d++)
		for (unsigned int i = 0; whole && i < LISTS; i++)
			whole = !lists[i] || add_list(lists[i], devices[d]);
	return whole;
}

static unsigned long long bytes_of(unsigned int pid)
{
	unsigned long long bytes = 0;

	for (unsigned int i = 0; i < found_count; i++)
		if (found[i].pid == pid)
			bytes += found[i].used_bytes == UINT64_MAX ? 1 : found[i].used_bytes;
	return bytes;
}

static void answer(unsigned int pid)
{
	char line[96];

	tell(line, (size_t)snprintf(line, sizeof(line), "{\"pid\":%u,\"holds\":%llu}\n", pid, pid ? bytes_of(pid) : 0));
}

/* A row of questions takes one look, at its beginning. */
static void *answer_all(void *unused)
{
	bool looked = false, whole = false;
	char line[32];

	(void)unused;
	while (fgets(line, sizeof(line), stdin)) {
		unsigned int pid = (unsigned int)strtoul(line, NULL, 10);

		pthread_mutex_lock(&lock);
		if (!looked)
			whole = read_lists();
		looked = pid != 0;
		if (whole || !pid)
			answer(pid);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

void holders_answer(void (*say)(const char *line, size_t length))
{
	pthread_t thread;

	tell = say;
	if (!pthread_create(&thread, NULL, answer_all, NULL))
		pthread_detach(thread);
}
