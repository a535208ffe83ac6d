/*
 * moved.h: variables of modules whose address the program has from an earlier worker (client/move.h), where they were
 * at another address. An old address from the client means the new one: in arguments of calls, in copies and in
 * parameters of kernels. Memory is not searched: nothing is at the old address, so a kernel that reads the address from
 * memory faults.
 */
#pragma once

#include "remote/worker/worker.h"

/* CALL_MOVE_RESERVE: keeps the addresses unused. */
int moved_reserve(struct work *work);
/* Value: 0; -ENOMEM. */
int moved_add(uint64_t old, uint64_t bytes, uint64_t now);
bool moved_any(void);
/* Replaces each 8-byte word that is such an address by the new one, or only counts them. Value: their number. */
uint64_t moved_words(void *data, uint64_t bytes, bool change);
