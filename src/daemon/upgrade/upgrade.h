/*
 * upgrade.h: another meted takes the place of this one while programs run.
 *
 * The file that this meted was started from, or another one, is asked whether it can take over (--check-upgrade): it
 * must start, know these options, read this handover's format, and open a copy of the store. Turns then stop, and the
 * process becomes that program by execve(): same pid, same children, the same lock, sockets, connections and doorbells
 * (handover.h). Clients notice no more than a late answer. Where the new program fails before it has changed anything,
 * it becomes the old program again (by its descriptor, because the file may be gone).
 *
 * `mete upgrade` or SIGUSR2 starts an upgrade.
 */
#pragma once

#include "daemon/control.h"

struct daemon;
struct handover;

/* Sets options that the next meted is also started with, in order; they are not copied. */
void upgrade_keep_options(char **options, int count);
/* Records the file from which this meted was started. Must be called before the file can be replaced. */
void upgrade_remember_binary(void);

/* True if another file, or none, is there now: meted was installed again. */
bool upgrade_replaced(void);

/*
 * Starts an upgrade. `binary` NULL: the file that this meted was started from. control: the connection that gets the
 * result, or NULL. Value: 0; -EALREADY: one is under way; -errno, with the line for the user.
 */
int upgrade_begin(struct daemon *daemon, const char *binary, bool check_only, struct control *control, char *error,
		  size_t error_size);
/* Forgets a connection that has closed. */
void upgrade_forget(struct daemon *daemon, const struct control *control);
/* Abandons an upgrade when meted exits. */
void upgrade_stop(struct daemon *daemon);

/* For the side that takes over: notes that turns are given again. */
void upgrade_resumed(void);
/* Writes the log's line when everything is taken over. */
void upgrade_taken(struct daemon *daemon);
/* The answer to the request: {"version", "from", "pause_ms", "pid"}, or the refusal. */
json_t *upgrade_answer(struct daemon *daemon);
/* Returns to the previous meted, for the side that cannot take over. Returns only if that fails too. */
void upgrade_go_back(struct handover *h, const char *why);

/* The main function of the check: prints this meted's capabilities as JSON and returns the exit status. */
int upgrade_check_main(int store_snapshot);
