/*
 * process.h: identifies the process at the other end, and notices when it ends.
 *
 * A process is identified by its pid and its start time. Both come from the kernel, never from the peer. A pidfd pins
 * the process: it becomes readable when the process has ended.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

#define PROCESS_COMMAND_BYTES 20u
#define PROCESS_NO_UID ((uid_t)-1)

struct process {
	pid_t pid;
	uid_t uid; /* of the peer when it connected; PROCESS_NO_UID: only process_of_peer() determines it */
	gid_t gid;
	uint64_t start_time; /* field 22 of /proc/PID/stat, clock ticks since boot */
	char command[PROCESS_COMMAND_BYTES];
};

/*
 * Identifies the process that connected the socket `fd`, and returns a pidfd of it. -ESRCH: it has ended; -EXDEV: it is
 * in a pid namespace that is not visible here.
 */
int process_of_peer(int fd, struct process *ret, int *ret_pidfd);

/* Identifies the living process with this pid, and returns a pidfd of it. -ESRCH: none. */
int process_find(pid_t pid, struct process *ret, int *ret_pidfd);

/* Its user ids: real, effective, saved, file system. Value: 0 or -errno. */
int process_uids(pid_t pid, unsigned int uids[4]);

/* The host memory that it does not share with other processes; 0: not known. */
uint64_t process_own_bytes(pid_t pid);

/*
 * Whether the process has mapped the file with this inode and name. Value: 1 or 0; -EAGAIN: not determined, because it
 * is exiting, or its mappings are too many or hidden.
 */
int process_has_mapped(pid_t pid, const char *name, uint64_t inode);

/* True if the process behind a pidfd has ended. */
bool process_ended(int pidfd);
