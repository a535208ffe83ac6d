/*
 * ground.h: what the cases share: the stand-in driver, the guard and its tenants, and the results (TAP).
 *
 * The stand-in counts what is taken (/proc/mete_standin). Its figure is the truth that the guard's account and the
 * quotas are compared with. A body runs as a process of a tenant; its exit status is 0 when it saw what it expected.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define MIB(n) ((uint64_t)(n) << 20)
#define CONTROL 255
#define REQUEST(nr, size) _IOC(_IOC_READ | _IOC_WRITE, 'F', nr, size)
#define NO_MEMORY (-ENOMEM)

/* The number of results, and of those that failed. */
extern int count, failed;
/* The front end that is tried is the supervisor (mete-guard-notify), not the programs in the kernel. */
extern bool front_notify;
/* A pipe from a body to its case; a pair of sockets between two bodies. */
extern int hold_fds[2], passed[2];

struct truth {
	unsigned long long used, peak, objects, calls;
};

struct memory_parameters {
	uint32_t words[12];
	uint64_t low, high, size, rest[6];
};

struct alloc {
	uint32_t client, parent, object, class;
	uint64_t parameters, rights;
	uint32_t size, flags, status, unused;
};

struct session {
	int fd;
	uint32_t client;
};

/* A request for memory information: indices, and the figures that come back. */
struct fb_info {
	uint32_t count;
	struct {
		uint32_t index, data;
	} list[128];
};

/* One result. Value: good. */
__attribute__((format(printf, 2, 3))) bool ok(bool good, const char *fmt, ...);
uint64_t now_ns(void);
unsigned int standin_major(void);
/* The truth, and its new beginning; with `slow` calls take their time. */
struct truth truth(void);
void truth_reset(bool slow);
/* The guard's programs are at the kernel's functions, not at hooks of its security modules. */
bool traced(void);
/* This kernel's version is that, or later. */
bool kernel_from(int major, int minor);
int node(int minor);
/* Calls of the resource manager: 0, a status, or -errno. */
int rm_alloc(int fd, uint32_t client, uint32_t parent, uint32_t *object, uint32_t class, void *parameters);
int rm_memory(int fd, uint32_t client, uint32_t *object, uint64_t size);
int rm_free(int fd, uint32_t client, uint32_t object);
int rm_dup(int fd, uint32_t client, uint32_t *object, uint32_t from_client, uint32_t from);
int rm_control(int fd, uint32_t client, uint32_t object, uint32_t command, void *parameters, uint32_t size);
/* Makes a client with a device (2) and a subdevice (3). */
int session_on(struct session *s, int fd);
int session_open(struct session *s);
/* Bytes that could be had in steps of `step`, at most `most`. */
uint64_t grab(const struct session *s, uint64_t step, uint64_t most);
int run(const char *const *argv);
int guard_load(void);
int tenant_set(const char *name, const char *memory, const char *devices);
/* A figure of a tenant as mete-guard shows it; -1: none. */
long long shown(const char *name, const char *figure);
/* Opened and answered: the programs in the kernel refuse the first, a supervisor the second. */
bool reached(int fd);
/* Moves this process into a cgroup. */
void enter(const char *name);
/* Runs the body in a cgroup ("": the root's). Value: its exit status; below 0: the signal that ended it. */
int as(const char *name, int (*body)(void));
/* 0 when a body got exactly that many MiB. */
int expect(uint64_t got, uint64_t mib);
/* A result: no tenant holds anything, by the truth and by the account. */
bool clean(const char *what);
/* A descriptor through a socket. */
void send_fd(int socket, int fd);
int take_fd(int socket);
/* A body: its tenant can take 512 MiB and no more (deaths.c). */
int body_grab(void);

/* The cases. */
void case_quota(void);
void case_granule(void);
void case_descriptors(void);
void case_calls(void);
void case_devices(void);
void case_race(void);
void case_crowd(void);
void case_race_class(void);
void case_race_pointer(void);
void case_sibling(void);
void case_names(void);
void case_many(void);
void case_full(void);
void case_full_all(void);
void case_killed(void);
void case_helper(void);
void case_end(void);
void case_reload(void);
void case_grant(void);
void case_accounts(void);
void case_attacks(void);
void case_swaps(void);
void case_tricks(void);
void case_published(void);
void case_detours(void);
void case_nodes(void);
void case_lines(void);
void case_cost(void);
void case_floor(void);
void case_watched(void);
void case_locked(void);
void case_notify(void);
