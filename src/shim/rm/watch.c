/*
 * watch.c: see watch.h. The one function that this library shows to others is ioctl().
 *
 * Every call goes to the real one with the arguments that it came with, and comes back with its result, its errno and
 * whatever the kernel wrote. Calls of other drivers cost one comparison; of the resource manager's, only successful
 * allocations of a few classes, frees of what was seen before, and three controls are noted. No lock, no allocation,
 * no system call of our own but on an allocation that is of interest (is this really the control node, which engine).
 *
 * What is not seen: system calls made without the C library's ioctl(), and objects that existed before us.
 */
#include "shim/rm/watch.h"
#include "rm/interface.h"
#include "shim/rm/seen.h"
#include "shim/rm/worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILTER_BITS 16384u

typedef int ioctl_call(int fd, unsigned long request, void *argument);

static _Atomic(ioctl_call *) real;
static _Atomic bool watching;
static _Atomic uint32_t branch;
/* Objects that may be known: a set bit says perhaps, a clear one says no. */
static _Atomic uint64_t filter[FILTER_BITS / 64];

static ioctl_call *find_real(void)
{
	ioctl_call *f = atomic_load_explicit(&real, memory_order_relaxed);

	if (!f) {
		*(void **)&f = dlsym(RTLD_NEXT, "ioctl");
		atomic_store_explicit(&real, f, memory_order_relaxed);
	}
	return f;
}

unsigned int watch_branch(void)
{
	return atomic_load_explicit(&branch, memory_order_relaxed);
}

static void note_version(const struct rm_version *v)
{
	uint32_t n = 0;

	for (const char *p = v->text; *p >= '0' && *p <= '9' && n < 10000; p++)
		n = n * 10 + (uint32_t)(*p - '0');
	if (n)
		atomic_store_explicit(&branch, n, memory_order_relaxed);
}

/* Newer libraries of NVIDIA's compare no versions (580 does not): then the kernel module says which branch it is. */
static void branch_read(void)
{
	struct rm_version v = { 0 };
	int saved = errno, fd = open("/sys/module/nvidia/version", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, v.text, sizeof(v.text) - 1) > 0)
		note_version(&v);
	if (fd >= 0)
		close(fd);
	errno = saved;
}

void watch_init(bool on)
{
	find_real();
	if (on)
		branch_read();
	atomic_store_explicit(&watching, on, memory_order_release);
}

int watch_call(int fd, unsigned long request, void *argument)
{
	int saved = errno, tries = 0, r;

	do
		r = find_real()(fd, request, argument) < 0 ? -errno : 0;
	while ((r == -EINTR || r == -EAGAIN) && ++tries < 100);
	errno = saved;
	return r;
}

bool watch_is_control(int fd)
{
	int saved = errno;
	struct stat st;
	bool is;

	is = syscall(SYS_fstat, fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	     st.st_rdev == makedev(RM_MAJOR, RM_CONTROL_MINOR);
	errno = saved;
	return is;
}

void watch_reset(void)
{
	for (size_t i = 0; i < FILTER_BITS / 64; i++)
		atomic_store_explicit(&filter[i], 0, memory_order_relaxed);
}

static uint32_t filter_bit(uint32_t client, uint32_t object)
{
	uint64_t h = ((uint64_t)client << 32 | object) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(h >> 40) % FILTER_BITS;
}

static void filter_add(uint32_t client, uint32_t object)
{
	uint32_t bit = filter_bit(client, object);

	atomic_fetch_or_explicit(&filter[bit / 64], 1ull << bit % 64, memory_order_relaxed);
}

static bool filter_has(uint32_t client, uint32_t object)
{
	uint32_t bit = filter_bit(client, object);

	return atomic_load_explicit(&filter[bit / 64], memory_order_relaxed) >> bit % 64 & 1;
}

/* From the program's memory. A pointer that leads nowhere was the kernel's to refuse, not ours to stumble over. */
static bool peek(uint64_t from, void *to, size_t size)
{
	struct iovec local = { .iov_base = to, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)from, .iov_len = size };

	return from && syscall(SYS_process_vm_readv, (long)getpid(), &local, 1ul, &remote, 1ul, 0ul) == (long)size;
}

static bool of_interest(uint32_t class)
{
	return class == RM_CLASS_DEVICE || class == RM_CLASS_SUBDEVICE || class == RM_CLASS_GROUP ||
	       rm_class_is_channel(class);
}

static void note_alloc(int fd, const struct rm_alloc *a, uint32_t size)
{
	struct seen s = { .kind = SEEN_ALLOC, .fd = fd, .client = a->client, .parent = a->parent };
	int status = rm_alloc_status(watch_branch(), size);
	uint32_t word;

	if (!of_interest(a->class) || !watch_is_control(fd))
		return;
	if (status < 0) {
		s.kind = SEEN_STRANGE;
		s.value = size;
		seen_put(&s);
		worker_wanted();
		return;
	}
	if (a->rest[status] != RM_OK)
		return;
	s.object = a->object;
	s.class = a->class;
	s.value = peek(a->parameters + (a->class == RM_CLASS_GROUP ? RM_GROUP_ENGINE_AT : 0), &word, sizeof word)
			  ? word
			  : UINT64_MAX;
	filter_add(s.client, s.object);
	filter_add(s.client, s.client);
	seen_put(&s);
	if (s.class == RM_CLASS_GROUP)
		worker_wanted();
}

static void note_control(int fd, const struct rm_control *c)
{
	struct seen s = { .fd = fd, .client = c->client, .object = c->object };
	uint32_t engine;

	if (c->status != RM_OK || !filter_has(c->client, c->object))
		return;
	if (c->command == RM_GROUP_SET_SLICE && c->parameters_size == sizeof(struct rm_slice)) {
		s.kind = SEEN_SLICE;
		if (!peek(c->parameters, &s.value, sizeof s.value))
			return;
	} else if (c->command == RM_GROUP_BIND && peek(c->parameters, &engine, sizeof engine)) {
		s.kind = SEEN_BIND;
		s.value = engine;
	} else if (c->command == RM_GROUP_SCHEDULE) {
		s.kind = SEEN_SCHEDULE;
		s.value = c->parameters_size;
	} else {
		return;
	}
	seen_put(&s);
}

static void note_free(int fd, const struct rm_free *f)
{
	struct seen s = { .kind = SEEN_FREED, .fd = fd, .client = f->client, .object = f->object };

	if (f->status == RM_OK && filter_has(f->client, f->object))
		seen_put(&s);
}

/* After a call that the kernel has taken: so what the pointers lead to can be read. */
static void note(int fd, unsigned int nr, uint32_t size, const void *argument)
{
	const struct rm_control *c = argument;

	if (nr == RM_ESC_CONTROL && size == sizeof *c) {
		if (c->command >> 8 == RM_GROUP_SCHEDULE >> 8)
			note_control(fd, c);
	} else if (nr == RM_ESC_FREE && size == sizeof(struct rm_free)) {
		note_free(fd, argument);
	} else if (nr == RM_ESC_ALLOC && size >= 32) {
		note_alloc(fd, argument, size);
	} else if (nr == RM_ESC_VERSION && size == sizeof(struct rm_version)) {
		note_version(argument);
	}
}

static int pass(int fd, unsigned long request, void *argument)
{
	uint32_t nr = _IOC_NR(request), size = _IOC_SIZE(request);
	const struct rm_transfer *t = argument;
	int r = find_real()(fd, request, argument), saved;

	if (r < 0 || !argument)
		return r;
	saved = errno;
	if (nr == RM_ESC_TRANSFER && size == sizeof *t)
		note(fd, t->nr, t->size, (const void *)(uintptr_t)t->argument);
	else if (nr != RM_ESC_TRANSFER)
		note(fd, nr, size, argument);
	errno = saved;
	return r;
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	void *argument;
	va_list ap;

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	/* Acquire: pairs with the release in watch_init(). */
	if (_IOC_TYPE(request) == RM_MAGIC && atomic_load_explicit(&watching, memory_order_acquire))
		return pass(fd, request, argument);
	return find_real()(fd, request, argument);
}
