/*
 * kept_text.h: texts that many structures name and that are few, as the paths of drivers: each is kept once, as long as
 * the process.
 */
#pragma once

/* The same text for the same words, or NULL: no memory. Of one thread alone. */
const char *kept_text(const char *words);
