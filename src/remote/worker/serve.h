/* serve.h: a client's connection, from its hello to its end. */
#pragma once

#include "cuda_table.h"
#include "ring/wall.h"

#include <stdbool.h>

/* The shared memory, made before there is a client. 0 or -errno. */
int serve_prepare(struct wall *wall);
/* Reads the client's hello, and takes its name for lists of processes. False: it was told what is wrong, or is gone. */
bool serve_hear(int client);
/*
 * Lets the client in and executes its calls until it ends. `control`: a descriptor that `on_control` is called for when
 * it can be read, -1: none. Value: an exit status.
 */
int serve(struct wall *wall, const struct cuda_table *driver, int client, const char *grant, int control,
	  void (*on_control)(void *));
