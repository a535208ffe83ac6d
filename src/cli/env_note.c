/* env_note.c: see env_note.h. */
#include "cli/env_note.h"

#include "verb/say.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void copy_free(char **copy)
{
	for (char **v = copy; v && *v; v++)
		free(*v);
	free(copy);
}

char **env_copy(void)
{
	char **copy;
	size_t n = 0;

	while (environ && environ[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = strdup(environ[i]);
		if (!copy[i]) {
			copy_free(copy);
			return NULL;
		}
	}
	return copy;
}

/* The entry of the variable that this entry is of. */
static const char *find(char *const *list, const char *entry)
{
	size_t n = strcspn(entry, "=") + 1;

	for (; list && *list; list++)
		if (!strncmp(*list, entry, n))
			return *list;
	return NULL;
}

/* A list of paths, which has been put before what was there: each entry on a line of its own. */
static void note_list(const char *name, size_t name_bytes, const char *added, size_t bytes, bool more)
{
	for (size_t at = 0, n; at < bytes; at += n + 1) {
		n = strcspn(added + at, ":");
		if (n > bytes - at)
			n = bytes - at;
		say_note("set %.*s: %.*s", (int)name_bytes, name, (int)n, added + at);
	}
	if (more)
		say_note("set %.*s: then what was there", (int)name_bytes, name);
}

static void note_set(const char *entry, const char *before)
{
	size_t name = strcspn(entry, "=");
	const char *value = entry + name + (entry[name] != 0), *old = before ? before + name + 1 : "";
	size_t bytes = strlen(value), old_bytes = strlen(old);
	bool follows = old_bytes && bytes > old_bytes + 1 && !strcmp(value + bytes - old_bytes, old) &&
		       value[bytes - old_bytes - 1] == ':';

	if (follows)
		bytes -= old_bytes + 1;
	if (*value == '/' && (follows || memchr(value, ':', bytes)))
		note_list(entry, name, value, bytes, follows);
	else
		say_note("set %s", entry);
}

void env_note(char **before)
{
	if (!before)
		return;
	for (char **v = environ; v && *v; v++) {
		const char *old = find(before, *v);

		if (!old || strcmp(old, *v))
			note_set(*v, old);
	}
	for (char **v = before; *v; v++)
		if (!find(environ, *v))
			say_note("unset %.*s", (int)strcspn(*v, "="), *v);
	copy_free(before);
}
