/* place.c: see place.h. */
#include "client/place.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef METE_LIBDIR_FROM_BINDIR
#define METE_LIBDIR_FROM_BINDIR "../lib/mete"
#endif

bool path_join(char path[PATH_MAX], const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, PATH_MAX, fmt, ap);
	va_end(ap);
	if (n < 0 || n >= PATH_MAX) {
		*path = 0;
		return false;
	}
	return true;
}

/* Takes the folder when it holds the library. The result is canonical: it goes into environments of other folders. */
static bool take_folder(char ret[PATH_MAX], const char *folder, const char *library)
{
	char path[PATH_MAX], real[PATH_MAX];

	if (!path_join(path, "%s/%s", folder, library) || access(path, R_OK) || !realpath(folder, real))
		return false;
	return path_join(ret, "%s", real);
}

static void take_runtime(struct place *p, const char *folder)
{
	static const char *const library[] = { "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0" };

	for (size_t i = 0; !*p->runtime_dir && i < sizeof(library) / sizeof(*library); i++)
		take_folder(p->runtime_dir, folder, library[i]);
}

static bool take_libdir(struct place *p, const char *libdir)
{
	char folder[PATH_MAX];

	if (!path_join(folder, "%s/shim", libdir) || !take_folder(p->shim_dir, folder, "libcuda.so.1"))
		return false;
	if (path_join(folder, "%s/soft", libdir))
		take_folder(p->soft_dir, folder, "libcuda.so.1");
	if (path_join(folder, "%s/runtime", libdir))
		take_runtime(p, folder);
	if (path_join(folder, "%s/fronts", libdir))
		take_folder(p->fronts_dir, folder, "libnvrtc.so.13");
	if (path_join(folder, "%s/remote", libdir))
		take_folder(p->remote_dir, folder, "libcuda.so.1");
	return true;
}

/* A program that mete starts and users do not. */
static void find_helper(const struct place *p, const char *folder, const char *name, char ret[PATH_MAX])
{
	if ((path_join(ret, "%s/../libexec/mete/%s", p->exe_dir, name) && !access(ret, X_OK)) ||
	    (path_join(ret, "%s/../remote/%s/%s", p->exe_dir, folder, name) && !access(ret, X_OK)))
		return;
	*ret = 0;
}

static void find_meted(struct place *p)
{
	static const char *const beside[] = { "meted", "../sbin/meted", "../libexec/mete/meted", "../daemon/meted" };
	const char *path = getenv("PATH");
	char *copy, *save = NULL;

	for (size_t i = 0; i < sizeof(beside) / sizeof(*beside); i++)
		if (path_join(p->meted, "%s/%s", p->exe_dir, beside[i]) && !access(p->meted, X_OK))
			return;
	*p->meted = 0;
	copy = path ? strdup(path) : NULL;
	for (char *dir = copy ? strtok_r(copy, ":", &save) : NULL; dir; dir = strtok_r(NULL, ":", &save)) {
		if (path_join(p->meted, "%s/meted", dir) && *dir == '/' && !access(p->meted, X_OK))
			break;
		*p->meted = 0;
	}
	free(copy);
}

#ifdef METE_CLIENT_SHARED
/*
 * In libmete.so, which any program may load: mete is where this library is, in PREFIX/bin beside PREFIX/lib.../ (of one
 * or two levels), or beside it in a build tree.
 */
static int find_own(char dir[PATH_MAX], struct fault *f)
{
	static const char *const beside[] = { "../bin", "../../bin", "../cli" };
	char library[PATH_MAX], path[PATH_MAX];
	Dl_info info;

	if (!dladdr((const void *)(uintptr_t)place_find, &info) || !realpath(info.dli_fname, library))
		return fault_set(f, -ENOENT, "libmete: its own file cannot be found; install all of mete");
	*strrchr(library, '/') = 0;
	for (size_t i = 0; i < sizeof(beside) / sizeof(*beside); i++)
		if (path_join(path, "%s/%s/mete", library, beside[i]) && !access(path, X_OK)) {
			path_join(path, "%s/%s", library, beside[i]);
			return realpath(path, dir) ? 0 : fault_set(f, -errno, "%s: %s", path, strerror(errno));
		}
	return fault_set(f, -ENOENT, "%s: there is no mete beside this libmete; install mete", library);
}
#else
static int find_own(char dir[PATH_MAX], struct fault *f)
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);

	if (n <= 0)
		return fault_set(f, -errno, "/proc/self/exe: %s; mount /proc", strerror(errno));
	dir[n] = 0;
	*strrchr(dir, '/') = 0;
	return 0;
}
#endif

int place_find(struct place *p, struct fault *f)
{
	static const char *const libdirs[] = { METE_LIBDIR_FROM_BINDIR, "../lib/mete", "../lib64/mete" };
	const char *override = getenv("METE_LIBDIR");
	char path[PATH_MAX];
	int r;

	*p = (struct place){ 0 };
	r = find_own(p->exe_dir, f);
	if (r)
		return r;
	find_meted(p);
	find_helper(p, "relay", "mete-relay", p->relay);
	find_helper(p, "worker", "mete-worker", p->worker);
	if (override && *override) {
		if (take_libdir(p, override))
			return 0;
		return fault_set(f, -ENOENT, "METE_LIBDIR=%s: no shim/libcuda.so.1 in it; unset it or correct it",
				 override);
	}
	for (size_t i = 0; i < sizeof(libdirs) / sizeof(*libdirs); i++)
		if (path_join(path, "%s/%s", p->exe_dir, libdirs[i]) && take_libdir(p, path))
			return 0;
	if (path_join(path, "%s/../softdev", p->exe_dir))
		take_folder(p->soft_dir, path, "libcuda.so.1");
	if (path_join(path, "%s/../runtime", p->exe_dir))
		take_runtime(p, path);
	if (path_join(path, "%s/../fronts", p->exe_dir))
		take_folder(p->fronts_dir, path, "libnvrtc.so.13");
	if (path_join(path, "%s/../remote/client", p->exe_dir))
		take_folder(p->remote_dir, path, "libcuda.so.1");
	if (path_join(path, "%s/../shim", p->exe_dir) && take_folder(p->shim_dir, path, "libcuda.so.1"))
		return 0;
	return fault_set(f, -ENOENT,
			 "%s: the shim (shim/libcuda.so.1) is not beside this mete; install all of mete, or set "
			 "METE_LIBDIR",
			 p->exe_dir);
}

int place_find_soft(struct place *p, struct fault *f)
{
	int r = place_find(p, f);

	if (*p->soft_dir)
		return 0;
	return r ? r
		 : fault_set(
			   f, -ENOENT,
			   "%s: the software device (soft/libcuda.so.1) is not beside this mete; install all of mete, "
			   "or set METE_LIBDIR",
			   p->exe_dir);
}

int place_find_remote(struct place *p, struct fault *f)
{
	int r = place_find(p, f);

	if (*p->remote_dir)
		return 0;
	return r ? r
		 : fault_set(
			   f, -ENOENT,
			   "%s: the remote client (remote/libcuda.so.1) is not beside this mete; install all of mete, "
			   "or set METE_LIBDIR",
			   p->exe_dir);
}
