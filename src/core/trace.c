/*
 * trace.c: see trace.h. Names of kernels come from the face, once for each function; a place of the small table of
 * names is taken over by the next function that belongs there.
 */
#include "core/trace.h"
#include "core/attach.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMES 256u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the names and the page's ring */
static struct {
	face_function function;
	char name[sizeof ((struct wire_record *)0)->name];
} names[NAMES];

bool trace_on(void)
{
	struct wire_page *page = attach_page();

	return page && atomic_load_explicit(&page->trace.on, memory_order_relaxed);
}

static void set_name(char *to, size_t size, const char *name)
{
	size_t length = strlen(name);

	if (length >= size)
		length = size - 1;
	memcpy(to, name, length);
	memset(to + length, 0, size - length);
}

static void kernel_name_locked(char *to, size_t size, face_function f)
{
	size_t place = ((uintptr_t)f >> 4) % NAMES;

	if (names[place].function == f)
		memcpy(to, names[place].name, size);
	else
		set_name(to, size, "kernel");
}

/* The driver is asked without the lock. */
static void learn_name(const struct face *face_of, face_function f)
{
	size_t place = ((uintptr_t)f >> 4) % NAMES;
	const char *name;
	bool known;

	pthread_mutex_lock(&lock);
	known = names[place].function == f;
	pthread_mutex_unlock(&lock);
	if (known)
		return;
	name = face_of->name(f);
	pthread_mutex_lock(&lock);
	names[place].function = f;
	set_name(names[place].name, sizeof names[place].name, name);
	pthread_mutex_unlock(&lock);
}

void trace_note(const struct work *w, const struct launch *l, uint64_t submitted_ns, uint64_t passed_ns)
{
	struct wire_page *page = attach_page();
	struct wire_record *r;
	int saved = errno;
	uint32_t head;

	if (!page || !l->pace)
		return;
	if (w->function)
		learn_name(l->stream->lane->face, w->function);
	pthread_mutex_lock(&lock);
	head = atomic_load_explicit(&page->trace.head, memory_order_relaxed);
	r = &page->trace.record[head % WIRE_RECORDS];
	r->submitted_ns = submitted_ns;
	r->passed_ns = passed_ns;
	r->predicted_ns = pace_ns(l->inc);
	r->bytes = w->threads;
	r->stream = (uint64_t)(l->stream - streams) + 1;
	r->device = (uint16_t)l->pace->device;
	r->engine = (uint16_t)l->pace->engine;
	r->thread = (uint32_t)syscall(SYS_gettid);
	if (w->function)
		kernel_name_locked(r->name, sizeof r->name, w->function);
	else
		set_name(r->name, sizeof r->name, w->what ? w->what : "");
	/* Release: the place is filled. */
	atomic_store_explicit(&page->trace.head, head + 1, memory_order_release);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

void trace_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	memset(names, 0, sizeof names);
}
