/* setting.c: see setting.h. Linked into injected libraries: system calls and glibc 2.17, no memory of the heap. */
#include "base/setting.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SETTINGS_BYTES 8192u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the reading of the file */
static bool looked;					 /* read without the lock, with acquire */
static char text[SETTINGS_BYTES];			 /* lines cut into strings; "": there is no file */
static size_t text_bytes;

/* A file that is too long is taken up to its last whole line. */
static void read_file(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, SETTING_DIR "/settings", O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
	size_t used = 0;
	long n;

	if (fd < 0)
		return;
	while (used < sizeof text - 1 && (n = syscall(SYS_read, fd, text + used, sizeof text - 1 - used)) > 0)
		used += (size_t)n;
	syscall(SYS_close, fd);
	while (used && text[used - 1] != '\n')
		used--;
	for (size_t i = 0; i < used; i++)
		if (text[i] == '\n')
			text[i] = 0;
	text_bytes = used;
}

bool setting_inside(void)
{
	if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
		int saved = errno;

		pthread_mutex_lock(&lock);
		if (!looked)
			read_file();
		__atomic_store_n(&looked, true, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&lock);
		errno = saved;
	}
	return text_bytes;
}

const char *setting_get(const char *name)
{
	size_t length = strlen(name);

	if (!setting_inside())
		return secure_getenv(name);
	for (const char *line = text; line < text + text_bytes; line += strlen(line) + 1)
		if (!strncmp(line, name, length) && line[length] == '=')
			return line + length + 1;
	return NULL;
}
