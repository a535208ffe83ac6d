/* main.c: finds the verb and runs it. */
#include "base/text_distance.h"
#include "verb/say.h"
#include "connect/cdi/connector.h"
#include "verb/connector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A connector is added here. */
const struct connector *const connectors[] = { &cdi_connector, NULL };

static int say_unknown_verb(const char *word)
{
	const char *nearest = NULL;
	unsigned int best = 3, distance;

	for (const struct verb *v = NULL; (v = verb_next(v));) {
		if (verb_begins(v, word)) {
			say_error("%s is the beginning of a verb, such as `mete %s`; `mete help` lists them", word,
				  v->name);
			return EXIT_USAGE;
		}
		distance = text_distance(word, v->name);
		if (distance < best) {
			best = distance;
			nearest = v->name;
		}
	}
	if (nearest)
		say_error("unknown %s %s; did you mean `mete %s`?", *word == '-' ? "option" : "verb", word, nearest);
	else
		say_error("unknown %s %s; `mete help` lists what there is", *word == '-' ? "option" : "verb", word);
	return EXIT_USAGE;
}

/* What to do about an output that cannot be written. */
static const char *output_remedy(int why)
{
	switch (why) {
	case EBADF:
		return "standard output is closed; start mete with one, such as >/dev/null";
	case ENOSPC:
	case EDQUOT:
		return "free space, or write elsewhere";
	default:
		return "write elsewhere";
	}
}

/* A full disk or a closed pipe under stdout must not look like success. */
static int finish(int status)
{
	if ((fflush(stdout) || ferror(stdout)) && status == EXIT_DONE) {
		if (errno != EPIPE)
			say_error("cannot write the output: %s; %s", strerror(errno), output_remedy(errno));
		return EXIT_FAILED;
	}
	return status;
}

/*
 * A standard stream that is closed stays so for what mete writes, and its number is not given to a file or a socket of
 * mete's, into which the output would then go. Programs that mete starts have it closed, as mete had.
 */
static void hold_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	const struct verb *verb;
	struct command_line c;
	int r, status, words;

	hold_streams();
	if (argc < 2) {
		say_error("which verb? `mete help` lists them; try `mete run -- PROGRAM` or `mete doctor`");
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		help_overview();
		return finish(EXIT_DONE);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		argv[1] = (char *)(uintptr_t) "version";
	verb = verb_find_words(argc - 1, argv + 1, &words);
	if (!verb && argc > 2 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h")) && help_beginning(argv[1]))
		return finish(EXIT_DONE);
	if (!verb)
		return say_unknown_verb(argv[1]);
	r = command_line_parse(&c, verb, argc - 1 - words, argv + 1 + words);
	if (r < 0) {
		status = verb->usage_status;
	} else if (r > 0) {
		help_verb(verb);
		status = EXIT_DONE;
	} else {
		status = verb->run(&c);
	}
	command_line_deinit(&c);
	return finish(status);
}
