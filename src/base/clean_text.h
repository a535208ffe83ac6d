/*
 * clean_text.h: makes texts of foreign origin safe to display. Unsuitable bytes are replaced by '?', in place. Both
 * functions return the text.
 */
#pragma once

/* Keeps printable ASCII alone: for output as UTF-8, when the text may have been cut within a character. */
char *clean_text_ascii(char *text);

/*
 * Replaces control characters, and bytes that are no UTF-8, such as those of a character that was cut: for lines in any
 * language. JSON has no place for such bytes.
 */
char *clean_text_line(char *text);
