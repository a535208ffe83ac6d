/* stand_in.c: see stand_in.h. The exports are generated, and begin with a jump through shim_table. */
#include "softdev/shaped/stand_in.h"
#include "base/own_note.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

OWN_NOTE("a stand-in of the software device");

typedef int (*uuid_fn)(unsigned char uuid[16], int device);
typedef int (*proc_fn)(const char *symbol, void **pfn, int version, uint64_t flags, int *status);

extern __attribute__((visibility("hidden"))) void *shim_table[];
extern __attribute__((visibility("hidden"))) void *shim_passed[];
__attribute__((visibility("hidden"))) void **shim_start(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool bound;
static proc_fn procs[2];
static uuid_fn uuids[2];

static int not_supported(void)
{
	return stand_in.not_supported;
}

/* The library's own export for a call, as a vendor's gives it. NULL: it has none. */
static void *export_of(const char *symbol, const char *plain, int version, uint64_t flags)
{
	unsigned int call;
	Dl_info own;
	void *self, *f;

	if (stand_in.find && !stand_in.find(plain, version, flags, &call))
		return NULL;
	if (stand_in.find)
		symbol = stand_in.exports[call];
	self = symbol && dladdr((void *)export_of, &own) ? dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
	if (!self)
		return NULL;
	f = dlsym(self, symbol);
	dlclose(self);
	return f;
}

/* A name of ours is one of the software device's, which says whether there is such a call. */
static int look_up(proc_fn there, const char *symbol, void **pfn, int version, uint64_t flags, int *status)
{
	size_t length = strlen(stand_in.prefix);
	char plain[256];
	void *f;
	int r;

	if (!symbol || strncmp(symbol, stand_in.prefix, length) != 0)
		return there("", pfn, version, flags, status);
	snprintf(plain, sizeof(plain), "%s%s", stand_in.plain, symbol + length);
	r = there(plain, pfn, version, flags, status);
	f = !r && pfn && *pfn ? export_of(symbol, plain, version, flags) : NULL;
	if (f)
		*pfn = f;
	return r;
}

static int look_up_first(const char *symbol, void **pfn, int version, uint64_t flags, int *status)
{
	return look_up(procs[0], symbol, pfn, version, flags, status);
}

static int look_up_second(const char *symbol, void **pfn, int version, uint64_t flags, int *status)
{
	return look_up(procs[1], symbol, pfn, version, flags, status);
}

/* Another card's, where the stand-in is to have cards of its own; and not another stand-in's. */
static int other_uuid(uuid_fn there, unsigned char uuid[16], int device)
{
	unsigned char own = (unsigned char)(0x80 | (stand_in.prefix[0] ^ stand_in.prefix[1]));
	int r = there(uuid, device);

	if (!r)
		uuid[15] ^= own;
	return r;
}

static int uuid_first(unsigned char uuid[16], int device)
{
	return other_uuid(uuids[0], uuid, device);
}

static int uuid_second(unsigned char uuid[16], int device)
{
	return other_uuid(uuids[1], uuid, device);
}

/* The function of ours that stands before the software device's call of this number; NULL: none. */
static void *before(unsigned int number, void *there)
{
	static void *const looks[] = { (void *)look_up_first, (void *)look_up_second };
	static void *const tells[] = { (void *)uuid_first, (void *)uuid_second };
	const char *cards = getenv("METE_STAND_IN_CARDS");

	for (unsigned int k = 0; k < 2 && stand_in.procs[k]; k++)
		if (stand_in.procs[k] == number + 1) {
			procs[k] = (proc_fn)there;
			return looks[k];
		}
	for (unsigned int k = 0; cards && *cards == '1' && k < 2 && stand_in.uuids[k]; k++)
		if (stand_in.uuids[k] == number + 1) {
			uuids[k] = (uuid_fn)there;
			return tells[k];
		}
	return NULL;
}

/* The software device's library beside this one: in the folder above, or for HIP in its own. */
static void *open_device(void)
{
	char path[PATH_MAX], self[PATH_MAX];
	Dl_info own;

	if (!dladdr((void *)open_device, &own) || !realpath(own.dli_fname, self) || !strrchr(self, '/'))
		return NULL;
	*strrchr(self, '/') = 0;
	snprintf(path, sizeof(path), "%.3500s/../%s", self,
		 !strcmp(stand_in.api, "hip") ? "hip/libmete-soft-hip.so" : "libcuda.so.1");
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void bind_calls(void)
{
	void *device = open_device();

	for (unsigned int i = 0; i < stand_in.count; i++) {
		void *f = device && stand_in.names[i] ? dlsym(device, stand_in.names[i]) : NULL;
		void *ours = f ? before(i, f) : NULL;

		f = ours ? ours : f;
		__atomic_store_n(&shim_table[i], f ? f : (void *)not_supported, __ATOMIC_RELEASE);
	}
	for (unsigned int i = 0; i < stand_in.passed; i++)
		__atomic_store_n(&shim_passed[i], (void *)not_supported, __ATOMIC_RELEASE);
}

void **shim_start(void)
{
	pthread_mutex_lock(&lock);
	if (!bound)
		bind_calls();
	bound = true;
	pthread_mutex_unlock(&lock);
	return shim_table;
}
