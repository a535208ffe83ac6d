/*
 * command_line.c: reads options as a verb's row in the table declares them.
 *
 * --name VALUE, --name=VALUE, -n VALUE, -nVALUE, switches together as -vj, and "--" that ends the options. For a verb
 * that takes a program the first operand ends them as well. Nothing may be abbreviated: a script that works today must
 * not break when an option is added.
 */
#include "base/text_distance.h"
#include "verb/say.h"
#include "verb/connector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct option_spec help_option = { "help", 'h', NULL, "Print this text.", COMPLETE_NOTHING, false };

/* The row after `verb` in a table; NULL: it is not in there, or is the last. *found: the next row is wanted. */
static const struct verb *next_in(const struct verb *table, const struct verb *verb, bool *found)
{
	for (const struct verb *v = table; v->name; v++) {
		if (*found)
			return v;
		*found = v == verb;
	}
	return NULL;
}

const struct verb *verb_next(const struct verb *verb)
{
	bool found = !verb;
	const struct verb *next = next_in(verbs, verb, &found);

	for (const struct connector *const *c = connectors; !next && *c; c++)
		next = next_in((*c)->verbs, verb, &found);
	return next;
}

const struct verb *verb_find(const char *name)
{
	for (const struct verb *v = NULL; (v = verb_next(v));)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

bool verb_begins(const struct verb *verb, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(verb->name, word, n) && verb->name[n] == ' ';
}

const struct verb *verb_find_words(int count, char *const *words, int *ret_words)
{
	const struct verb *v = count ? verb_find(words[0]) : NULL;

	*ret_words = 1;
	if (v || count < 2)
		return v;
	*ret_words = 2;
	for (v = NULL; (v = verb_next(v));)
		if (verb_begins(v, words[0]) && !strcmp(v->name + strlen(words[0]) + 1, words[1]))
			return v;
	return NULL;
}

static const struct option_spec *option_find(const struct verb *verb, const char *name, size_t length)
{
	if (length == 4 && !memcmp(name, "help", 4))
		return &help_option;
	for (const struct option_spec *o = verb->options; o && o->name; o++)
		if (strlen(o->name) == length && !memcmp(o->name, name, length))
			return o;
	return NULL;
}

static const struct option_spec *option_find_letter(const struct verb *verb, char letter)
{
	if (letter == 'h')
		return &help_option;
	for (const struct option_spec *o = verb->options; o && o->name; o++)
		if (o->letter && o->letter == letter)
			return o;
	return NULL;
}

static void say_unknown_option(const struct verb *verb, const char *word)
{
	const struct option_spec *nearest = NULL;
	unsigned int best = 3;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2 - (word[1] != '-'), "="),
		 word + 2 - (word[1] != '-'));
	for (const struct option_spec *o = verb->options; o && o->name; o++) {
		unsigned int distance = text_distance(name, o->name);

		if (strlen(name) > 2 &&
		    (!strncmp(o->name, name, strlen(name)) || !strncmp(o->name, name, strlen(o->name))))
			distance = 1;
		/* Half of a short name is not near it. */
		if (distance < best && distance * 2 <= strlen(o->name)) {
			best = distance;
			nearest = o;
		}
	}
	if (nearest)
		say_error("unknown option %s; did you mean --%s?", word, nearest->name);
	else
		say_error("unknown option %s; `mete %s --help` lists the options", word, verb->name);
}

static int add_given(struct command_line *c, const struct option_spec *option, const char *value)
{
	if (option != &help_option && !option->repeats)
		for (size_t i = 0; i < c->given_count; i++)
			if (c->given[i].option == option && option->value) {
				say_error("--%s is given twice (%s, %s); give it once", option->name, c->given[i].value,
					  value);
				return -EINVAL;
			}
	c->given[c->given_count++] = (struct given){ option, value };
	return option == &help_option ? 1 : 0;
}

static int missing_value(const struct option_spec *option)
{
	say_error("--%s needs a value: --%s %s", option->name, option->name, option->value);
	return -EINVAL;
}

static int parse_long(struct command_line *c, char **argv, int *at)
{
	const char *word = argv[*at], *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word - 2) : strlen(word + 2);
	const struct option_spec *option = option_find(c->verb, word + 2, length);

	if (!option) {
		say_unknown_option(c->verb, word);
		return -EINVAL;
	}
	if (!option->value) {
		if (!equals)
			return add_given(c, option, NULL);
		say_error("--%s takes no value (%s); write --%s alone", option->name, word, option->name);
		return -EINVAL;
	}
	if (equals)
		return add_given(c, option, equals + 1);
	if (!argv[*at + 1])
		return missing_value(option);
	return add_given(c, option, argv[++*at]);
}

static int parse_letters(struct command_line *c, char **argv, int *at)
{
	const char *word = argv[*at];

	for (const char *p = word + 1; *p; p++) {
		const struct option_spec *option = option_find_letter(c->verb, *p);
		int r;

		if (!option) {
			say_unknown_option(c->verb, word);
			return -EINVAL;
		}
		if (option->value) {
			if (p[1])
				return add_given(c, option, p + 1);
			if (!argv[*at + 1])
				return missing_value(option);
			return add_given(c, option, argv[++*at]);
		}
		r = add_given(c, option, NULL);
		if (r)
			return r;
	}
	return 0;
}

static int check_operands(const struct command_line *c)
{
	const struct verb *v = c->verb;

	if (c->arg_count < v->min_args) {
		say_error("%s: %s is missing; usage: mete %s [options] %s", v->name,
			  v->program ? "the program" : v->operands, v->name, v->operands);
		return -EINVAL;
	}
	if (v->max_args >= 0 && c->arg_count > v->max_args) {
		say_error("%s: one word too many: %s; usage: mete %s [options] %s", v->name, c->args[v->max_args],
			  v->name, v->operands);
		return -EINVAL;
	}
	return 0;
}

int command_line_parse(struct command_line *c, const struct verb *verb, int argc, char **argv)
{
	int at, r;
	size_t letters = 0;

	for (at = 0; at < argc; at++)
		letters += strlen(argv[at]);
	*c = (struct command_line){ .verb = verb };
	/* No word gives more options than it has letters. */
	c->given = calloc(letters + 1, sizeof(*c->given));
	c->args = calloc((size_t)argc + 1, sizeof(*c->args));
	if (!c->given || !c->args) {
		say_error("no memory for the command line; use a shorter one");
		return -ENOMEM;
	}
	at = 0;
	if (verb->raw && (argc != 1 || strcmp(argv[0], "--help"))) {
		at = argc && !strcmp(argv[0], "--");
		while (at < argc)
			c->args[c->arg_count++] = argv[at++];
		return check_operands(c);
	}
	for (; at < argc; at++) {
		if (!strcmp(argv[at], "--")) {
			at++;
			break;
		}
		if (argv[at][0] != '-' || !argv[at][1]) {
			if (verb->program)
				break;
			c->args[c->arg_count++] = argv[at];
			continue;
		}
		r = argv[at][1] == '-' ? parse_long(c, argv, &at) : parse_letters(c, argv, &at);
		if (r)
			return r;
	}
	while (at < argc)
		c->args[c->arg_count++] = argv[at++];
	return check_operands(c);
}

void command_line_deinit(struct command_line *c)
{
	free(c->given);
	free(c->args);
	*c = (struct command_line){ 0 };
}

const char *option_value(const struct command_line *c, const char *name)
{
	for (size_t i = c->given_count; i-- > 0;)
		if (!strcmp(c->given[i].option->name, name))
			return c->given[i].value;
	return NULL;
}

bool option_given(const struct command_line *c, const char *name)
{
	for (size_t i = 0; i < c->given_count; i++)
		if (!strcmp(c->given[i].option->name, name))
			return true;
	return false;
}
