/* process.c: peers and their ends. */
#include "daemon/tenants/process.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STATUS_BYTES 4096

bool process_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLIN | POLLHUP | POLLERR));
}

/* One read of /proc/PID/stat: "pid (command) S ppid ..."; the command may itself hold blanks and brackets. */
static int read_stat(pid_t pid, struct process *ret)
{
	_cleanup_close_ int fd = -1;
	char path[32], text[1024], *open_at, *close_at, *field;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return n < 0 ? -errno : -ESRCH;
	text[n] = 0;
	open_at = strchr(text, '(');
	close_at = strrchr(text, ')');
	if (!open_at || !close_at || close_at < open_at)
		return -EBADMSG;
	*close_at = 0;
	snprintf(ret->command, sizeof(ret->command), "%s", open_at + 1);
	field = close_at + 1;
	for (int i = 3; field && i <= 22; i++)
		field = strchr(field + 1, ' ');
	/* `field` is the blank after field 22, or NULL at the end of a cut line */
	if (!field)
		return -EBADMSG;
	while (field[-1] != ' ')
		field--;
	ret->start_time = strtoull(field, NULL, 10);
	ret->pid = pid;
	return 0;
}

/* The pidfd is held while the file is read, so that the pid cannot have gone to another process in between. */
static int pinned_stat(pid_t pid, int pidfd, struct process *ret)
{
	int r = read_stat(pid, ret);

	if (r < 0)
		return r;
	return process_ended(pidfd) ? -ESRCH : 0;
}

static int open_pidfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

int process_find(pid_t pid, struct process *ret, int *ret_pidfd)
{
	_cleanup_close_ int pidfd = -1;
	struct process found = { 0 };
	int r;

	if (pid <= 0)
		return -ESRCH;
	pidfd = open_pidfd(pid);
	if (pidfd < 0)
		return pidfd;
	r = pinned_stat(pid, pidfd, &found);
	if (r < 0)
		return r;
	found.uid = PROCESS_NO_UID;
	*ret = found;
	*ret_pidfd = steal_fd(&pidfd);
	return 0;
}

int process_of_peer(int fd, struct process *ret, int *ret_pidfd)
{
	_cleanup_close_ int pidfd = -1;
	struct process found = { 0 };
	struct ucred peer;
	socklen_t size = sizeof(peer), fd_size = sizeof(pidfd);
	int r;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return -errno;
	if (peer.pid <= 0)
		return -EXDEV;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &fd_size)) {
		/* Another error is that of a process that has ended: its number may be another's. */
		pidfd = errno == ENOPROTOOPT ? open_pidfd(peer.pid) : -errno; /* before Linux 6.5 */
		if (pidfd < 0)
			return pidfd;
	}
	r = pinned_stat(peer.pid, pidfd, &found);
	if (r < 0)
		return r;
	found.uid = peer.uid;
	found.gid = peer.gid;
	*ret = found;
	*ret_pidfd = steal_fd(&pidfd);
	return 0;
}

/* The four user ids in /proc/PID/status: real, effective, saved, of files. */
int process_uids(pid_t pid, unsigned int uids[4])
{
	_cleanup_close_ int fd = -1;
	char path[32], text[STATUS_BYTES], *line;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	text[n] = 0;
	line = strstr(text, "\nUid:");
	return line && sscanf(line, "\nUid: %u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) == 4 ? 0 : -EBADMSG;
}

#define MAPS_MOST (4u << 20) /* bytes of /proc/PID/maps that are read */

static bool is_mapping_of(const char *line, const char *name, uint64_t inode)
{
	unsigned long long is = 0;

	return strstr(line, name) && (!inode || (sscanf(line, "%*s %*s %*s %*s %llu", &is) == 1 && is == inode));
}

int process_has_mapped(pid_t pid, const char *name, uint64_t inode)
{
	char path[32], line[1024];
	size_t bytes = 0;
	int r = -EAGAIN;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && r != 1 && bytes < MAPS_MOST && fgets(line, sizeof(line), f)) {
		bytes += strlen(line);
		r = is_mapping_of(line, name, inode);
	}
	if (f && r != 1 && (ferror(f) || !feof(f)))
		r = -EAGAIN;
	if (f)
		fclose(f);
	return r;
}

uint64_t process_own_bytes(pid_t pid)
{
	_cleanup_close_ int fd = -1;
	unsigned long long resident, shared;
	char path[32], text[128];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	if (n <= 0 || sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || shared > resident)
		return 0;
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}
