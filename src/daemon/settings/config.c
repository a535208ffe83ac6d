/*
 * config.c: meted.yaml.
 *
 * libyaml's events are taken one by one; there are two levels, below limits.users and limits.groups four, and one kind
 * of value, so nothing nests and nothing is kept. What is wrong is said, and reading goes on behind it, so that all
 * faults are seen at once.
 */
#include "daemon/settings/config.h"

#include "base/clean_text.h"
#include "base/cleanup.h"
#include "daemon/settings/limit_words.h"
#include "daemon/settings/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#define KEY_BYTES 128u
#define DEPTH_MOST 16u /* libyaml's time grows with the square of the depth */

struct reader {
	yaml_parser_t parser;
	struct options *options;
	const char *path;
	config_fault_fn fault;
	void *user;
	unsigned int faults;
	unsigned int line_of[SETTINGS_MAX]; /* where a setting was given; 0: not yet */
	unsigned int depth;		    /* of groups and lists */
	bool broken;			    /* not YAML: nothing more can be read */
	bool ended;			    /* a document */
};

__attribute__((format(printf, 3, 4))) static void complain(struct reader *r, size_t line, const char *fmt, ...)
{
	char text[CONFIG_LINE_BYTES];
	int n = line ? snprintf(text, sizeof(text), "%.200s:%zu: ", r->path, line)
		     : snprintf(text, sizeof(text), "%.200s: ", r->path);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	clean_text_line(text);
	r->faults++;
	r->fault(r->user, text);
}

/* False: deeper than any settings are. */
static bool keep_depth(struct reader *r, const yaml_event_t *event)
{
	if (event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT)
		r->depth++;
	else if (event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT)
		r->depth--;
	return r->depth <= DEPTH_MOST;
}

static bool next(struct reader *r, yaml_event_t *event)
{
	bool read = !r->broken && yaml_parser_parse(&r->parser, event);

	if (read && keep_depth(r, event))
		return true;
	if (read) {
		complain(r, event->start_mark.line + 1,
			 "groups and lists are nested more than %u deep: no setting is; compare meted.yaml(5)",
			 DEPTH_MOST);
		yaml_event_delete(event);
	} else if (!r->broken)
		complain(r, r->parser.problem_mark.line + 1, "this is not YAML: %s%s%s; compare meted.yaml(5)",
			 r->parser.problem ? r->parser.problem : "it cannot be read", r->parser.context ? " " : "",
			 r->parser.context ? r->parser.context : "");
	r->broken = true;
	*event = (yaml_event_t){ .type = YAML_NO_EVENT };
	return false;
}

/* Reads over what began with `event`, and ends it. */
static void skip(struct reader *r, yaml_event_t *event)
{
	unsigned int depth = 0;

	for (;;) {
		if (event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT)
			depth++;
		else if (event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT)
			depth--;
		yaml_event_delete(event);
		if (!depth || !next(r, event))
			return;
	}
}

static const char *value_of(const yaml_event_t *event)
{
	return (const char *)event->data.scalar.value;
}

static bool is_nothing(const yaml_event_t *event)
{
	const char *value = value_of(event);

	return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (!*value || !strcmp(value, "~") || !strcasecmp(value, "null"));
}

static void unknown_key(struct reader *r, size_t line, const char *key)
{
	const char *nearest = setting_nearest(key);

	if (nearest)
		complain(r, line, "unknown key %.100s; did you mean %s?", key, nearest);
	else
		complain(r, line, "unknown key %.100s; meted --print-config lists the keys", key);
}

/* What the command line has said holds; a value in the file must be one all the same. */
static int set_or_judge(struct options *o, const struct setting *s, const char *value, char *why, size_t size)
{
	struct options aside = { 0 };
	int r;

	if (!(o->on_command_line >> (s - settings) & 1))
		return setting_set(o, s, value, true, why, size);
	r = setting_set(&aside, s, value, true, why, size);
	options_deinit(&aside);
	return r;
}

static void take_scalar(struct reader *r, const struct setting *s, const yaml_event_t *event)
{
	size_t line = event->start_mark.line + 1;
	unsigned int i = (unsigned int)(s - settings);
	char why[400];

	if (r->line_of[i]) {
		complain(r, line, "%s is given twice, first in line %u: keep one of the two", s->key, r->line_of[i]);
		return;
	}
	r->line_of[i] = (unsigned int)line;
	if (!(r->options->on_command_line >> i & 1))
		r->options->line[i] = (unsigned int)line;
	if (is_nothing(event))
		complain(r, line, "%s has no value: write one, or remove the line for the default (%s)", s->key,
			 s->fallback);
	else if (event->data.scalar.length != strlen(value_of(event)))
		complain(r, line, "%s holds a zero byte: remove it", s->key);
	else if (set_or_judge(r->options, s, value_of(event), why, sizeof(why)))
		complain(r, line, "%s %s", s->key, why);
}

static void take_group(struct reader *r, const char *group);

static const char no_word[] = "a key must be a word: write one of those that meted --print-config lists";

/* Reads the keys of a mapping that has begun, and gives what stands behind each, up to its end. */
static void take_keys(struct reader *r, const char *group,
		      void (*take)(struct reader *r, const char *group, const char *name, size_t line,
				   yaml_event_t *event))
{
	yaml_event_t event;
	char name[KEY_BYTES];

	while (next(r, &event)) {
		bool word = event.type == YAML_SCALAR_EVENT;
		size_t line = event.start_mark.line + 1;

		if (event.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&event);
			return;
		}
		if (word)
			snprintf(name, sizeof(name), "%s", value_of(&event));
		else
			complain(r, line, no_word);
		skip(r, &event);
		if (!next(r, &event))
			return;
		if (word)
			take(r, group, name, line, &event);
		else
			skip(r, &event);
	}
}

/* limits.users.NAME.WORD: a figure. */
static void take_limit(struct reader *r, const char *of, const char *word, size_t line, yaml_event_t *event)
{
	char why[400];

	if (event->type != YAML_SCALAR_EVENT || event->data.scalar.anchor)
		complain(r, line, "%s.%.40s wants one value: write a number", of, word);
	else if (limit_words_set(&r->options->limits, of, word, value_of(event), why, sizeof(why)))
		complain(r, line, "%s", why);
	skip(r, event);
}

/* limits.users.NAME: a group of figures. */
static void take_limited(struct reader *r, const char *group, const char *name, size_t line, yaml_event_t *event)
{
	char of[KEY_BYTES + 32], why[400];

	snprintf(of, sizeof(of), "%s.%s", group, name);
	if (limit_words_name(&r->options->limits, of, r->options->action == ACTION_CHECK_CONFIG, why, sizeof(why))) {
		complain(r, line, "%s", why);
	} else if (event->type == YAML_MAPPING_START_EVENT) {
		yaml_event_delete(event);
		take_keys(r, of, take_limit);
		return;
	} else if (event->type != YAML_SCALAR_EVENT || !is_nothing(event)) {
		complain(r, line, "%.100s is a group: its keys stand below it, indented", of);
	}
	skip(r, event);
}

/* What stands behind a key. Ends the event. */
static void take_value(struct reader *r, const char *key, size_t line, bool may_be_group, yaml_event_t *event)
{
	const struct setting *s = setting_find(key);
	bool group = may_be_group && setting_is_group(key);

	if (event->type == YAML_ALIAS_EVENT || (event->type == YAML_SCALAR_EVENT && event->data.scalar.anchor)) {
		complain(r, line, "%s: anchors and aliases are not taken here: write the value itself", key);
	} else if (limit_words_are(key) && event->type == YAML_MAPPING_START_EVENT) {
		yaml_event_delete(event);
		take_keys(r, key, take_limited);
		return;
	} else if (limit_words_are(key)) {
		if (event->type != YAML_SCALAR_EVENT || !is_nothing(event))
			complain(r, line, "%s is a group: names stand below it, indented", key);
	} else if (!s && !group) {
		unknown_key(r, line, key);
	} else if (group && event->type == YAML_MAPPING_START_EVENT) {
		yaml_event_delete(event);
		take_group(r, key);
		return;
	} else if (group && (event->type != YAML_SCALAR_EVENT || !is_nothing(event))) {
		complain(r, line, "%s is a group: its keys stand below it, indented", key);
	} else if (s && event->type != YAML_SCALAR_EVENT) {
		complain(r, line, "%s wants one value, not a %s", key,
			 event->type == YAML_SEQUENCE_START_EVENT ? "list" : "group");
	} else if (s) {
		take_scalar(r, s, event);
	}
	skip(r, event);
}

/* Behind the beginning of a mapping, up to its end. group: "" for the file's own. */
static void take_group(struct reader *r, const char *group)
{
	yaml_event_t event;
	char key[KEY_BYTES];
	size_t line;

	while (next(r, &event)) {
		if (event.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&event);
			return;
		}
		line = event.start_mark.line + 1;
		if (event.type != YAML_SCALAR_EVENT || !*value_of(&event)) {
			complain(r, line, no_word);
			*key = 0;
		} else {
			snprintf(key, sizeof(key), "%s%s%s", group, *group ? "." : "", value_of(&event));
		}
		skip(r, &event);
		if (!next(r, &event))
			return;
		if (*key)
			take_value(r, key, line, !*group, &event);
		else
			skip(r, &event);
	}
}

static void take_document(struct reader *r)
{
	yaml_event_t event;

	while (next(r, &event)) {
		enum yaml_event_type_e type = event.type;
		size_t line = event.start_mark.line + 1;

		if (type == YAML_DOCUMENT_START_EVENT && r->ended)
			complain(r, line, "a second document: keep one, without \"---\" between");
		if (type == YAML_DOCUMENT_END_EVENT)
			r->ended = true;
		if (type == YAML_MAPPING_START_EVENT) {
			yaml_event_delete(&event);
			take_group(r, "");
			continue;
		}
		if (type == YAML_SEQUENCE_START_EVENT || type == YAML_ALIAS_EVENT ||
		    (type == YAML_SCALAR_EVENT && !is_nothing(&event)))
			complain(r, line, "keys with values are wanted here (\"runtime_dir: /run/mete\")");
		if (type == YAML_SEQUENCE_START_EVENT)
			skip(r, &event);
		else
			yaml_event_delete(&event);
		if (type == YAML_STREAM_END_EVENT)
			return;
	}
}

unsigned int config_parse(struct options *o, const char *path, const char *text, size_t length, config_fault_fn fault,
			  void *user)
{
	struct reader r = { .options = o, .path = path, .fault = fault, .user = user };

	if (!yaml_parser_initialize(&r.parser)) {
		complain(&r, 0, "no memory to read it");
		return r.faults;
	}
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, length);
	take_document(&r);
	yaml_parser_delete(&r.parser);
	return r.faults;
}

static bool others_can_write(const struct stat *st)
{
	return (st->st_uid && st->st_uid != geteuid()) || st->st_mode & (S_IWGRP | S_IWOTH);
}

/* Who may replace the file need not write it. In a folder that is sticky only its owner can replace it. */
static int check_folder(struct reader *r)
{
	char real[PATH_MAX], *slash;
	struct stat st;

	if (!realpath(r->path, real))
		return 0; /* no path of a file system: a pipe, say */
	slash = strrchr(real, '/');
	slash[slash == real] = 0;
	if (stat(real, &st) || !others_can_write(&st) ||
	    (st.st_mode & S_ISVTX && !(st.st_uid && st.st_uid != geteuid())))
		return 0;
	complain(r, 0,
		 "its folder %.200s belongs to uid %u with mode %04o: others could replace it; chown root, chmod go-w",
		 real, (unsigned int)st.st_uid, (unsigned int)st.st_mode & 07777);
	return -EPERM;
}

static int check_file(struct reader *r, const struct stat *st)
{
	if (S_ISDIR(st->st_mode)) {
		complain(r, 0, "is a folder; --config wants a file");
		return -EISDIR;
	}
	if (S_ISCHR(st->st_mode)) /* /dev/null */
		return 0;
	if (!S_ISREG(st->st_mode)) {
		complain(r, 0, "is no regular file; --config wants one");
		return -EINVAL;
	}
	if (others_can_write(st)) {
		complain(r, 0, "belongs to uid %u with mode %04o: others could write it; chown root, chmod go-w",
			 (unsigned int)st->st_uid, (unsigned int)st->st_mode & 07777);
		return -EPERM;
	}
	return check_folder(r);
}

/* Value: its length, or -errno with the complaint made. */
static ssize_t read_file(struct reader *r, char *text, size_t size)
{
	_cleanup_close_ int fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n, length = 0;
	int error;

	if (fd < 0 || fstat(fd, &st)) {
		error = errno;
		complain(r, 0, "cannot be opened: %s; --config names another, --config '' none", strerror(error));
		return -error;
	}
	error = check_file(r, &st);
	if (error)
		return error;
	while (length < (ssize_t)size && (n = read(fd, text + length, size - (size_t)length)) > 0)
		length += n;
	if (length == (ssize_t)size) {
		complain(r, 0, "is longer than %u bytes: this is no file of meted's", CONFIG_BYTES);
		return -EFBIG;
	}
	if (n < 0) {
		error = errno;
		complain(r, 0, "cannot be read: %s; --config names another, --config '' none", strerror(error));
		return -error;
	}
	return length;
}

unsigned int config_read(struct options *o, const char *path, config_fault_fn fault, void *user)
{
	struct reader r = { .options = o, .path = path, .fault = fault, .user = user };
	_cleanup_free_ char *text = malloc(CONFIG_BYTES + 1);
	ssize_t length;

	if (!text) {
		complain(&r, 0, "no memory to read it");
		return r.faults;
	}
	length = read_file(&r, text, CONFIG_BYTES + 1);
	return length < 0 ? r.faults : config_parse(o, path, text, (size_t)length, fault, user);
}
