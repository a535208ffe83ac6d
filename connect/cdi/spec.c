/* spec.c: see spec.h. */
#include "connect/cdi/spec.h"

#include "base/cleanup.h"
#include "client/place.h"
#include "connect/cdi/judge.h"
#include "connect/cdi/plain_file.h"
#include "connect/cdi/yaml.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GRANT_FILE_PREFIX "mete.io-grant-" /* as spec_path() has it */

bool spec_own_dir(char path[PATH_MAX])
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (!geteuid())
		return false;
	if (config && *config == '/')
		return path_join(path, "%s/cdi", config);
	return home && *home == '/' && path_join(path, "%s/.config/cdi", home);
}

/* With the folder above, which a new user's home has not. */
static int make_dir(const char *dir)
{
	char above[PATH_MAX];

	if (!mkdir(dir, 0755) || errno == EEXIST)
		return 0;
	if (errno != ENOENT || !path_join(above, "%.*s", (int)(strrchr(dir, '/') - dir), dir) || mkdir(above, 0755))
		return -1;
	return mkdir(dir, 0755);
}

bool spec_path(char path[PATH_MAX], const char *dir, const char *kind, const char *name)
{
	const char *class = strchr(kind, '/');

	return path_join(path, "%s/%.*s-%s%s%s.json", dir, (int)(class - kind), kind, class + 1, name ? "-" : "",
			 name ? name : "");
}

json_t *spec_new(const char *kind)
{
	return json_pack("{s:s s:s s:[]}", "cdiVersion", SPEC_VERSION, "kind", kind, "devices");
}

void spec_add(json_t *spec, const char *name, json_t *take_edits)
{
	json_array_append_new(json_object_get(spec, "devices"),
			      json_pack("{s:s s:o}", "name", name, "containerEdits", take_edits));
}

json_t *spec_device(json_t *spec, const char *name)
{
	json_t *device;
	size_t i;

	json_array_foreach (json_object_get(spec, "devices"), i, device) {
		const char *is = json_string_value(json_object_get(device, "name"));

		if (is && !strcmp(is, name))
			return device;
	}
	return NULL;
}

static const char *remedy_of(int r)
{
	if (r == -EACCES || r == -EPERM || r == -EROFS)
		return "run this as root, or name another folder (--dir; of mete-agent --cdi-dir)";
	if (r == -ENOSPC || r == -EDQUOT)
		return "make room there, or name another folder (--dir; of mete-agent --cdi-dir)";
	return "check the folder, or name another one with --dir";
}

static int fail(struct fault *f, const char *path, int r)
{
	return fault_set(f, r, "%s cannot be written: %s; %s", path, strerror(-r), remedy_of(r));
}

static int write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			size -= (size_t)n;
		}
	}
	return fsync(fd) ? -errno : 0;
}

int spec_write(const char *path, json_t *spec, struct fault *f)
{
	const char *kind = json_string_value(json_object_get(spec, "kind"));
	bool for_people = !kind || strcmp(kind, SPEC_GRANT_KIND);
	_cleanup_free_ char *text = json_dumps(spec, for_people ? JSON_INDENT(2) : JSON_COMPACT);
	char dir[PATH_MAX], aside[PATH_MAX];
	_cleanup_close_ int fd = -1;
	int r;

	if (!text || !path_join(dir, "%.*s", (int)(strrchr(path, '/') - path), path) ||
	    !path_join(aside, "%s.XXXXXX", path))
		return fail(f, path, -ENOMEM);
	if (make_dir(dir))
		return fail(f, path, -errno);
	fd = mkostemp(aside, O_CLOEXEC);
	if (fd < 0)
		return fail(f, path, -errno);
	r = write_all(fd, text, strlen(text));
	if (!r)
		r = fchmod(fd, 0644) || rename(aside, path) ? -errno : 0;
	if (!r)
		return 0;
	unlink(aside);
	return fail(f, path, r);
}

int spec_write_device(const char *path, const char *kind, const char *name, const char *version, json_t *take_edits,
		      struct fault *f)
{
	json_t *spec = spec_new(kind);
	int r;

	if (version)
		json_object_set_new(spec, "cdiVersion", json_string(version));
	spec_add(spec, name, take_edits);
	r = spec_write(path, spec, f);
	json_decref(spec);
	return r;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

static void take_names(struct spec_file *file)
{
	json_t *device;
	size_t i;

	file->names = json_object();
	json_array_foreach (json_object_get(file->spec, "devices"), i, device)
		json_object_set(file->names, json_string_value(json_object_get(device, "name")), device);
}

static void read_spec(struct spec_file *file)
{
	_cleanup_free_ char *text = NULL;
	json_error_t why;
	size_t size;

	if (plain_file_read(file->path, &text, &size, file->broken, sizeof(file->broken)))
		return;
	if (ends_with(file->path, ".json")) {
		file->spec = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
		if (!file->spec)
			snprintf(file->broken, sizeof(file->broken), "line %d: %s", why.line, why.text);
	} else {
		file->spec = yaml_load(text, size, file->broken, sizeof(file->broken));
	}
	if (file->spec && !judge_spec(file->spec, file->broken, sizeof(file->broken))) {
		json_decref(file->spec);
		file->spec = NULL;
	}
	take_names(file);
}

static bool is_grants(const char *name)
{
	return !strncmp(name, GRANT_FILE_PREFIX, strlen(GRANT_FILE_PREFIX));
}

static int read_dir(struct spec_list *list, const char *path, unsigned int rank, bool grants_too, struct fault *f)
{
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, alphasort), r = 0;

	if (n < 0)
		return errno == ENOENT ? 0 : fault_set(f, -errno, "%s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		struct spec_file *more;

		if (!r && *name != '.' && (grants_too || !is_grants(name)) &&
		    (ends_with(name, ".json") || ends_with(name, ".yaml") || ends_with(name, ".yml"))) {
			more = realloc(list->file, (list->count + 1) * sizeof(*more));
			if (more) {
				list->file = more;
				more[list->count] = (struct spec_file){ .rank = rank };
				path_join(more[list->count].path, "%s/%s", path, name);
				read_spec(&more[list->count++]);
			} else {
				r = fault_set(f, -ENOMEM, "no memory");
			}
		}
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int read_usual(struct spec_list *list, bool grants_too, struct fault *f)
{
	char own[PATH_MAX];
	int r;

	*list = (struct spec_list){ 0 };
	r = read_dir(list, SPEC_STATIC_DIR, 0, grants_too, f);
	if (!r)
		r = read_dir(list, SPEC_DYNAMIC_DIR, 1, grants_too, f);
	return r || !spec_own_dir(own) ? r : read_dir(list, own, 2, grants_too, f);
}

int spec_list_read(struct spec_list *list, const char *dir, struct fault *f)
{
	*list = (struct spec_list){ 0 };
	return dir ? read_dir(list, dir, 0, true, f) : read_usual(list, true, f);
}

int spec_list_read_vendors(struct spec_list *list, struct fault *f)
{
	return read_usual(list, false, f);
}

void spec_list_free(struct spec_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		json_decref(list->file[i].spec);
		json_decref(list->file[i].names);
	}
	free(list->file);
	*list = (struct spec_list){ 0 };
}

static bool defines(const struct spec_file *file, const char *kind, const char *name)
{
	const char *is = json_string_value(json_object_get(file->spec, "kind"));

	return is && !strcmp(is, kind) && json_object_get(file->names, name);
}

const struct spec_file *spec_list_find(const struct spec_list *list, const char *kind, const char *name,
				       const char *except)
{
	const struct spec_file *found = NULL;

	for (size_t i = 0; i < list->count; i++) {
		const struct spec_file *file = &list->file[i];

		if ((!except || strcmp(file->path, except)) && (!found || file->rank > found->rank) &&
		    defines(file, kind, name))
			found = file;
	}
	return found;
}

const struct spec_file *spec_list_rival(const struct spec_list *list, const struct spec_file *file, const char *name)
{
	const char *kind = json_string_value(json_object_get(file->spec, "kind"));

	for (size_t i = 0; i < list->count; i++)
		if (&list->file[i] != file && list->file[i].rank == file->rank && defines(&list->file[i], kind, name))
			return &list->file[i];
	return NULL;
}

const char *spec_version_later(const char *a, const char *b)
{
	unsigned int x[3] = { 0 }, y[3] = { 0 };

	sscanf(a, "%u.%u.%u", &x[0], &x[1], &x[2]);
	sscanf(b, "%u.%u.%u", &y[0], &y[1], &y[2]);
	for (int i = 0; i < 3; i++)
		if (x[i] != y[i])
			return x[i] > y[i] ? a : b;
	return a;
}
