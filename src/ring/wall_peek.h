/* wall_peek.h: what meted looks at in a hello that it leaves for the worker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether a session that was with another worker goes on (WALL_BRINGS), and the bytes that its client keeps. */
bool wall_peek_brings(int socket, uint64_t *ret_bytes);
