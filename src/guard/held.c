/* held.c: see held.h. Reads the guard's tables below /sys/fs/bpf: that takes root's files, and no capability. */
#include "guard/held.h"

#include "base/cleanup.h"
#include "guard/counts.h"
#include "guard/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PINS "/sys/fs/bpf/mete-guard"
#define WORK_MOST 4096

__attribute__((format(printf, 2, 3))) static int not_held(char why[HELD_WHY], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, HELD_WHY, fmt, ap);
	va_end(ap);
	return 0;
}

/* Elsewhere for tests; never in a program with more rights than its user. */
static const char *pins_folder(void)
{
	const char *named = secure_getenv("METE_GUARD_PINS");

	return named && *named == '/' ? named : PINS;
}

/* ---- bpf ---- */

/* A table, or -errno. */
static int table_open(const char *name)
{
	union bpf_attr attr = { .file_flags = BPF_F_RDONLY };
	char path[256];
	int fd;

	snprintf(path, sizeof path, "%s/maps/%s", pins_folder(), name);
	attr.pathname = (uintptr_t)path;
	fd = (int)syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof attr);
	return fd < 0 ? -errno : fd;
}

static int table_get(int fd, const void *key, void *value)
{
	union bpf_attr attr = { .map_fd = (uint32_t)fd, .key = (uintptr_t)key, .value = (uintptr_t)value };

	return syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof attr) ? -errno : 0;
}

/* A table's values are this long, as this version has them. */
static bool table_fits(int fd, uint32_t least, uint32_t most)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr attr = {
		.info = { .bpf_fd = (uint32_t)fd, .info_len = sizeof info, .info = (uintptr_t)&info }
	};

	return !syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof attr) && info.value_size >= least &&
	       info.value_size <= most;
}

/* Nobody but root and this user can have put the tables there; a link is whose it is. */
static int pins_check(void)
{
	struct stat s;

	if (lstat(pins_folder(), &s))
		return -errno;
	return !S_ISDIR(s.st_mode) || (s.st_uid && s.st_uid != geteuid()) || s.st_mode & 022 ? -EPERM : 0;
}

/* 1, 0, or -errno: -ENOENT where the programs are not loaded. */
static int held_by_bpf(uint64_t grant, int pidfd)
{
	_cleanup_close_ int work = -1, limits = -1;
	uint64_t left[WORK_MOST / sizeof(uint64_t)] = { 0 };
	struct guard_limits l;
	int r = pins_check();
	uint32_t row;

	if (r)
		return r;
	work = table_open("guard_work");
	limits = work < 0 ? work : table_open("guard_limits");
	if (limits < 0)
		return limits;
	if (!table_fits(work, sizeof *left, sizeof left) || !table_fits(limits, sizeof l, sizeof l))
		return -EPROTO;
	/* Its first word is the account that the task stays with (tenants_join() of bpf/programs.c writes the same). */
	r = table_get(work, &pidfd, left);
	if (r)
		return r == -ENOENT ? 0 : r;
	row = GUARD_ROW(left[0]);
	r = table_get(limits, &row, &l);
	if (r)
		return r;
	return left[0] && l.account == left[0] && l.grant == grant;
}

/* ---- what a supervisor or a cgroup holds ---- */

/* A line of a short file that begins so; what is behind, without the end of the line. */
static bool line_find(const char *path, const char *begin, char *ret, size_t size)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char line[4096 + 16];

	while (f && fgets(line, sizeof line, f)) {
		if (strncmp(line, begin, strlen(begin)))
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(ret, size, "%.*s", (int)size - 1, line + strlen(begin));
		return true;
	}
	return false;
}

static bool has_filter(pid_t pid)
{
	char path[64], mode[32];

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	return line_find(path, "Seccomp:", mode, sizeof mode) && strtoul(mode, NULL, 10) == 2;
}

/* In the cgroup or below it. */
static bool in_cgroup(pid_t pid, const char *folder)
{
	static const char root[] = "/sys/fs/cgroup";
	char path[64], is[4096];
	const char *below = strncmp(folder, root, strlen(root)) ? folder : folder + strlen(root);

	snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
	return *below && line_find(path, "0::", is, sizeof is) && !strncmp(is, below, strlen(below)) &&
	       (!is[strlen(below)] || is[strlen(below)] == '/');
}

int held_for(uint64_t grant, pid_t pid, int pidfd, char why[HELD_WHY])
{
	int r = held_by_bpf(grant, pidfd);
	struct guard_count c;

	if (r > 0)
		return 1;
	if (counts_get(grant, &c) || (c.front != GUARD_FRONT_NOTIFY && c.front != GUARD_FRONT_DMEM)) {
		if (!r || r == -ENOENT)
			return not_held(why, "is not held by the guard");
		return not_held(why, "may be held by the guard, whose tables cannot be read (%s)", strerror(-r));
	}
	if (c.front == GUARD_FRONT_NOTIFY)
		return has_filter(pid) ? 1 : not_held(why, "is not below the supervisor of the grant");
	return in_cgroup(pid, c.cgroup) ? 1 : not_held(why, "is not in the grant's cgroup %.80s", c.cgroup);
}
