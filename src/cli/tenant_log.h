/*
 * tenant_log.h: the lines that the shim and the software device write for the operator.
 *
 * They append to METE_LOG, a file of this user alone in the runtime directory (in the folder for temporary files where
 * a system meted's directory cannot be written); `mete run` shows its lines on its stderr as they come, and removes it
 * at the end. A pipe would have been simpler to wait on, but a program must never block because mete was stopped. A
 * line that comes again (eight processes that meet the same trouble) is shown once.
 *
 * Limit: after kill -9 of mete its file, which is as a rule empty, stays until the next `mete run`, which removes what
 * the dead have left. A memory file reached as /proc/PID/fd/N would not outlive mete, but its name is a link, and those
 * who write a log rightly refuse to follow links.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#define TENANT_LOG_KNOWN 256u

struct tenant_log {
	int fd;
	off_t read_bytes;
	char path[PATH_MAX];
	uint64_t known[TENANT_LOG_KNOWN]; /* hashes of the lines shown, a ring */
	unsigned int known_count;
	unsigned int repeated;
};

/* dir: the runtime directory. Value: 0 or a negative errno. */
int tenant_log_open(struct tenant_log *l, const char *dir, struct fault *f);
void tenant_log_close(struct tenant_log *l);

/* Shows what has come since; with `all` also a last line that has no end. */
void tenant_log_show(struct tenant_log *l, bool all);
