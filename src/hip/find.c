/* find.c: see find.h. */
#include "hip/find.h"
#include "base/setting.h"
#include "core/log.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEM "libamdhip64.so"

static const char *const majors[] = { ".7", ".6", ".5", "" };
static const char *const folders[] = {
	"/opt/rocm/lib",
	"/opt/dtk/lib",
#if defined(__x86_64__)
	"/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
	"/usr/lib/aarch64-linux-gnu",
#endif
	"/usr/lib64",
	"/usr/lib",
};

/* Ours under whatever name, or what has no hipInit, is none. */
static void *judge(void *handle)
{
	const struct link_map *map = NULL;
	Dl_info own;

	if (!handle)
		return NULL;
	if (dladdr((void *)judge, &own) && !dlinfo(handle, RTLD_DI_LINKMAP, &map) && map &&
	    map->l_addr != (ElfW(Addr))(uintptr_t)own.dli_fbase && dlsym(handle, "hipInit"))
		return handle;
	dlclose(handle);
	return NULL;
}

static void *open_at(const char *path, int flags)
{
	return judge(dlopen(path, RTLD_NOW | RTLD_LOCAL | flags));
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The dynamic linker has added the base to the addresses in the dynamic section, or has not: both are in use. */
static const char *names_of(const struct link_map *map)
{
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			return (const char *)(d->d_un.d_ptr < map->l_addr ? d->d_un.d_ptr + map->l_addr
									  : d->d_un.d_ptr);
	return NULL;
}

/* What a loaded library asks for: "", ".5", ... NULL: none asks. */
static const char *asked_by(const struct link_map *map)
{
	const char *names = names_of(map);

	for (const ElfW(Dyn) *d = map->l_ld; names && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && !strncmp(names + d->d_un.d_val, STEM, sizeof(STEM) - 1))
			return names + d->d_un.d_val + sizeof(STEM) - 1;
	return NULL;
}

static void *open_of_version(const char *major)
{
	const char *list = getenv("LD_LIBRARY_PATH");
	char path[PATH_MAX];
	void *handle = NULL;

	for (const char *at = list; !handle && at && *at; at += strspn(at, ":;")) {
		size_t length = strcspn(at, ":;");

		if (length && length < sizeof path - sizeof STEM - 8) {
			snprintf(path, sizeof path, "%.*s/" STEM "%s", (int)length, at, major);
			handle = open_at(path, 0);
		}
		at += length;
	}
	for (size_t i = 0; !handle && i < sizeof folders / sizeof *folders; i++) {
		snprintf(path, sizeof path, "%s/" STEM "%s", folders[i], major);
		handle = open_at(path, 0);
	}
	return handle;
}

void *find_library(void)
{
	const char *chosen = setting_get("METE_HIP_DRIVER"), *major = NULL;
	struct link_map *first = NULL;
	void *self, *handle = NULL;

	if (chosen && *chosen) {
		handle = *chosen == '/' ? open_at(chosen, 0) : NULL;
		if (!handle)
			log_line("METE_HIP_DRIVER=%s is not the absolute path of a libamdhip64; correct it or unset it",
				 chosen);
		return handle;
	}
	self = dlopen(NULL, RTLD_NOW);
	if (self && dlinfo(self, RTLD_DI_LINKMAP, &first))
		first = NULL;
	for (const struct link_map *m = first; !handle && m; m = m->l_next) {
		if (!strncmp(last_part(m->l_name), STEM, sizeof STEM - 1))
			handle = open_at(m->l_name, RTLD_NOLOAD);
		if (!major)
			major = asked_by(m);
	}
	if (!handle && major)
		handle = open_of_version(major);
	for (size_t i = 0; !handle && !major && i < sizeof majors / sizeof *majors; i++)
		handle = open_of_version(majors[i]);
	if (self)
		dlclose(self);
	if (!handle)
		log_line("no " STEM "%s in the usual places; install ROCm's HIP runtime, or name it in METE_HIP_DRIVER",
			 major ? major : "");
	return handle;
}
