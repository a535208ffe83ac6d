/*
 * tap.h: the test anything protocol, for tests in C.
 *
 * A test is a program that prints one line per check and exits 0 when all passed. The number of open descriptors at
 * the end must be what it was at tap_begin(): a leaked descriptor is a failed check. Only tests include this.
 */
#pragma once

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int tap_count, tap_failed, tap_fds;

static inline int tap_open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	if (!d)
		return -1;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

__attribute__((format(printf, 2, 3))) static inline int tap_ok(int good, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%sok %d - ", good ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	printf("\n");
	fflush(stdout);
	va_end(ap);
	tap_failed += !good;
	return good;
}

/* Passes when the condition holds; the text of the condition is the name of the check. Value: the condition. */
#define ok(cond) tap_ok(!!(cond), "%s:%d %s", __FILE__, __LINE__, #cond)

/* Compares two integers and shows both when they differ. */
#define is(a, b)                                                                                                       \
	({                                                                                                             \
		long long tap_a = (long long)(a), tap_b = (long long)(b);                                              \
		tap_ok(tap_a == tap_b, "%s:%d %s is %s (%lld, expected %lld)", __FILE__, __LINE__, #a, #b, tap_a,      \
		       tap_b);                                                                                         \
	})

#define is_str(a, b)                                                                                                   \
	({                                                                                                             \
		const char *tap_a = (a), *tap_b = (b);                                                                 \
		tap_ok(tap_a && tap_b && !strcmp(tap_a, tap_b), "%s:%d %s is \"%s\" (\"%s\")", __FILE__, __LINE__, #a, \
		       tap_b, tap_a ? tap_a : "(null)");                                                               \
	})

/* Skips the whole program; the report shows the reason. */
static inline void tap_skip_all(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	exit(0);
}

static inline void tap_begin(void)
{
	tap_fds = tap_open_fds();
}

/* How many are open once no thread has one for a moment only: a second is enough for that. */
static inline int tap_fds_left(void)
{
	int n = tap_open_fds();

	for (int i = 0; i < 100 && n > tap_fds; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		n = tap_open_fds();
	}
	return n;
}

/* Prints the plan; value: the exit status of the test. */
static inline int tap_end(void)
{
	int left = tap_fds_left();

	tap_ok(left <= tap_fds, "no descriptor leaked (%d before, %d after)", tap_fds, left);
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}
