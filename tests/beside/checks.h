/* checks.h: what the cases of this folder say, and how they end. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned int checks, failed;

__attribute__((format(printf, 2, 3), unused)) static void ok(bool good, const char *fmt, ...)
{
	va_list ap;

	checks++;
	failed += !good;
	printf("%sok %u - ", good ? "" : "not ", checks);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	puts("");
	fflush(stdout);
}

__attribute__((unused)) static int done(void)
{
	printf("1..%u\n", checks);
	return failed != 0;
}

__attribute__((unused)) static void need(int r, const char *what)
{
	if (!r)
		return;
	printf("%s: %d\n", what, r);
	fflush(stdout);
	_exit(3);
}
