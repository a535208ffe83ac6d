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

/* Options that the next meted is started with as well, in order; they are not copied. */
void upgrade_keep_options(char **options, int count);
/* Where this meted was started from. Before anything can have replaced the file. */
void upgrade_remember_binary(void);

/* Another file stands there now, or none: it has been installed anew. */
bool upgrade_replaced(void);

/*
 * Begins; `binary` NULL: the file that this meted was started from. control: who is told how it went, or NULL. 0;
 * -EALREADY: one is under way; -errno, with the line for the user.
 */
int upgrade_begin(struct daemon *daemon, const char *binary, bool check_only, struct control *control, char *error,
		  size_t error_size);
/* That connection has gone. */
void upgrade_forget(struct daemon *daemon, const struct control *control);
/* meted leaves. */
void upgrade_stop(struct daemon *daemon);

/* The side that comes: turns are given again. */
void upgrade_resumed(void);
/* All is taken over. Writes the log's line. */
void upgrade_taken(struct daemon *daemon);
/* What the one who asked is told: {"version", "from", "pause_ms", "pid"}, or the refusal. */
json_t *upgrade_answer(struct daemon *daemon);
/* The side that comes cannot: becomes the one before again. Returns when that cannot be done either. */
void upgrade_go_back(struct handover *h, const char *why);

/* The child's side of the check: prints what this meted is as JSON and returns its exit status. */
int upgrade_check_main(int store_snapshot);
