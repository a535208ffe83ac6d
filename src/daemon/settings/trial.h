/*
 * trial.h: whether meted could start with these settings: folders, certificates, the address, the store, libraries.
 *
 * What a file says may be well written and yet not work. Each fault is a line "FILE:LINE: KEY VALUE: ...", or
 * "--OPTION VALUE: ..." where the command line has said it, with the remedy. Nothing is made, changed or kept open.
 *
 * A trial is of one moment and of one process: what a service manager's sandbox hides is seen by `systemctl reload`,
 * whose trial runs in the sandbox, and by `mete doctor`.
 */
#pragma once

#include "daemon/settings/config.h"
#include "daemon/settings/options.h"

enum trial_depth {
	TRIAL_START, /* what a start needs, but for the store, which it opens anyway */
	TRIAL_RELOAD, /* and what it does without, but not as it was said */
	TRIAL_CHECK, /* and the store */
};

/*
 * `listens`: where the meted that runs serves HTTP, which is not in its own way; NULL: it is asked, if there is one.
 * Value: the number of faults.
 */
unsigned int trial_run(const struct options *o, enum trial_depth depth, const char *listens, config_fault_fn fault,
		       void *user);
