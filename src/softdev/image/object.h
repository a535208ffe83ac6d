/*
 * object.h: the device code in what a linker is given: archives, host object files, fat binaries.
 *
 * An archive (ar(5), the System V form) holds objects; a host object (ELF) holds fat binaries in its sections
 * .nv_fatbin and __nv_relfatbin, one after another. Everything is bounded by the sizes given; damaged input ends with
 * IMAGE_INVALID.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Called for each piece of device code: a fat binary, a device ELF file, a PTX text. Value: 0 to go on, else the end.
 */
typedef int (*object_piece)(void *ctx, const void *data, size_t bytes);

/* Value: 0, what `piece` ended with, or IMAGE_INVALID for damaged data. What is none of these is one piece. */
int object_each(const void *data, size_t bytes, object_piece piece, void *ctx);

/* Does a fat binary hold intermediate code for linking (LTO)? Value: false for anything else, damaged ones included. */
bool object_has_lto(const void *fat, size_t bytes);
