/*
 * supervise.h: runs the program and stays beside it until it exits.
 *
 * mete remains the parent: it tells meted when the grant may end, shows the log, and keeps a meted running. The
 * program, and the process that started mete, notice no difference:
 *   - the program gets mete's terminal, descriptors, signal mask, dispositions, umask and folder;
 *   - signals sent to mete are passed on to the program; the terminal's signals reach the program by themselves;
 *   - when the program stops (^Z), mete stops, and continues with it, whichever of the two is continued (waker.h);
 *   - when a signal kills the program, mete ends by the same signal.
 */
#pragma once

#include "client/control.h"
#include "client/remote_env.h"
#include "client/tenant_env.h"
#include "cli/tenant_log.h"
#include "verb/guarded.h"
#include "verb/verb.h"

struct supervision {
	char **argv;			 /* the program's */
	const char *path;		 /* of the program, by program_find() */
	const struct tenant_env *env;	 /* NULL: unchanged */
	const struct remote_env *remote; /* instead of env; NULL: none */
	struct control *control;	 /* watched; -1 inside: not watched */
	struct tenant_log *log;
	const struct guarded *guarded; /* entered by the program; NULL: none */
	const char *warning;	       /* printed when the program runs; NULL: none */
	bool verbose;
	bool together; /* the program is killed with mete, because nothing else would end what it needs */
};

/*
 * Finds the program that the command line names; with --strict the shim must be able to reach it. Value: 0, or a
 * negative errno with the exit status for it.
 */
int supervise_find(const struct command_line *line, char path[PATH_MAX], int *ret_status, struct fault *f);

enum supervise_outcome {
	SUPERVISE_NOT_FOUND = 1, /* the program or its interpreter */
	SUPERVISE_NOT_EXECUTABLE,
};

/*
 * Value: 0 with the wait status of the program. Otherwise it was not started, and the fault gives the reason: an
 * outcome if the kernel refused the program, or a negative errno of mete's own.
 */
int supervise(const struct supervision *s, int *ret_status, struct fault *f);

/*
 * mete's exit status for a program that was not started, by supervise()'s value; `otherwise` for errors of mete's own.
 */
int supervise_failure(int r, int otherwise);

/* Ends this process as the program ended: with its exit status or by its signal. */
int end_like(int status);
