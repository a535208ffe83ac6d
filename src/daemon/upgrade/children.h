/*
 * children.h: processes that the meted before this one has started, and that nobody here knows: probes and watchers of
 * devices that were just ending, workers whose client has gone. They are ours to reap.
 */
#pragma once

#include <jansson.h>
#include <sys/types.h>

struct daemon;

/* The pids of all children. One that ends meanwhile can hide others from the kernel's list. */
json_t *children_save(void);
/* The same by the meted that comes, before it starts any: what its predecessor did not see. */
void children_look(void);
/* After the workers: each that is not one of them is reaped when it ends, and the drivers' are told to. */
void children_restore(struct daemon *daemon, const json_t *list);
/* A child that is about to end. */
void children_adopt(struct daemon *daemon, pid_t pid);
/* meted leaves: they are init's. */
void children_forget(void);
