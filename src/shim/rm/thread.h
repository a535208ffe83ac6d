/* thread.h: threads in the program's process, detached, with all signals blocked. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

bool thread_start(void *(*body)(void *));
/* Waits while the word is `is`, at most `ns` (UINT64_MAX: for ever). `shared`: other processes can wake it. */
void thread_wait(_Atomic uint32_t *word, uint32_t is, uint64_t ns, bool shared);
