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
	const char *path;		 /* of the program, from program_find() */
	const struct tenant_env *env;	 /* NULL: as it is */
	const struct remote_env *remote; /* instead of env; NULL: not */
	struct control *control;	 /* watched; -1 inside: not */
	struct tenant_log *log;
	const struct guarded *guarded; /* entered by the program; NULL: not */
	const char *warning;	       /* to be said once the program runs; NULL: none */
	bool verbose;
	bool together; /* the program is killed with mete: nobody else would end what it needs */
};

/*
 * The program that the command line names; with --strict it must be one that the shim reaches. Returns 0 or a negative
 * errno, and then the exit status for it.
 */
int supervise_find(const struct command_line *line, char path[PATH_MAX], int *ret_status, struct fault *f);

enum supervise_outcome {
	SUPERVISE_NOT_FOUND = 1, /* or its interpreter */
	SUPERVISE_NOT_EXECUTABLE,
};

/*
 * Value: 0 with the wait status of the program; else it was not started and the fault says why: an outcome of the
 * program that the kernel refused, or a negative errno of our own.
 */
int supervise(const struct supervision *s, int *ret_status, struct fault *f);

/* Mete's exit status for a program that was not started, by supervise()'s value; `otherwise` for what is our own. */
int supervise_failure(int r, int otherwise);

/* Ends this process as the program ended: with its exit status or by its signal. */
int end_like(int status);
