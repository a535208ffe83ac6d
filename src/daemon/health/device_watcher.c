/*
 * device_watcher.c: the child that hears of devices' errors (`meted --watch LIBNVML LOG`): see device_watch.h.
 *
 * An event has the device and the number. The process stands in a line of the kernel's log, which NVIDIA's driver
 * writes at the same moment ("Xid (PCI:0000:3b:00): 31, pid=1234, name=..."; "Xid Errors", docs.nvidia.com): the two
 * are matched by device and number. A line without an event, as from a driver whose NVML has none, stands for itself.
 *
 * Questions come on the standard input: see holders.h.
 */
#include "base/clock.h"
#include "daemon/health/device_watch.h"
#include "daemon/health/holders.h"
#include "daemon/health/sensors.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEVICES 64u
#define NOTES 32u
#define NOTE_NS 5000000000u  /* so long a line and an event are of one error */
#define ALONE_NS 1000000000u /* after this a line stands for itself */
#define LAG_NS 20000000u     /* the kernel's log may be behind the event */
#define WAIT_MS 1000u
#define AGAIN_MS 2000u
#define SENSE_NS 10000000000u
#define XID_EVENT 0x8ull /* nvmlEventTypeXidCriticalError */
#define TIMEOUT 10	 /* NVML_ERROR_TIMEOUT */

struct nvml_event {
	void *device;
	unsigned long long type, data;
	unsigned int gpu_instance, compute_instance;
};

struct nvml_pci {
	char legacy[16];
	unsigned int domain, bus, device, id, subsystem;
	char text[32];
};

struct nvml {
	int (*init)(void);
	int (*shutdown)(void);
	int (*count)(unsigned int *);
	int (*by_index)(unsigned int, void **);
	int (*uuid)(void *, char *, unsigned int);
	int (*pci)(void *, struct nvml_pci *);
	int (*set_create)(void **);
	int (*set_free)(void *);
	int (*register_events)(void *, unsigned long long, void *);
	int (*wait)(void *, struct nvml_event *, unsigned int);
};

struct watched {
	void *handle;
	char uuid[96];
	unsigned int domain, bus, device;
};

/* An error that one of the two sources has told of. */
struct note {
	uint64_t at_ns; /* 0: none */
	unsigned int device;
	unsigned long long xid;
	int pid;
	bool told;
};

static struct nvml nvml;
static struct sensor_calls sensors;
static uint64_t sensed_ns; /* 0: not yet */
static void *set;
static struct watched watched[DEVICES];
static unsigned int watched_count;
static struct note notes[NOTES];
static unsigned int notes_next;
static const char *log_path;
static int log_fd = -1;
static bool log_new; /* the file was not there when we began: all of it is news */

static bool resolve(void *library)
{
	const struct {
		const char *name;
		void **to;
	} wanted[] = {
		{ "nvmlInit_v2", (void **)&nvml.init },
		{ "nvmlShutdown", (void **)&nvml.shutdown },
		{ "nvmlDeviceGetCount_v2", (void **)&nvml.count },
		{ "nvmlDeviceGetHandleByIndex_v2", (void **)&nvml.by_index },
		{ "nvmlDeviceGetUUID", (void **)&nvml.uuid },
		{ "nvmlDeviceGetPciInfo_v3", (void **)&nvml.pci },
		{ "nvmlEventSetCreate", (void **)&nvml.set_create },
		{ "nvmlEventSetFree", (void **)&nvml.set_free },
		{ "nvmlDeviceRegisterEvents", (void **)&nvml.register_events },
		{ "nvmlEventSetWait_v2", (void **)&nvml.wait },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		*wanted[i].to = dlsym(library, wanted[i].name);
		if (!*wanted[i].to)
			return false;
	}
	sensor_calls_find(library, &sensors);
	holders_find(library);
	return true;
}

static void say(const char *line, size_t length)
{
	/* The kernel does not mix short lines of two threads. */
	if (write(STDOUT_FILENO, line, length) < 0 && errno != EAGAIN)
		_exit(0); /* nobody listens any more */
}

static void tell(unsigned int device, unsigned long long xid, int pid)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "{\"uuid\":\"%s\",\"xid\":%llu,\"pid\":%d}\n", watched[device].uuid, xid,
			 pid);

	say(line, (size_t)n);
}

/* The kernel's log. */

static struct note *note_find(unsigned int device, unsigned long long xid, bool told)
{
	for (unsigned int i = 0; i < NOTES; i++)
		if (notes[i].at_ns && notes[i].device == device && notes[i].xid == xid && notes[i].told == told &&
		    clock_now_ns() - notes[i].at_ns < NOTE_NS)
			return &notes[i];
	return NULL;
}

static void note_add(unsigned int device, unsigned long long xid, int pid, bool told)
{
	notes[notes_next++ % NOTES] =
		(struct note){ .at_ns = clock_now_ns(), .device = device, .xid = xid, .pid = pid, .told = told };
}

static void take_line(const char *line)
{
	unsigned int domain, bus, device;
	const char *at = strstr(line, "Xid (PCI:"), *pid;
	unsigned long long xid;
	struct note *known;

	if (!at || sscanf(at, "Xid (PCI:%x:%x:%x", &domain, &bus, &device) != 3)
		return;
	at = strstr(at, "): ");
	if (!at || sscanf(at, "): %llu", &xid) != 1)
		return;
	pid = strstr(at, "pid=");
	for (unsigned int i = 0; i < watched_count; i++) {
		if (watched[i].domain != domain || watched[i].bus != bus || watched[i].device != device)
			continue;
		known = note_find(i, xid, true);
		if (known)
			known->at_ns = 0; /* the event was quicker */
		else
			note_add(i, xid, pid ? atoi(pid + 4) : 0, false);
	}
}

static void take_text(char *text)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		take_line(line);
}

static void log_open(void)
{
	if (!*log_path || log_fd >= 0)
		return;
	log_fd = open(log_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (log_fd >= 0 && !log_new)
		lseek(log_fd, 0, SEEK_END);
}

/* /dev/kmsg gives a record at a time, and an error (EPIPE) for those that were overwritten; a file all that is new. */
static void log_read(void)
{
	char text[8192];
	struct stat st;
	ssize_t n;

	log_open();
	if (log_fd < 0)
		return;
	if (!fstat(log_fd, &st) && S_ISREG(st.st_mode) && lseek(log_fd, 0, SEEK_CUR) > st.st_size)
		lseek(log_fd, 0, SEEK_SET);
	while ((n = read(log_fd, text, sizeof(text) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;
		text[n] = 0;
		take_text(text);
	}
}

/* Lines that no event has come for. */
static void tell_alone(void)
{
	for (unsigned int i = 0; i < NOTES; i++) {
		struct note *n = &notes[i];

		if (!n->at_ns || n->told || clock_now_ns() - n->at_ns < ALONE_NS)
			continue;
		tell(n->device, n->xid, n->pid);
		n->told = true;
		n->at_ns = clock_now_ns();
	}
}

/* Events. */

static void take_event(const struct nvml_event *e)
{
	unsigned int device = 0;
	struct note *n;

	while (device < watched_count && watched[device].handle != e->device)
		device++;
	if (device == watched_count)
		return;
	log_read();
	n = note_find(device, e->data, false);
	if (!n && log_fd >= 0) {
		nanosleep(&(struct timespec){ .tv_nsec = LAG_NS }, NULL);
		log_read();
		n = note_find(device, e->data, false);
	}
	if (n) {
		tell(device, e->data, n->pid);
		n->at_ns = 0;
		return;
	}
	n = note_find(device, e->data, true);
	if (n) {
		n->at_ns = 0; /* the line was quicker by far, and stood for itself */
		return;
	}
	tell(device, e->data, 0);
	note_add(device, e->data, 0, true);
}

static bool add_device(unsigned int index)
{
	struct watched *w = &watched[watched_count];
	struct nvml_pci pci = { 0 };

	if (watched_count == DEVICES || nvml.by_index(index, &w->handle) ||
	    nvml.uuid(w->handle, w->uuid, sizeof(w->uuid)) || nvml.pci(w->handle, &pci))
		return false;
	w->domain = pci.domain;
	w->bus = pci.bus;
	w->device = pci.device;
	watched_count++;
	holders_add(w->handle);
	return !nvml.register_events(w->handle, XID_EVENT, set);
}

/* False: not now. */
static bool begin(void)
{
	unsigned int count = 0, events = 0;
	char line[64];

	watched_count = 0;
	sensed_ns = 0;
	if (nvml.init())
		return false;
	if (nvml.count(&count) || nvml.set_create(&set)) {
		nvml.shutdown();
		return false;
	}
	for (unsigned int i = 0; i < count; i++)
		events += add_device(i);
	holders_open();
	say(line, (size_t)snprintf(line, sizeof(line), "{\"watching\":%u,\"events\":%u}\n", watched_count, events));
	return true;
}

static void pause_ms(unsigned int ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 }, NULL);
}

static bool listened_to(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO };

	return poll(&p, 1, 0) <= 0 || !(p.revents & (POLLERR | POLLHUP));
}

/* What the devices say of themselves, a line for each that says anything. */
static void tell_sensors(void)
{
	struct sensor_reading reading;

	if (sensed_ns && clock_now_ns() - sensed_ns < SENSE_NS)
		return;
	sensed_ns = clock_now_ns();
	for (unsigned int i = 0; i < watched_count; i++) {
		char line[256];
		int n = snprintf(line, sizeof(line), "{\"uuid\":\"%s\"", watched[i].uuid);

		if (!sensors_read(&sensors, watched[i].handle, &reading))
			continue;
		for (unsigned int k = 0; k < SENSORS; k++)
			if (reading.known[k])
				n += snprintf(line + n, sizeof(line) - (size_t)n, ",\"%s\":%u",
					      sensor_key((enum sensor)k), reading.value[k]);
		n += snprintf(line + n, sizeof(line) - (size_t)n, "}\n");
		say(line, (size_t)n);
	}
}

/* Until NVML says that it cannot go on. */
static void listen_on(void)
{
	struct nvml_event e;
	int r = 0;

	while ((!r || r == TIMEOUT) && listened_to()) {
		tell_sensors();
		memset(&e, 0, sizeof(e));
		r = nvml.wait(set, &e, WAIT_MS);
		if (!r && e.type & XID_EVENT)
			take_event(&e);
		if (r)
			log_read();
		tell_alone();
	}
	nvml.set_free(set);
	holders_close();
	nvml.shutdown();
}

int device_watcher_main(const char *libnvml, const char *log)
{
	void *library;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	log_path = log;
	log_open();
	log_new = log_fd < 0;
	library = dlopen(libnvml, RTLD_NOW | RTLD_LOCAL);
	if (!library || !resolve(library))
		return 3;
	holders_answer(say);
	while (listened_to()) {
		if (begin()) {
			listen_on();
			if (listened_to())
				say("{\"lost\":true}\n", 14);
		}
		pause_ms(AGAIN_MS);
	}
	_exit(0); /* a library's exit handlers are not run */
}
