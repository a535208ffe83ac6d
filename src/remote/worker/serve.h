/* serve.h: serves a client's connection from its hello to its end. */
#pragma once

#include "cuda_table.h"
#include "ring/wall.h"

#include <stdbool.h>

/* Creates the shared memory before there is a client. Value: 0 or -errno. */
int serve_prepare(struct wall *wall);
/*
 * Reads the client's hello, and takes its name for lists of processes. False: the client was sent an error, or is gone.
 */
bool serve_hear(int client);
/*
 * Accepts the client and executes its calls until it ends. `control`: a descriptor for which `on_control` is called
 * when it is readable, -1: none. Value: an exit status.
 */
int serve(struct wall *wall, const struct cuda_table *driver, int client, const char *grant, int control,
	  void (*on_control)(void *));
