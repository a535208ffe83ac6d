/*
 * children.h: processes that the previous meted started and this one does not know: probes and watchers of devices
 * that were about to exit, workers whose client has exited. This meted must reap them.
 */
#pragma once

#include <jansson.h>
#include <sys/types.h>

struct daemon;

/* The pids of all children. The exit of a child meanwhile can hide others in the kernel's list. */
json_t *children_save(void);
/* Collects the children of the next meted before it starts any, including those that its predecessor did not see. */
void children_look(void);
/*
 * Called after the workers are restored: each child that is not a worker is reaped when it exits, and probing children
 * are told to exit.
 */
void children_restore(struct daemon *daemon, const json_t *list);
/* Takes over a child that is about to exit. */
void children_adopt(struct daemon *daemon, pid_t pid);
/* Drops all of them when meted exits: init reaps them. */
void children_forget(void);
