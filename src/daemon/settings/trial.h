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
	TRIAL_START, /* what a start needs, but for the store, which it opens anyway */
	TRIAL_RELOAD, /* and what it does without, but not as it was said */
	TRIAL_CHECK, /* and the store */
};

/* What the meted that runs knows when it tries. */
struct trial_known {
	const char *listens; /* where it serves HTTP, which is not in its own way; NULL: it is asked, if there is one */
	const struct disk_verdict *disk; /* of memory.disk; NULL: the folder is looked at, for 3 s at most */
};

/* Value: the number of faults. */
unsigned int trial_run(const struct options *o, enum trial_depth depth, const struct trial_known *known,
		       config_fault_fn fault, void *user);
