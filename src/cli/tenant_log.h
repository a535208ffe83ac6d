/*
 * tenant_log.h: the lines that the shim and the software device write for the operator.
 *
 * They append to METE_LOG, a file of this user in the runtime directory (in the folder for temporary files where a
 * system meted's directory cannot be written). `mete run` shows new lines on its stderr, and removes the file at the
 * end. A pipe would be simpler to wait on, but a program must never block because mete is stopped. A repeated line
 * (eight processes with the same problem) is shown once.
 *
 * Limit: after kill -9 of mete its file, which is usually empty, remains until the next `mete run`, which removes the
 * files of dead processes. A memory file reached as /proc/PID/fd/N would not outlive mete, but its name is a link, and
 * writers of logs rightly refuse to follow links.
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

/* Shows new lines; with `all` also a last line without a line end. */
void tenant_log_show(struct tenant_log *l, bool all);
