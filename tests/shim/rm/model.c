/* model.c: see model.h. */
#include "model.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

typedef long syscall_call(long n, long a, long b, long c, long d, long e, long f);

static syscall_call *kernel(void)
{
	static syscall_call *_Atomic found;
	syscall_call *f = atomic_load_explicit(&found, memory_order_relaxed);

	if (!f) {
		*(void **)&f = dlsym(RTLD_NEXT, "syscall");
		atomic_store_explicit(&found, f, memory_order_relaxed);
	}
	return f;
}

SHOWN struct model *model_shared(void)
{
	static struct model *_Atomic shared;
	struct model *m = atomic_load(&shared), *none = NULL;
	const char *path = getenv("TEST_RM_FILE");
	int fd;

	if (m || !path)
		return m;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof *m) < 0)
		abort();
	m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (m == MAP_FAILED)
		abort();
	if (!atomic_compare_exchange_strong(&shared, &none, m)) {
		munmap(m, sizeof *m);
		m = none;
	}
	return m;
}

static void lock(struct model *m)
{
	uint32_t open_ = 0;

	while (!atomic_compare_exchange_weak(&m->lock, &open_, 1)) {
		open_ = 0;
		usleep(20);
	}
}

static void unlock(struct model *m)
{
	atomic_store(&m->lock, 0);
}

SHOWN void model_lock(void)
{
	lock(model_shared());
}

SHOWN void model_unlock(void)
{
	unlock(model_shared());
}

static bool ours(int fd)
{
	struct model *m = model_shared();
	struct stat st;

	if (!m || kernel()(SYS_fstat, fd, (long)&st, 0, 0, 0, 0) < 0)
		return false;
	for (int i = 0; i < 64; i++)
		if (m->inode[i] && m->inode[i] == st.st_ino)
			return true;
	return false;
}

SHOWN int model_open(void)
{
	struct model *m = model_shared();
	int fd = (int)kernel()(SYS_memfd_create, (long)"nvidiactl", 1, 0, 0, 0, 0);
	struct stat st;

	if (fd < 0 || kernel()(SYS_fstat, fd, (long)&st, 0, 0, 0, 0) < 0)
		abort();
	lock(m);
	for (int i = 0; i < 64; i++)
		if (!m->inode[i]) {
			m->inode[i] = st.st_ino;
			break;
		}
	unlock(m);
	return fd;
}

static struct model_object *find(struct model *m, uint32_t client, uint32_t handle)
{
	for (int i = 0; i < MODEL_OBJECTS; i++)
		if (m->object[i].class && m->object[i].client == client && m->object[i].handle == handle)
			return &m->object[i];
	return NULL;
}

static uint32_t alloc(struct model *m, struct rm_alloc *a)
{
	const uint32_t *words = (const uint32_t *)(uintptr_t)a->parameters;
	struct model_object *o = NULL, *parent;

	if (a->class == 0x41 || !a->class) {
		a->object = a->client = 0xc1d00000 + ++m->next;
		a->parent = a->client;
	} else if (!find(m, a->client, a->parent)) {
		return 0x36;
	} else if (a->object && find(m, a->client, a->object)) {
		return 0x37;
	} else if (!a->object) {
		a->object = 0xcaf00000 + ++m->next;
	}
	for (int i = 0; !o && i < MODEL_OBJECTS; i++)
		if (!m->object[i].class)
			o = &m->object[i];
	if (!o)
		return 0x51;
	parent = find(m, a->client, a->parent);
	*o = (struct model_object){
		.client = a->client,
		.parent = a->parent,
		.handle = a->object,
		.class = a->class ? a->class : 0x41,
		.device = parent ? parent->device : 0,
		.slice_us = a->class == RM_CLASS_GROUP ? 1024 : 0,
		.owner = (uint32_t)getpid(),
	};
	if (a->class == RM_CLASS_DEVICE)
		o->device = words ? words[0] : 0;
	if (a->class == RM_CLASS_GROUP)
		o->engine = words ? words[3] : 0;
	return RM_OK;
}

static void free_below(struct model *m, uint32_t client, uint32_t handle)
{
	for (int i = 0; i < MODEL_OBJECTS; i++) {
		struct model_object *o = &m->object[i];

		if (!o->class || o->client != client || (o->handle != handle && o->parent != handle))
			continue;
		if (o->handle != handle) {
			free_below(m, client, o->handle);
		} else {
			memset(o, 0, sizeof *o);
		}
	}
}

static uint32_t disable(struct model *m, const struct rm_disable *d)
{
	if (d->count > RM_DISABLE_MOST || d->event)
		return RM_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < d->count; i++) {
		struct model_object *o = find(m, d->client[i], d->channel[i]);

		if (!o || !rm_class_is_channel(o->class))
			return RM_OBJECT_NOT_FOUND;
	}
	for (uint32_t i = 0; i < d->count; i++)
		find(m, d->client[i], d->channel[i])->off = d->disable;
	atomic_fetch_add(d->disable ? &m->offs : &m->ons, 1);
	return RM_OK;
}

static uint32_t schedule(struct model *m, const struct model_object *g, const struct rm_control *c)
{
	const uint8_t *enable = (const uint8_t *)(uintptr_t)c->parameters;

	if (c->parameters_size != m->schedule_bytes)
		return RM_INVALID_ARGUMENT;
	for (int i = 0; i < MODEL_OBJECTS; i++)
		if (m->object[i].class && m->object[i].client == g->client && m->object[i].parent == g->handle)
			m->object[i].off = !*enable;
	atomic_fetch_add(&m->schedules, 1);
	return RM_OK;
}

/* As driver.c's devices have them, or the one that the environment names. */
static void uuid_of(uint32_t device, uint8_t *ret)
{
	const char *hex = getenv("TEST_RM_UUID");

	memset(ret, 0xd0 + (int)device, 16);
	for (int i = 0; hex && i < 16; i++) {
		char two[3] = { hex[2 * i], hex[2 * i + 1], 0 };

		ret[i] = (uint8_t)strtoul(two, NULL, 16);
	}
}

static uint32_t control(struct model *m, const struct rm_control *c)
{
	struct model_object *o = find(m, c->client, c->object);
	void *p = (void *)(uintptr_t)c->parameters;
	static const uint32_t sizes[][2] = { { RM_GROUP_SET_SLICE, 8 }, { RM_GROUP_GET_SLICE, 8 },
					     { RM_GROUP_PREEMPT, 8 },	{ RM_GROUP_BIND, 4 },
					     { RM_SUBDEVICE_GID, 268 }, { RM_SUBDEVICE_DISABLE, 536 } };

	if (!o)
		return RM_OBJECT_NOT_FOUND;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (sizes[i][0] == c->command && sizes[i][1] != c->parameters_size)
			return RM_INVALID_ARGUMENT;
	if (o->owner != (uint32_t)getpid())
		atomic_fetch_add(&m->foreign, 1);
	switch (c->command) {
	case RM_GROUP_SET_SLICE:
		atomic_fetch_add(&m->sets, 1);
		o->slice_us = ((struct rm_slice *)p)->us;
		return RM_OK;
	case RM_GROUP_GET_SLICE:
		atomic_fetch_add(&m->gets, 1);
		((struct rm_slice *)p)->us = o->slice_us + atomic_load(&m->lies);
		return RM_OK;
	case RM_GROUP_PREEMPT:
		atomic_fetch_add(&m->preempts, 1);
		return RM_OK;
	case RM_GROUP_BIND:
		o->engine = *(uint32_t *)p;
		return RM_OK;
	case RM_GROUP_SCHEDULE:
		return schedule(m, o, c);
	case RM_SUBDEVICE_GID:
		uuid_of(o->device, ((struct rm_gid *)p)->data);
		((struct rm_gid *)p)->length = 16;
		return RM_OK;
	case RM_SUBDEVICE_DISABLE:
		return disable(m, p);
	}
	return RM_NOT_SUPPORTED;
}

/* Value: as struct model_refusal's status; 0: not refused. */
static int refused(struct model *m, uint32_t command)
{
	for (int i = 0; i < MODEL_REFUSALS; i++) {
		struct model_refusal *r = &m->refuse[i];

		/* Cases change it under the worker's calls. */
		if (__atomic_load_n(&r->command, __ATOMIC_ACQUIRE) != command)
			continue;
		if (!r->after)
			return r->status;
		r->after--;
	}
	return 0;
}

SHOWN int model_ioctl(int fd, unsigned long request, void *argument)
{
	struct model *m = model_shared();
	uint32_t nr = _IOC_NR(request), size = _IOC_SIZE(request);
	struct rm_transfer *t = argument;
	int r = 0, status;

	(void)fd;
	atomic_fetch_add(&m->calls, 1);
	if (nr == RM_ESC_TRANSFER) {
		nr = t->nr;
		size = t->size;
		argument = (void *)(uintptr_t)t->argument;
	}
	if (atomic_load(&m->delay_us) && nr == RM_ESC_CONTROL)
		usleep(atomic_load(&m->delay_us));
	lock(m);
	if (nr == RM_ESC_ALLOC && (status = rm_alloc_status(m->branch, size)) >= 0) {
		struct rm_alloc *a = argument;

		a->rest[status] = alloc(m, a);
	} else if (nr == RM_ESC_FREE && size == sizeof(struct rm_free)) {
		struct rm_free *f = argument;

		status = refused(m, RM_ESC_FREE);
		f->status = status ? (uint32_t)status : find(m, f->client, f->object) ? RM_OK : RM_OBJECT_NOT_FOUND;
		if (!f->status && f->object == f->client)
			for (int i = 0; i < MODEL_OBJECTS; i++)
				if (m->object[i].client == f->client)
					memset(&m->object[i], 0, sizeof m->object[i]);
		if (!f->status)
			free_below(m, f->client, f->object);
	} else if (nr == RM_ESC_CONTROL && size == sizeof(struct rm_control)) {
		struct rm_control *c = argument;
		int no = refused(m, c->command);

		if (no < 0)
			r = no;
		else
			c->status = no ? (uint32_t)no : control(m, c);
	} else if (nr == RM_ESC_VERSION && size == sizeof(struct rm_version)) {
		((struct rm_version *)argument)->reply = 1;
	} else {
		r = -EINVAL;
	}
	unlock(m);
	if (nr == RM_ESC_FREE && atomic_load(&m->away_us))
		usleep(atomic_load(&m->away_us));
	if (r < 0) {
		errno = -r;
		return -1;
	}
	return 0;
}

SHOWN int ioctl(int fd, unsigned long request, ...)
{
	void *argument;
	va_list ap;

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	if (_IOC_TYPE(request) == RM_MAGIC && ours(fd))
		return model_ioctl(fd, request, argument);
	return (int)kernel()(SYS_ioctl, fd, (long)request, (long)argument, 0, 0, 0);
}

/* Takes six whatever was given, as the C library's: what was not given is not looked at. */
__attribute__((no_sanitize_address)) SHOWN long syscall(long n, ...)
{
	long a[6];
	va_list ap;
	long r;

	va_start(ap, n);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	r = kernel()(n, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (n == SYS_fstat && r == 0 && ours((int)a[0])) {
		struct stat *st = (struct stat *)a[1];

		st->st_mode = S_IFCHR | 0666;
		st->st_rdev = makedev(RM_MAJOR, RM_CONTROL_MINOR);
	}
	return r;
}
