/*
 * tenant_log.h: the lines that the shim and the software device write for the operator.
 *
 * They append to METE_LOG; `mete run` shows them on its stderr as they come. The file is a memory file of mete's,
 * reached as /proc/PID/fd/N: it needs no folder, only this user can open it, and it is gone when mete is, however it
 * ends. A pipe would have been simpler to wait on, but a program must never block because mete was stopped.
 * A line that comes again (eight processes that meet the same trouble) is shown once.
 */
#pragma once

#include "cli/fault.h"

#include <stdint.h>
#include <sys/types.h>

#define TENANT_LOG_KNOWN 256u

struct tenant_log {
	int fd;
	off_t read_bytes;
	char path[64];
	uint64_t known[TENANT_LOG_KNOWN]; /* hashes of the lines shown, a ring */
	unsigned int known_count;
	unsigned int repeated;
};

int tenant_log_open(struct tenant_log *l, struct fault *f);
void tenant_log_close(struct tenant_log *l);

/* Shows what has come since; with `all` also a last line that has no end. */
void tenant_log_show(struct tenant_log *l, bool all);
