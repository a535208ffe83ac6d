/* tenant_env.c: see tenant_env.h. A shim of an outer `mete run` is recognised by its folder, shim/, and taken out. */
#include "client/tenant_env.h"
#include "base/cleanup.h"
#include "base/fnv.h"
#include "client/beside_env.h"
#include "client/place.h"
#include "client/remote_env.h"
#include "client/runtime_env.h"
#include "client/tier.h"
#include "client/vulkan_env.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPENCL_LAYER "libmete-opencl.so"
#define CUDA_PRELOAD "libmete-preload.so" /* loads libcuda.so.1 and libnvidia-ml.so.1 (shim/preload.c) */
#define HIP_FACE "libmete-hip.so"
#define SMI_FACE "libmete-amd-smi.so"
#define SHAPE_FACE "libmete-%s.so"
#define LEVELZERO_FACE "libmete-levelzero.so"

static const char *const own_variables[] = { "METE_SOCKET", "METE_NVML", "METE_LOG", "METE_REMOTE",
					     "METE_STRICT", "METE_SPILL" };

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t n = strlen(end);

	return length >= n && !memcmp(text + length - n, end, n);
}

static bool is_shape_entry(const char *entry, size_t length)
{
	char face[64], folder[64];
	bool is = ends_with(entry, length, "/shim/" SMI_FACE);

	for (size_t i = 0; !is && i < shape_row_count; i++) {
		snprintf(face, sizeof(face), "/shim/" SHAPE_FACE, shape_rows[i].name);
		snprintf(folder, sizeof(folder), "/shim/%s", shape_rows[i].name);
		is = ends_with(entry, length, face) || ends_with(entry, length, folder);
	}
	return is;
}

static bool is_beside(const char *entry, size_t length)
{
	char name[64];

	for (const struct beside *b = beside_kinds; b->kind; b++)
		if (snprintf(name, sizeof(name), "/shim/%s", b->library) > 0 && ends_with(entry, length, name))
			return true;
	return false;
}

static bool is_shim_entry(const char *entry, size_t length)
{
	return is_shape_entry(entry, length) || is_beside(entry, length) ||
	       ends_with(entry, length, "/shim/" CUDA_PRELOAD) || ends_with(entry, length, "/shim/libcuda.so.1") ||
	       ends_with(entry, length, "/shim/libnvidia-ml.so.1") ||
	       ends_with(entry, length, "/shim/" TIER_LIBRARY) || ends_with(entry, length, "/shim/" OPENCL_LAYER) ||
	       ends_with(entry, length, "/shim/" HIP_FACE) || ends_with(entry, length, "/shim/hip") ||
	       ends_with(entry, length, "/shim/opencl") || ends_with(entry, length, "/shim/levelzero") ||
	       ends_with(entry, length, "/shim/" LEVELZERO_FACE) ||
	       ends_with(entry, length, "/shim" VULKAN_ENV_FOLDER) || ends_with(entry, length, "/mete/shim") ||
	       ends_with(entry, length, "/src/shim") || remote_env_is_entry(entry, length) ||
	       runtime_env_is_entry(entry, length);
}

/* A copy of a list without the entries of a shim; entries end at any of `ends`, and ":" joins them again. */
static char *list_without_shim(const char *list, const char *ends)
{
	char *copy = calloc(1, strlen(list) + 2), *to = copy;

	if (!copy)
		return NULL;
	for (const char *p = list;; p++) {
		size_t length = strcspn(p, ends);

		if (length && !is_shim_entry(p, length)) {
			if (to != copy)
				*to++ = ':';
			memcpy(to, p, length);
			to += length;
		}
		p += length;
		if (!*p)
			break;
	}
	*to = 0;
	return copy;
}

bool tenant_env_put_first(const char *name, const char *front, const char *ends)
{
	const char *old = getenv(name);
	_cleanup_free_ char *rest = list_without_shim(old ? old : "", ends), *value = NULL;

	if (!rest)
		return false;
	if (!*front && !*rest)
		return !unsetenv(name);
	if (asprintf(&value, "%s%s%s", front, *front && *rest ? ":" : "", rest) < 0) {
		value = NULL;
		return false;
	}
	return !setenv(name, value, 1);
}

/* ld.so splits its lists at these, and knows no way to write them. */
static bool can_be_listed(const char *path)
{
	return !strpbrk(path, " :;$\t\n");
}

/* Makes the symbolic link, unless it is there and leads to the same place. */
static int link_make(const char *target, const char *path)
{
	char now[PATH_MAX];
	ssize_t n = readlink(path, now, sizeof(now));

	if (n > 0 && (size_t)n == strlen(target) && !memcmp(now, target, (size_t)n))
		return 0;
	if (n >= 0 && unlink(path) && errno != ENOENT)
		return -errno;
	return symlink(target, path) && errno != EEXIST ? -errno : 0;
}

int tenant_env_detour(char part[PATH_MAX], const char *dir, struct fault *f)
{
	char parts[PATH_MAX], folder[PATH_MAX], link[PATH_MAX], *slash;
	uint32_t hash;
	int r;

	if (can_be_listed(part))
		return 0;
	hash = fnv_hash(part, strlen(part));
	/* Ends in mete/shim or mete/remote as an installed one, so that an inner `mete run` knows it. */
	snprintf(parts, sizeof(parts), "%s", part);
	slash = strrchr(parts, '/');
	if (slash)
		*slash = 0;
	if (!slash || !can_be_listed(slash + 1) || !can_be_listed(dir) ||
	    !path_join(folder, "%s/parts-%08x", dir, hash) || !path_join(link, "%s/mete", folder))
		r = -EINVAL;
	else if (mkdir(folder, 0700) && errno != EEXIST)
		r = -errno;
	else
		r = link_make(parts, link);
	if (!r && path_join(part, "%s/%s", link, slash + 1))
		return 0;
	return fault_set(f, r ? r : -ENAMETOOLONG,
			 "%s: a blank, \":\" or \"$\" in this path keeps the shim from being preloaded, and no way "
			 "around it could be made in %s (%s); move mete, or set METE_LIBDIR to another path",
			 part, dir, strerror(r ? -r : ENAMETOOLONG));
}

/* A build without OpenCL's headers has no layer. */
static bool has_layer(const char *shim_dir)
{
	char layer[PATH_MAX];

	return path_join(layer, "%s/" OPENCL_LAYER, shim_dir) && !access(layer, R_OK);
}

static bool put_layer(const char *shim_dir)
{
	char layer[PATH_MAX];

	return !has_layer(shim_dir) ||
	       (path_join(layer, "%s/" OPENCL_LAYER, shim_dir) && tenant_env_put_first("OPENCL_LAYERS", layer, ":"));
}

/* The loader takes these drivers in place of those that it knows. */
static bool put_levelzero(const struct tenant_env *e)
{
	char face[PATH_MAX];

	return !e->levelzero || (path_join(face, "%s/" LEVELZERO_FACE, e->shim_dir) &&
				 !setenv("ZE_ENABLE_ALT_DRIVERS", face, 1));
}

static void leave_levelzero(void)
{
	const char *drivers = getenv("ZE_ENABLE_ALT_DRIVERS");

	if (drivers && is_shim_entry(drivers, strlen(drivers)))
		unsetenv("ZE_ENABLE_ALT_DRIVERS");
}

/* A list that grows; NULL from the start or from then on: there was no memory. */
static void list_add(char **list, const char *dir, const char *name)
{
	char *longer = NULL;

	if (*list && asprintf(&longer, "%s%s%s%s%s", *list, **list ? ":" : "", dir, *name ? "/" : "", name) < 0)
		longer = NULL;
	free(*list);
	*list = longer;
}

/*
 * The linker would complain in every process about a file that is not there; `mete doctor` does so once. HIP's face
 * goes along where programs may have a library of AMD's that comes before LD_LIBRARY_PATH.
 */
static char *preload_of(const struct tenant_env *e, const char *runtime)
{
	char *list = strdup("");

	if (!e->no_cuda) {
		list_add(&list, e->shim_dir, CUDA_PRELOAD);
		if (e->t3)
			list_add(&list, e->shim_dir, TIER_LIBRARY);
		if (runtime)
			list_add(&list, runtime, "");
	}
	if (e->hip && !e->libhip)
		list_add(&list, e->shim_dir, HIP_FACE);
	if (e->hip && !e->libhip)
		list_add(&list, e->shim_dir, SMI_FACE);
	for (const struct tenant_shape *s = e->shape; s->row; s++) {
		char face[64];

		snprintf(face, sizeof(face), SHAPE_FACE, s->row->name);
		if (s->preload)
			list_add(&list, e->shim_dir, face);
	}
	for (const struct beside *b = beside_kinds; e->kind && b->kind; b++)
		if (beside_wanted(b, e->kind))
			list_add(&list, e->shim_dir, b->library);
	return list;
}

static char *library_path_of(const struct tenant_env *e)
{
	char *list = strdup("");

	if (!e->no_cuda) {
		list_add(&list, e->shim_dir, "");
		if (e->runtime_dir)
			list_add(&list, e->runtime_dir, "");
	}
	if (e->hip)
		list_add(&list, e->shim_dir, "hip");
	for (const struct tenant_shape *s = e->shape; s->row; s++)
		list_add(&list, e->shim_dir, s->row->name);
	if (has_layer(e->shim_dir))
		list_add(&list, e->shim_dir, "opencl");
	if (e->levelzero)
		list_add(&list, e->shim_dir, "levelzero");
	return list;
}

/* The names of the shapes' own: METE_DRIVER is CUDA's. */
static void clear_shapes(void)
{
	for (size_t i = 0; i < shape_row_count; i++)
		if (!shape_rows[i].own_names)
			unsetenv(shape_rows[i].setting);
}

static bool set_shapes(const struct tenant_env *e)
{
	clear_shapes();
	for (const struct tenant_shape *s = e->shape; s->row; s++)
		if (!s->row->own_names && setenv(s->row->setting, s->library, 1))
			return false;
	return true;
}

static bool set_or_clear(const char *name, const char *value)
{
	return !(value && *value ? setenv(name, value, 1) : unsetenv(name));
}

int tenant_env_enter(const struct tenant_env *e, struct fault *f)
{
	_cleanup_free_ char *runtime = e->runtime_dir ? runtime_env_preload(e->runtime_dir, true, NULL) : NULL;
	_cleanup_free_ char *preload = preload_of(e, runtime), *path = library_path_of(e);

	if (!preload || !path || (e->runtime_dir && !runtime))
		return fault_set(f, -ENOMEM, "no memory for the program's environment; end other programs");
	tenant_env_leave();
	if (!tenant_env_put_first("LD_PRELOAD", preload, ": ") ||
	    !tenant_env_put_first("LD_LIBRARY_PATH", path, ":;") ||
	    (e->runtime_dir && !runtime_env_tools(e->runtime_dir)) || !vulkan_env_enter(e->shim_dir) ||
	    setenv("METE_SOCKET", e->socket, 1) || !set_or_clear("METE_DRIVER", e->libcuda) ||
	    !set_or_clear("METE_HIP_DRIVER", e->libhip) || !set_shapes(e) ||
	    (e->libnvml && setenv("METE_NVML", e->libnvml, 1)) ||
	    (e->log && setenv("METE_LOG", e->log, 1)) || !set_or_clear("METE_TIER", e->t3 ? "T3" : NULL) ||
	    (e->spill && setenv("METE_SPILL", "1", 1)) || (e->strict && setenv("METE_STRICT", "1", 1)) ||
	    !put_layer(e->shim_dir) || !set_or_clear("METE_LEVELZERO_DRIVER", e->libze) || !put_levelzero(e) ||
	    (e->kind && !beside_show(e->kind, e->grant)))
		return fault_set(f, -ENOMEM, "no memory for the program's environment; end other programs");
	return 0;
}

void tenant_env_leave(void)
{
	/* METE_DRIVER may be the user's own; under an outer run it names the driver that was chosen there. */
	if (getenv("METE_SOCKET")) {
		unsetenv("METE_DRIVER");
		unsetenv("METE_HIP_DRIVER");
		clear_shapes();
		unsetenv("METE_LEVELZERO_DRIVER");
	}
	for (size_t i = 0; i < sizeof(own_variables) / sizeof(*own_variables); i++)
		unsetenv(own_variables[i]);
	tenant_env_put_first("LD_PRELOAD", "", ": ");
	tenant_env_put_first("LD_LIBRARY_PATH", "", ":;");
	tenant_env_put_first("OPENCL_LAYERS", "", ":");
	leave_levelzero();
	runtime_env_leave_tools();
	vulkan_env_leave();
}
