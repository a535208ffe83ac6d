/* listing.h: what a PTX text says about one of its lines. Read when a report is made, not when a module is loaded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The line itself, blanks around it and comments taken away. Value: false when there is none. */
bool listing_line(const char *text, size_t bytes, uint32_t line, char *ret, size_t room);
/* "scale.cu:7", from the .loc that holds for the line (nvcc -lineinfo). Value: false when there is none. */
bool listing_source(const char *text, size_t bytes, uint32_t line, char *ret, size_t room);
/* Where the function of that place was called, when it was inlined: outermost, in the kernel or function itself. */
bool listing_inlined(const char *text, size_t bytes, uint32_t line, char *ret, size_t room);
