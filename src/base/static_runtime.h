/* static_runtime.h: the message of mete's drivers to a program that has NVIDIA's CUDA runtime linked in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * `id`: 16 bytes, the private table that somebody asks the driver for (cuGetExportTable). Value: whether it is the one
 * without which the runtime's calls fail, so that there is something to be said; then `line` names the program or
 * library that asks, which is the one in whose constants `id` lies, and what can be done. `way`: where the program runs
 * ("the software device").
 */
bool static_runtime_line(const void *id, const char *way, char *line, size_t bytes);
/* Whether the runtime's constants are in these bytes of a file: that table's name is among them. */
bool static_runtime_in(const void *bytes, size_t size);
#define STATIC_RUNTIME_ID_BYTES 16u
