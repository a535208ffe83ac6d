/*
 * moved.h: variables of modules whose address the program has from another worker (client/move.h), where they lay
 * elsewhere. What the client says of the old address means the new one: in arguments of calls, in copies and in
 * parameters of kernels. Memory is not looked through: at the old address there is nothing, so that a kernel which has
 * it from memory faults.
 */
#pragma once

#include "remote/worker/worker.h"

/* CALL_MOVE_RESERVE: nothing comes to lie there. */
int moved_reserve(struct work *work);
/* 0; -ENOMEM. */
int moved_add(uint64_t old, uint64_t bytes, uint64_t now);
bool moved_any(void);
/* Each word of 8 bytes that is such an address becomes the new one, or is only counted. Value: how many there are. */
uint64_t moved_words(void *data, uint64_t bytes, bool change);
