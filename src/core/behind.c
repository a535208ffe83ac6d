/* behind.c: see behind.h. */
#include "core/behind.h"
#include "base/setting.h"
#include "core/log.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const system_folders[] = {
#if defined(__x86_64__)
	"/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
	"/usr/lib/aarch64-linux-gnu",
#endif
	"/usr/lib64", "/usr/lib", "/usr/local/lib", NULL,
};

/* Ours under whatever name, or what lacks the symbol, is none. */
static void *judge(const struct behind *b, void *handle)
{
	const struct link_map *map = NULL;
	Dl_info own;

	if (!handle)
		return NULL;
	if (dladdr((void *)judge, &own) && !dlinfo(handle, RTLD_DI_LINKMAP, &map) && map &&
	    map->l_addr != (ElfW(Addr))(uintptr_t)own.dli_fbase && dlsym(handle, b->symbol))
		return handle;
	dlclose(handle);
	return NULL;
}

static void *open_at(const struct behind *b, const char *path, int flags)
{
	return judge(b, dlopen(path, RTLD_NOW | RTLD_LOCAL | flags));
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
static const char *asked_by(const struct behind *b, const struct link_map *map)
{
	size_t stem = strlen(b->stem);
	const char *names = names_of(map);

	for (const ElfW(Dyn) *d = map->l_ld; names && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && !strncmp(names + d->d_un.d_val, b->stem, stem))
			return names + d->d_un.d_val + stem;
	return NULL;
}

static void *open_in(const struct behind *b, const char *const *folders, const char *version)
{
	char path[PATH_MAX];
	void *handle = NULL;

	for (size_t i = 0; folders && !handle && folders[i]; i++) {
		snprintf(path, sizeof path, "%s/%s%s", folders[i], b->stem, version);
		handle = open_at(b, path, 0);
	}
	return handle;
}

static void *open_of_version(const struct behind *b, const char *version)
{
	const char *list = getenv("LD_LIBRARY_PATH");
	char path[PATH_MAX];
	void *handle = NULL;

	for (const char *at = list; !handle && at && *at; at += strspn(at, ":;")) {
		int length = (int)strcspn(at, ":;");

		if (length && snprintf(path, sizeof path, "%.*s/%s%s", length, at, b->stem, version) < (int)sizeof path)
			handle = open_at(b, path, 0);
		at += length;
	}
	if (!handle)
		handle = open_in(b, b->first, version);
	if (!handle)
		handle = open_in(b, system_folders, version);
	return handle ? handle : open_in(b, b->last, version);
}

void *behind_find(const struct behind *b)
{
	const char *chosen = setting_get(b->setting), *version = NULL;
	struct link_map *first = NULL;
	void *self, *handle = NULL;

	if (chosen && *chosen) {
		handle = *chosen == '/' ? open_at(b, chosen, 0) : NULL;
		if (!handle)
			log_line("%s=%s is not the absolute path of a %s; correct it or unset it", b->setting, chosen,
				 b->stem);
		return handle;
	}
	self = dlopen(NULL, RTLD_NOW);
	if (self && dlinfo(self, RTLD_DI_LINKMAP, &first))
		first = NULL;
	for (const struct link_map *m = first; !handle && m; m = m->l_next) {
		if (!strncmp(last_part(m->l_name), b->stem, strlen(b->stem)))
			handle = open_at(b, m->l_name, RTLD_NOLOAD);
		if (!version)
			version = asked_by(b, m);
	}
	if (!handle && version)
		handle = open_of_version(b, version);
	for (size_t i = 0; !handle && !version && b->versions[i]; i++)
		handle = open_of_version(b, b->versions[i]);
	if (self)
		dlclose(self);
	if (!handle)
		log_line("no %s%s in the usual places; %s, or name it in %s", b->stem, version ? version : "",
			 b->remedy, b->setting);
	return handle;
}
