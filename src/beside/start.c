/* start.c: see start.h. */
#include "beside/start.h"
#include "base/own_note.h"
#include "beside/devices.h"
#include "beside/inside.h"
#include "beside/unknown.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/faces.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

OWN_NOTE(VENDOR_NOTE);

_Atomic int start_is;
__thread unsigned int inside_is;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the way to START_METERED */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;       /* guards the tables, and what follows */
static bool begun, refused;
static unsigned long long libraries_seen; /* how many the process had loaded at the last look */
static void *lazy[VENDOR_CALL_COUNT];	  /* the entries that look again */

/* What is behind ----------------------------------------------------------------------------------------------------
 */

static int count_libraries(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(unsigned long long *)data = info->dlpi_adds;
	return 1;
}

static unsigned long long libraries_now(void)
{
	unsigned long long adds = 0;

	dl_iterate_phdr(count_libraries, &adds);
	return adds;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool start_vendors_library(const char *path)
{
	const char *name = last_part(path);

	for (size_t i = 0; vendor_libraries[i]; i++)
		if (!strncmp(name, vendor_libraries[i], strlen(vendor_libraries[i])))
			return true;
	return false;
}

/* This library has the symbol as well; what is found must not be its own. */
static void *others(void *found)
{
	Dl_info own, is;

	if (!found || !dladdr((void *)others, &own) || !dladdr(found, &is) || own.dli_fbase == is.dli_fbase)
		return NULL;
	return found;
}

static void *find_loaded(const struct link_map *first, const char *symbol)
{
	void *handle, *found = NULL;

	for (const struct link_map *m = first; m && !found; m = m->l_next) {
		if (!start_vendors_library(m->l_name))
			continue;
		handle = dlopen(m->l_name, RTLD_LAZY | RTLD_NOLOAD);
		if (!handle)
			continue;
		found = others(dlsym(handle, symbol));
		dlclose(handle);
	}
	return found;
}

static void *find_symbol(void *first, const char *symbol)
{
	void *found = others(dlsym(RTLD_NEXT, symbol));

	return found ? found : find_loaded(first, symbol);
}

/* Tables ------------------------------------------------------------------------------------------------------------
 */

static void put(unsigned int call, void *function)
{
	__atomic_store_n(&((void **)&shim_table)[call], function, __ATOMIC_RELEASE);
}

static void pass_all(void)
{
	for (unsigned int i = 0; i < VENDOR_CALL_COUNT; i++)
		if (!shim_missing(i))
			put(i, ((void **)&shim_real)[i]);
}

/* Those that are missing look again at their next call: the library that has them may come later. */
static void look_again(void)
{
	for (unsigned int i = 0; i < VENDOR_CALL_COUNT; i++)
		if (shim_missing(i))
			put(i, lazy[i]);
}

static void bind_locked(bool again)
{
	struct link_map *first = NULL;
	void *self = dlopen(NULL, RTLD_NOW);

	if (self && dlinfo(self, RTLD_DI_LINKMAP, &first))
		first = NULL;
	shim_bind(find_symbol, first);
	if (self)
		dlclose(self);
	if (!attach_wanted())
		pass_all();
	if (again)
		look_again();
}

/* False: this process cannot be metered. */
static bool begin_locked(void)
{
	memcpy(lazy, &shim_table, sizeof lazy);
	account_init();
	if (!attach_wanted() || faces_join_as(face, VENDOR_LIBRARY))
		return true;
	shim_refuse(VENDOR_REFUSED);
	return false;
}

void **shim_start(void)
{
	unsigned long long now;
	int saved = errno;
	bool more = false;

	pthread_mutex_lock(&lock);
	if (!begun)
		refused = !begin_locked();
	begun = true;
	now = libraries_now();
	if (!refused) {
		more = now != libraries_seen;
		bind_locked(more);
		libraries_seen = now;
	}
	pthread_mutex_unlock(&lock);
	if (more && atomic_load_explicit(&start_is, memory_order_acquire) == START_METERED && unknown_refused())
		atomic_store_explicit(&start_is, START_REFUSED, memory_order_release);
	errno = saved;
	return (void **)&shim_table;
}

static enum start_state start_locked(void)
{
	enum start_state is = (enum start_state)atomic_load_explicit(&start_is, memory_order_relaxed);

	if (is == START_METERED || is == START_OPEN)
		return is;
	switch (faces_begin(face)) {
	case FACES_METERED:
		if (unknown_refused())
			return START_REFUSED;
		devices_match();
		return START_METERED;
	case FACES_OPEN:
		return START_OPEN;
	default:
		return START_REFUSED;
	}
}

enum start_state start_now(void)
{
	enum start_state is;
	int saved = errno;
	INSIDE;

	pthread_mutex_lock(&start_lock);
	is = start_locked();
	atomic_store_explicit(&start_is, (int)is, memory_order_release);
	pthread_mutex_unlock(&start_lock);
	errno = saved;
	return is;
}

void start_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = start_lock = unlocked;
	inside_is = 0;
	atomic_store_explicit(&start_is, START_UNKNOWN, memory_order_relaxed);
}
