/* listing.h: what a PTX text says about one of its lines. Read only for a report, not when a module is loaded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The line itself, without surrounding blanks and comments. Value: false if there is none. */
bool listing_line(const char *text, size_t bytes, uint32_t line, char *ret, size_t room);
/* "scale.cu:7", from the .loc that applies to the line (nvcc -lineinfo). Value: false if there is none. */
bool listing_source(const char *text, size_t bytes, uint32_t line, char *ret, size_t room);
/* The call site of an inlined function at that line: the outermost one, in the kernel or function itself. */
bool listing_inlined(const char *text, size_t bytes, uint32_t line, char *ret, size_t room);
