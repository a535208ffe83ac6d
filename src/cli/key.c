/* key.c: `mete key new`, `mete key list`, `mete key remove`: the pre-shared keys of a server's clients. */
#include "client/grants.h"
#include "cli/keys.h"
#include "verb/say.h"
#include "verb/table.h"
#include "verb/verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void say_carry(const char *name, const char *path)
{
	printf("%s\n"
	       "The client %s needs a copy of this file, mode 0600; carry it by a way that nobody else can read:\n"
	       "  scp -p %s USER@CLIENT:%s.key\n"
	       "There, with this machine's name for SERVER:\n"
	       "  mete run --remote SERVER --key %s.key -- PROGRAM\n"
	       "A `mete serve` that runs knows the key from now on. Whoever has the file is %s.\n",
	       path, name, path, name, name, name);
}

static int new_key(const struct command_line *line, struct fault *f)
{
	const char *name = line->args[0];
	char path[PATH_MAX], text[RELAY_TEXT_BYTES];
	struct relay_key key;
	struct keys keys;
	int r;

	if (keys_check_name(name, f))
		return EXIT_USAGE;
	if (keys_open(&keys, option_value(line, "keys"), true, f) || keys_path(&keys, name, path, f))
		return EXIT_FAILED;
	r = relay_key_make(name, &key);
	if (r) {
		fault_set(f, r, "no randomness for a key: %s; try again later", strerror(-r));
		return EXIT_FAILED;
	}
	r = relay_key_write(path, &key, text);
	explicit_bzero(&key, sizeof(key));
	if (r) {
		fault_set(f, r, "%s", text);
		return EXIT_FAILED;
	}
	if (option_given(line, "json"))
		return print_json("key", json_pack("{s:s, s:s}", "name", name, "file", path));
	say_carry(name, path);
	return EXIT_DONE;
}

static void list_one(void *user, const char *name, const char *path)
{
	char text[RELAY_TEXT_BYTES];
	struct relay_key key;
	struct stat st;
	int r = relay_key_read(path, &key, text);

	if (!r && strcmp(key.name, name)) {
		r = -EINVAL;
		snprintf(text, sizeof(text), "key %.100s: it says %s; give the file its name back", path, key.name);
	}
	explicit_bzero(&key, sizeof(key));
	json_array_append_new(user, json_pack("{s:s, s:s, s:I, s:b, s:s?}", "name", name, "file", path, "made",
					      (json_int_t)(stat(path, &st) ? 0 : st.st_mtime), "good", !r, "trouble",
					      r ? text : NULL));
}

static void print_keys(json_t *list)
{
	static const char *const heads[] = { "NAME", "MADE", "FILE", "STATE", NULL };
	struct table t;
	json_t *key;
	size_t i;

	table_begin(&t, heads);
	json_array_foreach(list, i, key)
	{
		time_t made = (time_t)json_integer_value(json_object_get(key, "made"));
		const char *trouble = json_string_value(json_object_get(key, "trouble"));
		char when[32] = "-";
		struct tm tm;

		if (made && localtime_r(&made, &tm))
			strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
		table_cell(&t, "%s", json_string_value(json_object_get(key, "name")));
		table_cell(&t, "%s", when);
		table_cell(&t, "%s", json_string_value(json_object_get(key, "file")));
		table_cell(&t, "%s", trouble ? trouble : "good");
	}
	table_end(&t);
}

static int list_keys(const struct command_line *line, struct fault *f)
{
	json_t *list = json_array();
	struct keys keys;
	int r = keys_open(&keys, option_value(line, "keys"), false, f);

	/* No folder: no keys, unless it was named. */
	if (!r)
		r = keys_each(&keys, list_one, list, f) < 0 ? -EIO : 0;
	else if (r == -ENOENT && *keys.dir && !option_given(line, "keys"))
		r = 0;
	if (r) {
		json_decref(list);
		return EXIT_FAILED;
	}
	if (option_given(line, "json"))
		return print_json("keys", list);
	print_keys(list);
	json_decref(list);
	return EXIT_DONE;
}

static int remove_keys(const struct command_line *line, struct fault *f)
{
	char path[PATH_MAX];
	struct keys keys;

	for (int i = 0; i < line->arg_count; i++)
		if (keys_check_name(line->args[i], f))
			return EXIT_USAGE;
	if (keys_open(&keys, option_value(line, "keys"), false, f))
		return EXIT_FAILED;
	for (int i = 0; i < line->arg_count; i++) {
		if (keys_path(&keys, line->args[i], path, f))
			return EXIT_FAILED;
		if (!unlink(path))
			continue;
		fault_set(f, -errno, "%s: %s; `mete key list` shows the keys that there are", path, strerror(errno));
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

static int finish(int status, const struct fault *f)
{
	if (status)
		say_error("%s", f->text);
	return status;
}

VERB(key_new)
{
	struct fault f = { .text = "" };

	return finish(new_key(line, &f), &f);
}

VERB(key_list)
{
	struct fault f = { .text = "" };

	return finish(list_keys(line, &f), &f);
}

VERB(key_remove)
{
	struct fault f = { .text = "" };

	return finish(remove_keys(line, &f), &f);
}
