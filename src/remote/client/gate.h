/*
 * gate.h: the point at which each call of the program enters and leaves the client. While the session moves to another
 * worker (move.h), calls wait here, so that no part of the client has a half-finished call.
 *
 * A thread that is inside may enter again: calls that the client itself makes, and functions of the program that the
 * worker has called, for which other threads inside may be waiting. An open gate costs two additions to a counter that
 * few threads share.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The value is for gate_leave(). */
int gate_enter(void);
void gate_leave(const int *entered);
/* Holds the gate until the end of the block. */
#define GATED __attribute__((cleanup(gate_leave), unused)) const int gated_ = gate_enter()

/* Exempts the calling thread, which is the client's own. */
void gate_exempt(void);
/* Lets no thread enter from now on. One thread at a time. */
void gate_close(void);
void gate_open(void);
/* True if all threads have left; waits for that until `until_ns`. The gate must be closed. */
bool gate_wait(uint64_t until_ns);
/* In the child of fork(): no thread is inside. */
void gate_forget(void);
