/*
 * relays.h: the relays of a `mete run --remote`: one process for each server, each with a socket at which programs
 * find it.
 *
 * A relay is a child of mete. It first authenticates and asks the server; only then does the program start. It ends
 * with mete, in whatever way mete ends: it holds a pipe whose other end only mete has.
 */
#pragma once

#include "cli/target.h"

#include <limits.h>
#include <sys/types.h>

struct relays {
	char dir[PATH_MAX]; /* of the sockets; this user's alone; removed at the end */
	int held;	    /* holds it, see relay_dir.h */
	struct relays_one {
		pid_t pid; /* 0: none */
		int alive; /* the pipe: closed, the relay ends */
		int tell;  /* what it says once: ready, or why not */
		char socket[108];
	} one[TARGETS_MOST];
	size_t count;
	char sockets[TARGETS_MOST * 108]; /* METE_REMOTE */
	bool soft; /* what they offer is software devices, all of it */
	bool apart; /* they go on without mete */
};

/* Starts one for each server and waits until all are ready. Value: 0, or a negative errno and none is left. */
int relays_start(struct relays *r, const struct targets *t, struct fault *f);
/* The same; and they do not end with mete, but when no program has been there for some seconds. */
int relays_start_apart(struct relays *r, const struct targets *t, struct fault *f);
/* mete goes, and they stay. */
void relays_let_go(struct relays *r);

/* Ends them, and with them the sessions of programs that still run. */
void relays_end(struct relays *r);
