/* say.c: see say.h. A line is one write, so that lines of several programs do not mix. */
#include "verb/say.h"
#include "base/clean_text.h"
#include "verb/verb.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool colour_wanted(FILE *stream)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (!no || !*no) && isatty(fileno(stream)) && term && strcmp(term, "dumb");
}

static void say(const char *colour, const char *fmt, va_list ap)
{
	char text[1280], line[1400];
	int n;

	vsnprintf(text, sizeof(text), fmt, ap);
	clean_text_line(text);
	if (colour_wanted(stderr))
		n = snprintf(line, sizeof(line), "\033[%smmete:\033[0m %s\n", colour, text);
	else
		n = snprintf(line, sizeof(line), "mete: %s\n", text);
	fflush(stdout);
	while (write(STDERR_FILENO, line, (size_t)n) < 0 && errno == EINTR)
		;
}

void say_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("31", fmt, ap);
	va_end(ap);
}

void say_warning(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("33", fmt, ap);
	va_end(ap);
}

void say_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("36", fmt, ap);
	va_end(ap);
}

int print_json(const char *key, json_t *value)
{
	json_t *object = json_object();

	json_object_set_new(object, key, value);
	json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(object);
	return EXIT_DONE; /* main() looks whether stdout took it */
}
