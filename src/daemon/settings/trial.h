/*
 * trial.h: checks whether meted could start with these settings: folders, certificates, the address, the store,
 * libraries.
 *
 * A file can be well formed and yet not work. Each error is a line "FILE:LINE: KEY VALUE: ...", or "--OPTION VALUE:
 * ..." for a setting of the command line, with the remedy. A trial creates nothing, changes nothing and keeps nothing
 * open.
 *
 * A trial is valid for one moment and one process. What a service manager's sandbox hides is found by `systemctl
 * reload`, whose trial runs in the sandbox, and by `mete doctor`.
 */
#pragma once

#include "daemon/settings/config.h"
#include "daemon/settings/options.h"

struct disk_verdict;

enum trial_depth {
	TRIAL_START, /* what a start needs, except the store, which the start opens anyway */
	TRIAL_RELOAD, /* also settings that a start would ignore with a warning */
	TRIAL_CHECK, /* also the store */
};

/* What the running meted knows when it tries new settings. */
struct trial_known {
	const char *listens; /* the address at which it serves HTTP, which does not count as occupied; NULL: a
			      * running meted is queried */
	const struct disk_verdict *disk; /* of memory.disk; NULL: the folder is checked, for 3 s at most */
};

/* Value: the number of errors. */
unsigned int trial_run(const struct options *o, enum trial_depth depth, const struct trial_known *known,
		       config_fault_fn fault, void *user);
