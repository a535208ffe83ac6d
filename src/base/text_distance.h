/* text_distance.h: how far two words are from each other, for "did you mean". */
#pragma once

/* The edit distance; ~0u for words that are longer than any name of ours. */
unsigned int text_distance(const char *a, const char *b);
