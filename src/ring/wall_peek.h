/* wall_peek.h: what meted and the worker look at in a hello of a client that has had another worker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether a session that was with another worker goes on (WALL_BRINGS), and the bytes that its client keeps. */
bool wall_peek_brings(int socket, uint64_t *ret_bytes);
/* Whether an arena lies where workers put theirs: no client chooses another address for what it brings. */
bool wall_base_good(uint64_t base);
