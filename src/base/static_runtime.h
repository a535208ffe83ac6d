/* static_runtime.h: the message of mete's drivers to a program that has NVIDIA's CUDA runtime linked in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * `id`: 16 bytes, the identifier of the private table that is requested from the driver (cuGetExportTable). True if it
 * is the table without which the runtime's calls fail. `line` then names the program or library that requests it, which
 * is the one whose constants contain `id`, and the remedy. `way`: where the program runs ("the software device").
 */
bool static_runtime_line(const void *id, const char *way, char *line, size_t bytes);
/* True if these bytes of a file contain the runtime's constants, of which that table's identifier is one. */
bool static_runtime_in(const void *bytes, size_t size);
#define STATIC_RUNTIME_ID_BYTES 16u
