/*
 * children.h: processes that the previous meted started and this one does not know: probes and watchers of devices
 * that were about to exit, workers whose client has exited. This meted must reap them.
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
