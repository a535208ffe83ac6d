/*
 * kept_text.h: stores each of a few texts once, for structures that share them, such as the paths of drivers. A text is
 * valid until the process ends.
 */
#pragma once

/* Returns the stored copy of the text; NULL: no memory. Only one thread may call this. */
const char *kept_text(const char *words);
