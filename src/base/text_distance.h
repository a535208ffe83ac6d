/* text_distance.h: the edit distance of two words, for "did you mean". */
#pragma once

/* Returns the edit distance; ~0u for words that are longer than any of mete's names. */
unsigned int text_distance(const char *a, const char *b);
