/* wall_peek.h: meted and the worker check the hello of a client that had another worker before. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* True if the client continues a session with another worker (WALL_BRINGS); returns the bytes that it keeps. */
bool wall_peek_brings(int socket, uint64_t *ret_bytes);
/* True if workers map arenas at this address; a client that brings an arena cannot choose another. */
bool wall_base_good(uint64_t base);
