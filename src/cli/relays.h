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
	char dir[PATH_MAX]; /* of the sockets; only for this user; removed at the end */
	int held;	    /* its lock, see relay_dir.h */
	struct relays_one {
		pid_t pid; /* 0: none */
		int alive; /* a pipe: the relay ends when it is closed */
		int tell;  /* the relay's report: ready, or the reason for a failure */
		char socket[108];
	} one[TARGETS_MOST];
	size_t count;
	char sockets[TARGETS_MOST * 108]; /* METE_REMOTE */
	bool soft; /* all devices that they offer are software devices */
	bool apart; /* they continue without mete */
};

/* Starts one for each server and waits until all are ready. Value: 0, or a negative errno and none is left. */
int relays_start(struct relays *r, const struct targets *t, struct fault *f);
/* The same, but they do not end with mete. They end when no program has used them for some seconds. */
int relays_start_apart(struct relays *r, const struct targets *t, struct fault *f);
/* mete exits, and they continue. */
void relays_let_go(struct relays *r);

/* Ends them, and thereby the sessions of programs that still run. */
void relays_end(struct relays *r);
