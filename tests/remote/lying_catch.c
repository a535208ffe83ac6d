/*
 * lying_catch.c: preloaded into a program whose server lies: where it dies of a signal, it says in which libraries it
 * was, the innermost first, and ends. A program that uses what it was told wrongly dies by its own doing.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FRAMES 40

static void say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(1);
}

static const char *file_of(void *at)
{
	Dl_info info;

	return dladdr(at, &info) && info.dli_fname ? info.dli_fname : "?";
}

static void caught(int signal)
{
	void *frame[FRAMES];
	int count = backtrace(frame, FRAMES);
	char line[64];

	snprintf(line, sizeof(line), "died of signal %d in\n", signal);
	say(line);
	/* the handler's own frames come first */
	for (int i = 2; i < count; i++) {
		Dl_info info = { 0 };

		dladdr(frame[i], &info);
		snprintf(line, sizeof(line), "  %.40s ", info.dli_sname ? info.dli_sname : "?");
		say(line);
		say(file_of(frame[i]));
		say("\n");
	}
	_exit(128 + signal);
}

__attribute__((constructor)) static void begin(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	struct sigaction a = { .sa_handler = caught, .sa_flags = (int)SA_RESETHAND };
	void *first[1];

	backtrace(first, 1); /* loads what it needs */
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &a, NULL);
}
