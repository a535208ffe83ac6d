/*
 * profile.c: see profile.h.
 *
 * Lines are kept back until there are 32 KiB of them or a second is over, so that a program of many small launches can
 * be profiled. What a process that is killed had kept back is lost.
 */
#include "softdev/profile.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "softdev/demangle.h"
#include "softdev/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEPT_BYTES 32768u
#define LINE_BYTES 1024u
#define KEPT_NS 1000000000ull
#define KERNEL_BYTES 512u

/* Counters of a kernel's forms, by its name: modules go, and the counts stay. */
struct forms {
	struct forms *next;
	char kernel[KERNEL_BYTES];
	const char **name; /* of the engine's table, which is there for good */
	size_t count;
	_Atomic uint64_t *counter;
};

static struct {
	pthread_mutex_t lock;
	char path[4096]; /* "": no profile */
	bool want_forms;
	pid_t pid; /* whose lines these are: a child made by fork has none */
	char text[KEPT_BYTES + LINE_BYTES];
	size_t bytes;
	uint64_t written_ns;
	struct forms *forms;
	bool told; /* that the file cannot be written */
} profile = { .lock = PTHREAD_MUTEX_INITIALIZER };

void profile_read(void)
{
	const char *path = secure_getenv("METE_SOFT_PROFILE"), *forms = secure_getenv("METE_SOFT_PROFILE_FORMS");

	if (!path || strlen(path) >= sizeof(profile.path))
		return;
	strcpy(profile.path, path);
	profile.want_forms = forms && !strcmp(forms, "1");
	profile.pid = getpid();
}

bool profile_wanted(void)
{
	return profile.path[0] != 0;
}

/* Appends in one write, so that lines of several processes do not mix. */
static void write_locked(void)
{
	_cleanup_close_ int fd = -1;
	const size_t bytes = profile.bytes;

	profile.bytes = 0;
	profile.written_ns = clock_now_ns();
	if (!bytes || profile.pid != getpid())
		return;
	fd = open(profile.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && write(fd, profile.text, bytes) == (ssize_t)bytes)
		return;
	if (!profile.told)
		log_line("METE_SOFT_PROFILE=%s: %s; name a file that can be written, and free space", profile.path,
			 strerror(errno));
	profile.told = true;
}

__attribute__((format(printf, 1, 2))) static void line_locked(const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(profile.text + profile.bytes, LINE_BYTES, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < LINE_BYTES)
		profile.bytes += (size_t)n;
	if (profile.bytes >= KEPT_BYTES)
		write_locked();
}

/* A kernel's name as people wrote it, in one field. */
static void kernel_name(const struct ptx_kernel *k, char *ret)
{
	if (!demangle(k->name, ret, KERNEL_BYTES))
		snprintf(ret, KERNEL_BYTES, "%s", k->name);
	for (char *c = ret; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
}

static struct forms *forms_new(const struct ptx_kernel *k, const char *name)
{
	struct forms *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->count = ptx_form_count(k);
	f->counter = calloc(f->count, sizeof(*f->counter));
	f->name = calloc(f->count, sizeof(*f->name));
	if (!f->counter || !f->name) {
		free((void *)f->counter);
		free(f->name);
		free(f);
		return NULL;
	}
	for (size_t i = 0; i < f->count; i++)
		f->name[i] = ptx_form_name(k, i);
	strcpy(f->kernel, name);
	return f;
}

static _Atomic uint64_t *forms_of(const struct ptx_kernel *k)
{
	char name[KERNEL_BYTES];
	struct forms *f;

	kernel_name(k, name);
	pthread_mutex_lock(&profile.lock);
	for (f = profile.forms; f && strcmp(f->kernel, name) != 0; f = f->next)
		;
	if (!f && (f = forms_new(k, name))) {
		f->next = profile.forms;
		profile.forms = f;
	}
	pthread_mutex_unlock(&profile.lock);
	return f && f->count == ptx_form_count(k) ? f->counter : NULL;
}

uint64_t profile_begin(struct ptx_launch *l)
{
	if (!profile_wanted())
		return 0;
	if (profile.want_forms)
		l->forms = forms_of(l->kernel);
	return clock_now_ns();
}

void profile_launch(const struct ptx_launch *l, uint64_t begin_ns, int device)
{
	const int saved = errno;
	char name[KERNEL_BYTES];
	uint64_t end;

	if (!profile_wanted())
		return;
	end = clock_now_ns();
	kernel_name(l->kernel, name);
	pthread_mutex_lock(&profile.lock);
	line_locked("launch\t%" PRIu64 "\t%" PRIu64 "\t%d\t%d\t%d\t%" PRIu64 "\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		    "\t%s\n",
		    begin_ns, end - begin_ns, (int)profile.pid, (int)syscall(SYS_gettid), device, l->stats.blocks,
		    l->block[0] * l->block[1] * l->block[2], l->stats.warp_instructions, l->stats.lane_instructions,
		    l->stats.sectors, name);
	if (end - profile.written_ns > KEPT_NS)
		write_locked();
	pthread_mutex_unlock(&profile.lock);
	errno = saved;
}

void profile_end(void)
{
	if (!profile_wanted())
		return;
	pthread_mutex_lock(&profile.lock);
	for (const struct forms *f = profile.forms; f; f = f->next)
		for (size_t i = 0; i < f->count; i++)
			if (f->counter[i])
				line_locked("form\t%" PRIu64 "\t%s\t%s\n",
					    atomic_load_explicit(&f->counter[i], memory_order_relaxed), f->name[i],
					    f->kernel);
	write_locked();
	pthread_mutex_unlock(&profile.lock);
}
