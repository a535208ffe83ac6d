/* span.h: spans of time and rates as people write them: "2ms", "75us", "0.5s", "500ns", "0"; "96G", "1.5M". */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The first n bytes of the text, whole. Value: 0 or -EINVAL; *ret_ns is at most an hour. */
int span_parse(const char *text, size_t n, uint64_t *ret_ns);
/* A number above 0 with a suffix of thousands (K, M, G, T) or without. Value: 0 or -EINVAL. */
int rate_parse(const char *text, double *ret);
