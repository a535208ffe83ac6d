/*
 * nodes.c: what other drivers' nodes hold or take of the device: as nvidia-uvm a reference of its own to memory that a
 * program maps, as nvidia-drm memory by calls of its own.
 */
#include "ground.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAP_EXTERNAL 33
#define UNMAP_EXTERNAL 66
#define GRAPHICS_MAJOR 226
#define GRAPHICS_MINOR 128
#define GRAPHICS_TAKE _IOC(_IOC_READ | _IOC_WRITE, 'd', 0x45, 8)

static unsigned int major_of(const char *name)
{
	unsigned int n = 0, is;
	char line[128], word[64];
	FILE *f = fopen("/proc/devices", "r");

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%u %63s", &is, word) == 2 && !strcmp(word, name))
			n = is;
	if (f)
		fclose(f);
	return n;
}

static int uvm_node(unsigned int minor)
{
	const char *path = minor ? "/tmp/uvm-tools" : "/tmp/uvm";

	mknod(path, S_IFCHR | 0666, makedev(major_of("mete-standin-uvm"), minor));
	return open(path, O_RDWR | O_CLOEXEC);
}

/* Value: the name that the driver has made; 0: none. */
static uint32_t map_external(int uvm, uint32_t client, uint32_t object)
{
	uint32_t d[4] = { client, object };

	return ioctl(uvm, MAP_EXTERNAL, d) || d[3] ? 0 : d[2];
}

static int unmap_external(int uvm, uint32_t name)
{
	uint32_t d[4] = { 0, 0, name };

	return ioctl(uvm, UNMAP_EXTERNAL, d) || d[3];
}

/* Memory that is mapped stays charged when its name is freed, until it is unmapped. */
static int body_mapped(void)
{
	uint32_t o[8] = { 0 }, names[8];
	struct session s;
	int uvm = uvm_node(0);

	if (session_open(&s) || uvm < 0)
		return 2;
	for (int i = 0; i < 8; i++) {
		if (rm_memory(s.fd, s.client, &o[i], MIB(64)))
			return 3;
		names[i] = map_external(uvm, s.client, o[i]);
		if (!names[i] || rm_free(s.fd, s.client, o[i]))
			return 4;
	}
	if (truth().used != MIB(512) || grab(&s, MIB(1), MIB(1)))
		return 5;
	for (int i = 0; i < 4; i++)
		if (unmap_external(uvm, names[i]))
			return 6;
	if (truth().used != MIB(256) || grab(&s, MIB(64), MIB(65536)) != MIB(256))
		return 7;
	return 0;
}

/* Two mappings of one memory; its client's file is closed; then the mappings' file. */
static int body_twice(void)
{
	struct session s, t;
	uint32_t o = 0, first, second;
	int uvm = uvm_node(0);

	if (session_open(&s) || session_open(&t) || rm_memory(s.fd, s.client, &o, MIB(256)))
		return 2;
	first = map_external(uvm, s.client, o);
	second = map_external(uvm, s.client, o);
	if (!first || !second || first == second)
		return 3;
	close(s.fd);
	if (unmap_external(uvm, first) || truth().used != MIB(256) || grab(&t, MIB(64), MIB(65536)) != MIB(256))
		return 4;
	close(uvm);
	return expect(grab(&t, MIB(64), MIB(65536)), 256);
}

/* The client is of a time before the process was the tenant's. */
static int body_older_client(void)
{
	struct session s;
	uint32_t o = 0;
	int uvm = uvm_node(0);

	if (session_open(&s))
		return 2;
	enter("c");
	if (rm_memory(s.fd, s.client, &o, MIB(512)) || !map_external(uvm, s.client, o) || rm_free(s.fd, s.client, o) ||
	    truth().used != MIB(512))
		return 3;
	return expect(grab(&s, MIB(64), MIB(1024)), 0);
}

/* What cannot be mapped holds nothing. */
static int body_not_mapped(void)
{
	struct session s;
	int uvm = uvm_node(0);

	if (session_open(&s))
		return 2;
	for (uint32_t i = 0; i < 100; i++)
		if (map_external(uvm, s.client, 2) || map_external(uvm, s.client, 0x5555) ||
		    map_external(uvm, s.client ^ i, 0x5555))
			return 3;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

/* The node for tools shows other processes. */
static int body_tools(void)
{
	return uvm_node(1) >= 0 ? 2 : errno == EPERM ? 0 : 3;
}

static struct session swap_session;
static _Atomic bool swap_end;

/* Frees the name and gives it to other memory, as fast as it can. */
static void *swap_names(void *unused)
{
	while (!swap_end) {
		uint32_t o = 0x7777;

		rm_free(swap_session.fd, swap_session.client, o);
		rm_memory(swap_session.fd, swap_session.client, &o, MIB(64));
	}
	return unused;
}

/* The name is another memory's while the mapping waits for the driver. */
static int body_swapped(void)
{
	uint32_t o = 0x7777;
	int uvm = uvm_node(0), held = 0;
	pthread_t t;

	if (session_open(&swap_session) || rm_memory(swap_session.fd, swap_session.client, &o, MIB(64)) ||
	    pthread_create(&t, NULL, swap_names, NULL))
		return 2;
	for (int i = 0; i < 400; i++) {
		held += map_external(uvm, swap_session.client, 0x7777) != 0;
		if (truth().used > MIB(512))
			return 3;
	}
	swap_end = true;
	pthread_join(t, NULL);
	return held ? 0 : 4;
}

/* More mappings than a tenant may have at a time. */
#define MAPPINGS_MOST 16384

static _Atomic unsigned int *mappings;

static int body_many_mappings(void)
{
	struct session s;
	uint32_t o = 0;
	int uvm = uvm_node(0);

	if (session_open(&s) || rm_memory(s.fd, s.client, &o, MIB(64)))
		return 2;
	for (; *mappings < MAPPINGS_MOST + 100; ++*mappings)
		if (!map_external(uvm, s.client, o))
			return 3;
	return 4;
}

static int body_one_mapping(void)
{
	struct session s;
	uint32_t o = 0;
	int uvm = uvm_node(0);

	return session_open(&s) || rm_memory(s.fd, s.client, &o, MIB(64)) || !map_external(uvm, s.client, o);
}

static void many_mappings(void)
{
	int r, others;

	mappings = mmap(NULL, sizeof *mappings, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	r = as("c", body_many_mappings);
	others = as("b", body_one_mapping);
	ok(r == -SIGKILL && *mappings == MAPPINGS_MOST && !others,
	   "too many mappings end their process, after %u, and are nobody else's trouble (%d %d)", *mappings, r,
	   others);
	munmap(mappings, sizeof *mappings);
	for (int i = 0; i < 200 && (truth().used || shown("c", "used_bytes") > 0); i++)
		usleep(10000);
}

/* Of a tenant of its own: what may be held without a name known stays charged as long as the tenant exists. */
static void swapped(void)
{
	const char *path = "/sys/fs/cgroup/swap";
	bool killed;
	int r;

	mkdir(path, 0755);
	run((const char *[]){ "/mete-guard", "set", path, "--memory", "512M", NULL });
	truth_reset(true);
	r = as("swap", body_swapped);
	/* Where the programs are traced, a call that was not shown to them ends its process. */
	killed = traced() && r == -SIGKILL;
	ok((!r || killed) && truth().peak <= MIB(512), "... nor is the name of one memory taken for another's (%d)", r);
	truth_reset(false);
	for (int i = 0; i < 200 && truth().used; i++)
		usleep(10000);
	run((const char *[]){ "/mete-guard", "drop", path, NULL });
	rmdir(path);
}

/* Mappings are given to a process outside, which keeps them. */
static int body_given_away(void)
{
	struct session s;
	uint32_t o = 0;
	int uvm = uvm_node(0);

	if (session_open(&s) || rm_memory(s.fd, s.client, &o, MIB(512)) || !map_external(uvm, s.client, o))
		return 2;
	send_fd(passed[0], uvm);
	return rm_free(s.fd, s.client, o);
}

static int body_nothing(void)
{
	struct session s;

	return session_open(&s) ? 2 : expect(grab(&s, MIB(1), MIB(1024)), 0);
}

static void given_away(void)
{
	int r, again, fd;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, passed))
		exit(1);
	r = as("c", body_given_away);
	fd = take_fd(passed[1]);
	usleep(100000);
	again = as("c", body_nothing);
	ok(!r && fd >= 0 && !again && truth().used == MIB(512),
	   "mappings that a process outside keeps stay the tenant's (%d %d)", r, again);
	close(fd);
	close(passed[0]);
	close(passed[1]);
}

/* Takes, maps, frees and unmaps until it is killed. */
static void churn(void)
{
	uint32_t o[8] = { 0 }, names[8] = { 0 };
	struct session s;
	int uvm = uvm_node(0);

	if (session_open(&s))
		_exit(0);
	for (unsigned int i = 0;; i++) {
		unsigned int k = i & 7;

		if (names[k] && i % 3)
			unmap_external(uvm, names[k]);
		o[k] = 0;
		names[k] = rm_memory(s.fd, s.client, &o[k], MIB(1 + k)) ? 0 : map_external(uvm, s.client, o[k]);
		if (i % 5)
			rm_free(s.fd, s.client, o[k]);
	}
}

static void killed(void)
{
	unsigned int seed = 1;

	for (int i = 0; i < 300; i++) {
		pid_t p = fork();

		if (!p) {
			enter(i & 1 ? "b" : "c");
			churn();
		}
		usleep((useconds_t)(rand_r(&seed) % 8000));
		kill(p, SIGKILL);
		waitpid(p, NULL, 0);
	}
	clean("300 processes with mappings killed at random");
}

static int graphics_take(int fd, uint64_t bytes)
{
	return ioctl(fd, GRAPHICS_TAKE, &bytes);
}

static int graphics_node(void)
{
	mknod("/tmp/render", S_IFCHR | 0666, makedev(GRAPHICS_MAJOR, GRAPHICS_MINOR));
	return open("/tmp/render", O_RDWR | O_CLOEXEC);
}

/* A node of the driver's graphics takes no memory for a tenant, whoever has opened it. */
static int body_graphics(void)
{
	int fd = graphics_node();

	if (fd >= 0 && (!graphics_take(fd, MIB(1024)) || errno != EPERM))
		return 2;
	fd = take_fd(passed[1]);
	if (!graphics_take(fd, MIB(1024)) || errno != EPERM)
		return 3;
	return truth().used ? 4 : 0;
}

static void graphics(void)
{
	int fd = graphics_node(), r;

	if (fd < 0 || graphics_take(fd, MIB(64)) || truth().used != MIB(64)) {
		ok(false, "the stand-in's graphics node takes memory");
		return;
	}
	close(fd);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, passed))
		exit(1);
	fd = graphics_node();
	send_fd(passed[0], fd);
	r = as("c", body_graphics);
	ok(!r && !graphics_take(fd, MIB(64)), "the driver's graphics node takes no memory for a tenant (%d)", r);
	close(fd);
	close(passed[0]);
	close(passed[1]);
}

static void one(const char *where, int (*body)(void), const char *what)
{
	int r;

	truth_reset(false);
	r = as(where, body);
	ok(!r && truth().peak <= MIB(512), "%s (%d)", what, r);
	for (int i = 0; i < 200 && (truth().used || shown("c", "used_bytes") > 0); i++)
		usleep(10000);
}

void case_nodes(void)
{
	one("c", body_mapped, "memory that nvidia-uvm's like has mapped stays charged when its name is freed");
	one("c", body_twice, "... for each mapping, and when its client is gone");
	one("", body_older_client, "... also of a client that is older than the tenant's process");
	one("c", body_not_mapped, "... and what it cannot map is not held");
	swapped();
	many_mappings();
	killed();
	given_away();
	one("c", body_tools, "the node for tools is refused");
	graphics();
	clean("nodes");
}
