/*
 * demangle.h: the source names of kernels.
 *
 * Reads the part of the Itanium C++ scheme that kernels use: nested names, template arguments that are types or
 * integers, and parameters of builtin and named types, pointers and references. Unknown constructs are left as they
 * are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* "_Z5scalePfi" -> "scale(float*, int)". Value: false for a name that is not mangled or not understood. */
bool demangle(const char *name, char *ret, size_t room);
