/*
 * program.h: what a driver's library does at the resource manager, done by a test: clients, devices, groups, channels,
 * through the C library's ioctl(), in the layouts of a branch. And meted's half of the page, written by the test.
 */
#pragma once

#include "base/clock.h"
#include "base/tap.h"
#include "model.h"
#include "wire/page.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000000ull

struct group {
	uint32_t handle, engine, channels[128], count;
};

struct side { /* one client with one device */
	int fd;
	uint32_t client, device, subdevice;
};

static uint32_t alloc_bytes; /* the layout that the program uses; 0: the branch's usual */

static inline int escape(int fd, uint32_t nr, void *argument, uint32_t size)
{
	return ioctl(fd, RM_REQUEST(nr, size), argument);
}

static inline uint32_t rm_new(int fd, uint32_t client, uint32_t parent, uint32_t class, void *parameters)
{
	struct rm_alloc a = { .client = client, .parent = parent, .class = class, .parameters = (uintptr_t)parameters };
	uint32_t size = alloc_bytes ? alloc_bytes : model_shared()->branch < 535 ? 40 : 48;
	int status = rm_alloc_status(model_shared()->branch, size);

	memset(a.rest, 0x55, sizeof a.rest);
	if (escape(fd, RM_ESC_ALLOC, &a, size) < 0 || status < 0 || a.rest[status])
		return 0;
	return a.object;
}

static inline uint32_t rm_ask(int fd, uint32_t client, uint32_t object, uint32_t command, void *p, uint32_t size)
{
	struct rm_control c = {
		.client = client,
		.object = object,
		.command = command,
		.parameters = (uintptr_t)p,
		.parameters_size = size,
	};

	return escape(fd, RM_ESC_CONTROL, &c, sizeof c) < 0 ? (uint32_t)-errno : c.status;
}

static inline uint32_t rm_gone(int fd, uint32_t client, uint32_t object)
{
	struct rm_free f = { .client = client, .object = object };

	return escape(fd, RM_ESC_FREE, &f, sizeof f) < 0 ? (uint32_t)-errno : f.status;
}

static inline struct side side_new(uint32_t number)
{
	struct rm_version v = { 0 };
	struct model *m = model_shared();
	struct side s = { .fd = model_open() };
	uint32_t device[14] = { number }, subdevice[1] = { 0 };

	snprintf(v.text, sizeof v.text, "%u.86.10", m->version_branch ? m->version_branch : m->branch);
	escape(s.fd, RM_ESC_VERSION, &v, sizeof v);
	s.client = rm_new(s.fd, 0, 0, 0x41, NULL);
	s.device = rm_new(s.fd, s.client, s.client, RM_CLASS_DEVICE, device);
	s.subdevice = rm_new(s.fd, s.client, s.device, RM_CLASS_SUBDEVICE, subdevice);
	return s;
}

static inline struct group group_new(const struct side *s, uint32_t engine, uint32_t channels)
{
	uint32_t parameters[5] = { 0, 0, 0, engine, 0 };
	struct group g = { .engine = engine };
	struct rm_schedule on = { .enable = 1 };

	g.handle = rm_new(s->fd, s->client, s->device, RM_CLASS_GROUP, parameters);
	while (g.count < channels)
		g.channels[g.count++] = rm_new(s->fd, s->client, g.handle, 0xc56f, NULL);
	rm_ask(s->fd, s->client, g.handle, RM_GROUP_SCHEDULE, &on, model_shared()->schedule_bytes);
	return g;
}

static inline struct model_object *model_find(uint32_t client, uint32_t handle)
{
	struct model *m = model_shared();
	struct model_object *found = NULL;

	model_lock();
	for (int i = 0; i < MODEL_OBJECTS && !found; i++)
		if (m->object[i].class && m->object[i].client == client && m->object[i].handle == handle)
			found = &m->object[i];
	model_unlock();
	return found;
}

static inline uint64_t slice_of(const struct side *s, const struct group *g)
{
	struct model_object *o = model_find(s->client, g->handle);

	return o ? atomic_load(&o->slice_us) : 0;
}

/* How many of the group's channels are off. */
static inline uint32_t off_of(const struct side *s, const struct group *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->count; i++) {
		struct model_object *o = model_find(s->client, g->channels[i]);

		n += o && atomic_load(&o->off);
	}
	return n;
}

/* Channels of all processes that are off. */
static inline uint32_t off_in_all(void)
{
	struct model *m = model_shared();
	uint32_t n = 0;

	model_lock();
	for (int i = 0; i < MODEL_OBJECTS; i++)
		n += m->object[i].class && atomic_load(&m->object[i].off);
	model_unlock();
	return n;
}

/* How much slower a sanitizer may be: ./check says so. */
static inline unsigned int patience(void)
{
	const char *text = getenv("METE_TEST_PATIENCE");

	return text && atoi(text) > 0 ? (unsigned int)atoi(text) : 1;
}

#define within(ms, condition)                                                                                          \
	({                                                                                                             \
		uint64_t w_until = clock_now_ns() + (ms)*MS * patience();                                              \
		while (!(condition) && clock_now_ns() < w_until)                                                       \
			usleep(500);                                                                                   \
		!!(condition);                                                                                         \
	})

static struct wire_page *page;

/* The page that the library under test has, as meted sees it. */
static inline bool page_open(void)
{
	char path[300];
	struct stat st;
	int fd = -1;

	snprintf(path, sizeof path, "%s/page-%d-3", getenv("TEST_FOLDER"), (int)getpid());
	within(5000, stat(path, &st) == 0 && st.st_size >= (off_t)sizeof *page);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return page != MAP_FAILED && within(5000, *(volatile uint32_t *)&page->magic == WIRE_PAGE_MAGIC);
}

static inline struct wire_turn *turn(unsigned int device, unsigned int engine)
{
	return &page->turn[device][engine];
}

/* As meted would. */
static inline void gate_set(struct wire_turn *t, uint32_t bits)
{
	uint32_t gate = atomic_load(&t->gate);

	atomic_store(&t->gate, ((gate / WIRE_GATE_SERIAL + 1) * WIRE_GATE_SERIAL) | bits);
	syscall(SYS_futex, &t->gate, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Asks run.py. */
static inline void keeper(const char *word)
{
	char path[300];

	snprintf(path, sizeof path, "%s/%s", getenv("TEST_FOLDER"), word);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	within(5000, access(path, F_OK) < 0);
}

static inline void model_plays(uint32_t branch)
{
	struct model *m = model_shared();

	m->branch = branch;
	m->schedule_bytes = branch < 580 ? 2 : 3;
}
