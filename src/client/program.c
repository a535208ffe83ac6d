/* program.c: see program.h. ELF: System V ABI, chapters 4 and 5; only the identification and the program headers. */
#include "client/program.h"
#include "base/cleanup.h"
#include "client/place.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPT_DEPTH 5 /* as the kernel */

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

/* Value: 0: may be executed; else an errno. */
static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? EISDIR : EACCES;
	return access(path, X_OK) ? errno : 0;
}

static int find_in_path(const char *name, char path[PATH_MAX], int *ret_why)
{
	const char *list = getenv("PATH");
	size_t length;

	for (const char *p = list ? list : "/usr/local/bin:/bin:/usr/bin";; p += length + 1) {
		int why;

		length = strcspn(p, ":");
		if (path_join(path, "%.*s%s%s", (int)length, p, length ? "/" : "./", name)) {
			why = executable(path);
			if (!why)
				return 0;
			if (why == EACCES)
				*ret_why = EACCES;
		}
		if (!p[length])
			return -ENOENT;
	}
}

int program_find(const char *name, char path[PATH_MAX], struct fault *f)
{
	int why = ENOENT;

	if (!*name)
		return fault_set(f, -ENOENT, "the program's name is empty; name a program after --");
	if (strchr(name, '/')) {
		if (!path_join(path, "%s", name))
			return fault_set(f, -ENOENT, "%.60s...: a path this long cannot exist; shorten it", name);
		why = executable(path);
		if (!why)
			return 0;
		if (why == ENOENT || why == ENOTDIR)
			return fault_set(f, -ENOENT, "%.200s: no such program; check the path", name);
		if (why == EISDIR)
			return fault_set(f, -EACCES, "%s: a folder, not a program; name a program after --", name);
		return fault_set(f, -EACCES, "%s: cannot be executed: %s; make it executable with chmod +x", name,
				 strerror(why));
	}
	if (!find_in_path(name, path, &why))
		return 0;
	if (why == EACCES)
		return fault_set(f, -EACCES,
				 "%s: found in PATH but cannot be executed; make it executable with chmod +x", name);
	if (!access(name, X_OK))
		return fault_set(f, -ENOENT, "%s: no such program in PATH; write ./%s for the one in this folder", name,
				 name);
	return fault_set(f, -ENOENT, "%.200s: no such program in PATH; check the name, or give a path", name);
}

bool program_is_text(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char text[256];
	ssize_t n = fd >= 0 ? pread(fd, text, sizeof(text), 0) : -1;

	return n >= 0 && !memchr(text, 0, (size_t)n) && (n < SELFMAG || memcmp(text, ELFMAG, SELFMAG));
}

/* Gains privileges when it starts, so that its linker ignores LD_PRELOAD. */
static bool privileged(int fd, const struct stat *st)
{
	if ((st->st_mode & S_ISUID) && st->st_uid != geteuid())
		return true;
	if ((st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st->st_gid != getegid())
		return true;
	return geteuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static enum program_kind inspect_elf(int fd, const char *path, const unsigned char *ident, struct fault *f)
{
	Elf64_Ehdr head;
	char interpreter[PATH_MAX] = "";
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	if (ident[EI_CLASS] != ELFCLASS64 || pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    (OWN_MACHINE != EM_NONE && head.e_machine != OWN_MACHINE))
		return (enum program_kind)fault_set(f, PROGRAM_OTHER_MACHINE,
						    "%s: built for another kind of machine (or 32-bit); its device "
						    "memory is not limited; use a build for this machine",
						    path);
	if (head.e_phentsize != sizeof(Elf64_Phdr))
		return PROGRAM_UNKNOWN;
	for (unsigned int i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr p;

		if (pread(fd, &p, sizeof(p), (off_t)(head.e_phoff + i * sizeof(p))) != sizeof(p))
			break;
		if (p.p_type != PT_INTERP || !p.p_filesz || p.p_filesz >= sizeof(interpreter))
			continue;
		if (pread(fd, interpreter, p.p_filesz, (off_t)p.p_offset) != (ssize_t)p.p_filesz)
			*interpreter = 0;
		interpreter[p.p_filesz] = 0;
	}
	if (!*interpreter && !strncmp(base, "ld-linux", 8))
		return PROGRAM_REACHED; /* the dynamic linker started by hand: it heeds LD_PRELOAD */
	if (!*interpreter)
		return (enum program_kind)fault_set(f, PROGRAM_STATIC,
						    "%s: statically linked, so the shim cannot reach it and its device "
						    "memory is not limited; link it dynamically",
						    path);
	if (strstr(interpreter, "ld-musl") || strstr(interpreter, "ld-uClibc") || strstr(interpreter, "linker64"))
		return (enum program_kind)fault_set(f, PROGRAM_OTHER_LIBC,
						    "%s: built for another C library (%s), so the shim cannot reach it "
						    "and its device memory is not limited; use a build for glibc",
						    path, interpreter);
	return PROGRAM_REACHED;
}

/* The interpreter of a #! line, with `env NAME` looked up. Value: false when there is none. */
static bool script_interpreter(char *text, char ret[PATH_MAX])
{
	char *save = NULL, *word, *base;
	struct fault ignored;

	text[strcspn(text, "\n")] = 0;
	word = strtok_r(text + 2, " \t\r", &save);
	if (!word || !path_join(ret, "%s", word))
		return false;
	base = strrchr(word, '/');
	if (strcmp(base ? base + 1 : word, "env"))
		return true;
	while ((word = strtok_r(NULL, " \t\r", &save)))
		if (*word != '-' && !strchr(word, '='))
			return !program_find(word, ret, &ignored);
	return true;
}

static enum program_kind inspect(const char *path, int depth, struct fault *f)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char text[512], interpreter[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return PROGRAM_UNKNOWN;
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	if (n >= 2 && !memcmp(text, "#!", 2)) {
		if (depth < SCRIPT_DEPTH && script_interpreter(text, interpreter))
			return inspect(interpreter, depth + 1, f);
		return PROGRAM_REACHED;
	}
	if (privileged(fd, &st))
		return (enum program_kind)fault_set(
			f, PROGRAM_PRIVILEGED,
			"%s: gains privileges when it starts, so the shim cannot reach it and its device memory is not "
			"limited; run `mete run` with those privileges instead",
			path);
	if (n >= EI_NIDENT && !memcmp(text, ELFMAG, SELFMAG))
		return inspect_elf(fd, path, (const unsigned char *)text, f);
	/* execvp() hands what the kernel does not know to /bin/sh. */
	return PROGRAM_REACHED;
}

enum program_kind program_inspect(const char *path, struct fault *f)
{
	return inspect(path, 0, f);
}

int program_reachable(const char *path, struct fault *f)
{
	struct fault why;
	enum program_kind kind = program_inspect(path, &why);

	if (kind == PROGRAM_REACHED || kind == PROGRAM_UNKNOWN)
		return 0;
	return fault_set(f, -EACCES, "%s; with --strict it is not started", why.text);
}

const char *program_warning(const char *path, const char *what, struct fault *f)
{
	switch (program_inspect(path, f)) {
	case PROGRAM_STATIC:
		fault_set(f, 0, "the program is statically linked: it may not find %s; link it dynamically", what);
		break;
	case PROGRAM_OTHER_LIBC:
		fault_set(f, 0, "the program is built for another C library than glibc: it does not find %s", what);
		break;
	case PROGRAM_OTHER_MACHINE:
		fault_set(f, 0, "the program is built for another machine: it does not find %s", what);
		break;
	case PROGRAM_PRIVILEGED:
		fault_set(f, 0, "the program gains privileges when it starts: it does not find %s", what);
		break;
	default:
		return NULL;
	}
	return f->text;
}
