/*
 * modern.c: functions that are younger than the oldest glibc on which libraries for containers (2.17) and the bundle
 * (2.31) run, for code that was compiled on a newer one. Each does what its manual says, by older means; none is
 * visible outside the binary that needs it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 2.25 */
ssize_t getrandom(void *buffer, size_t size, unsigned int flags)
{
	return syscall(SYS_getrandom, buffer, size, flags);
}

/* 2.26 */
void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

/* 2.28: fcntl() for locks whose offsets have 64 bits, as all have on machines of 64 bits. */
extern int old_fcntl(int fd, int command, ...) __asm__("fcntl");
int fcntl64(int fd, int command, ...);

int fcntl64(int fd, int command, ...)
{
	va_list ap;
	void *argument;

	va_start(ap, command);
	argument = va_arg(ap, void *); /* an int comes in the same register */
	va_end(ap);
	return old_fcntl(fd, command, argument);
}

/* 2.33: the stat family lost its version numbers. */
#if defined(__x86_64__)
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif

int __xstat(int version, const char *path, struct stat *s);
int __lxstat(int version, const char *path, struct stat *s);
int __fxstat(int version, int fd, struct stat *s);
int __fxstatat(int version, int fd, const char *path, struct stat *s, int flags);

#define STAT_FAMILY(suffix, type)                                                                                      \
	int stat##suffix(const char *restrict path, struct type *restrict s)                                           \
	{                                                                                                              \
		return __xstat(STAT_VERSION, path, (struct stat *)s);                                                  \
	}                                                                                                              \
	int lstat##suffix(const char *restrict path, struct type *restrict s)                                          \
	{                                                                                                              \
		return __lxstat(STAT_VERSION, path, (struct stat *)s);                                                 \
	}                                                                                                              \
	int fstat##suffix(int fd, struct type *s)                                                                      \
	{                                                                                                              \
		return __fxstat(STAT_VERSION, fd, (struct stat *)s);                                                   \
	}                                                                                                              \
	int fstatat##suffix(int fd, const char *restrict path, struct type *restrict s, int flags)                     \
	{                                                                                                              \
		return __fxstatat(STAT_VERSION, fd, path, (struct stat *)s, flags);                                    \
	}

STAT_FAMILY(, stat)
STAT_FAMILY(64, stat64)

int mknod(const char *path, mode_t mode, dev_t dev)
{
	return (int)syscall(SYS_mknodat, AT_FDCWD, path, mode, (unsigned int)dev);
}

/* 2.34 */

int close_range(unsigned int first, unsigned int last, int flags)
{
#ifdef SYS_close_range
	return (int)syscall(SYS_close_range, first, last, flags);
#else
	(void)first, (void)last, (void)flags;
	errno = ENOSYS;
	return -1;
#endif
}

/* 2.36 */
void arc4random_buf(void *buffer, size_t size)
{
	unsigned char *p = buffer;

	while (size) {
		ssize_t n = getrandom(p, size, 0);

		if (n < 0 && errno != EINTR)
			abort();
		if (n > 0) {
			p += n;
			size -= (size_t)n;
		}
	}
}

uint32_t arc4random(void)
{
	uint32_t v;

	arc4random_buf(&v, sizeof v);
	return v;
}

uint32_t arc4random_uniform(uint32_t bound)
{
	uint32_t v, least = bound ? -bound % bound : 0;

	do
		v = arc4random();
	while (v < least);
	return bound ? v % bound : 0;
}

int pidfd_open(pid_t pid, unsigned int flags)
{
	return (int)syscall(434, pid, flags);
}

int pidfd_send_signal(int fd, int signal, siginfo_t *info, unsigned int flags)
{
	return (int)syscall(424, fd, signal, info, flags);
}

/* 2.38 */
size_t strlcpy(char *restrict to, const char *restrict from, size_t size)
{
	size_t n = strlen(from);

	if (size) {
		size_t copied = n < size - 1 ? n : size - 1;

		memcpy(to, from, copied);
		to[copied] = 0;
	}
	return n;
}

size_t strlcat(char *restrict to, const char *restrict from, size_t size)
{
	size_t used = strnlen(to, size);

	return used == size ? size + strlen(from) : used + strlcpy(to + used, from, size - used);
}

size_t __strlcpy_chk(char *restrict to, const char *restrict from, size_t size, size_t room)
{
	if (size > room)
		abort();
	return strlcpy(to, from, size);
}

size_t __strlcat_chk(char *restrict to, const char *restrict from, size_t size, size_t room)
{
	if (size > room)
		abort();
	return strlcat(to, from, size);
}

/* 2.38: names that newer headers give to what reads binary literals as well; these read what C17 has. */
#define NUMBER(type, name, old)                                                                                        \
	extern type old_##name(const char *restrict text, char **restrict end, int base) __asm__(#old);                \
	type __isoc23_##name(const char *restrict text, char **restrict end, int base);                                \
	type __isoc23_##name(const char *restrict text, char **restrict end, int base)                                 \
	{                                                                                                              \
		return old_##name(text, end, base);                                                                    \
	}

NUMBER(long, strtol, strtol)
NUMBER(unsigned long, strtoul, strtoul)
NUMBER(long long, strtoll, strtoll)
NUMBER(unsigned long long, strtoull, strtoull)
NUMBER(intmax_t, strtoimax, strtoimax)
NUMBER(uintmax_t, strtoumax, strtoumax)

extern int old_vsscanf(const char *text, const char *format, va_list ap) __asm__("__isoc99_vsscanf");
extern int old_vfscanf(FILE *f, const char *format, va_list ap) __asm__("__isoc99_vfscanf");

int __isoc23_sscanf(const char *text, const char *format, ...);
int __isoc23_fscanf(FILE *f, const char *format, ...);
int __isoc23_vsscanf(const char *text, const char *format, va_list ap);

int __isoc23_vsscanf(const char *text, const char *format, va_list ap)
{
	return old_vsscanf(text, format, ap);
}

int __isoc23_sscanf(const char *text, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = old_vsscanf(text, format, ap);
	va_end(ap);
	return n;
}

int __isoc23_fscanf(FILE *f, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = old_vfscanf(f, format, ap);
	va_end(ap);
	return n;
}
