/* real.c: see real.h. */
#include "fronts/real.h"

#include "softdev/log.h"

#include <dlfcn.h>
#include <elf.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#define ANCESTORS 8

/* Marks a front, of this mete or of another. */
__attribute__((visibility("default"))) const char mete_front[] = "mete";

struct search {
	const struct real *real;
	const char *name;
	void *found;
};

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static bool take(struct search *s, const char *path)
{
	void *handle;

	if (!is_file(path))
		return false;
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return false;
	/* A front of another mete, or this one by another path. */
	if (dlsym(handle, "mete_front")) {
		dlclose(handle);
		return false;
	}
	s->found = handle;
	return true;
}

__attribute__((format(printf, 2, 3))) static bool take_in(struct search *s, const char *fmt, ...)
{
	char folder[PATH_MAX], path[PATH_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(folder, sizeof(folder), fmt, ap);
	va_end(ap);
	if (n <= 0 || n >= PATH_MAX)
		return false;
	n = snprintf(path, sizeof(path), "%s/%s", folder, s->name);
	return n < PATH_MAX && take(s, path);
}

/* Below a folder that holds Python packages. */
static bool take_packages(struct search *s, const char *packages)
{
	for (const char *const *w = s->real->wheel; *w; w++)
		if (take_in(s, "%s/%s", packages, *w))
			return true;
	return false;
}

/* Below a folder that holds lib/, of a virtual environment or a toolkit. */
static bool take_prefix(struct search *s, const char *prefix)
{
	static const char *const pattern[] = { "lib", "lib64" };
	char path[PATH_MAX];
	glob_t g;

	if (!prefix || *prefix != '/')
		return false;
	for (size_t i = 0; i < sizeof(pattern) / sizeof(*pattern); i++) {
		if (take_in(s, "%s/%s", prefix, pattern[i]))
			return true;
		if (snprintf(path, sizeof(path), "%s/%s/python3*/site-packages", prefix, pattern[i]) >= PATH_MAX ||
		    glob(path, GLOB_NOSORT, NULL, &g))
			continue;
		for (size_t k = 0; !s->found && k < g.gl_pathc; k++)
			take_packages(s, g.gl_pathv[k]);
		globfree(&g);
		if (s->found)
			return true;
	}
	return false;
}

/* The folders above a file: in one of them are its neighbours' packages, or lib/. */
static bool take_above(struct search *s, const char *file)
{
	char folder[PATH_MAX], *slash;

	if (*file != '/' || snprintf(folder, sizeof(folder), "%s", file) >= PATH_MAX)
		return false;
	for (int i = 0; i < ANCESTORS && (slash = strrchr(folder, '/')) && slash != folder; i++) {
		*slash = 0;
		if ((!i && take_in(s, "%s", folder)) || take_packages(s, folder) || take_prefix(s, folder))
			return true;
	}
	return false;
}

/* A list of DT_RPATH or DT_RUNPATH, or of LD_LIBRARY_PATH (origin NULL). */
static bool take_list(struct search *s, const char *list, const char *origin)
{
	size_t length, word = 0;

	for (const char *p = list; p && *p; p += length + (p[length] != 0)) {
		length = strcspn(p, ":;");
		if (origin && !strncmp(p, "$ORIGIN", 7))
			word = 7;
		else if (origin && !strncmp(p, "${ORIGIN}", 9))
			word = 9;
		else
			word = 0;
		if (length >= word && take_in(s, "%s%.*s", word ? origin : "", (int)(length - word), p + word))
			return true;
	}
	return false;
}

static bool take_run_paths(struct search *s, const struct link_map *map)
{
	const char *strings = NULL;
	char origin[PATH_MAX], *slash;

	if (!map->l_name || *map->l_name != '/' || !map->l_ld ||
	    snprintf(origin, sizeof(origin), "%s", map->l_name) >= PATH_MAX)
		return false;
	slash = strrchr(origin, '/');
	*slash = 0;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
	for (const ElfW(Dyn) *d = map->l_ld; strings && d->d_tag != DT_NULL; d++)
		if ((d->d_tag == DT_RPATH || d->d_tag == DT_RUNPATH) && take_list(s, strings + d->d_un.d_val, origin))
			return true;
	return false;
}

static const struct link_map *loaded(void)
{
	struct link_map *map = NULL;
	void *self = dlopen(NULL, RTLD_LAZY);

	if (self && dlinfo(self, RTLD_DI_LINKMAP, &map))
		map = NULL;
	if (self)
		dlclose(self);
	return map;
}

static bool take_loaded(struct search *s)
{
	const struct link_map *first = loaded();

	for (const struct link_map *m = first; m; m = m->l_next) {
		const char *base = m->l_name ? strrchr(m->l_name, '/') : NULL;

		if (base && !strcmp(base + 1, s->name) && take(s, m->l_name))
			return true;
	}
	/* The newest first: what asks is likely among them. */
	for (const struct link_map *m = first; m; m = m->l_next)
		if (take_run_paths(s, m))
			return true;
	for (const struct link_map *m = first; m; m = m->l_next)
		if (m->l_name && take_above(s, m->l_name))
			return true;
	return false;
}

static bool take_environment(struct search *s)
{
	static const char *const prefix[] = { "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_PATH", "CUDA_HOME", "CUDA_ROOT" };
	const char *program = (const char *)getauxval(AT_EXECFN);

	if (take_list(s, getenv("LD_LIBRARY_PATH"), NULL) || (program && take_above(s, program)))
		return true;
	for (size_t i = 0; i < sizeof(prefix) / sizeof(*prefix); i++)
		if (take_prefix(s, getenv(prefix[i])))
			return true;
	return false;
}

static bool take_usual(struct search *s)
{
	static const char *const folder[] = { "/usr/local/cuda/lib64",
					      "/usr/local/cuda-*/lib64",
					      "/opt/cuda/lib64",
					      "/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/aarch64-linux-gnu",
					      "/usr/lib64",
					      "/usr/lib" };
	glob_t g;

	for (size_t i = 0; !s->found && i < sizeof(folder) / sizeof(*folder); i++) {
		if (glob(folder[i], 0, NULL, &g))
			continue;
		for (size_t k = g.gl_pathc; !s->found && k; k--)
			take_in(s, "%s", g.gl_pathv[k - 1]);
		globfree(&g);
	}
	return s->found;
}

void real_open(struct real *r)
{
	const char *forced = getenv(r->variable);
	struct search s = { .real = r };

	if (forced && *forced) {
		if (!take(&s, forced))
			log_line("%s=%s: not a library that can be loaded; unset it, or name NVIDIA's %s", r->variable,
				 forced, r->what);
		r->handle = s.found;
		return;
	}
	for (const char *const *name = r->name; !s.found && *name; name++) {
		s.name = *name;
		if (!take_loaded(&s) && !take_environment(&s))
			take_usual(&s);
	}
	r->handle = s.found;
}

void *real_symbol(struct real *r, void (*open_once)(void), const char *symbol)
{
	pthread_once(&r->once, open_once);
	return r->handle ? dlsym(r->handle, symbol) : NULL;
}
