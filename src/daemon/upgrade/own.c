/* own.c: see own.h. */
#include "daemon/upgrade/own.h"

#include "base/cleanup.h"
#include "daemon/upgrade/upgrade.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	char binary[PATH_MAX];
	char *options[OPTIONS_MOST];
	int count;
} own;

const char *own_binary(void)
{
	return own.binary;
}

int own_options(char *ret[OPTIONS_MOST])
{
	memcpy(ret, own.options, (size_t)own.count * sizeof(*ret));
	return own.count;
}

void upgrade_keep_options(char **options, int count)
{
	for (int i = 0; i < count && own.count < OPTIONS_MOST; i++)
		own.options[own.count++] = options[i];
}

void upgrade_remember_binary(void)
{
	static const char gone[] = " (deleted)";
	ssize_t n = readlink("/proc/self/exe", own.binary, sizeof(own.binary) - 1);
	size_t end;

	own.binary[n > 0 ? n : 0] = 0;
	end = strlen(own.binary);
	/* We have come back from a next one by our file's descriptor. */
	if (end > strlen(gone) && !strcmp(own.binary + end - strlen(gone), gone))
		own.binary[end - strlen(gone)] = 0;
}

bool upgrade_replaced(void)
{
	struct stat now, running;

	return stat("/proc/self/exe", &running) == 0 &&
	       (stat(own.binary, &now) || now.st_dev != running.st_dev || now.st_ino != running.st_ino);
}

int own_become(const char *binary, int fd, const char *name, int file)
{
	char *args[OPTIONS_MOST + 4], number[16];
	int n = 0;

	snprintf(number, sizeof(number), "%d", file);
	args[n++] = (char *)(uintptr_t)name;
	n += own_options(args + n);
	args[n++] = (char *)"--handover";
	args[n++] = number;
	args[n] = NULL;
	if (binary)
		execv(binary, args);
	else
		syscall(SYS_execveat, fd, "", args, environ, AT_EMPTY_PATH);
	return -errno;
}

static bool read_head(const char *path, Elf64_Ehdr *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 && read(fd, ret, sizeof(*ret)) >= SELFMAG;
}

int own_fits(const char *binary)
{
	Elf64_Ehdr own_head = { 0 }, head = { 0 };

	/* Whoever searches for programs takes what the kernel refuses for a script of the shell, and tries that. */
	if (!read_head(binary, &head) || !memcmp(&head, "#!", 2))
		return 0;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) || !read_head("/proc/self/exe", &own_head))
		return -ENOEXEC;
	if (head.e_ident[EI_CLASS] != own_head.e_ident[EI_CLASS] || head.e_machine != own_head.e_machine)
		return -ENOEXEC;
	return head.e_ident[EI_DATA] == own_head.e_ident[EI_DATA] ? 0 : -ENOEXEC;
}
