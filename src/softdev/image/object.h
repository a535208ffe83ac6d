/*
 * object.h: the device code in the inputs of a linker: archives, host object files, fat binaries.
 *
 * An archive (ar(5), the System V form) holds objects; a host object (ELF) holds fat binaries in its sections
 * .nv_fatbin and __nv_relfatbin, one after another. Everything is bounded by the sizes given; damaged input ends with
 * IMAGE_INVALID.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Called for each piece of device code: a fat binary, a device ELF file, a PTX text. Value: 0: continue; otherwise the
 * final value.
 */
typedef int (*object_piece)(void *ctx, const void *data, size_t bytes);

/* Value: 0, the final value of `piece`, or IMAGE_INVALID for damaged data. Other data is passed as one piece. */
int object_each(const void *data, size_t bytes, object_piece piece, void *ctx);

/*
 * True if a fat binary contains intermediate code for linking (LTO). Value: false for anything else, including damaged
 * ones.
 */
bool object_has_lto(const void *fat, size_t bytes);
