/* keys.c: see keys.h. */
#include "cli/keys.h"
#include "base/cleanup.h"
#include "client/grants.h"
#include "client/place.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int settings_dir(char dir[PATH_MAX], struct fault *f)
{
	const char *set = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	bool fits;

	if (!geteuid())
		fits = path_join(dir, "/etc/mete");
	else if (set && *set == '/')
		fits = path_join(dir, "%s/mete", set);
	else if (home && *home == '/')
		fits = path_join(dir, "%s/.config/mete", home);
	else
		return fault_set(f, -ENOENT, "HOME is not set, so there is no folder of settings; set it to a folder");
	return fits ? 0 : fault_set(f, -ENAMETOOLONG, "HOME: the path is too long; set a shorter one");
}

/* With the folders that it lies in. */
static int make_folder(const char *path, struct fault *f)
{
	char part[PATH_MAX];

	if (!path_join(part, "%s", path))
		return fault_set(f, -ENAMETOOLONG, "%.60s...: the path is too long; use a shorter one", path);
	for (char *p = part + 1;; p++) {
		bool last = !*p;

		if (!last && *p != '/')
			continue;
		*p = 0;
		if (mkdir(part, 0700) && errno != EEXIST)
			return fault_set(f, -errno, "%s: cannot be made: %s; name a folder that you can write", part,
					 strerror(errno));
		if (last)
			return 0;
		*p = '/';
	}
}

static int check_folder(const char *dir, struct fault *f)
{
	struct stat st;

	if (stat(dir, &st))
		return fault_set(f, -errno, "%s: no folder of keys (%s); `mete key new NAME` makes it", dir,
				 strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return fault_set(f, -ENOTDIR, "%s: not a folder; name the folder that keys are in", dir);
	if (st.st_uid && st.st_uid != geteuid())
		return fault_set(f, -EPERM, "%s: belongs to user %u, who could add keys; name a folder of your own",
				 dir, (unsigned int)st.st_uid);
	if (st.st_mode & 022)
		return fault_set(f, -EPERM, "%s: others may write in it and so add keys (mode %03o); chmod 700 it", dir,
				 (unsigned int)st.st_mode & 0777);
	return 0;
}

int keys_open(struct keys *k, const char *given, bool make, struct fault *f)
{
	char settings[PATH_MAX];
	int r = 0;

	*k = (struct keys){ 0 };
	if (given && *given) {
		if (!path_join(k->dir, "%s", given))
			return fault_set(f, -ENAMETOOLONG, "--keys %.60s...: the path is too long; use a shorter one",
					 given);
	} else {
		r = given ? fault_set(f, -EINVAL, "--keys: no folder named; name the folder that keys are in")
			  : settings_dir(settings, f);
		if (!r && !path_join(k->dir, "%s/keys", settings))
			r = fault_set(f, -ENAMETOOLONG, "%s: the path is too long; name a folder with --keys",
				      settings);
	}
	if (!r && make)
		r = make_folder(k->dir, f);
	return r ? r : check_folder(k->dir, f);
}

int keys_check_name(const char *name, struct fault *f)
{
	struct fault grant;

	if (!relay_name_good(name) || grant_name_check(name, &grant) || strlen(name) > 40)
		return fault_set(f, -EINVAL,
				 "%.64s: a key's name has 1 to 40 ASCII letters, digits, \".\", \"_\" and \"-\" and "
				 "begins with a letter or digit; give one like alice",
				 *name ? name : "\"\"");
	return 0;
}

int keys_path(const struct keys *k, const char *name, char path[PATH_MAX], struct fault *f)
{
	return path_join(path, "%s/%s" KEYS_ENDING, k->dir, name)
		       ? 0
		       : fault_set(f, -ENAMETOOLONG, "%s: the path is too long; use a shorter one", k->dir);
}

bool keys_find(const struct keys *k, const char *name, uint8_t ret_key[RELAY_KEY_BYTES])
{
	char path[PATH_MAX], text[RELAY_TEXT_BYTES];
	struct relay_key key;
	struct fault f;
	bool found;

	if (!*k->dir || keys_check_name(name, &f) || keys_path(k, name, path, &f))
		return false;
	/* The name in the file counts: a file that was renamed would make one client another. */
	found = !relay_key_read(path, &key, text) && !strcmp(key.name, name);
	if (found)
		memcpy(ret_key, key.bytes, sizeof(key.bytes));
	explicit_bzero(&key, sizeof(key));
	return found;
}

static int is_key(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name), e = strlen(KEYS_ENDING);

	return n > e && *entry->d_name != '.' && !strcmp(entry->d_name + n - e, KEYS_ENDING);
}

int keys_each(const struct keys *k, void (*each)(void *user, const char *name, const char *path), void *user,
	      struct fault *f)
{
	struct dirent **list;
	int count = scandir(k->dir, &list, is_key, alphasort);
	char path[PATH_MAX];

	if (count < 0)
		return fault_set(f, -errno, "%s: %s; name another folder with --keys", k->dir, strerror(errno));
	for (int i = 0; i < count; i++) {
		char *name = list[i]->d_name;

		name[strlen(name) - strlen(KEYS_ENDING)] = 0;
		if (!keys_path(k, name, path, f))
			each(user, name, path);
		free(list[i]);
	}
	free(list);
	return count;
}
