/*
 * gate.h: where each call of the program enters and leaves the client. While the session moves to another worker
 * (move.h) calls wait here, so that none is half done in any part of the client meanwhile.
 *
 * A thread that is inside already passes: what the client itself calls, and functions of the program that the worker
 * has asked for, which others inside may be waiting for. Open, it costs two additions to a count that few threads
 * share.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The value is gate_leave()'s. */
int gate_enter(void);
void gate_leave(const int *entered);
/* To the end of the block. */
#define GATED __attribute__((cleanup(gate_leave), unused)) const int gated_ = gate_enter()

/* The calling thread passes from now on: it is the client's own. */
void gate_exempt(void);
/* From now on nobody enters. One thread at a time. */
void gate_close(void);
void gate_open(void);
/* Whether all have left; waits at most so long for it. Closed. */
bool gate_wait(uint64_t until_ns);
/* In the child of fork(): nobody is inside. */
void gate_forget(void);
