/*
 * preload.c: libmete-preload.so, which LD_PRELOAD names in place of the driver's libraries that lie beside it.
 *
 * Before the program begins, it loads libcuda.so.1 and libnvidia-ml.so.1 of its own folder and keeps their names out of
 * the global scope. Both are needed:
 *
 *   loaded first        The dynamic linker answers dlopen("libcuda.so.1") with the library of this name that is
 *                       loaded already. A DT_RPATH or a program that clears LD_LIBRARY_PATH does not change this.
 *   not in the scope    The linker searches a symbol in what LD_PRELOAD names before all other libraries. Some
 *                       programs keep the driver's functions in variables of the same names (cuInit ...). A library
 *                       with such variables would get our functions for them, and would write there.
 *
 * A program that is linked with libcuda.so.1 gets ours by LD_LIBRARY_PATH. A DT_RPATH, or a script that replaces
 * LD_LIBRARY_PATH, leads it to another one, and its calls are bound before any constructor runs. This library then
 * starts the same program again in the same process, with the driver's libraries themselves in LD_PRELOAD. The
 * second start finds them first, so it happens at most once.
 *
 * Limit: constructors of the program's libraries that ran before this one run again then. A set-user-id program, which
 * gets this library from /etc/ld.so.preload alone, is not started again: its linker ignores LD_PRELOAD and removes it
 * from the environment, so that there would be no end.
 */
#include "core/log.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD"
#define ARGUMENTS_FIRST_BYTES 4096

static const char *const libraries[] = { "libcuda.so.1", "libnvidia-ml.so.1" };

enum { LIBRARY_COUNT = sizeof(libraries) / sizeof(*libraries) };

/* The folder of this library, with its slash. False: it has none, or does not fit. */
static bool folder_find(char folder[PATH_MAX])
{
	Dl_info own;
	const char *slash;
	int n;

	if (!dladdr((const void *)libraries, &own) || !own.dli_fname)
		return false;
	slash = strrchr(own.dli_fname, '/');
	n = slash ? snprintf(folder, PATH_MAX, "%.*s/", (int)(slash - own.dli_fname), own.dli_fname) : 0;
	return n > 0 && n < PATH_MAX;
}

/*
 * Loads a library of the folder. True: another of the same name was loaded before it. One that is not there is left
 * out: `mete doctor` reports it.
 */
static bool load(const char *folder, const char *name)
{
	char path[PATH_MAX];
	void *ours, *known;
	int n = snprintf(path, sizeof(path), "%s%s", folder, name);

	ours = n > 0 && n < PATH_MAX ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
	if (!ours) {
		if (n > 0 && n < PATH_MAX && !access(path, F_OK))
			log_line("preload: %s; the program runs without it: install mete anew", dlerror());
		return false;
	}
	known = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	if (known)
		dlclose(known);
	return known && known != ours;
}

/* The bytes of /proc/self/cmdline. NULL: they cannot be read. The caller frees them. */
static char *arguments_read(size_t *ret_bytes)
{
	size_t size = ARGUMENTS_FIRST_BYTES, used = 0;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	char *bytes = fd >= 0 ? malloc(size) : NULL;
	ssize_t n = -1;

	while (bytes && (n = read(fd, bytes + used, size - used - 1)) > 0) {
		char *more;

		used += (size_t)n;
		if (used + 1 < size)
			continue;
		size *= 2;
		more = realloc(bytes, size);
		if (!more)
			n = -1;
		bytes = more ? more : bytes;
		if (n < 0)
			break;
	}
	if (fd >= 0)
		close(fd);
	if (bytes && !n && used) {
		bytes[used] = 0;
		*ret_bytes = used;
		return bytes;
	}
	free(bytes);
	return NULL;
}

/* The words of these bytes, each of which ends in a zero. The caller frees the list. */
static char **words_of(char *bytes, size_t used)
{
	size_t count = 0;
	char **words, *at = bytes;

	for (size_t i = 0; i < used; i++)
		count += !bytes[i] || i + 1 == used;
	words = calloc(count + 1, sizeof(*words));
	for (size_t i = 0; words && i < count; i++, at += strlen(at) + 1)
		words[i] = at;
	return words;
}

/* Puts the libraries themselves first. False: they were there already, or there is no memory. */
static bool list_libraries(const char *folder)
{
	const char *now = getenv(PRELOAD);
	size_t size = (now ? strlen(now) : 0) + LIBRARY_COUNT * (strlen(folder) + 64), used = 0;
	char *list = malloc(size);
	bool done = list;

	for (size_t i = 0; done && i < LIBRARY_COUNT; i++) {
		size_t begin = used;

		used += (size_t)snprintf(list + used, size - used, "%s%s", folder, libraries[i]);
		done = !now || !strstr(now, list + begin);
		if (access(list + begin, R_OK))
			used = begin;
		else
			list[used++] = ':';
	}
	if (done) {
		snprintf(list + used, size - used, "%s", now ? now : "");
		done = !setenv(PRELOAD, list, 1);
	}
	free(list);
	return done;
}

/* Returns only if the program could not be started again. */
static void start_again(const char *folder)
{
	char program[PATH_MAX];
	size_t used = 0;
	char *bytes = arguments_read(&used), **words = bytes ? words_of(bytes, used) : NULL;
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (words && n > 0 && list_libraries(folder)) {
		program[n] = 0;
		execve(program, words, environ);
		execve("/proc/self/exe", words, environ); /* the file has been removed or replaced */
		log_line("preload: the program is linked with another libcuda.so.1 or libnvidia-ml.so.1, and could not "
			 "be "
			 "started again with mete's: %s",
			 strerror(errno));
	}
	free(words);
	free(bytes);
}

__attribute__((constructor)) static void begin(void)
{
	int error = errno;
	char folder[PATH_MAX];
	bool another = false;

	if (folder_find(folder)) {
		for (size_t i = 0; i < LIBRARY_COUNT; i++)
			another |= load(folder, libraries[i]);
		if (another && !getauxval(AT_SECURE))
			start_again(folder);
	}
	errno = error;
}
